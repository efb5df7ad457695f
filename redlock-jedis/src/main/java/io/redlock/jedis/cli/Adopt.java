package io.redlock.jedis.cli;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The command line of {@link JedisRedlock#adopt}: {@code java -cp … io.redlock.jedis.cli.Adopt
 * [--key-prefix=P | --forget-abstention] 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379}. {@code
 * --forget-abstention} calls {@link JedisRedlock.Builder#forgetAbstention} instead. Exits with 0 if
 * all masters succeeded, with 1 if one did not, with 2 if the addresses are not valid.
 */
final class Adopt {

  private static final String KEY_PREFIX = "--key-prefix=";
  private static final String FORGET = "--forget-abstention";

  private Adopt() {}

  /**
   * Runs the command and exits.
   *
   * @param args addresses of all masters of the deployment, as for {@link JedisRedlock#connect};
   *     without any, they are read from standard input
   */
  public static void main(String[] args) {
    List<String> words = new ArrayList<>(List.of(args));
    String keyPrefix = "";
    if (!words.isEmpty() && words.get(0).startsWith(KEY_PREFIX)) {
      keyPrefix = words.remove(0).substring(KEY_PREFIX.length());
    }
    boolean forget = words.remove(FORGET);
    JedisRedlock.Builder builder = JedisRedlock.builder().keyPrefix(keyPrefix);
    Terminal.words(words.toArray(String[]::new), System.in).forEach(builder::node);
    System.exit(run(builder, forget, System.out));
  }

  static int run(JedisRedlock.Builder builder, boolean forget, PrintStream out) {
    try {
      AdoptReport report = forget ? builder.forgetAbstention() : builder.adopt();
      out.println(report);
      return report.isComplete() ? 0 : 1;
    } catch (IllegalArgumentException e) {
      out.println(e.getMessage());
      return 2;
    }
  }
}
