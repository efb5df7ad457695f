package io.redlock.driver;

import io.redlock.LeaseStatus;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Set;

/** The state of a held lease, as a value. */
record StatusOfLease(
    Set<String> resources,
    long fencingToken,
    long mastersToken,
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
        + ", "
        + tokens(fencingToken, mastersToken);
  }

  /** Returns the token of a lease, and that of its owner if it differs. */
  static String tokens(long token, long mastersToken) {
    return "token "
        + token
        + (token == mastersToken ? "" : ", " + mastersToken + " on the masters");
  }
}
