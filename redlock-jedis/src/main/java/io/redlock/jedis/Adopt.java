package io.redlock.jedis;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * {@link JedisRedlock#adopt} from a command line: {@code java -cp … io.redlock.jedis.Adopt
 * [--key-prefix=P] 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379}. Exits with 0 if all masters are
 * trusted now, with 1 if not, with 2 if the addresses are not sound.
 */
final class Adopt {

  private static final String KEY_PREFIX = "--key-prefix=";

  private Adopt() {}

  /**
   * Never returns.
   *
   * @param args addresses as for {@link JedisRedlock#connect}, of all masters of the deployment;
   *     without any, they are read from the standard input
   */
  public static void main(String[] args) {
    List<String> words = new ArrayList<>(List.of(args));
    String keyPrefix = "";
    if (!words.isEmpty() && words.get(0).startsWith(KEY_PREFIX)) {
      keyPrefix = words.remove(0).substring(KEY_PREFIX.length());
    }
    List<String> addresses = CommandLine.words(words.toArray(String[]::new), System.in);
    System.exit(run(keyPrefix, addresses, System.out));
  }

  static int run(String keyPrefix, List<String> addresses, PrintStream out) {
    JedisRedlock.Builder builder = JedisRedlock.builder().keyPrefix(keyPrefix);
    try {
      addresses.forEach(builder::node);
      AdoptReport report = builder.adopt();
      out.println(report);
      return report.isComplete() ? 0 : 1;
    } catch (IllegalArgumentException e) {
      out.println(e.getMessage());
      return 2;
    }
  }
}
