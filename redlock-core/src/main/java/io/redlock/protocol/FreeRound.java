package io.redlock.protocol;

import io.redlock.FreeResult.Outcome;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One fan-out that sets a name free for an operator, as a pure value, by the rules F1 to F6. It
 * follows an inspection. The token of the holder is not above the highest counter that a quorum
 * reports, because one of these nodes granted it.
 *
 * @param quorum the nodes that are enough
 * @param trusted the nodes that were inspected and are not in doubt, as bits
 * @param seen the values that nodes may set free
 * @param buried the counter that nodes bury; 0 if nothing is to be set free
 * @param agreeing sets of trusted nodes, as bits: on each node of a set one token is not above the
 *     counter then, and not below any that the holder may have there
 * @param ballot the answers so far
 * @param longestMillis the longest remaining life of a key that was set free
 */
public record FreeRound(
    Quorum quorum,
    int trusted,
    List<String> seen,
    long buried,
    List<Integer> agreeing,
    Ballot ballot,
    long longestMillis) {

  /**
   * Returns a round of which nothing was sent yet.
   *
   * @param quorum the nodes that are enough
   * @param inspected each node's answer to an inspection; null if it gave none
   * @param token the token of the only holder to set free; 0 for any
   * @return the round
   */
  public static FreeRound begin(Quorum quorum, List<@Nullable NodeReply> inspected, long token) {
    List<@Nullable NodeReport> reports = new ArrayList<>();
    List<String> values = new ArrayList<>();
    int trusted = 0;
    long highest = 0;
    for (int node = 0; node < inspected.size(); node++) {
      NodeReply reply = inspected.get(node);
      NodeReport report = reply == null ? null : reply.report();
      reports.add(report);
      if (report != null && report.doubt().isEmpty()) {
        trusted |= 1 << node;
        highest = Math.max(highest, report.counter());
      }
      String value = report == null ? null : report.owner();
      if (value != null && !values.contains(value)) {
        values.add(value);
      }
    }
    List<String> seen = token == 0 ? List.copyOf(values) : meant(values, token);
    long buried = seen.isEmpty() ? 0 : Math.min(highest, belowLater(values, seen));
    List<Integer> agreeing = agreeing(reports, trusted, seen, buried);
    return new FreeRound(quorum, trusted, seen, buried, agreeing, Ballot.empty(quorum.nodes()), 0);
  }

  /** A node may have granted the owner an earlier token, and have extended it since. */
  private static List<String> meant(List<String> values, long token) {
    List<String> owners =
        values.stream()
            .filter(value -> HolderLabel.token(value) == token)
            .map(HolderLabel::owner)
            .toList();
    return values.stream()
        .filter(value -> HolderLabel.isFreed(value) || owners.contains(HolderLabel.owner(value)))
        .toList();
  }

  /** Returns the highest token below those of other holders that came later. */
  private static long belowLater(List<String> values, List<String> seen) {
    long named = seen.stream().mapToLong(HolderLabel::token).max().orElse(0);
    return values.stream()
            .filter(value -> !seen.contains(value))
            .mapToLong(HolderLabel::token)
            .filter(token -> token > named)
            .min()
            .orElse(Long.MAX_VALUE)
        - 1; // F3
  }

  private static List<Integer> agreeing(
      List<@Nullable NodeReport> reports, int trusted, List<String> seen, long buried) {
    List<Integer> sets = new ArrayList<>();
    for (NodeReport one : reports) {
      long token = one == null ? buried : Math.max(one.counter(), buried);
      int set = 0;
      for (int node = 0; node < reports.size(); node++) {
        NodeReport report = reports.get(node);
        if (report != null
            && holdersToken(report, seen) <= token
            && token <= Math.max(report.counter(), buried)) {
          set |= 1 << node;
        }
      }
      sets.add(trusted & set);
    }
    return List.copyOf(sets);
  }

  /** Returns the highest token that the holder can have been granted on a node. */
  private static long holdersToken(NodeReport report, List<String> seen) {
    String value = report.owner();
    long named = value != null && seen.contains(value) ? HolderLabel.token(value) : 0;
    return named == 0 ? report.counter() : named;
  }

  /** Returns the round after a node's answer, which gives one. */
  public FreeRound answered(int node, NodeReply reply) {
    long millis = reply.kind() == Kind.RELEASED ? reply.remainingMillis() : 0;
    return new FreeRound(
        quorum,
        trusted,
        seen,
        buried,
        agreeing,
        ballot.with(node, reply.kind()),
        Math.max(longestMillis, millis));
  }

  /** Returns the result, by the answers so far; missing answers are unknown. */
  public Outcome decide() {
    int missing = trusted & ballot.set(Ballot.NOT_HELD);
    int freed = seen.isEmpty() ? 0 : trusted & ballot.set(Ballot.RELEASED);
    int others = trusted & ballot.set(Ballot.HELD_BY_ANOTHER);
    if (quorum.isReachedBy(missing)) {
      return Outcome.NOT_HELD;
    }
    for (int agree : agreeing) {
      if (quorum.isReachedBy(agree & (missing | freed))) { // F5
        return Outcome.FREED;
      }
    }
    return others != 0 && quorum.isReachedBy(missing | freed | others)
        ? Outcome.OTHER_HOLDER // F6
        : Outcome.UNKNOWN;
  }
}
