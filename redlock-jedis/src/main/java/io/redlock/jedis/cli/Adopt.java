package io.redlock.jedis.cli;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * {@link JedisRedlock#adopt} from a command line: {@code java -cp … io.redlock.jedis.cli.Adopt
 * [--key-prefix=P | --forget-abstention] 10.0.0.1:6379 10.0.0.2:6379 10.0.0.3:6379}. With {@code
 * --forget-abstention} it is {@link JedisRedlock.Builder#forgetAbstention}. Exits with 0 if that
 * succeeded with all masters, with 1 if not, with 2 if the addresses are not sound.
 */
final class Adopt {

  private static final String KEY_PREFIX = "--key-prefix=";
  private static final String FORGET = "--forget-abstention";

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
