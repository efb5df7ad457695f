package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A refusal names the holder. */
@RequiresRedis
class HolderTest {

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private static final String HOLDER = "billing@pod-7:4211";
  private static final Duration TTL = Duration.ofSeconds(20);

  private static LockNotAcquiredException refusal(Redlock client, LeaseRequest request) {
    return assertThrows(LockNotAcquiredException.class, () -> client.acquire(request));
  }

  @Test
  void refusalNamesTheHolderInItsTextAndAsAValue() throws Exception {
    Redlock holder = masters.connect(settings -> settings.holder(HOLDER));
    Redlock other = masters.connect(settings -> settings.holder("reports@pod-1:7"));
    for (boolean isFair : new boolean[] {false, true}) {
      LeaseRequest request = LeaseRequest.of("resource", TTL);
      LeaseRequest asked = isFair ? request.fair() : request;
      try (Lease lease = holder.acquire(asked)) {
        LockNotAcquiredException refusal = refusal(other, asked);
        assertTrue(refusal.getMessage().contains(" more by " + HOLDER), refusal.getMessage());
        assertEquals(Optional.of(HOLDER), refusal.holder());
        AcquireResult result = other.tryAcquire(asked);
        assertEquals(Optional.of(HOLDER), result.holder());
        assertTrue(lease.isValid());
      }
    }
  }

  @Test
  void refusalOfSeveralNamesNamesTheHolderThatStaysLongest() throws Exception {
    Redlock shorter = masters.connect(settings -> settings.holder("shorter"));
    Redlock longer = masters.connect(settings -> settings.holder("longer"));
    Redlock other = masters.connect();
    try (Lease one = shorter.acquire(LeaseRequest.of("a", TTL.dividedBy(2)));
        Lease two = longer.acquire(LeaseRequest.of("b", TTL))) {
      LeaseRequest both = LeaseRequest.ofAll(List.of("a", "b"), TTL);
      assertEquals(Optional.of("longer"), refusal(other, both).holder());
      assertTrue(one.isValid() && two.isValid());
    }
  }

  @Test
  void clientWithoutALabelOfItsOwnIsItsHostAndProcess() throws Exception {
    Redlock holder = masters.connect();
    Redlock other = masters.connect();
    LeaseRequest request = LeaseRequest.of("resource", TTL);
    try (Lease lease = holder.acquire(request)) {
      String label = refusal(other, request).holder().orElseThrow();
      assertTrue(label.endsWith(":" + ProcessHandle.current().pid()), label);
      assertTrue(lease.isValid());
    }
  }

  @Test
  void valueOfAnotherRedlockClientIsNotShown() throws Exception {
    for (int node = 0; node < LeaseMasters.NODES; node++) {
      masters.get(node).command("SET", "resource", "secret of another", "PX", "20000");
    }
    LockNotAcquiredException refusal = refusal(masters.connect(), LeaseRequest.of("resource", TTL));
    assertEquals(Optional.empty(), refusal.holder());
    assertTrue(refusal.getMessage().contains(" more"), refusal.getMessage());
    assertTrue(!refusal.getMessage().contains("secret"), refusal.getMessage());
    for (int node = 0; node < LeaseMasters.NODES; node++) {
      masters.get(node).command("DEL", "resource");
    }
  }

  @Test
  void connectionsCarryTheLabel() throws Exception {
    masters.connect(settings -> settings.holder(HOLDER));
    String list = String.valueOf(masters.get(0).command("CLIENT", "LIST"));
    assertTrue(list.contains(" name=" + HOLDER + " "), list);
  }
}
