package io.redlock.driver;

import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.spi.NodeReply;
import io.redlock.text.Brief;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The class of each node's answer, and its text for operators. */
final class ReplyText {

  private ReplyText() {}

  static NodeVote vote(String node, @Nullable NodeReply reply, Duration took, boolean timedOut) {
    if (reply == null) {
      return timedOut
          ? new NodeVote(node, Vote.UNKNOWN, "no answer in " + Brief.duration(took), took, null, "")
          : new NodeVote(node, Vote.NOT_AWAITED, "not awaited", took, null, "");
    }
    long millis = reply.remainingMillis();
    return new NodeVote(
        node,
        classed(reply.kind()),
        detail(reply),
        took,
        millis < 0 || reply.kind() == NodeReply.Kind.WAIT ? null : Duration.ofMillis(millis),
        reply.kind() == NodeReply.Kind.HELD ? reply.detail() : "");
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

  private static String detail(NodeReply reply) {
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

  private static String held(NodeReply reply) {
    String until =
        reply.remainingMillis() < 0
            ? "held without limit"
            : "held for " + Brief.duration(Duration.ofMillis(reply.remainingMillis())) + " more";
    return reply.detail().isEmpty() ? until : until + " by " + reply.detail();
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
}
