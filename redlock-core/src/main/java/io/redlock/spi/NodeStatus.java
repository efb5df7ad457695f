package io.redlock.spi;

import java.time.Duration;

/**
 * What a node is at one moment, and why.
 *
 * @param name the node's name as configured
 * @param state what it is
 * @param sinceAgo for how long it has been so
 * @param reason why, and what to do about it where that is known; empty for {@link State#UP}
 */
public record NodeStatus(String name, State state, Duration sinceAgo, String reason) {

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
    /** Connected, but its data is too young for it to vote. */
    ABSTAINING,
    /** Connected or not, it must not vote until a person has mended it. */
    MISCONFIGURED,
    /** Closed with the lock service it belonged to. */
    CLOSED
  }

  /** For example {@code b: DOWN for 3s (connection refused)}. */
  @Override
  public String toString() {
    String why = reason.isEmpty() ? "" : " (" + reason + ")";
    return name + ": " + state + " for " + sinceAgo.toSeconds() + "s" + why;
  }
}
