package io.redlock.chaos.peers;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisSentinelPool;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.util.Pool;

/**
 * The lock of every tutorial: {@code SET NX PX} with a random value, and a script that deletes the
 * key if it still has that value. On one master, or on the master that Sentinel names.
 */
final class HandWrittenLocks implements PeerLocks {

  static final String MASTER = "locks";

  private static final String RELEASE =
      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1])"
          + " else return 0 end";

  private final Pool<Jedis> pool;

  @SuppressWarnings("deprecation") // what the tutorials use
  HandWrittenLocks(PeerSettings settings) throws InterruptedException {
    GenericObjectPoolConfig<Jedis> pooling = new GenericObjectPoolConfig<>();
    pooling.setMaxTotal(8);
    pooling.setMaxIdle(8);
    pooling.setMaxWait(settings.nodeTimeout());
    pooling.setTestOnBorrow(true);
    pooling.setJmxEnabled(false);
    DefaultJedisClientConfig.Builder client =
        DefaultJedisClientConfig.builder()
            .user(settings.user())
            .password(settings.password())
            .connectionTimeoutMillis(settings.nodeTimeoutMillis())
            .socketTimeoutMillis(settings.nodeTimeoutMillis());
    if (settings.sentinels().isEmpty()) {
      HostAndPort master = HostAndPort.from(settings.links().get(0));
      pool = new JedisPool(pooling, master, client.build());
    } else {
      client.hostAndPortMapper(server -> link(settings, server));
      pool = withSentinels(settings, pooling, client);
    }
  }

  /** The way of this client to a server, which Sentinel names by where it is. */
  private static HostAndPort link(PeerSettings settings, HostAndPort server) {
    int which = settings.servers().indexOf(server.toString());
    return which < 0 ? server : HostAndPort.from(settings.links().get(which));
  }

  @SuppressWarnings("deprecation")
  private static Pool<Jedis> withSentinels(
      PeerSettings settings,
      GenericObjectPoolConfig<Jedis> pooling,
      DefaultJedisClientConfig.Builder client)
      throws InterruptedException {
    Set<HostAndPort> sentinels = new HashSet<>();
    for (String sentinel : settings.sentinels()) {
      sentinels.add(HostAndPort.from(sentinel));
    }
    return new JedisSentinelPool(
        MASTER,
        sentinels,
        pooling,
        client.build(),
        DefaultJedisClientConfig.builder().timeoutMillis(2_000).build());
  }

  @Override
  public @Nullable Held tryAcquire(String resource, Duration ttl, Duration wait) {
    long untilNanos = System.nanoTime() + wait.toNanos();
    while (true) {
      long calledNanos = System.nanoTime();
      String owner = UUID.randomUUID().toString();
      if (set(resource, owner, ttl)) {
        return Countdown.from(calledNanos, ttl, () -> delete(resource, owner));
      }
      if (System.nanoTime() - untilNanos >= 0) {
        return null;
      }
      LockSupport.parkNanos(
          TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextInt(10, 50)));
    }
  }

  private boolean set(String resource, String owner, Duration ttl) {
    try (Jedis jedis = pool.getResource()) {
      return jedis.set(resource, owner, SetParams.setParams().nx().px(ttl.toMillis())) != null;
    }
  }

  private void delete(String resource, String owner) {
    try (Jedis jedis = pool.getResource()) {
      jedis.eval(RELEASE, List.of(resource), List.of(owner));
    }
  }

  @Override
  public void close() {
    pool.close();
  }
}
