package io.redlock.bench;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.jedis.JedisRedlock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** This library, as a user has it: restart guard and all. */
final class RedlockPeer extends Peer {

  static final String NAME = "Redlock for Java";
  static final String FAIR = NAME + ", fairly";

  /** Nothing is passed on: no two callers ask for the same ttl. */
  static final String GRANTED = NAME + ", a grant a turn";

  /** One thread begins a cycle of each caller, and waits for all of them. */
  static final String ASYNC = NAME + ", async";

  /** A node timeout for a machine that may be busy. */
  static final Duration PATIENT = Duration.ofSeconds(1);

  private static final Duration TTL = Duration.ofSeconds(30);

  private final Redlock redlock;
  private int cycles;

  RedlockPeer(Duration nodeTimeout, String... addresses) {
    this(NAME, settings -> settings.nodeTimeout(nodeTimeout), addresses);
  }

  /** With other settings. */
  RedlockPeer(String name, UnaryOperator<JedisRedlock.Builder> change, String... addresses) {
    super(name, "bench/");
    redlock = change.apply(settings(addresses)).build();
  }

  static JedisRedlock.Builder settings(String... addresses) {
    return JedisRedlock.builder().node(String.join(",", addresses)).nodeTimeout(PATIENT);
  }

  @Override
  List<Cycle> cycles(int callers) {
    return name.equals(ASYNC) ? List.of(() -> together(callers)) : super.cycles(callers);
  }

  private int together(int callers) throws Exception {
    CompletableFuture<?>[] all =
        IntStream.range(0, callers)
            .mapToObj(caller -> redlock.acquireAsync(LeaseRequest.of("bench/async/" + caller, TTL)))
            .map(call -> call.thenCompose(result -> result.lease().orElseThrow().releaseAsync()))
            .toArray(CompletableFuture[]::new);
    CompletableFuture.allOf(all).get();
    return callers;
  }

  @Override
  Cycle cycle(String resource, Duration wait) {
    Duration ttl = name.equals(GRANTED) ? TTL.minusMillis(++cycles) : TTL;
    LeaseRequest once = LeaseRequest.of(resource, ttl);
    LeaseRequest waiting = wait.isZero() ? once : once.waitUpTo(wait);
    LeaseRequest request = name.equals(FAIR) ? waiting.fair() : waiting;
    return () -> {
      Lease lease = redlock.tryAcquire(request).lease().orElse(null);
      return lease != null && lease.release() == ReleaseResult.RELEASED ? 1 : 0;
    };
  }

  @Override
  public void close() {
    redlock.close();
  }
}
