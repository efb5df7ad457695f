package io.redlock;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * The answers of all nodes in one round, in the order of the configuration.
 *
 * @param nodes one entry per node
 * @param quorum the smallest number of yes votes that could suffice
 * @param moving the two sets of masters of a client that moves from one to the other; empty for any
 *     other client
 */
public record Votes(List<NodeVote> nodes, int quorum, Optional<Moving> moving) {

  /** Copies the list. */
  public Votes {
    nodes = List.copyOf(nodes);
  }

  /**
   * The masters of a client that moves: it needs a majority of the present ones and a majority of
   * the future ones.
   *
   * @param present the names of the present masters
   * @param presentNeeded how many of the present ones are needed
   * @param future the names of the future masters, which may overlap with the present ones
   * @param futureNeeded how many of the future ones are needed
   */
  public record Moving(
      List<String> present, int presentNeeded, List<String> future, int futureNeeded) {

    /** Copies the lists. */
    public Moving {
      present = List.copyOf(present);
      future = List.copyOf(future);
    }
  }

  /** The classes of answers. */
  public enum Vote {
    /** It granted, extended, joined, or released. */
    YES,
    /** It refused: the resource is held, a higher token was seen, or others are first. */
    REFUSED,
    /**
     * It abstains, refuses for its clock or for lack of memory, or does not hold the lease that was
     * to be extended.
     */
    UNABLE,
    /**
     * It may or may not have executed the request: it did not answer in time, or the connection
     * broke after sending.
     */
    UNKNOWN,
    /**
     * It has not executed the request: it could not be connected, resolved or authenticated in
     * time, is loading or busy, or the request was withdrawn unsent.
     */
    UNREACHABLE,
    /**
     * An operator must fix it before it can vote: it is a replica or in a cluster, denies the
     * command, cannot write, or a foreign key is in the way.
     */
    MISCONFIGURED,
    /** The round was decided before its answer came. */
    NOT_AWAITED
  }

  /** One node's part in a round. Implemented by this project only: methods may be added. */
  public interface NodeVote {

    /** Returns the node's name. */
    String node();

    /** Returns the class of its answer. */
    Vote vote();

    /** Returns its answer in words, for an operator. */
    String detail();

    /** Returns the time from the start of the round to its answer, or to the end of the wait. */
    Duration took();

    /**
     * Returns the longest time that the reason of a refusal can last.
     *
     * @return the remaining life of the holder's key, or the rest of an abstention; empty if that
     *     is not known
     */
    Optional<Duration> refusedFor();

    /**
     * Returns the label of the client that holds the resource there.
     *
     * @return the label; {@code readers} if it is shared; {@code freed by} and the label of the
     *     operator if it was set free; empty if nobody does, or if it has no label, as other
     *     Redlock clients
     */
    Optional<String> holder();
  }

  /**
   * Returns the number of nodes with this vote.
   *
   * @param vote the vote to count
   * @return a number from 0 to the number of nodes
   */
  public int count(Vote vote) {
    return (int) nodes.stream().filter(node -> node.vote() == vote).count();
  }

  /**
   * Returns the label of the client that holds the resource, according to most of the nodes that
   * name one.
   *
   * @return the label, for example {@code billing@pod-7:4211}; {@code readers} if it is shared;
   *     {@code freed by} and the label of the operator if it was set free; empty if no node names a
   *     holder
   */
  public Optional<String> holder() {
    Map<String, Long> named =
        nodes.stream()
            .flatMap(node -> node.holder().stream())
            .collect(Collectors.groupingBy(holder -> holder, TreeMap::new, Collectors.counting()));
    return named.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey);
  }

  /**
   * Returns the text for exception messages, for example {@code 2 of 5 granted, 3 needed (a granted
   * 1ms, b granted 1ms, c held for 4.1s more by billing@pod-7:4211, d no answer in 50ms, e refused
   * connection)}. A client that moves counts twice: {@code 2 of 3 old masters granted, 2 needed, 2
   * of 5 new ones granted, 3 needed (…)}.
   */
  @Override
  public String toString() {
    if (nodes.isEmpty()) {
      return "no node was asked";
    }
    return nodes.stream()
        .map(Object::toString)
        .collect(
            Collectors.joining(
                ", ",
                moving
                    .map(
                        sets ->
                            granted(sets.present, "old masters", sets.presentNeeded)
                                + ", "
                                + granted(sets.future, "new ones", sets.futureNeeded)
                                + " (")
                    .orElseGet(() -> granted(nodes) + " granted, " + quorum + " needed ("),
                ")"));
  }

  private String granted(List<String> group, String what, int needed) {
    List<NodeVote> votes = nodes.stream().filter(vote -> group.contains(vote.node())).toList();
    return granted(votes) + " " + what + " granted, " + needed + " needed";
  }

  private static String granted(List<NodeVote> votes) {
    long yes = votes.stream().filter(vote -> vote.vote() == Vote.YES).count();
    return yes + " of " + votes.size();
  }
}
