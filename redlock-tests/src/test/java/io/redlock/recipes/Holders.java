package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;

/**
 * Two holders of one resource: one whose lease has run out without its noticing, and the one who
 * has it now.
 */
record Holders(Lease stale, Lease present) {

  private static final LeaseRequest REPORT = LeaseRequest.of("report", Duration.ofSeconds(10));

  static Holders of(InMemoryMasters masters) {
    Lease stale = acquire(masters);
    masters.pause(REPORT.ttl().plusSeconds(1));
    Lease present = acquire(masters);
    assertTrue(stale.fencingToken() < present.fencingToken());
    return new Holders(stale, present);
  }

  private static Lease acquire(InMemoryMasters masters) {
    return masters.connect().acquireAsync(REPORT).join().lease().orElseThrow();
  }
}
