package io.redlock;

import io.redlock.text.Brief;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What each node said in one round, in the order of the configuration.
 *
 * @param nodes one entry per node
 * @param quorum how many yeses were needed
 */
public record Votes(List<NodeVote> nodes, int quorum) {

  /** Makes the list unmodifiable. */
  public Votes {
    nodes = List.copyOf(nodes);
  }

  /** One node's answer, classed. */
  public enum Vote {
    /** It granted, extended, joined, or released. */
    YES,
    /** Somebody else is or was ahead there. */
    TAKEN,
    /** It was reached, and could not or would not say yes. */
    UNABLE,
    /** Nobody knows whether it executed the request. */
    UNKNOWN,
    /** It was not reached, or serves nobody just now. */
    UNREACHABLE,
    /** It must be mended by a person before it can vote. */
    MISCONFIGURED,
    /** The round was decided before it answered. */
    NOT_AWAITED
  }

  /**
   * One node's part in a round.
   *
   * @param node the node's name
   * @param vote its answer, classed
   * @param detail its answer, for a person
   * @param took from the start of the round to its answer, or to the end of the wait for it
   * @param refusedFor the longest time for which the reason of a refusal can last: the life of the
   *     present holder's key, or the rest of an abstention; null where that is not known
   */
  public record NodeVote(
      String node, Vote vote, String detail, Duration took, @Nullable Duration refusedFor) {

    /** For example {@code c busy 4.1s left}. */
    @Override
    public String toString() {
      return vote == Vote.YES
          ? node + " " + detail + " " + Brief.duration(took)
          : node + " " + detail;
    }
  }

  /**
   * How many nodes gave this vote.
   *
   * @param vote which
   * @return a count from 0 to the number of nodes
   */
  public int count(Vote vote) {
    int count = 0;
    for (NodeVote node : nodes) {
      if (node.vote() == vote) {
        count++;
      }
    }
    return count;
  }

  /**
   * Fit for an exception message, for example {@code 2 of 5 granted, 3 needed (a granted 1ms, b
   * granted 1ms, c busy 4.1s left, d no answer in 50ms, e refused connection)}.
   */
  @Override
  public String toString() {
    if (nodes.isEmpty()) {
      return "no node was asked";
    }
    return nodes.stream()
        .map(NodeVote::toString)
        .collect(
            Collectors.joining(
                ", ",
                count(Vote.YES) + " of " + nodes.size() + " granted, " + quorum + " needed (",
                ")"));
  }
}
