package io.redlock.driver;

import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Optional;

/** A node's part in a round, as a value. */
public record VoteOfNode(
    String node,
    Vote vote,
    String detail,
    Duration took,
    Optional<Duration> refusedFor,
    Optional<String> holder)
    implements NodeVote {

  /** For example {@code c held for 4.1s more by billing@pod-7:4211}. */
  @Override
  public String toString() {
    return vote == Vote.YES
        ? node + " " + detail + " " + Brief.duration(took)
        : node + " " + detail;
  }
}
