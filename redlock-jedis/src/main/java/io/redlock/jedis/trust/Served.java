package io.redlock.jedis.trust;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The clients that a node serves, as its mark lists them: for example {@code |3|}, {@code
 * |3|3>5#k7f2|} while clients of three masters begin to move to five, {@code |} if the node has
 * left. A node refuses the grants and extends of all others.
 *
 * @param text the labels, each between bars
 */
public record Served(String text) {

  /** No client: the node has left. */
  public static final Served NOBODY = new Served("|");

  /** In the list of a node whose change of masters is being aborted; no client is called so. */
  static final String ABORTING = "abort";

  static final String FORM =
      "\\|(?:(?:\\d{1,3}(?:>\\d{1,3}#[0-9a-z]{1,24})?|" + ABORTING + ")\\|)*";

  private static final Pattern JOINT = Pattern.compile("\\|(\\d+)>(\\d+)#(\\w+)(?=\\|)");

  /** Returns the list of these labels. */
  public static Served of(String... labels) {
    StringBuilder text = new StringBuilder("|");
    for (String label : labels) {
      text.append(label).append('|');
    }
    return new Served(text.toString());
  }

  /** Returns the part of a list that names this client; the scripts look for it. */
  static String part(String label) {
    return "|" + label + "|";
  }

  /** Returns true if the clients of this label are served. */
  public boolean includes(String label) {
    return text.contains(part(label));
  }

  /** Returns true if the node has left. */
  boolean isNobody() {
    return text.equals("|");
  }

  /** Returns true if a change of masters is under way, as far as the node knows. */
  boolean isChanging() {
    return JOINT.matcher(text).find();
  }

  /** Returns the change in which these clients move; empty if the node serves none that do. */
  public Optional<String> change(Membership client) {
    Matcher joint = JOINT.matcher(text);
    while (joint.find()) {
      Membership served =
          new Membership(Integer.parseInt(joint.group(1)), Integer.parseInt(joint.group(2)));
      if (served.equals(client)) {
        return Optional.of(joint.group(3));
      }
    }
    return Optional.empty();
  }

  /** Returns true if the present clients of a change move from this number of masters. */
  boolean isLeftByClientsOf(int masters) {
    return JOINT.matcher(text).results().anyMatch(of -> of.group(1).equals("" + masters));
  }

  /** Returns true if a change is under way to this number of masters. */
  boolean isAwaitingClientsOf(int masters) {
    return JOINT.matcher(text).results().anyMatch(of -> of.group(2).equals("" + masters));
  }

  /** Returns the numbers of masters of the clients that are served and do not move. */
  String mastersOfClients() {
    return Stream.of(text.split("\\|"))
        .filter(label -> label.matches("\\d+"))
        .collect(Collectors.joining(" or "));
  }

  @Override
  public String toString() {
    return text;
  }
}
