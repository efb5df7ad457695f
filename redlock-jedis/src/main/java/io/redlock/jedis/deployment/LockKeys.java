package io.redlock.jedis.deployment;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.settings.Setting;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import redis.clients.jedis.BuilderFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;

/** The keys that locks leave on a master, found by SCAN. */
public final class LockKeys {

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

  private static final ScanResult<String> END = new ScanResult<>("", List.of());

  private LockKeys() {}

  /** Returns a key that a lock left behind; empty if there is none. */
  static String any(Connection connection, String keyPrefix) {
    return Stream.of(Setting.RESERVED, keyPrefix)
        .filter(prefix -> !prefix.isEmpty())
        .flatMap(prefix -> scan(connection, prefix))
        .flatMap(List::stream)
        .filter(key -> !key.equals(BirthMark.KEY))
        .findFirst()
        .orElse("");
  }

  /** Returns some of the locks that last longer than so many milliseconds; empty if none does. */
  static String longer(Connection connection, long millis) {
    return scan(connection, RequestEncoder.FENCE_PREFIX)
        .map(counters -> Brief.text(String.join(" + ", locked(connection, counters, millis))))
        .filter(locks -> !locks.isEmpty())
        .findFirst()
        .orElse("");
  }

  /**
   * Searches a master for the keys that are locked, by their counters. A lock of another Redlock
   * client has no counter, so it looks like any other key. Only reads, in small steps, and ends.
   *
   * @param prefix the beginning of the keys
   */
  public static Found search(Connection connection, String prefix) {
    long beganNanos = System.nanoTime();
    long looked = 0;
    Set<String> locked = new TreeSet<>();
    Stream<List<String>> all = scan(connection, RequestEncoder.FENCE_PREFIX + prefix);
    for (List<String> counters : (Iterable<List<String>>) all::iterator) {
      locked.addAll(locked(connection, counters, GONE));
      looked += PAGE;
      if (locked.size() > MOST_LOCKS
          || looked >= MOST_KEYS
          || System.nanoTime() - beganNanos > LONGEST.toNanos()) {
        return new Found(locked, false);
      }
    }
    return new Found(locked, true);
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
    names.forEach(name -> connection.sendCommand(Protocol.Command.PTTL, name));
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

  /** Returns the keys with a prefix, whatever it contains, in pages that are read when needed. */
  static Stream<List<String>> scan(Connection connection, String prefix) {
    String pattern = prefix.replaceAll("[\\\\*?\\[\\]^-]", "\\\\$0") + "*";
    return Stream.iterate(
            page(connection, pattern, ScanParams.SCAN_POINTER_START),
            page -> page != END,
            page -> page.isCompleteIteration() ? END : page(connection, pattern, page.getCursor()))
        .map(ScanResult::getResult);
  }

  private static ScanResult<String> page(Connection connection, String pattern, String cursor) {
    String count = Integer.toString(PAGE);
    connection.sendCommand(Protocol.Command.SCAN, cursor, "MATCH", pattern, "COUNT", count);
    return BuilderFactory.SCAN_RESPONSE.build(connection.getOne());
  }
}
