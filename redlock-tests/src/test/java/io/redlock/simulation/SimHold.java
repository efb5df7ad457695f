package io.redlock.simulation;

import java.util.List;
import java.util.function.LongSupplier;

/** A lease as the checker knows it. */
final class SimHold {

  final SimProcess process;
  final List<String> names;
  final String owner;
  final long token;
  final long ownerToken; // on the nodes
  final boolean shared;
  final long doneNanos;
  private final LongSupplier remainingNanos;
  int ends;
  boolean lost; // how it ended
  long endedNanos;
  long stoodStillNanos; // of its process, when the checker last looked
  int lateLooks;
  long freedNanos = -1; // since when it is known to be set free

  /**
   * @param shared whether others may read meanwhile
   * @param doneNanos the true time at which the caller got it
   * @param remainingNanos what the lease says when it is asked
   */
  SimHold(
      SimProcess process,
      List<String> names,
      String owner,
      long token,
      long ownerToken,
      boolean shared,
      long doneNanos,
      LongSupplier remainingNanos) {
    this.process = process;
    this.names = names;
    this.owner = owner;
    this.token = token;
    this.ownerToken = ownerToken;
    this.shared = shared;
    this.doneNanos = doneNanos;
    this.remainingNanos = remainingNanos;
  }

  /** What the lease would say if its holder asked now. */
  long remainingNanos() {
    return process.isDead() ? 0 : process.observe(remainingNanos::getAsLong);
  }

  boolean isValid() {
    return remainingNanos() > 0;
  }

  /** For how long it was held, if it has ended. */
  long heldNanos() {
    return ends > 0 ? endedNanos - doneNanos : 0;
  }

  boolean excludes(SimHold other) {
    return !(shared && other.shared);
  }

  @Override
  public String toString() {
    return process + "'s lease on " + names + " of " + owner + ", T" + token;
  }
}
