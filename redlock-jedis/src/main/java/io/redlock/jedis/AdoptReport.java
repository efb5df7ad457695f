package io.redlock.jedis;

import java.util.List;
import java.util.stream.Collectors;

/**
 * The result of adopting masters, in the order of the addresses.
 *
 * @param nodes one entry per master
 */
public record AdoptReport(List<Node> nodes) {

  /** Makes the list unmodifiable. */
  public AdoptReport {
    nodes = List.copyOf(nodes);
  }

  /** The outcome for one master. */
  public enum Outcome {
    /** It is a master of the set, which is founded now. */
    ADOPTED,
    /** The set was founded before, and this master was not changed. */
    ALREADY_FOUNDED,
    /** The list is the other one of a change of masters that is under way. */
    OTHER_LIST,
    /** It cannot be adopted, and nothing was changed on it. */
    REFUSED,
    /** It did not answer, so it may have been changed or not: adopt again. */
    UNREACHABLE,
    /** It could be adopted, but another one cannot; nothing was changed on it. */
    LEFT_ALONE
  }

  /**
   * The entry for one master.
   *
   * @param name host and port
   * @param outcome the result
   * @param detail the reason and the fix; empty if the outcome says it all
   */
  public record Node(String name, Outcome outcome, String detail) {

    /**
     * Returns, for example, {@code 10.0.0.1:6379 REFUSED (it is a replica: address its master
     * instead)}.
     */
    @Override
    public String toString() {
      return name + " " + outcome + (detail.isEmpty() ? "" : " (" + detail + ")");
    }
  }

  /**
   * Returns true if the set is founded, now or before.
   *
   * @return false if any master was refused, unreachable or left alone
   */
  public boolean isComplete() {
    return nodes.stream()
        .map(Node::outcome)
        .allMatch(each -> each == Outcome.ADOPTED || each == Outcome.ALREADY_FOUNDED);
  }

  /** Returns one line per master. */
  @Override
  public String toString() {
    return nodes.stream().map(Node::toString).collect(Collectors.joining("\n"));
  }
}
