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
import java.util.regex.Pattern;
import redis.clients.jedis.Protocol;

/**
 * The clients whose connections do not say that they run with movingTo.
 *
 * @param clients their names
 * @param unknown the reason why a master does not name its clients, by its name
 */
public record Unmoved(Set<String> clients, Map<String, String> unknown) {

  /** All clients are known to move. */
  static final Unmoved NONE = new Unmoved(Set.of(), Map.of());

  /** The suffix of a connection's name if its client has movingTo. */
  static final String MOVING = ">";

  /** A named connection that runs scripts, as each of a client does once a second. */
  private static final Pattern CLIENT =
      Pattern.compile("(?m)^id=\\d+ .*? name=(\\S+) .*? cmd=eval(?:sha)? ");

  /** Returns those that the masters name, except those that are gone for good. */
  public static Unmoved of(Survey survey, Set<String> gone) {
    List<NodePool> asked =
        survey.masters().stream().filter(each -> !gone.contains(each.name())).toList();
    List<Answer<String>> answers =
        survey.ask(
            asked,
            connection -> NodePool.text(connection, Protocol.Command.CLIENT, "LIST"),
            Duration.ZERO);
    Set<String> clients = new TreeSet<>();
    Map<String, String> unknown = new TreeMap<>();
    for (int i = 0; i < answers.size(); i++) {
      String list = answers.get(i).value();
      if (list == null) {
        unknown.put(asked.get(i).name(), answers.get(i).failureText());
        continue;
      }
      CLIENT
          .matcher(list)
          .results()
          .map(client -> client.group(1))
          .filter(name -> !name.endsWith(MOVING))
          .forEach(clients::add);
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
