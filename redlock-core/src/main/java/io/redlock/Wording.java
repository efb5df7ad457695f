package io.redlock;

import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.spi.NodeReply;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** How a node's answer is classed and told to people. */
final class Wording {

  private Wording() {}

  static NodeVote vote(String node, @Nullable NodeReply reply, Duration took, boolean timedOut) {
    if (reply == null) {
      return timedOut
          ? new NodeVote(node, Vote.UNKNOWN, "no answer in " + Votes.brief(took), took)
          : new NodeVote(node, Vote.NOT_AWAITED, "not awaited", took);
    }
    return switch (reply.kind()) {
      case GRANTED -> new NodeVote(node, Vote.YES, "granted", took);
      case EXTENDED -> new NodeVote(node, Vote.YES, "extended", took);
      case JOINED -> new NodeVote(node, Vote.YES, "joined", took);
      case RELEASED -> new NodeVote(node, Vote.YES, "released", took);
      case TAKEN -> new NodeVote(node, Vote.TAKEN, taken(reply.remainingMillis()), took);
      case WAIT -> new NodeVote(node, Vote.TAKEN, "others are first in the queue", took);
      case STALE ->
          new NodeVote(node, Vote.TAKEN, "has seen a higher token: " + reply.fence(), took);
      case ABSTAIN -> new NodeVote(node, Vote.UNABLE, abstains(reply), took);
      case CLOCK -> new NodeVote(node, Vote.UNABLE, or(reply, "clock too far off"), took);
      case NOT_HELD -> new NodeVote(node, Vote.UNABLE, or(reply, "does not hold it"), took);
      case OUT_OF_MEMORY -> new NodeVote(node, Vote.UNABLE, or(reply, "out of memory"), took);
      case UNKNOWN -> new NodeVote(node, Vote.UNKNOWN, or(reply, "answer lost"), took);
      case UNREACHABLE -> new NodeVote(node, Vote.UNREACHABLE, or(reply, "unreachable"), took);
      case MISCONFIGURED ->
          new NodeVote(node, Vote.MISCONFIGURED, or(reply, "misconfigured"), took);
    };
  }

  private static String taken(long remainingMillis) {
    return remainingMillis < 0
        ? "busy without limit"
        : "busy " + Votes.brief(Duration.ofMillis(remainingMillis)) + " left";
  }

  private static String abstains(NodeReply reply) {
    String why = or(reply, "lost its data");
    return reply.remainingMillis() < 0
        ? "abstains: " + why
        : "abstains " + Votes.brief(Duration.ofMillis(reply.remainingMillis())) + " more: " + why;
  }

  private static String or(NodeReply reply, String otherwise) {
    return reply.detail().isEmpty() ? otherwise : reply.detail();
  }
}
