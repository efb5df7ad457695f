package io.redlock.bench;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.jedis.JedisRedlock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** This library, as a user has it: restart guard and all. */
final class RedlockPeer implements Peer {

  static final String NAME = "Redlock for Java";

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final AtomicLong RESOURCES = new AtomicLong();

  private final Redlock redlock;

  RedlockPeer(Duration nodeTimeout, String... addresses) {
    this(true, nodeTimeout, addresses);
  }

  /** With or without the restart guard. */
  RedlockPeer(boolean guarded, Duration nodeTimeout, String... addresses) {
    this(settings -> settings.restartGuard(guarded), nodeTimeout, addresses);
  }

  /** With other settings. */
  RedlockPeer(
      UnaryOperator<JedisRedlock.Builder> change, Duration nodeTimeout, String... addresses) {
    JedisRedlock.Builder settings =
        JedisRedlock.builder().node(String.join(",", addresses)).nodeTimeout(nodeTimeout);
    this.redlock = change.apply(settings).build();
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public List<Cycle> cycles(int callers) {
    return IntStream.range(0, callers).mapToObj(caller -> cycle()).toList();
  }

  private Cycle cycle() {
    LeaseRequest request = LeaseRequest.of("bench/" + RESOURCES.incrementAndGet(), TTL);
    return () -> {
      Lease lease = redlock.acquire(request);
      ReleaseResult released = lease.release();
      if (released != ReleaseResult.RELEASED) {
        throw new IllegalStateException(lease + " was " + released);
      }
      return 1;
    };
  }

  /** A cycle of threads that all want the same resource; 0 if it was not had within a second. */
  Cycle contender(String resource) {
    return contender(LeaseRequest.of(resource, TTL).waitUpTo(Duration.ofSeconds(1)));
  }

  /** The same, first come, first served. */
  Cycle fairContender(String resource) {
    return contender(LeaseRequest.of(resource, TTL).waitUpTo(Duration.ofSeconds(1)).fair());
  }

  private Cycle contender(LeaseRequest request) {
    return () -> {
      Lease lease = redlock.tryAcquire(request).lease().orElse(null);
      if (lease == null) {
        return 0;
      }
      lease.release();
      return 1;
    };
  }

  @Override
  public void close() {
    redlock.close();
  }
}
