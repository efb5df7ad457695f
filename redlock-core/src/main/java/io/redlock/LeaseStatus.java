package io.redlock;

import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Set;

/**
 * The state of a held lease at one moment. It does not refer to the lease.
 *
 * @param resources the resources, in alphabetical order
 * @param fencingToken the fencing token
 * @param heldFor the time since the lease was acquired
 * @param remaining the time for which it is still valid unless it is extended
 * @param renewed true if it is being renewed
 * @param holds the number of unlocks that release it: more than one if a {@link LeaseLock} was
 *     locked again by its thread
 */
public record LeaseStatus(
    Set<String> resources,
    long fencingToken,
    Duration heldFor,
    Duration remaining,
    boolean renewed,
    int holds) {

  /** For example {@code orders/42, held for 12s, 9.8s left, renewed, token 1763654400000000}. */
  @Override
  public String toString() {
    return Brief.names(resources)
        + ", held for "
        + Brief.duration(heldFor)
        + ", "
        + Brief.duration(remaining)
        + " left"
        + (renewed ? ", renewed" : "")
        + (holds > 1 ? ", locked " + holds + " times" : "")
        + ", token "
        + fencingToken;
  }
}
