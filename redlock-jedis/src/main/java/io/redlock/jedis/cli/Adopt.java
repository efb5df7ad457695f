package io.redlock.jedis.cli;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * {@link JedisRedlock#adopt} from a command line: {@code java -cp … io.redlock.jedis.cli.Adopt
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
    JedisRedlock.Builder builder = JedisRedlock.builder().keyPrefix(keyPrefix);
    Terminal.words(words.toArray(String[]::new), System.in).forEach(builder::node);
    System.exit(run(builder, System.out));
  }

  static int run(JedisRedlock.Builder builder, PrintStream out) {
    try {
      AdoptReport report = builder.adopt();
      out.println(report);
      return report.isComplete() ? 0 : 1;
    } catch (IllegalArgumentException e) {
      out.println(e.getMessage());
      return 2;
    }
  }
}
