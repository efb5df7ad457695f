package io.redlock.jedis.deployment;

import io.redlock.jedis.membership.BirthMark;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;

/** The keys that locks leave on a master, found by SCAN. */
public final class LockKeys {

  private static final String OF_THE_LIBRARY = "redlock:*";

  /** As many keys are looked at in one step. */
  static final int PAGE = 1_000;

  private LockKeys() {}

  /** Returns a key that a lock left behind; empty if there is none. */
  public static String any(Connection connection, String keyPrefix) {
    String key = first(connection, OF_THE_LIBRARY);
    return key.isEmpty() && !keyPrefix.isEmpty() ? first(connection, pattern(keyPrefix)) : key;
  }

  private static String first(Connection connection, String pattern) {
    List<String> found = new ArrayList<>();
    scan(
        connection,
        pattern,
        keys -> {
          keys.stream().filter(key -> !key.equals(BirthMark.KEY)).limit(1).forEach(found::add);
          return found.isEmpty();
        });
    return found.isEmpty() ? "" : found.get(0);
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
  public static String pattern(String prefix) {
    return prefix.replaceAll("[\\\\*?\\[\\]^-]", "\\\\$0") + "*";
  }

  private static String text(Object bytes) {
    return new String((byte[]) bytes, StandardCharsets.UTF_8);
  }
}
