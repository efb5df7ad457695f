package io.redlock.jedis;

import java.util.List;
import java.util.stream.Collectors;

/**
 * What became of the masters that were to be adopted, or to forget, in the order in which they were
 * named.
 *
 * @param nodes one entry per master
 */
public record AdoptReport(List<Node> nodes) {

  /** Makes the list unmodifiable. */
  public AdoptReport {
    nodes = List.copyOf(nodes);
  }

  /** What became of one master. */
  public enum Outcome {
    /** It votes at once from now on. */
    ADOPTED,
    /** It asks for no longer abstention than the clients in use will ask for again. */
    FORGOTTEN,
    /** It was trusted before, and is left as it was. */
    ALREADY_TRUSTED,
    /** It cannot be adopted, and nothing was changed on it. */
    REFUSED,
    /** It gave no answer, and nothing was changed on it. */
    UNREACHABLE,
    /** It could be adopted, but another one cannot; nothing was changed on it. */
    LEFT_ALONE
  }

  /**
   * One master.
   *
   * @param name host and port
   * @param outcome what became of it
   * @param detail why, and what to do about it; empty where the outcome says it all
   */
  public record Node(String name, Outcome outcome, String detail) {

    /** For example {@code 10.0.0.1:6379 REFUSED (it is a replica: address its master instead)}. */
    @Override
    public String toString() {
      return name + " " + outcome + (detail.isEmpty() ? "" : " (" + detail + ")");
    }
  }

  /**
   * Whether every master is trusted now, or has forgotten.
   *
   * @return false if any was refused, unreachable or left alone
   */
  public boolean isComplete() {
    return nodes.stream()
        .allMatch(
            node ->
                switch (node.outcome()) {
                  case ADOPTED, FORGOTTEN, ALREADY_TRUSTED -> true;
                  case REFUSED, UNREACHABLE, LEFT_ALONE -> false;
                });
  }

  /** One line per master. */
  @Override
  public String toString() {
    return nodes.stream().map(Node::toString).collect(Collectors.joining("\n"));
  }
}
