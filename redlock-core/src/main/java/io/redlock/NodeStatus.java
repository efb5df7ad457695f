package io.redlock;

import java.time.Duration;

/**
 * What a node is at one moment, and why.
 *
 * @param name the node's name as configured
 * @param state what it is
 * @param sinceAgo for how long it has been so
 * @param reason why, and what to do about it where that is known; empty for {@link State#UP}
 * @param lastError the last failure of the connection or error of the server, even if it has been
 *     overcome; empty if there was none
 * @param roundTripMedian from sending to answer, half of the last requests were not slower; zero if
 *     none was answered or it is not measured
 * @param roundTrip99 the same for 99 of 100
 * @param queued how many requests wait in this process to be sent
 */
public record NodeStatus(
    String name,
    State state,
    Duration sinceAgo,
    String reason,
    String lastError,
    Duration roundTripMedian,
    Duration roundTrip99,
    int queued) {

  /** What a node can be. */
  public enum State {
    /** Not yet connected for the first time. */
    CONNECTING,
    /** Connected and voting. */
    UP,
    /** Connected, but it has answered nothing for longer than the node timeout. */
    SILENT,
    /** Not connected; attempts go on in the background. */
    DOWN,
    /** Connected, but for now it does not vote: its data is too young, or too few others are up. */
    ABSTAINING,
    /** Connected or not, it must not vote until a person has mended it. */
    MISCONFIGURED,
    /** Closed with the lock service it belonged to. */
    CLOSED
  }

  /**
   * The status of a node that measures nothing.
   *
   * @param name the node's name as configured
   * @param state what it is
   * @param sinceAgo for how long it has been so
   * @param reason why
   */
  public NodeStatus(String name, State state, Duration sinceAgo, String reason) {
    this(name, state, sinceAgo, reason, "", Duration.ZERO, Duration.ZERO, 0);
  }

  /** For example {@code b: DOWN for 3s (connection refused)}. */
  @Override
  public String toString() {
    String why = reason.isEmpty() ? "" : " (" + reason + ")";
    return name + ": " + state + " for " + sinceAgo.toSeconds() + "s" + why;
  }
}
