package io.redlock.bench;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's lock over the same masters: one client each, with its default settings. */
final class RedissonPeer extends Peer {

  static final String NAME = "Redisson RedissonRedLock";
  private static final long TTL_MILLIS = 20_000;

  private final List<RedissonClient> clients;

  RedissonPeer(String... addresses) {
    super(NAME, "redisson/");
    clients = Stream.of(addresses).map(RedissonPeer::client).toList();
  }

  static RedissonClient client(String address) {
    Config config = new Config();
    config.useSingleServer().setAddress(address);
    return Redisson.create(config);
  }

  static void close(RedissonClient client) {
    client.shutdown(0, 5, TimeUnit.SECONDS);
  }

  @Override
  @SuppressWarnings("deprecation") // deprecated by its authors, and what people look for
  Cycle cycle(String resource, Duration wait) {
    RLock[] locks = clients.stream().map(client -> client.getLock(resource)).toArray(RLock[]::new);
    RLock lock = new RedissonRedLock(locks);
    return () -> {
      if (!lock.tryLock(wait.toMillis(), TTL_MILLIS, TimeUnit.MILLISECONDS)) {
        return 0;
      }
      lock.unlock();
      return 1;
    };
  }

  @Override
  public void close() {
    clients.forEach(RedissonPeer::close);
  }
}
