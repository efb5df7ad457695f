package io.redlock.lease;

import static io.redlock.testbed.Results.assertExtended;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.Signal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A client that stands still while the world goes on; machines do in {@code Leases.txt}. */
class PauseTest {

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  @Test
  void processThatWasStoppedForLongerThanItsTtlIsToldTheTruthByItsFirstQuestion() throws Exception {
    Duration ttl = Duration.ofSeconds(9);
    FencedResource resource = new FencedResource();
    try (PausedClient.Remote client = new PausedClient.Remote(ttl, masters.addresses())) {
      List<Long> stale = client.tokens;
      stale.forEach(token -> assertTrue(resource.write(token)));
      Signal.STOP.to(client.process);
      client.ask(0);
      Signal.CONT.to(client.process); // after a moment: it holds its leases, no node looks dead
      assertEquals("valid left ensured EXTENDED valid", client.answer());
      assertEquals("ended", client.answer().strip());

      Signal.STOP.to(client.process);
      client.ask(PausedClient.LEASES);
      Redlock other = masters.connect();
      List<Lease> taken = new ArrayList<>();
      for (int i = 0; i < PausedClient.LEASES; i++) {
        taken.add(
            other.acquire(
                LeaseRequest.of(PausedClient.resource(i), Duration.ofSeconds(20))
                    .waitUpTo(Duration.ofMinutes(1))));
        assertTrue(taken.get(i).fencingToken() > stale.get(i));
        assertTrue(resource.write(taken.get(i).fencingToken()));
      }
      Signal.CONT.to(client.process);
      assertEquals("invalid over LeaseLostException LOST invalid", client.answer());
      assertEquals("ended EXPIRED EXPIRED EXPIRED EXPIRED EXPIRED", client.answer());
      stale.forEach(token -> assertFalse(resource.write(token), "a stale write"));
      for (Lease lease : taken) {
        assertExtended(lease.extend(Duration.ofSeconds(20)));
      }
    }
  }

  /** Accepts a write unless it has seen a higher token. */
  private static final class FencedResource {
    private long highest;

    boolean write(long token) {
      if (token < highest) {
        return false;
      }
      highest = token;
      return true;
    }
  }
}
