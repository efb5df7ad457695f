package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.Survey.Answer;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Protocol;

/**
 * The clients whose connections do not say that they run with movingTo.
 *
 * @param clients their names
 * @param unknown the reason why a master does not name its clients; empty if all do
 */
public record Unmoved(Set<String> clients, String unknown) {

  /** The suffix of a connection's name if its client has movingTo. */
  static final String MOVING = ">";

  /** A named connection that runs scripts, as each of a client does once a second. */
  private static final Pattern CLIENT =
      Pattern.compile("(?m)^id=\\d+ .*? name=(\\S+) .*? cmd=eval(?:sha)? ");

  /** Returns those that the masters name. */
  public static Unmoved of(Survey survey) {
    Set<String> unmoved = new TreeSet<>();
    String unknown = "";
    for (Answer<String> answer :
        survey.ask(
            connection -> ProbedMasters.text(connection, Protocol.Command.CLIENT, "LIST"),
            Duration.ZERO)) {
      String clients = answer.value();
      if (clients == null) {
        unknown = answer.failureText();
        continue;
      }
      Matcher client = CLIENT.matcher(clients);
      while (client.find()) {
        if (!client.group(1).endsWith(MOVING)) {
          unmoved.add(client.group(1));
        }
      }
    }
    return new Unmoved(unmoved, unknown);
  }

  /** Returns why they stop a commit; if they do not, says what is known of them. */
  String stopping(boolean forces, Consumer<String> out) {
    if (!clients.isEmpty() && !forces) {
      return toString();
    }
    if (!toString().isEmpty()) {
      out.accept(toString());
    }
    return "";
  }

  /** Returns a sentence; empty if all clients are known to move. */
  @Override
  public String toString() {
    return !clients.isEmpty()
        ? "connected without movingTo, as CLIENT LIST shows: " + String.join(", ", clients)
        : unknown.isEmpty() ? "" : "clients without movingTo are unknown: " + unknown;
  }
}
