package io.redlock.simulation;

/** What was found, and when. */
record Violation(Invariant invariant, long atNanos, String what) {

  @Override
  public String toString() {
    return invariant + " at " + Trace.seconds(atNanos) + ": " + what;
  }
}
