package io.redlock.bench;

import io.redlock.jedis.scripts.Floor;
import io.redlock.jedis.scripts.Invocation;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.IntStream;

/**
 * The batches of {@link FloorPeer#batched} for callers that block: each hands its request to the
 * one thread that asks the masters, and is parked until all have answered. That thread asks
 * whatever has been handed to it, at once.
 */
final class BlockingFloor extends Peer {

  static final String NAME = FloorPeer.PREFIX + "C";

  private record Request(Invocation call, CompletableFuture<Void> answered) {}

  private final Floor floor;
  private final BlockingQueue<Request> requests = new LinkedBlockingQueue<>();
  private final Thread asker = new Thread(this::work, NAME);

  BlockingFloor(int callers, String... addresses) {
    super(NAME, "floor/");
    floor = new Floor(callers, addresses);
    asker.start();
  }

  @Override
  List<Cycle> cycles(int callers) {
    return IntStream.range(0, callers).<Cycle>mapToObj(caller -> () -> run(caller)).toList();
  }

  private int run(int caller) throws Exception {
    for (Invocation call : floor.cycle(caller)) {
      Request request = new Request(call, new CompletableFuture<>());
      requests.add(request);
      request.answered.get();
    }
    return 1;
  }

  private void work() {
    try {
      while (true) {
        List<Request> batch = new ArrayList<>(List.of(requests.take()));
        requests.drainTo(batch);
        ask(batch);
      }
    } catch (InterruptedException closed) {
      // nobody waits any more
    }
  }

  private void ask(List<Request> batch) {
    try {
      floor.ask(batch.stream().map(Request::call).toList());
      batch.forEach(request -> request.answered.complete(null));
    } catch (RuntimeException e) {
      batch.forEach(request -> request.answered.completeExceptionally(e));
    }
  }

  @Override
  Cycle cycle(String resource, Duration wait) {
    throw new UnsupportedOperationException("a floor has resources of its own");
  }

  @Override
  public void close() {
    asker.interrupt();
    floor.close();
  }
}
