package io.redlock.jedis.scripts;

import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Replies of nodes as scenes tell them, with the secrets that their own texts leave out, and the
 * scripts to which they are.
 */
public final class Replies {

  private static final Map<String, Script> SCRIPTS = new HashMap<>();

  static {
    for (Script each : Script.values()) {
      SCRIPTS.put(new String(each.sha.getRaw(), StandardCharsets.UTF_8), each);
      SCRIPTS.put(new String(each.text.getRaw(), StandardCharsets.UTF_8), each);
    }
  }

  private Replies() {}

  /** Returns the script that a command names or carries. */
  public static Script script(List<String> command) {
    return Objects.requireNonNull(SCRIPTS.get(command.get(1)), command::toString);
  }

  /** Returns all that an answer says. */
  public static String text(@Nullable NodeReply reply) {
    if (reply == null) {
      return "out of step";
    }
    NodeReport report = reply.report();
    NodeLook look = reply.look();
    return reply.kind()
        + (reply.remainingMillis() == -1 ? "" : " " + reply.remainingMillis() + " ms")
        + (reply.counter() == 0 ? "" : " #" + reply.counter())
        + (reply.detail().isEmpty() ? "" : " " + reply.detail())
        + (reply.owner().isEmpty() ? "" : " (owner " + reply.owner() + ")")
        + (report == null ? "" : ": " + text(report))
        + (look == null ? "" : ": " + text(look));
  }

  private static String text(NodeReport report) {
    List<String> readers =
        report.readers().stream().map(each -> each + " (" + each.owner() + ")").toList();
    return report.owner()
        + (" " + report.remainingMillis() + " ms #" + report.counter())
        + (", waiting " + report.waiting() + " " + report.waiters())
        + (", reading " + report.reading() + " " + readers + " " + report.doubt()).stripTrailing();
  }

  private static String text(NodeLook look) {
    int names = look.remainingMillis().size();
    Object held = names < 10 ? look.remainingMillis() : names + " names";
    return (held + " " + look.doubt()).stripTrailing();
  }
}
