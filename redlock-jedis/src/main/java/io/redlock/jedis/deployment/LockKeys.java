package io.redlock.jedis.deployment;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.text.Brief;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;

/** The keys that locks leave on a master, found by SCAN. */
public final class LockKeys {

  private static final String OF_THE_LIBRARY = "redlock:*";

  /** As many keys are looked at in one step. */
  private static final int PAGE = 1_000;

  /** The most keys of a master that are looked at. */
  public static final long MOST_KEYS = 1_000_000;

  /** The longest search of a master. */
  public static final Duration LONGEST = Duration.ofSeconds(10);

  private static final long GONE = -2; // in place of a life

  /** The most locks of a master that are listed. */
  public static final int MOST_LOCKS = 1_000;

  /**
   * The result of a search.
   *
   * @param keys the keys that are locked, prefix included
   * @param isComplete false if a bound was reached
   */
  public record Found(Set<String> keys, boolean isComplete) {}

  private LockKeys() {}

  /** Returns a key that a lock left behind; empty if there is none. */
  public static String any(Connection connection, String keyPrefix) {
    UnaryOperator<List<String>> isLeft =
        keys -> keys.stream().filter(key -> !key.equals(BirthMark.KEY)).limit(1).toList();
    String key = first(connection, OF_THE_LIBRARY, isLeft);
    return key.isEmpty() && !keyPrefix.isEmpty()
        ? first(connection, pattern(keyPrefix), isLeft)
        : key;
  }

  /** Returns some of the locks that last longer than so many milliseconds; empty if none does. */
  static String longer(Connection connection, long millis) {
    String counters = pattern(RequestEncoder.FENCE_PREFIX);
    return Brief.text(first(connection, counters, some -> locked(connection, some, millis)));
  }

  private static String first(
      Connection connection, String pattern, UnaryOperator<List<String>> which) {
    List<String> found = new ArrayList<>();
    scan(
        connection,
        pattern,
        keys -> {
          found.addAll(which.apply(keys));
          return found.isEmpty();
        });
    return String.join(" + ", found);
  }

  /**
   * Searches a master for the keys that are locked, by their counters. A lock of another Redlock
   * client has no counter, so it looks like any other key. Only reads, in small steps, and ends.
   *
   * @param prefix the beginning of the keys
   */
  public static Found search(Connection connection, String prefix) {
    long beganNanos = System.nanoTime();
    AtomicLong looked = new AtomicLong();
    Set<String> locked = new TreeSet<>();
    boolean isComplete =
        scan(
            connection,
            pattern(RequestEncoder.FENCE_PREFIX + prefix),
            counters -> {
              locked.addAll(locked(connection, counters, GONE));
              return locked.size() <= MOST_LOCKS
                  && looked.addAndGet(PAGE) < MOST_KEYS
                  && System.nanoTime() - beganNanos <= LONGEST.toNanos();
            });
    return new Found(locked, isComplete);
  }

  /**
   * Returns the keys that live longer than that, of whatever type, of those that the counters
   * belong to.
   */
  private static List<String> locked(Connection connection, List<String> counters, long millis) {
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
      if (lives.get(i) instanceof Long life && life > millis) {
        locked.add(names.get(i));
      }
    }
    return locked;
  }

  /**
   * Scans the keys that match a pattern.
   *
   * @param page takes some of them, and returns true to go on
   * @return true if the scan came to its end
   */
  static boolean scan(Connection connection, String pattern, Predicate<List<String>> page) {
    String cursor = "0";
    do {
      CommandArguments scan =
          new CommandArguments(Protocol.Command.SCAN)
              .add(cursor)
              .add("MATCH")
              .add(pattern)
              .add("COUNT")
              .add(Integer.toString(PAGE));
      if (!(connection.executeCommand(scan) instanceof List<?> answer && answer.size() == 2)) {
        throw new JedisException("unexpected answer to SCAN");
      }
      List<String> keys = ((List<?>) answer.get(1)).stream().map(LockKeys::text).toList();
      if (!page.test(keys)) {
        return false;
      }
      cursor = text(answer.get(0));
    } while (!cursor.equals("0"));
    return true;
  }

  /** Returns a pattern that matches what begins with this text, whatever it contains. */
  private static String pattern(String prefix) {
    return prefix.replaceAll("[\\\\*?\\[\\]^-]", "\\\\$0") + "*";
  }

  private static String text(Object bytes) {
    return new String((byte[]) bytes, StandardCharsets.UTF_8);
  }
}
