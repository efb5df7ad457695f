package io.redlock.jedis.deployment;

import io.redlock.jedis.scripts.RequestEncoder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A search for the keys that are locked on one master, by their counters. A lock of another Redlock
 * client has no counter, so it looks like any other key. The search only reads, in small steps, and
 * ends.
 */
public final class LockSearch {

  /** The most keys of a master that are looked at. */
  public static final long MOST_KEYS = 1_000_000;

  /** The longest search of a master. */
  public static final Duration LONGEST = Duration.ofSeconds(10);

  /** The most locks of a master that are listed. */
  public static final int MOST_LOCKS = 1_000;

  /**
   * The result.
   *
   * @param keys the keys that are locked, prefix included
   * @param isComplete false if a bound was reached
   */
  public record Found(Set<String> keys, boolean isComplete) {}

  private LockSearch() {}

  /** Returns the locked keys that begin with the prefix. */
  public static Found search(Connection connection, String prefix) {
    long beganNanos = System.nanoTime();
    AtomicLong looked = new AtomicLong();
    Set<String> locked = new TreeSet<>();
    boolean isComplete =
        LockKeys.scan(
            connection,
            LockKeys.pattern(RequestEncoder.FENCE_PREFIX + prefix),
            counters -> {
              locked.addAll(locked(connection, counters));
              return locked.size() <= MOST_LOCKS
                  && looked.addAndGet(LockKeys.PAGE) < MOST_KEYS
                  && System.nanoTime() - beganNanos <= LONGEST.toNanos();
            });
    return new Found(locked, isComplete);
  }

  /** Returns the keys that are there, of whatever type, of those that the counters belong to. */
  private static List<String> locked(Connection connection, List<String> counters) {
    List<String> names =
        counters.stream()
            .map(counter -> counter.substring(RequestEncoder.FENCE_PREFIX.length()))
            .toList();
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
}
