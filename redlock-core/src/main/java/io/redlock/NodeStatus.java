package io.redlock;

import java.time.Duration;

/**
 * The state of a node at one moment, and the reason for it.
 *
 * @param name the node's name as configured
 * @param state its state
 * @param sinceAgo the time since it entered the state
 * @param reason why, and what to do about it where that is known; empty for {@link State#UP}
 * @param lastError the last failure of the connection or error of the server, even if it is over;
 *     empty if there was none
 * @param roundTripMedian the median time from sending to answer over the last requests; zero if
 *     none was answered or it is not measured
 * @param roundTrip99 the 99th percentile of the same
 * @param queued the number of requests that wait in this process to be sent
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

  /** The states of a node. */
  public enum State {
    /** Not yet connected for the first time. */
    CONNECTING,
    /** Connected and voting. */
    UP,
    /** Connected, but without an answer for longer than the node timeout. */
    SILENT,
    /** Not connected; the library reconnects in the background. */
    DOWN,
    /** Connected, but not voting yet: its data is too new, or too few other nodes are up. */
    ABSTAINING,
    /** Connected or not, it must not vote until an operator fixes it. */
    MISCONFIGURED,
    /** Closed together with its lock service. */
    CLOSED
  }

  /**
   * Creates the status of a node that measures nothing.
   *
   * @param name the node's name as configured
   * @param state its state
   * @param sinceAgo the time since it entered the state
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
