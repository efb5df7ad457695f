package io.redlock.chaos.peers;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** This library, to calibrate. */
final class RedlockLocks implements PeerLocks {

  private final Redlock redlock;

  RedlockLocks(PeerSettings settings) {
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .nodeTimeout(settings.nodeTimeout())
            .maxTtl(settings.maxTtl())
            .clockSkew(settings.skew())
            .lossMargin(Duration.ZERO)
            .clientConfig(
                DefaultJedisClientConfig.builder()
                    .hostAndPortMapper(server -> link(settings, server))
                    .build());
    for (String server : settings.servers()) {
      builder.node("redis://" + settings.user() + ":" + settings.password() + "@" + server);
    }
    redlock = builder.build();
  }

  /** Leads to the link of this client: by their names the masters are the same for all. */
  private static HostAndPort link(PeerSettings settings, HostAndPort server) {
    return HostAndPort.from(settings.links().get(settings.servers().indexOf(server.toString())));
  }

  @Override
  public @Nullable Held tryAcquire(String resource, Duration ttl, Duration wait)
      throws InterruptedException {
    LeaseRequest request = LeaseRequest.of(resource, ttl);
    AcquireResult result = redlock.tryAcquire(wait.isZero() ? request : request.waitUpTo(wait));
    return result.lease().map(RedlockLocks::held).orElse(null);
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
