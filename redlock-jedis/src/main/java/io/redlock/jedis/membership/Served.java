package io.redlock.jedis.membership;

import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The clients that a node serves, as its mark lists them: those of a set by its id, those that move
 * by both ids. For example {@code |k7f2|}, {@code |k7f2|k7f2>m3d9|} while clients begin to move
 * from one set to another, {@code |} if the node has left. A node refuses the grants and extends of
 * all others.
 *
 * @param text the labels, each between bars
 */
public record Served(String text) {

  /** No client: the node has left. */
  public static final Served NOBODY = new Served("|");

  /** The list of a node without a mark that counts. */
  public static final Served UNMARKED = new Served("");

  /** In the list of a node whose change of masters is being aborted; no set is called so. */
  static final String ABORTING = "-abort-";

  /** In the list of a present node whose change of masters cannot be undone any more. */
  static final String NO_RETURN = "-no-return-";

  static final String FORM =
      "\\|(?:(?:[0-9a-z]{1,24}(?:>[0-9a-z]{1,24})?|" + ABORTING + "|" + NO_RETURN + ")\\|)*";

  private static final Pattern BAR = Pattern.compile("\\|");

  /** Returns the list of these labels. */
  public static Served of(String... labels) {
    return of(List.of(labels));
  }

  static Served of(List<String> labels) {
    return new Served(
        "|" + labels.stream().map(label -> label + "|").collect(Collectors.joining()));
  }

  /** Returns the label of the clients of a set, or of those that move from one to another. */
  public static String label(List<String> ids) {
    return String.join(">", ids);
  }

  /** Returns the part of a list that names this client; the scripts look for it. */
  static String part(String label) {
    return "|" + label + "|";
  }

  List<String> labels() {
    return BAR.splitAsStream(text).skip(1).toList(); // before the first bar is none
  }

  /** Returns true if the clients of this label are served. */
  public boolean includes(String label) {
    return text.contains(part(label));
  }

  /** Returns true if the node has left. */
  public boolean isNobody() {
    return equals(NOBODY);
  }

  /** Returns the list with one more label. */
  Served with(String label) {
    return new Served(text + label + "|");
  }

  /** Returns the list without these clients. */
  Served without(String label) {
    return new Served(text.replace(part(label), "|"));
  }

  /** Returns all labels of clients that move. */
  public List<String> changes() {
    return labels().stream().filter(label -> label.contains(">")).toList();
  }

  @Override
  public String toString() {
    return text;
  }
}
