package io.redlock.driver;

import static io.redlock.driver.VoteOfNode.held;

import io.redlock.Inspection;
import io.redlock.Inspection.Answer;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.StatusOfNode;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The answers of nodes to operators: who holds a name, and whether it was set free. */
final class ReplyText {

  private ReplyText() {}

  /**
   * Returns the answer to an operator that sets a resource free.
   *
   * @param inspection its answer to the inspection before; null if it gave none
   */
  static NodeVote freeing(Poll.Answer answer, @Nullable NodeReply inspection) {
    NodeReply reply = answer.reply();
    NodeVote vote = VoteOfNode.of(answer.node(), reply, answer.took(), true);
    if (reply == null) {
      return vote;
    }
    String detail =
        switch (reply.kind()) {
          case RELEASED -> (freedBy(reply).isEmpty() ? "set free, " : "") + held(reply);
          case NOT_HELD -> "nobody holds it";
          case HELD -> held(reply) + (reply.counter() == 0 ? "" : ", at token " + reply.counter());
          default -> "";
        };
    if (detail.isEmpty()) {
      return vote;
    }
    String doubt = doubt(inspection);
    Vote classed = reply.kind() == NodeReply.Kind.HELD ? vote.vote() : Vote.YES;
    return new VoteOfNode(
        vote.node(),
        doubt.isEmpty() ? classed : Vote.UNABLE,
        doubt.isEmpty() ? detail : detail + ", but " + doubt,
        vote.took(),
        vote.refusedFor(),
        vote.holder());
  }

  /** Returns why a node with this inspection proves nothing; empty if it does. */
  private static String doubt(@Nullable NodeReply inspection) {
    NodeReport report = inspection == null ? null : inspection.report();
    if (report == null) {
      return "could not be inspected before";
    }
    return report.doubt().isEmpty() ? "" : "abstains: " + report.doubt();
  }

  /** Returns the operator who set the name free, as a node names it; empty if none did. */
  static String freedBy(NodeReply reply) {
    return HolderLabel.tellsFreed(reply.detail()) ? reply.detail() : "";
  }

  static Inspection.Node inspected(Poll.Answer answered) {
    NodeReply reply = answered.reply();
    NodeReport known = reply == null ? null : reply.report();
    NodeReport nothing = new NodeReport(null, -1, 0, 0, List.of(), "", 0, List.of());
    NodeReport report = Objects.requireNonNullElse(known, nothing);
    Optional<String> owner = Optional.ofNullable(report.owner());
    boolean doubtful = !report.doubt().isEmpty();
    String doubt = doubtful ? ", but abstains: " + report.doubt() : "";
    String queue = report.waiting() == 0 ? "" : ", " + report.waiting() + " waiting";
    String what =
        owner.map(id -> held(report.remainingMillis(), who(id, report.reading()))).orElse("free");
    Answer answer = doubtful ? Answer.DOUBTFUL : owner.isPresent() ? Answer.HELD : Answer.FREE;
    String why = reply == null ? VoteOfNode.noAnswer(answered.took()) : VoteOfNode.detail(reply);
    return new InspectedNode(
        answered.node(),
        known == null ? Answer.NONE : answer,
        known == null ? why : what + queue + doubt,
        owner.flatMap(id -> StatusOfNode.ifAny(HolderLabel.of(id))),
        owner.map(HolderLabel::owner),
        InspectedNode.positive(owner.map(HolderLabel::token).orElse(0L)),
        owner.isEmpty() || report.remainingMillis() < 0
            ? Optional.empty()
            : Optional.of(Duration.ofMillis(report.remainingMillis())),
        InspectedNode.positive(report.counter()),
        report.waiting(),
        report.waiters().stream().map(HolderLabel::of).toList(),
        report.reading(),
        report.readers().stream().map(ReplyText::reader).toList());
  }

  private static Inspection.Reader reader(NodeReport.Reader reader) {
    return new Inspection.Reader(
        reader.owner(),
        StatusOfNode.ifAny(HolderLabel.of(reader.owner())),
        Duration.ofMillis(Math.max(0, reader.remainingMillis())));
  }

  private static String who(String owner, int readers) {
    if (readers > 0) {
      return readers == 1 ? "1 reader" : readers + " readers";
    }
    if (HolderLabel.of(owner).isEmpty()) {
      return HolderLabel.isOurs(owner)
          ? "a client without a label"
          : "another Redlock client, or another version of this one";
    }
    return HolderLabel.of(owner);
  }
}
