package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.lease.LeaseMasters;
import java.time.Duration;

/**
 * Two holders of one resource: one whose lease has run out without its noticing, and the one who
 * has it now.
 */
record Holders(Lease stale, Lease present) {

  /** Takes a moment: until the lease of the first has run out. */
  static Holders of(LeaseMasters masters) throws InterruptedException {
    Redlock slow = masters.connect(settings -> settings.nodeTimeout(Duration.ofMillis(250)));
    Redlock next = masters.connect();
    Lease stale = slow.acquire("report", Duration.ofMillis(600), Duration.ofMinutes(1));
    Lease present = next.acquire("report", Duration.ofSeconds(20), Duration.ofMinutes(1));
    assertTrue(stale.fencingToken() < present.fencingToken());
    return new Holders(stale, present);
  }
}
