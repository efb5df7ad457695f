package io.redlock.bench;

import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Predicate;
import java.util.stream.Stream;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.params.SetParams;

/**
 * What people write by hand: a pool of connections per master, a task per master on a thread pool,
 * {@code SET NX PX}, and a script that deletes only what is one's own. No counters, no deadlines.
 */
@SuppressWarnings("deprecation") // JedisPool still is what people use
final class PoolsPeer extends Peer {

  static final String NAME = "JedisPool per node";

  private static final String DELETE_OWN =
      "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";
  private static final long TTL_MILLIS = 20_000;

  private final List<JedisPool> pools;
  private final ExecutorService threads = Executors.newCachedThreadPool();

  PoolsPeer(int callers, String... addresses) {
    super(NAME, "pools/");
    JedisPoolConfig config = new JedisPoolConfig();
    config.setMaxTotal(Math.max(8, callers));
    config.setMaxIdle(Math.max(8, callers));
    pools =
        Stream.of(addresses)
            .map(URI::create)
            .map(address -> new JedisPool(config, address.getHost(), address.getPort()))
            .toList();
  }

  @Override
  Cycle cycle(String resource, Duration wait) {
    return () -> {
      String owner = UUID.randomUUID().toString();
      SetParams ifFree = SetParams.setParams().nx().px(TTL_MILLIS);
      require(onAll(jedis -> "OK".equals(jedis.set(resource, owner, ifFree))));
      List<String> keys = List.of(resource);
      require(onAll(jedis -> jedis.eval(DELETE_OWN, keys, List.of(owner)).equals(1L)));
      return 1;
    };
  }

  private int onAll(Predicate<Jedis> command) throws Exception {
    List<Callable<Boolean>> tasks = new ArrayList<>();
    for (JedisPool pool : pools) {
      tasks.add(
          () -> {
            try (Jedis jedis = pool.getResource()) {
              return command.test(jedis);
            }
          });
    }
    int yes = 0;
    for (Future<Boolean> each : threads.invokeAll(tasks)) {
      yes += each.get() ? 1 : 0;
    }
    return yes;
  }

  private void require(int yes) {
    if (yes <= pools.size() / 2) {
      throw new IllegalStateException("only " + yes + " masters agreed");
    }
  }

  @Override
  public void close() {
    threads.shutdown();
    pools.forEach(JedisPool::close);
  }
}
