package io.redlock.jedis.deployment;

import io.redlock.jedis.scripts.RequestEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;

/**
 * The keys that are locked on one master, found by their counters. A lock of another Redlock client
 * has no counter, so it looks like any other key. The search only reads, in small steps, and ends.
 */
public final class LockNames {

  /** The most keys of a master that are looked at. */
  public static final long MOST_KEYS = 1_000_000;

  /** The longest search of a master. */
  public static final Duration LONGEST = Duration.ofSeconds(10);

  /** The most locks of a master that are listed. */
  public static final int MOST_LOCKS = 1_000;

  private static final int PAGE = 1_000;

  /**
   * The result.
   *
   * @param keys the keys that are locked, prefix included
   * @param isComplete false if a bound was reached
   */
  public record Found(Set<String> keys, boolean isComplete) {}

  private LockNames() {}

  /** Returns the locked keys that begin with the prefix. */
  public static Found search(Connection connection, String prefix) {
    long beganNanos = System.nanoTime();
    Set<String> locked = new TreeSet<>();
    String cursor = "0";
    for (long looked = 0; looked < MOST_KEYS; looked += PAGE) {
      List<?> page = page(connection, cursor, RequestEncoder.FENCE_PREFIX + prefix);
      List<String> names = new ArrayList<>();
      for (Object each : (List<?>) page.get(1)) {
        names.add(text(each).substring(RequestEncoder.FENCE_PREFIX.length()));
      }
      locked.addAll(locked(connection, names));
      cursor = text(page.get(0));
      if (locked.size() > MOST_LOCKS || System.nanoTime() - beganNanos > LONGEST.toNanos()) {
        return new Found(locked, false);
      }
      if (cursor.equals("0")) {
        return new Found(locked, true);
      }
    }
    return new Found(locked, false);
  }

  private static List<?> page(Connection connection, String cursor, String prefix) {
    CommandArguments scan =
        new CommandArguments(Protocol.Command.SCAN)
            .add(cursor)
            .add("MATCH")
            .add(escaped(prefix) + "*")
            .add("COUNT")
            .add(Integer.toString(PAGE));
    if (connection.executeCommand(scan) instanceof List<?> page && page.size() == 2) {
      return page;
    }
    throw new JedisException("unexpected answer to SCAN");
  }

  /** Returns those of the names that have a key, of whatever type. */
  private static List<String> locked(Connection connection, List<String> names) {
    for (String name : names) {
      connection.sendCommand(new CommandArguments(Protocol.Command.PTTL).add(name));
    }
    List<Object> lives = names.isEmpty() ? List.of() : connection.getMany(names.size());
    List<String> locked = new ArrayList<>();
    for (int i = 0; i < names.size(); i++) {
      if (lives.get(i) instanceof JedisException denied) {
        throw denied;
      }
      if (!Long.valueOf(-2).equals(lives.get(i))) {
        locked.add(names.get(i));
      }
    }
    return locked;
  }

  /** Returns a pattern that matches this text only. */
  public static String escaped(String text) {
    return text.replaceAll("[\\\\*?\\[\\]^-]", "\\\\$0");
  }

  private static String text(Object bytes) {
    return new String((byte[]) bytes, StandardCharsets.UTF_8);
  }
}
