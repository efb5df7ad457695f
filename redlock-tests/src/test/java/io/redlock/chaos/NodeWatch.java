package io.redlock.chaos;

import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Unchecked;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Looks at the keys of one master all the time, on a connection of its own and past all proxies,
 * and writes down what has changed.
 */
final class NodeWatch implements AutoCloseable {

  private static final long INTERVAL_NANOS = 30_000_000;

  /** On a busy machine a master may get no processor, and is not to blame. */
  private static final long SLOW_NANOS = 100_000_000;

  private static final String SCRIPT =
      "local seen = {} for _, name in ipairs(KEYS) do"
          + " seen[#seen + 1] = redis.call('GET', name) or ''"
          + " seen[#seen + 1] = redis.call('GET', 'redlock:fence:' .. name) or '0'"
          + " end return seen";

  private final String node;
  private final RedisServer server;
  private final List<String> resources;
  private final Journal journal;
  private final Thread thread;
  private volatile boolean closed;

  NodeWatch(ChaosNode node, List<String> resources, Journal journal) {
    this.node = node.name;
    this.server = node.server;
    this.resources = resources;
    this.journal = journal;
    thread = new Thread(this::run, "watch-" + node.name);
    thread.setDaemon(true);
    thread.start();
  }

  private void run() {
    while (!closed) {
      try (Connection connection = connect()) {
        watch(connection);
      } catch (JedisException e) {
        // Dead, stopped or full: look again later.
      }
      LockSupport.parkNanos(INTERVAL_NANOS);
    }
  }

  private void watch(Connection connection) {
    List<?> before = List.of();
    while (!closed) {
      long fromNanos = System.nanoTime();
      List<?> seen = look(connection);
      long atNanos = System.nanoTime();
      if (atNanos - fromNanos > SLOW_NANOS) {
        journal.write(HistoryEvent.at(atNanos, "%s slow from=%s", node, fromNanos));
      }
      for (int i = 0; i < resources.size(); i++) {
        List<?> pair = seen.subList(2 * i, 2 * i + 2);
        if (before.isEmpty() || !before.subList(2 * i, 2 * i + 2).equals(pair)) {
          journal.write(
              HistoryEvent.at(
                  atNanos,
                  "%s seen resource=%s owner=%s counter=%s from=%s",
                  node,
                  resources.get(i),
                  pair.get(0),
                  pair.get(1),
                  fromNanos));
        }
      }
      before = seen;
      LockSupport.parkNanos(INTERVAL_NANOS);
    }
  }

  private List<?> look(Connection connection) {
    List<String> words =
        new ArrayList<>(List.of("EVAL", SCRIPT, Integer.toString(resources.size())));
    words.addAll(resources);
    return (List<?>) RedisServer.command(connection, words.toArray(String[]::new));
  }

  private Connection connect() {
    return new Connection(
        new HostAndPort(server.host(), server.port()),
        DefaultJedisClientConfig.builder()
            .protocol(RedisProtocol.RESP2)
            .timeoutMillis(500)
            .build());
  }

  @Override
  public void close() {
    closed = true;
    Unchecked.call(() -> thread.join(2_000));
  }
}
