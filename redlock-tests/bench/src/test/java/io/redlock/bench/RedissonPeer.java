package io.redlock.bench;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's lock over the same masters: one client each, with its default settings. */
final class RedissonPeer implements Peer {

  static final String NAME = "Redisson RedissonRedLock";

  private static final long TTL_MILLIS = 20_000;
  private static final AtomicLong RESOURCES = new AtomicLong();

  private final List<RedissonClient> clients;

  RedissonPeer(String... addresses) {
    clients = Stream.of(addresses).map(RedissonPeer::client).toList();
  }

  private static RedissonClient client(String address) {
    Config config = new Config();
    config.useSingleServer().setAddress(address);
    return Redisson.create(config);
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
    RLock lock = lock("redisson/" + RESOURCES.incrementAndGet());
    return () -> {
      if (!lock.tryLock(0, TTL_MILLIS, TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException("not locked, though nobody else wants it");
      }
      lock.unlock();
      return 1;
    };
  }

  @SuppressWarnings("deprecation") // deprecated by its authors, and what people look for
  private RLock lock(String resource) {
    RLock[] locks = clients.stream().map(client -> client.getLock(resource)).toArray(RLock[]::new);
    return new RedissonRedLock(locks);
  }

  /** A cycle of threads that all want the same resource; 0 if it was not had within a second. */
  Cycle contender(String resource) {
    RLock lock = lock(resource);
    return () -> {
      if (!lock.tryLock(1_000, TTL_MILLIS, TimeUnit.MILLISECONDS)) {
        return 0;
      }
      lock.unlock();
      return 1;
    };
  }

  @Override
  public void close() {
    clients.forEach(client -> client.shutdown(0, 5, TimeUnit.SECONDS));
  }
}
