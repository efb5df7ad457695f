package io.redlock.testing;

import static io.redlock.testbed.Results.assertLost;
import static io.redlock.testbed.Results.assertUnavailable;
import static io.redlock.testbed.Results.assertUnknown;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Inspection;
import io.redlock.Inspection.Held;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;

/** Virtual time: nothing here takes longer than it takes to compute. */
@Timeout(300)
class InMemoryMastersTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  @AutoClose private final InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
  private final Redlock redlock = masters.connect();

  /** Code under test, as the page on testing shows it. */
  // readme:start reports
  static class NightlyReport {
    private final Redlock redlock;
    private final List<String> written = new ArrayList<>();

    NightlyReport(Redlock redlock) {
      this.redlock = redlock;
    }

    /** False if another instance is at it. */
    boolean run(List<String> pages) throws Exception {
      LeaseRequest request =
          LeaseRequest.of("report", Duration.ofSeconds(10))
              .waitUpTo(Duration.ofSeconds(5))
              .renewFor(Duration.ofHours(1));
      try {
        return redlock.callLeased(
            request,
            lease -> {
              for (String page : pages) {
                lease.ensureValid(Duration.ofSeconds(1));
                write(page);
              }
              return true;
            });
      } catch (LockNotAcquiredException e) {
        return false;
      }
    }

    void write(String page) {
      written.add(page);
    }
  }

  // readme:end

  @Test
  void inspectionAndLeasesWorkAsInProduction() throws Exception {
    Redlock billing = masters.connect(settings -> settings.holder("billing@pod-7:4211"));
    Lease lease = billing.acquire("orders/42", TTL);
    Inspection inspection = redlock.operations().inspect("orders/42");
    assertEquals(Held.YES, inspection.held(), inspection::toString);
    assertEquals(Optional.of("billing@pod-7:4211"), inspection.holder());
    assertEquals(Optional.of(TTL), inspection.remaining());
    assertEquals(lease.fencingToken(), billing.operations().leases().get(0).fencingToken());
    masters.advance(TTL);
    assertEquals(List.of(), billing.operations().leases());
    assertEquals(Held.NO, redlock.operations().inspect("orders/42").held());
    masters.stop(2);
    assertEquals(Held.UNKNOWN, redlock.operations().inspect("orders/42").held());
  }

  @Test
  void clientWithoutALabelIsNamedByItsNumber() throws Exception {
    masters.connect().acquire("orders/42", TTL);
    assertEquals(Optional.of("client-2"), redlock.operations().inspect("orders/42").holder());
  }

  @Test
  void reportIsWrittenOnce() throws Exception {
    // readme:start contention
    InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
    NightlyReport report = new NightlyReport(masters.connect());

    masters.occupy("report", Duration.ofMinutes(1)); // another instance is at it
    assertFalse(report.run(List.of("1", "2"))); // has waited five seconds, none of them real

    masters.advance(Duration.ofMinutes(1));
    assertTrue(report.run(List.of("1", "2")));
    assertFalse(masters.isHeld("report"));
    // readme:end
    assertEquals(List.of("1", "2"), report.written);
    masters.close();
  }

  @Test
  void reportStopsWhenItsLeaseIsLost() {
    // readme:start loss
    InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
    NightlyReport report =
        new NightlyReport(masters.connect()) {
          @Override
          void write(String page) {
            super.write(page);
            masters.stop(2); // of three masters
            masters.advance(Duration.ofSeconds(10)); // the lease cannot be renewed
          }
        };
    assertThrows(LeaseLostException.class, () -> report.run(List.of("1", "2")));
    // readme:end
    assertEquals(List.of("1"), report.written);
    masters.close();
  }

  @Test
  void blockingCallLetsTimePassUntilItsWaitIsOver() throws InterruptedException {
    masters.occupy("r", Duration.ofSeconds(3));
    Lease lease = redlock.acquire("r", TTL, Duration.ofSeconds(4));
    assertTrue(lease.isValid());
    masters.occupy("s", Duration.ofMinutes(3));
    assertThrows(
        LockNotAcquiredException.class, () -> redlock.acquire("s", TTL, Duration.ofSeconds(20)));
    assertFalse(lease.isValid());
  }

  @Test
  void lockCanBeWaitedFor() {
    masters.occupy("r", Duration.ofMinutes(3));
    LeaseLock lock = redlock.asLock(LeaseRequest.of("r", TTL).renewFor(Duration.ofHours(1)));
    assertFalse(lock.tryLock());
    lock.lock();
    assertTrue(lock.lease().isValid());
    masters.advance(Duration.ofMinutes(10));
    assertTrue(lock.lease().isValid());
    lock.unlock();
    assertFalse(masters.isHeld("r"));
  }

  @Test
  void leaseThatIsNotRenewedExpiresOnTime() throws InterruptedException {
    Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
    List<LeaseEnd> ends = ends(lease);
    masters.advance(lease.remaining().minusNanos(1));
    assertEquals(List.of(), ends);
    masters.advance(Duration.ofNanos(1));
    assertEquals(Cause.EXPIRED, ends.get(0).cause());
    assertTrue(masters.isHeld("r"), "until the deadline");
    masters.advance(TTL);
    assertFalse(masters.isHeld("r"));
  }

  @Test
  void pauseIsFoundOutByWhoeverAsksFirst() throws InterruptedException {
    Lease lease = redlock.acquire(LeaseRequest.of("r", TTL).renewFor(Duration.ofHours(1)));
    List<LeaseEnd> ends = ends(lease);
    masters.pause(TTL);
    assertEquals(List.of(), ends);
    assertFalse(lease.isValid());
    masters.advance(Duration.ZERO);
    assertEquals(Cause.EXPIRED, ends.get(0).cause());
  }

  @Test
  void resourceThatIsTakenAwayIsFoundLostByTheNextExtension() throws InterruptedException {
    Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
    masters.vacate("r");
    masters.occupy("r", TTL);
    assertLost(lease.extend(TTL));
    assertEquals(Cause.REFUSED, ends(lease).get(0).cause());
  }

  @Test
  void resourceThatIsTakenAwayFromItsReadersIsFoundLostByTheNextExtension()
      throws InterruptedException {
    LeaseRequest read = LeaseRequest.of("r", TTL).shared();
    List<Lease> readers = List.of(redlock.acquire(read), redlock.acquire(read));
    masters.vacate("r");
    assertFalse(masters.isHeld("r"));
    for (Lease reader : readers) {
      assertLost(reader.extend(TTL));
      assertEquals(Cause.REFUSED, ends(reader).get(0).cause());
    }
  }

  @Test
  void stoppedMajorityIsUnavailableUntilItIsBack() throws InterruptedException {
    Lease lease = redlock.acquire("r", TTL, Duration.ZERO);
    masters.stop(2);
    assertUnavailable(redlock.tryAcquire("s", TTL));
    assertUnknown(lease.extend(TTL));
    assertEquals(ReleaseResult.UNCONFIRMED, lease.release());
    masters.startAll();
    masters.advance(TTL);
    assertTrue(redlock.tryAcquire("r", TTL).lease().isPresent());
  }

  @Test
  void callsWithoutAThreadAreCompletedByThePassingOfTime() {
    masters.occupy("r", Duration.ofSeconds(3));
    CompletableFuture<AcquireResult> acquiring =
        redlock.acquireAsync(LeaseRequest.of("r", TTL).waitUpTo(Duration.ofSeconds(10)));
    assertFalse(acquiring.isDone());
    masters.advance(Duration.ofSeconds(4));
    assertTrue(acquiring.join().lease().isPresent());
  }

  @Test
  void realTimeCannotBeMoved() {
    try (InMemoryMasters real = InMemoryMasters.inRealTime(1)) {
      assertThrows(IllegalStateException.class, () -> real.advance(TTL));
      assertThrows(IllegalStateException.class, () -> real.pause(TTL));
    }
    assertThrows(IllegalArgumentException.class, () -> InMemoryMasters.inVirtualTime(0));
  }

  private static List<LeaseEnd> ends(Lease lease) {
    List<LeaseEnd> ends = new ArrayList<>();
    lease.ended().thenAccept(ends::add);
    return ends;
  }

  @Test
  void absurdTimesAreRefused() {
    for (Duration absurd : List.of(Duration.ofNanos(-1), ChronoUnit.FOREVER.getDuration())) {
      List<Executable> calls =
          List.of(
              () -> masters.occupy("a", absurd),
              () -> masters.advance(absurd),
              () -> masters.pause(absurd));
      for (Executable call : calls) {
        String why = assertThrows(IllegalArgumentException.class, call).getMessage();
        assertTrue(why.endsWith(": give a time from zero to 36500 days"), why);
      }
    }
    assertFalse(masters.isHeld("a"));
  }

  @Test
  void interruptEndsAWaitAsInRealTime() {
    Redlock impatient =
        masters.connect(
            settings ->
                settings.retryStrategy(
                    (failures, cause, random) -> {
                      Thread.currentThread().interrupt();
                      return Duration.ofMillis(10);
                    }));
    masters.occupy("taken", Duration.ofHours(1));
    assertThrows(
        InterruptedException.class, () -> impatient.acquire("taken", TTL, Duration.ofMinutes(1)));
    assertFalse(Thread.interrupted());
  }
}
