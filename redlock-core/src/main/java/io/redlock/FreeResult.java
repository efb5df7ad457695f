package io.redlock;

import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The result of {@link RedlockOperations#free(String)}.
 *
 * @param outcome how it ended
 * @param grantableIn the time until the resource can be granted again, counted from the return of
 *     the call, drift allowance included. Nobody is granted it earlier while its holder may still
 *     rely on its lease. Zero if nobody holds it; empty if it was not set free
 * @param votes the answer of each node; {@link Votes.Vote#YES} if the holder can extend nothing
 *     there
 */
public record FreeResult(Outcome outcome, Optional<Duration> grantableIn, Votes votes) {

  /** The ways in which it ends. */
  public enum Outcome {
    /** A majority holds it for nobody now: its holder can extend nothing more. */
    FREED,
    /** No majority held it, so there was nothing to do. */
    NOT_HELD,
    /**
     * It was not set free: it is held at another token than the one given, its holder changed at
     * that moment, or its key has no end, which no client of Redlock sets.
     */
    OTHER_HOLDER,
    /**
     * Too few nodes answered whose data can be trusted: the holder may extend its lease. Nothing is
     * unsafe; try again.
     */
    UNKNOWN
  }

  /**
   * Returns a text for operators, for example {@code set free: can be granted again in 9.9s (a set
   * free, held for 9.8s more by billing@pod-7:4211, b ..., c refused connection)}.
   */
  @Override
  public String toString() {
    String text =
        switch (outcome) {
          case FREED ->
              "set free: can be granted again in "
                  + Brief.duration(grantableIn.orElse(Duration.ZERO));
          case NOT_HELD -> "not held: it can be granted now";
          case OTHER_HOLDER -> "not set free: another holds it";
          case UNKNOWN -> "unknown: too few nodes can tell, its holder may go on";
        };
    return votes.nodes().stream()
        .map(vote -> vote.node() + " " + vote.detail())
        .collect(Collectors.joining(", ", text + " (", ")"));
  }
}
