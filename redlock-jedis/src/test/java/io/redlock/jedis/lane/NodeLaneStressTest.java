package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.KeptLog;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.CommandArguments;

/** Many threads send at once, and another one answers. */
@Timeout(300)
class NodeLaneStressTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final int SENDERS = 8;
  private static final int REQUESTS = 1_000;

  private final Queue<String> mistakes = new ConcurrentLinkedQueue<>();
  private final AtomicIntegerArray answers = new AtomicIntegerArray(SENDERS * REQUESTS);
  private final AtomicIntegerArray withdrawn = new AtomicIntegerArray(SENDERS * REQUESTS);
  private final AtomicIntegerArray arrived = new AtomicIntegerArray(SENDERS * REQUESTS);

  /** Real time; the scheduler of the core is not public. */
  private static final class RealScheduler implements Scheduler {
    private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1);

    @Override
    public Timer timer(Runnable task) {
      return new Timer() {
        private @Nullable Future<?> next; // guarded by this

        @Override
        public synchronized void set(long atNanos) {
          cancel();
          next = executor.schedule(task, atNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public synchronized void cancel() {
          if (next != null) {
            next.cancel(false);
          }
        }
      };
    }

    @Override
    public void close() {
      executor.shutdownNow();
    }
  }

  /** A thread that connects, answers in order, and now and then hangs up. */
  private final class Net implements Dialer {
    private final TestNode answering = new FakeNet().node;
    private final ExecutorService reader = Executors.newSingleThreadExecutor();
    private final int hangUpOneIn;
    private final SplittableRandom random = new SplittableRandom(17);
    final AtomicInteger connections = new AtomicInteger();

    Net(int hangUpOneIn) {
      this.hangUpOneIn = hangUpOneIn;
    }

    @Override
    public void dial(Reader line) {
      reader.execute(() -> serve(line));
    }

    private void serve(Reader line) {
      connections.incrementAndGet();
      Map<Integer, Integer> last = new HashMap<>();
      StressWire wire = new StressWire();
      line.connected(wire);
      int commands = 0;
      try {
        for (List<String> next = wire.next(); !next.isEmpty(); next = wire.next()) {
          commands++;
          arrived(next, last);
          if (hangUpOneIn > 0 && commands > 20 && random.nextInt(hangUpOneIn) == 0) {
            break;
          }
          line.received(answering.reply(next, Ticker.system().wallMicros()));
        }
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      wire.broken = true;
      line.lost(new IOException("hung up"));
    }

    private void arrived(List<String> command, Map<Integer, Integer> last) {
      if (FakeNet.label(command).startsWith("GRANT")) {
        int number = Integer.parseInt(command.get(3));
        arrived.incrementAndGet(number);
        Integer before = last.put(number / REQUESTS, number);
        if (before != null && before >= number) {
          mistakes.add(number + " arrived after " + before);
        }
      }
    }

    @Override
    public void close() {
      reader.shutdown();
    }
  }

  private final class StressWire implements Wire {
    private final BlockingQueue<List<String>> flushed = new LinkedBlockingQueue<>();
    private final List<List<String>> buffered = new ArrayList<>();
    private final AtomicReference<@Nullable Thread> writer = new AtomicReference<>();
    volatile boolean broken;

    List<String> next() throws InterruptedException {
      return flushed.take();
    }

    @Override
    public void write(CommandArguments command, int bytes) {
      if (broken) {
        throw new IllegalStateException("hung up");
      }
      Thread self = Thread.currentThread();
      if (writer.get() != self && !writer.compareAndSet(null, self)) {
        mistakes.add(self + " writes while " + writer.get() + " does");
      }
      buffered.add(TestNode.words(command));
    }

    @Override
    public void flush() {
      List<List<String>> all = List.copyOf(buffered);
      buffered.clear();
      if (!writer.compareAndSet(Thread.currentThread(), null)) {
        mistakes.add("flushed by somebody else");
      }
      flushed.addAll(all);
    }

    @Override
    public boolean takesMessages() {
      return true;
    }

    @Override
    public void end() {
      broken = true;
      flushed.add(List.of());
    }
  }

  @Test
  void answersComeOnceAndRequestsInOrder() throws Exception {
    Net net = run(0);
    assertEquals(1, net.connections.get());
    for (int i = 0; i < SENDERS * REQUESTS; i++) {
      assertEquals(1, arrived.get(i) + withdrawn.get(i), "request " + i);
    }
  }

  @Test
  void answersComeOnceThoughConnectionsAreLostAllTheTime() throws Exception {
    Net net = run(300);
    assertTrue(net.connections.get() > 3, net.connections + " connections");
  }

  private Net run(int hangUpOneIn) throws Exception {
    Net net = new Net(hangUpOneIn);
    LaneSettings settings = FakeNet.settings(Duration.ofSeconds(5));
    NodeLane lane = new NodeLane("n", net, settings, FakeNet.trust(), new Random(17));
    try (Scheduler scheduler = new RealScheduler()) {
      lane.start(Ticker.system(), scheduler, status -> {});
      assertTrue(lane.awaitFirstAttempt(TimeUnit.SECONDS.toNanos(60)));
      send(lane);
      lane.close();
    }
    assertEquals(List.of(), List.copyOf(mistakes));
    for (int i = 0; i < SENDERS * REQUESTS; i++) {
      assertEquals(1, answers.get(i) + withdrawn.get(i), "request " + i);
      assertTrue(arrived.get(i) <= 1, "request " + i);
    }
    assertTrue(net.reader.awaitTermination(60, TimeUnit.SECONDS), "the lane ends its connection");
    return net;
  }

  private void send(NodeLane lane) throws InterruptedException, ExecutionException {
    ExecutorService senders = Executors.newFixedThreadPool(SENDERS);
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < SENDERS; i++) {
      int sender = i;
      all.add(senders.submit(() -> send(lane, sender)));
    }
    for (Future<?> each : all) {
      each.get();
    }
    senders.shutdown();
  }

  private void send(NodeLane lane, int sender) {
    Semaphore mayWait = new Semaphore(20);
    for (int i = 0; i < REQUESTS; i++) {
      int number = sender * REQUESTS + i;
      mayWait.acquireUninterruptibly();
      Pending pending =
          lane.send(
              new Grant(List.of(Integer.toString(number)), "owner", 1 + number, 1_000),
              number,
              (slot, reply) -> {
                answers.incrementAndGet(slot);
                mayWait.release();
              });
      if (i % 7 == 0 && pending.withdraw()) {
        withdrawn.incrementAndGet(number);
        mayWait.release();
      }
    }
  }
}
