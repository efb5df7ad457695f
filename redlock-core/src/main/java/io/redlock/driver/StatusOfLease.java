package io.redlock.driver;

import io.redlock.LeaseStatus;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Set;

/** The state of a held lease, as a value. */
record StatusOfLease(
    Set<String> resources,
    long fencingToken,
    Duration heldFor,
    Duration remaining,
    boolean shared,
    boolean renewed,
    int holds)
    implements LeaseStatus {

  /** For example {@code orders/42, held for 12s, 9.8s left, renewed, token 1763654400000000}. */
  @Override
  public String toString() {
    return Brief.names(resources)
        + (shared ? ", shared" : "")
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
