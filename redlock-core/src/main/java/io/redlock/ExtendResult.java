package io.redlock;

import java.time.Duration;

/** What came of extending a lease. */
public sealed interface ExtendResult {

  /**
   * A majority holds the lease for longer now, and held it all the time since it was acquired.
   *
   * @param remaining what {@link Lease#remaining()} was when the majority had answered
   */
  record Extended(Duration remaining) implements ExtendResult {}

  /**
   * The lease is lost, by this extension or before it.
   *
   * @param votes what each node said; no node where nobody was asked
   */
  record Lost(Votes votes) implements ExtendResult {}

  /**
   * Too few nodes answered, or too late, to know. The lease keeps the deadline it had; try again
   * while {@link Lease#isValid()}.
   *
   * @param votes what each node said
   */
  record Unknown(Votes votes) implements ExtendResult {}
}
