package io.redlock.simulation;

/** What was found, and when. */
record Violation(SimInvariant invariant, long atNanos, String what) {

  @Override
  public String toString() {
    return invariant + " at " + SimTrace.seconds(atNanos) + ": " + what;
  }
}
