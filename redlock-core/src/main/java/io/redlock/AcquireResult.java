package io.redlock;

import java.util.Optional;

/**
 * How an acquire went. Switch over the four records for the reason, or ask {@link #lease()} where
 * the reason does not matter.
 */
public sealed interface AcquireResult {

  /** The lease, if it was acquired. */
  default Optional<Lease> lease() {
    return Optional.empty();
  }

  /** What each node said in the last round. */
  Votes votes();

  /**
   * A majority granted the lease in time.
   *
   * @param held the lease
   * @param votes what each node had said by then
   */
  record Acquired(Lease held, Votes votes) implements AcquireResult {
    @Override
    public Optional<Lease> lease() {
      return Optional.of(held);
    }
  }

  /**
   * Others hold the resource, or each a part of it, on so many nodes that no majority was left.
   *
   * @param votes what each node said; none where only others of the same lock service were in the
   *     way, so that no node was asked
   */
  record Contended(Votes votes) implements AcquireResult {}

  /**
   * Too few nodes could say yes: down, silent, abstaining or misconfigured.
   *
   * @param votes what each node said, or why it could not
   */
  record Unavailable(Votes votes) implements AcquireResult {}

  /**
   * A majority said yes, but so late that too little of the ttl was left.
   *
   * @param votes what each node said, and how long it took
   */
  record TooSlow(Votes votes) implements AcquireResult {}
}
