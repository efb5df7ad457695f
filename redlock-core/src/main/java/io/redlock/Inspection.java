package io.redlock;

import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.BinaryOperator;
import java.util.stream.Collectors;

/**
 * The answers of all nodes about one resource, at about one moment, in the order of the
 * configuration. A snapshot: the next moment may differ. It is for operators; only an acquire tells
 * a program that a lock is its own.
 *
 * <p>The nodes do not know since when a resource is held, so an inspection does not say it.
 *
 * @param resource the resource
 * @param nodes one entry per node
 * @param quorum the smallest number of nodes that could be enough for a lease
 * @param moving the two sets of masters of a client that moves from one to the other; empty for any
 *     other client
 */
public record Inspection(
    String resource, List<Node> nodes, int quorum, Optional<Votes.Moving> moving) {

  /** Copies the list. */
  public Inspection {
    nodes = List.copyOf(nodes);
  }

  /** The answers to the question if one client holds the resource on a majority of the nodes. */
  public enum Held {
    /**
     * One client or readers hold it on a majority, or an operator set it free and its keys have not
     * expired.
     */
    YES,
    /** No client can hold it on a majority. Some nodes may still have a key of a failed attempt. */
    NO,
    /** Too few nodes can tell. */
    UNKNOWN
  }

  /** The classes of a node's answer. */
  public enum Answer {
    /** The node has a key. */
    HELD,
    /** The node has no key. */
    FREE,
    /**
     * The node does not vote, because it may have lost a key. A key on this node does not show who
     * holds the resource: it may come from an old dump.
     */
    DOUBTFUL,
    /** There is no answer. */
    NONE
  }

  /**
   * A client that holds a {@linkplain LeaseRequest#shared shared} lease.
   *
   * @param ownerId its owner id, to be kept secret as {@link Node#ownerId()}
   * @param holder its label; empty if it has none
   * @param remaining the time after which it no longer reads, unless its lease is extended
   */
  public record Reader(String ownerId, Optional<String> holder, Duration remaining) {

    /** For example {@code billing@pod-7:4211 for 9.8s}; not the owner id. */
    @Override
    public String toString() {
      return holder.orElse("a client without a label") + " for " + Brief.duration(remaining);
    }
  }

  /** One node's answer. Implemented by this project only: methods may be added. */
  public interface Node {

    /** Returns the node's name. */
    String name();

    /** Returns the class of its answer. */
    Answer answer();

    /** Returns its answer in words, for an operator. */
    String detail();

    /**
     * Returns the label of the client that holds the resource there.
     *
     * @return the label; {@code readers} if it is shared; {@code freed by} and the label of the
     *     operator if it was set free; empty if there is no key, or if it has no label
     */
    Optional<String> holder();

    /**
     * Returns the owner id in the value of the key, or the digest of the value if it is long or not
     * printable. Who knows it and can write to the nodes can release the lock: do not log it.
     *
     * @return the owner id; empty without a key
     */
    Optional<String> ownerId();

    /** Returns the fencing token in the key; empty without one, or if another client set it. */
    OptionalLong token();

    /** Returns the remaining life of the key; empty if it has no end or there is no key. */
    Optional<Duration> remaining();

    /** Returns the highest fencing token that the node has granted or buried; empty for none. */
    OptionalLong counter();

    /**
     * Returns the number of fair waiters, counted up to a thousand; for three seconds it may
     * include the holder, if that was served fairly.
     */
    int waiting();

    /**
     * Returns the labels of the first twenty of them, in the order of the queue; an empty text for
     * a client without a label.
     */
    List<String> waiters();

    /** Returns the number of readers, counted up to a thousand; zero if nobody reads. */
    int reading();

    /** Returns those twenty of them that may read longest, the longest first. */
    List<Reader> readers();
  }

  /**
   * Returns the answer to the question if one client holds the resource on a majority of the nodes.
   * A node that did not answer, or may have lost a key, counts as one that anybody may hold.
   *
   * <p>While clients move to other masters, a majority of either set counts, since some clients may
   * not move yet or any more. If two clients have one each, one of them may have just begun to
   * acquire the resource, so the holder is unknown.
   *
   * @return never null
   */
  public Held held() {
    if (!holding().isEmpty()) { // X3
      return Held.YES;
    }
    return groups().stream().anyMatch(Inspection::mayHideAHolder) ? Held.UNKNOWN : Held.NO;
  }

  /** Nodes of which so many count. */
  private record Group(List<Node> nodes, int needed) {

    boolean isHeldBy(List<Node> held) {
      return held.stream().filter(nodes::contains).count() >= needed;
    }

    /** For example {@code 3 of 5}. */
    @Override
    public String toString() {
      return needed + " of " + nodes.size();
    }
  }

  /** Returns the sets of nodes of which a majority counts. */
  private List<Group> groups() {
    return moving
        .map(
            sets ->
                List.of(
                    group(sets.present(), sets.presentNeeded()),
                    group(sets.future(), sets.futureNeeded())))
        .orElseGet(() -> List.of(new Group(nodes, quorum)));
  }

  private Group group(List<String> names, int needed) {
    return new Group(nodes.stream().filter(node -> names.contains(node.name())).toList(), needed);
  }

  private static boolean mayHideAHolder(Group group) {
    long open =
        group.nodes.stream()
            .filter(node -> node.answer() == Answer.NONE || node.answer() == Answer.DOUBTFUL)
            .count();
    int most = byOwner(group.nodes).values().stream().mapToInt(List::size).max().orElse(0);
    return most + open >= group.needed;
  }

  private static Map<String, List<Node>> byOwner(List<Node> group) {
    return group.stream()
        .filter(node -> node.answer() == Answer.HELD)
        .collect(
            Collectors.groupingBy(
                node -> node.ownerId().orElse(""), TreeMap::new, Collectors.toList()));
  }

  /**
   * Returns the nodes of the owner that holds the resource on a majority; empty if none does, or if
   * another may hold it on another majority. Of two owners one may only be about to acquire it.
   */
  private List<Node> holding() {
    List<List<Node>> found = candidates();
    boolean isCertain =
        found.size() == 1 && groups().stream().noneMatch(group -> mayHideAnother(group, found));
    return isCertain ? found.get(0) : List.of();
  }

  /** Returns the nodes of each owner that has a majority. */
  private List<List<Node>> candidates() {
    return byOwner(nodes).values().stream()
        .filter(held -> groups().stream().anyMatch(group -> group.isHeldBy(held)))
        .toList();
  }

  private static boolean mayHideAnother(Group group, List<List<Node>> candidates) {
    return candidates.stream().noneMatch(group::isHeldBy) && mayHideAHolder(group);
  }

  /**
   * Returns the label of the client that holds the resource on a majority.
   *
   * @return the label; {@code readers} if shared leases hold it; {@code freed by} and the label of
   *     the operator if it was set free; empty if nobody does or that is not known, or if the
   *     client has no label
   */
  public Optional<String> holder() {
    return holding().stream().flatMap(node -> node.holder().stream()).findFirst();
  }

  /**
   * Returns the owner id of the client that holds the resource on a majority; see {@link
   * Node#ownerId()}.
   *
   * @return the owner id; empty if nobody does or that is not known
   */
  public Optional<String> ownerId() {
    return holding().stream().flatMap(node -> node.ownerId().stream()).findFirst();
  }

  /**
   * Returns the time after which the keys of the holder have expired on every node that reported
   * one and votes, unless the lease is extended. Not before that can another client be sure of a
   * majority. The holder itself stops earlier.
   *
   * @return the time from the answers on; empty if no majority is held, or if a key has no end
   */
  public Optional<Duration> remaining() {
    List<Node> holding = holding();
    Duration longest = Duration.ZERO;
    for (Node node : holding) {
      if (node.remaining().isEmpty()) {
        return Optional.empty();
      }
      Duration left = node.remaining().get();
      longest = longest.compareTo(left) < 0 ? left : longest;
    }
    return holding.isEmpty() ? Optional.empty() : Optional.of(longest);
  }

  /**
   * Returns the fencing token of the client that holds the resource on a majority. Other callers
   * that wait or fail do not change it.
   *
   * @return the token; empty if no majority is held, or if another Redlock client holds it
   */
  public OptionalLong token() {
    return holding().stream().flatMapToLong(node -> node.token().stream()).max();
  }

  /**
   * Returns the number of clients that hold shared leases, if such leases hold a majority. A reader
   * that only a minority knows counts too: it may be acquiring a lease, or have failed to.
   *
   * @return the number, up to a thousand; zero if nobody is known to read
   */
  public int reading() {
    int most = holding().stream().mapToInt(Node::reading).max().orElse(0);
    return Math.max(most, readers().size());
  }

  /**
   * Returns the clients that {@link #reading} counts, as far as nodes name them, the longest first.
   *
   * @return the readers; if there are more than twenty, not all
   */
  public List<Reader> readers() {
    Map<String, Reader> longest =
        holding().stream()
            .flatMap(node -> node.readers().stream())
            .collect(
                Collectors.toMap(
                    Reader::ownerId,
                    reader -> reader,
                    BinaryOperator.maxBy(Comparator.comparing(Reader::remaining))));
    return longest.values().stream()
        .sorted(Comparator.comparing(Reader::remaining).thenComparing(Reader::ownerId).reversed())
        .toList();
  }

  /**
   * Returns one sentence, for example {@code orders/42 is held by billing@pod-7:4211 for up to 9.8s
   * more, token 1763654400000000 (a held for …, b …)}.
   */
  @Override
  public String toString() {
    return summary()
        + nodes.stream().map(Object::toString).collect(Collectors.joining(", ", " (", ")"));
  }

  /**
   * Returns the result in words, without the nodes.
   *
   * @return for example {@code orders/42 is held by billing@pod-7:4211 for up to 9.8s more, token
   *     1763654400000000}
   */
  public String summary() {
    String name = Brief.text(resource);
    return switch (held()) {
      case NO -> name + " is free: no client holds it on " + majorities();
      case UNKNOWN ->
          name
              + (candidates().size() > 1
                  ? " may be held by either of two clients: old masters and new ones disagree"
                  : " may be held or free: too few nodes can tell");
      case YES -> {
        String left =
            remaining()
                .map(duration -> " for up to " + Brief.duration(duration) + " more")
                .orElse(" without limit");
        String token = token().isPresent() ? ", token " + token().getAsLong() : "";
        int reading = reading();
        String who = reading > 0 ? readers(reading) : holder().orElse("a client without a label");
        String verb =
            (who + " ").startsWith("freed ") ? " is not granted to anybody, " : " is held by ";
        yield name + verb + who + left + token;
      }
    };
  }

  /** Returns for example {@code 3 readers}. */
  private static String readers(int count) {
    return count == 1 ? "1 reader" : count + " readers";
  }

  private String majorities() {
    return groups().stream()
        .map(Group::toString)
        .collect(Collectors.joining(" old masters or ", "", moving.isPresent() ? " new ones" : ""));
  }
}
