package io.redlock.driver;

import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.StatusOfNode;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A node's part in a round, as a value. */
public record VoteOfNode(
    String node,
    Vote vote,
    String detail,
    Duration took,
    Optional<Duration> refusedFor,
    Optional<String> holder)
    implements NodeVote {

  /** Returns the part of a node with this answer; with none, it may have had time until the end. */
  static VoteOfNode of(String node, @Nullable NodeReply reply, Duration took, boolean timedOut) {
    if (reply == null) {
      Vote vote = timedOut ? Vote.UNKNOWN : Vote.NOT_AWAITED;
      String detail = timedOut ? noAnswer(took) : "not awaited";
      return new VoteOfNode(node, vote, detail, took, Optional.empty(), Optional.empty());
    }
    NodeReply.Kind kind = reply.kind();
    long millis = reply.remainingMillis();
    return new VoteOfNode(
        node,
        classed(kind),
        detail(reply),
        took,
        millis < 0 || kind == NodeReply.Kind.WAIT
            ? Optional.empty()
            : Optional.of(Duration.ofMillis(millis)),
        kind == NodeReply.Kind.HELD || kind == NodeReply.Kind.RELEASED
            ? StatusOfNode.ifAny(reply.detail())
            : Optional.empty());
  }

  static String noAnswer(Duration waited) {
    return "no answer in " + Brief.duration(waited);
  }

  private static Vote classed(NodeReply.Kind kind) {
    return switch (kind) {
      case GRANTED, EXTENDED, JOINED, RELEASED -> Vote.YES;
      case HELD, WAIT, STALE -> Vote.REFUSED;
      case ABSTAIN, CLOCK, NOT_HELD, OUT_OF_MEMORY -> Vote.UNABLE;
      case UNKNOWN -> Vote.UNKNOWN;
      case UNREACHABLE -> Vote.UNREACHABLE;
      case MISCONFIGURED, DENIED -> Vote.MISCONFIGURED;
    };
  }

  static String detail(NodeReply reply) {
    return switch (reply.kind()) {
      case GRANTED -> "granted";
      case EXTENDED -> "extended";
      case JOINED -> "joined";
      case RELEASED -> "released";
      case HELD -> held(reply);
      case WAIT -> "others are first in the queue";
      case STALE -> "has seen a higher token: " + reply.counter();
      case ABSTAIN -> abstains(reply);
      case CLOCK -> or(reply, "clock too far off");
      case NOT_HELD -> or(reply, "does not hold it");
      case OUT_OF_MEMORY -> or(reply, "out of memory");
      case UNKNOWN -> or(reply, "answer lost");
      case UNREACHABLE -> or(reply, "unreachable");
      case MISCONFIGURED, DENIED -> or(reply, "misconfigured");
    };
  }

  static String held(NodeReply reply) {
    return held(reply.remainingMillis(), reply.detail());
  }

  static String held(long remainingMillis, String holder) {
    String until =
        remainingMillis < 0
            ? "held without limit"
            : "held for " + Brief.duration(Duration.ofMillis(remainingMillis)) + " more";
    if (HolderLabel.tellsFreed(holder)) {
      return holder + ", " + until;
    }
    return holder.isEmpty() ? until : until + " by " + holder;
  }

  private static String abstains(NodeReply reply) {
    String why = or(reply, "lost its data");
    return reply.remainingMillis() < 0
        ? "abstains: " + why
        : "abstains "
            + Brief.duration(Duration.ofMillis(reply.remainingMillis()))
            + " more: "
            + why;
  }

  private static String or(NodeReply reply, String otherwise) {
    return reply.detail().isEmpty() ? otherwise : reply.detail();
  }

  /** For example {@code c held for 4.1s more by billing@pod-7:4211}. */
  @Override
  public String toString() {
    return vote == Vote.YES
        ? node + " " + detail + " " + Brief.duration(took)
        : node + " " + detail;
  }
}
