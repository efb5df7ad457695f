package io.redlock;

import java.time.Duration;
import java.util.Optional;

/**
 * The state of a node at one moment, and the reason for it. Implemented by this project only:
 * methods may be added.
 */
public interface NodeStatus {

  /** The states of a node. */
  enum State {
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

  /** Returns the node's name as configured. */
  String name();

  /** Returns its state. */
  State state();

  /** Returns the time since it entered the state. */
  Duration sinceAgo();

  /**
   * Returns the reason for the state, and what to do about it where that is known.
   *
   * @return one sentence; for {@link State#UP} why it grants nothing although it votes, or empty
   */
  Optional<String> reason();

  /**
   * Returns the last failure of the connection or error of the server, even if it is over.
   *
   * @return one sentence; empty if there was none
   */
  Optional<String> lastError();

  /**
   * Returns the median time from sending to answer over the last requests.
   *
   * @return the time; empty if none was answered or it is not measured
   */
  Optional<Duration> roundTripMedian();

  /** Returns the 99th percentile of the same; empty if {@link #roundTripMedian()} is. */
  Optional<Duration> roundTrip99();

  /** Returns the number of requests that wait in this process to be sent. */
  int queued();
}
