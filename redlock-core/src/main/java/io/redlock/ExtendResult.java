package io.redlock;

import java.time.Duration;

/** The result of extending a lease. */
public sealed interface ExtendResult {

  /**
   * A majority holds the lease for longer now, and has held it since it was acquired.
   *
   * @param remaining the value of {@link Lease#remaining()} when the majority had answered
   */
  record Extended(Duration remaining) implements ExtendResult {}

  /**
   * The lease is lost, by this extension or before it, or was released meanwhile.
   *
   * @param votes the answer of each node; empty if no node was asked
   */
  record Lost(Votes votes) implements ExtendResult {}

  /**
   * Too few nodes answered in time to know. The lease keeps its deadline; try again while {@link
   * Lease#isValid()}.
   *
   * @param votes the answer of each node
   */
  record Unknown(Votes votes) implements ExtendResult {}
}
