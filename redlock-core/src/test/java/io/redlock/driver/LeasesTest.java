package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The list of the leases that a lock service holds. */
class LeasesTest {

  private static final LeaseRequest RENEWED =
      LeaseRequest.of("renewed", Bed.TTL).renewFor(Duration.ofMinutes(1));

  private final Bed bed = new Bed(3);

  private LeaseStatus only() {
    assertEquals(
        1,
        bed.redlock.operations().leases().size(),
        () -> bed.redlock.operations().leases().toString());
    return bed.redlock.operations().leases().get(0);
  }

  @Test
  void leasesAreListedInTheOrderInWhichTheyWereAcquired() {
    HeldLease first = bed.lease(LeaseRequest.ofAll(List.of("b", "a"), Bed.TTL));
    bed.time.passMillis(1_000);
    HeldLease second = bed.lease(RENEWED);
    bed.time.passMillis(500);
    List<LeaseStatus> leases = bed.redlock.operations().leases();
    assertEquals(
        List.of(
            new StatusOfLease(
                Set.of("a", "b"),
                first.fencingToken(),
                Duration.ofMillis(1_500),
                first.remaining(),
                false,
                false,
                1),
            new StatusOfLease(
                Set.of("renewed"),
                second.fencingToken(),
                Duration.ofMillis(500),
                second.remaining(),
                false,
                true,
                1)),
        leases);
    assertEquals(
        "a + b, held for 1.5s, 7.3s left, token " + first.fencingToken(), leases.get(0).toString());
    first.releasing();
    assertEquals(leases.get(1), only());
  }

  @Test
  void leaseOnOneNameNamesItAndOneOnSeveralRefusesTo() {
    assertEquals("renewed", bed.lease(RENEWED).resource());
    HeldLease several = bed.lease(LeaseRequest.ofAll(List.of("b", "a"), Bed.TTL));
    String why = assertThrows(IllegalStateException.class, several::resource).getMessage();
    assertEquals("this lease is on 2 names: call resources()", why);
  }

  @Test
  void renewedLeaseIsListedForAsLongAsItLives() {
    HeldLease lease = bed.lease(RENEWED);
    bed.time.passMillis(30_000);
    assertEquals(Duration.ofSeconds(30), only().heldFor());
    assertTrue(only().remaining().compareTo(Duration.ofSeconds(5)) > 0, only()::toString);
    bed.time.passMillis(31_000);
    assertTrue(lease.isValid() && !only().renewed(), only()::toString);
    bed.time.passMillis(10_000);
    assertEquals(List.of(), bed.redlock.operations().leases());
  }

  @Test
  void leaseThatExpiredInAPauseIsNotListedAlthoughNoTimerHasRun() {
    bed.lease();
    bed.time.pause(Bed.TTL);
    assertEquals(List.of(), bed.redlock.operations().leases());
  }

  @Test
  void lockedAgainIsCounted() {
    bed.script(Bed::yes);
    LeaseLock lock = bed.redlock.asLock(RENEWED);
    lock.lock();
    lock.lock();
    assertTrue(lock.tryLock());
    assertEquals(3, only().holds());
    assertTrue(only().toString().contains(", renewed, locked 3 times, token "), only()::toString);
    lock.unlock();
    assertEquals(2, only().holds());
    lock.unlock();
    lock.unlock();
    assertEquals(List.of(), bed.redlock.operations().leases());
  }

  @Test
  void closedServiceHoldsNothing() {
    bed.lease();
    bed.redlock.close();
    assertEquals(List.of(), bed.redlock.operations().leases());
  }
}
