package io.redlock;

import java.time.Duration;

/**
 * The result of extending a lease. {@link #outcome()} is for a {@code switch} on any Java version,
 * the records are for pattern matching.
 */
public sealed interface ExtendResult {

  /** The three ways in which an extension ends. */
  enum Outcome {
    /** A majority holds the lease for longer now. */
    EXTENDED,
    /** The lease is lost or was released. */
    LOST,
    /** Too few nodes answered in time to know. */
    UNKNOWN
  }

  /** Returns how it ended; never null. */
  Outcome outcome();

  /**
   * A majority holds the lease for longer now, and has held it since it was acquired.
   *
   * @param remaining the value of {@link Lease#remaining()} when the majority had answered
   */
  record Extended(Duration remaining) implements ExtendResult {
    @Override
    public Outcome outcome() {
      return Outcome.EXTENDED;
    }
  }

  /**
   * The lease is lost, by this extension or before it, or was released meanwhile.
   *
   * @param votes the answer of each node; empty if no node was asked
   */
  record Lost(Votes votes) implements ExtendResult {
    @Override
    public Outcome outcome() {
      return Outcome.LOST;
    }
  }

  /**
   * Too few nodes answered in time to know. The lease keeps its deadline; try again while {@link
   * Lease#isValid()}.
   *
   * @param votes the answer of each node
   */
  record Unknown(Votes votes) implements ExtendResult {
    @Override
    public Outcome outcome() {
      return Outcome.UNKNOWN;
    }
  }
}
