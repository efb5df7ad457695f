package io.redlock.chaos.peers;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** This library, to calibrate. */
final class RedlockLocks implements PeerLocks {

  private final Redlock redlock;

  RedlockLocks(PeerSettings settings) {
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .nodeTimeout(settings.nodeTimeout())
            .maxTtl(settings.maxTtl())
            .clockSkew(settings.skew())
            .lossMargin(Duration.ZERO);
    for (String link : settings.links()) {
      builder.node("redis://" + settings.user() + ":" + settings.password() + "@" + link);
    }
    redlock = builder.build();
  }

  @Override
  public @Nullable Held tryAcquire(String resource, Duration ttl, Duration wait)
      throws InterruptedException {
    LeaseRequest request = LeaseRequest.of(resource, ttl);
    AcquireResult result = redlock.tryAcquire(wait.isZero() ? request : request.waitUpTo(wait));
    return result.optionalLease().map(RedlockLocks::held).orElse(null);
  }

  private static Held held(Lease lease) {
    return new Held() {
      @Override
      public OptionalLong token() {
        return OptionalLong.of(lease.fencingToken());
      }

      @Override
      public Duration left() {
        return lease.remaining();
      }

      @Override
      public void release() throws InterruptedException {
        lease.release();
      }
    };
  }

  @Override
  public void close() {
    redlock.close();
  }
}
