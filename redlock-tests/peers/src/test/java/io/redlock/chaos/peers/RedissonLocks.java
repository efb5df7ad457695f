package io.redlock.chaos.peers;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.ConstantDelay;

/** Redisson's lock over independent masters, a client for each. */
final class RedissonLocks implements PeerLocks {

  private static final Duration RETRY_DELAY = Duration.ofMillis(20);
  private static final Duration RECONNECT_DELAY = Duration.ofMillis(50);

  private final List<RedissonClient> clients;

  RedissonLocks(PeerSettings settings) {
    clients = settings.links().stream().map(link -> client(settings, link)).toList();
  }

  private static RedissonClient client(PeerSettings settings, String link) {
    Config config = new Config();
    config.setUsername(settings.user());
    config.setPassword(settings.password());
    config.setLazyInitialization(true);
    config
        .useSingleServer()
        .setAddress("redis://" + link)
        .setTimeout(settings.nodeTimeoutMillis())
        .setRetryAttempts(1)
        .setRetryDelay(new ConstantDelay(RETRY_DELAY))
        .setReconnectionDelay(new ConstantDelay(RECONNECT_DELAY))
        .setConnectionMinimumIdleSize(4)
        .setConnectionPoolSize(8);
    return Redisson.create(config);
  }

  @Override
  public @Nullable Held tryAcquire(String resource, Duration ttl, Duration wait)
      throws InterruptedException {
    long calledNanos = System.nanoTime();
    RLock lock = lock(resource);
    return lock.tryLock(wait.toMillis(), ttl.toMillis(), TimeUnit.MILLISECONDS)
        ? Countdown.from(calledNanos, ttl, lock::unlock)
        : null;
  }

  @SuppressWarnings("deprecation") // deprecated by its authors, and what people look for
  private RLock lock(String resource) {
    RLock[] locks = clients.stream().map(client -> client.getLock(resource)).toArray(RLock[]::new);
    return new RedissonRedLock(locks);
  }

  @Override
  public void close() {
    clients.forEach(client -> client.shutdown(0, 5, TimeUnit.SECONDS));
  }
}
