package io.redlock.spi;

import io.redlock.NodeStatus;
import java.time.Duration;
import java.util.Optional;

/** The state of a node, as a value. */
public record StatusOfNode(
    String name,
    State state,
    Duration sinceAgo,
    Optional<String> reason,
    Optional<String> lastError,
    Optional<Duration> roundTripMedian,
    Optional<Duration> roundTrip99,
    int queued)
    implements NodeStatus {

  /** Creates the status of a node that measures nothing. */
  public StatusOfNode(String name, State state, Duration sinceAgo, String reason) {
    this(
        name,
        state,
        sinceAgo,
        ifAny(reason),
        Optional.empty(),
        Optional.empty(),
        Optional.empty(),
        0);
  }

  /** Returns the text, or nothing for an empty one. */
  public static Optional<String> ifAny(String text) {
    return Optional.of(text).filter(some -> !some.isEmpty());
  }

  /** For example {@code b: DOWN for 3s (connection refused)}. */
  @Override
  public String toString() {
    String why = reason.map(text -> " (" + text + ")").orElse("");
    return name + ": " + state + " for " + sinceAgo.toSeconds() + "s" + why;
  }
}
