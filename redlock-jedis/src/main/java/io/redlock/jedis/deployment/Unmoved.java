package io.redlock.jedis.deployment;

import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.deployment.Survey.Answer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;

/**
 * The clients whose connections do not say that they run with movingTo.
 *
 * @param clients their names
 * @param unknown the reason why a master does not name its clients, by its name
 */
public record Unmoved(Set<String> clients, Map<String, String> unknown) {

  /** The suffix of a connection's name if its client has movingTo. */
  static final String MOVING = ">";

  /** Another one that runs scripts, as each of a client does once a second. */
  private static final Pattern CLIENT =
      Pattern.compile("(?m)^id=\\d+ .*? name=(\\S*[^\\s" + MOVING + "]) .*? cmd=eval(?:sha)? ");

  /** Returns those that the masters name, except those that are gone for good. */
  public static Unmoved of(Survey survey, Set<String> gone) {
    List<NodePool> asked =
        survey.masters().stream().filter(each -> !gone.contains(each.name())).toList();
    Function<Connection, String> question =
        connection -> NodePool.text(connection, Protocol.Command.CLIENT, "LIST");
    Set<String> clients = new TreeSet<>();
    Map<String, String> unknown = new TreeMap<>();
    for (Answer<String> answer : survey.ask(asked, question, Duration.ZERO)) {
      String list = answer.value();
      if (list == null) {
        unknown.put(answer.master(), answer.failureText());
      } else {
        CLIENT.matcher(list).results().forEach(client -> clients.add(client.group(1)));
      }
    }
    return new Unmoved(clients, unknown);
  }

  /** Returns why a commit stops; empty if it goes on, and then says in spite of what. */
  String stopping(boolean forces, Consumer<String> out) {
    String known = toString();
    boolean stops = !clients.isEmpty() && !forces;
    if (!stops && !known.isEmpty()) {
      out.accept(known);
    }
    return stops ? known : "";
  }

  /** Returns a sentence; empty if all clients are known to move. */
  @Override
  public String toString() {
    List<String> all = new ArrayList<>();
    unknown.forEach(
        (name, why) -> all.add("clients without movingTo are unknown: " + name + ": " + why));
    if (!clients.isEmpty()) {
      all.add("connected without movingTo, as CLIENT LIST shows: " + String.join(", ", clients));
    }
    return String.join("; ", all);
  }
}
