package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LeaseTooShortException;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReadWriteLock;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The samples of the page on leases, as they are shown there. */
class LeaseSamplesTest {

  /** For a busy machine: nobody else wants these resources. */
  private static final Duration WAIT = Duration.ofMinutes(1);

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private Redlock redlock;

  /** Something that checks tokens. */
  private static final class Resource {
    final List<String> written = new ArrayList<>();
    private long highestToken;

    synchronized void write(String what, long token) {
      if (token < highestToken) {
        throw new IllegalArgumentException("stale token " + token);
      }
      highestToken = token;
      written.add(what);
    }
  }

  @BeforeEach
  void connect() {
    redlock = masters.connect(settings -> settings.nodeTimeout(Duration.ofMillis(250)));
  }

  @Test
  void workThatAsksBeforeEachStepStopsInTime() throws Exception {
    Resource shipments = new Resource();
    List<String> orders = List.of("41", "42");
    ship(redlock.acquire("orders", Duration.ofSeconds(10), WAIT), orders, shipments);
    assertEquals(orders, shipments.written);
    RuntimeException refusal;
    do { // anew, if the machine stood still until the lease was over
      Lease brief = redlock.acquire("other orders", Duration.ofMillis(1_000), WAIT);
      refusal = assertThrows(RuntimeException.class, () -> ship(brief, orders, shipments));
    } while (refusal instanceof LeaseLostException);
    assertInstanceOf(LeaseTooShortException.class, refusal);
    assertEquals(orders, shipments.written);
  }

  private static void ship(Lease lease, List<String> orders, Resource shipments) {
    // readme:start stopping-in-time
    for (String order : orders) {
      lease.ensureValid(Duration.ofSeconds(1)); // longer than one order ever takes
      shipments.write(order, lease.fencingToken());
    }
    // readme:end
  }

  @Test
  void workThatCannotAskIsTold() throws Exception {
    Thread worker =
        new Thread(
            () -> {
              try {
                Thread.sleep(20_000);
              } catch (InterruptedException e) {
                // told
              }
            });
    worker.start();
    Lease lease = redlock.acquire("work", Duration.ofMillis(600), WAIT);
    // readme:start being-told
    lease
        .ended()
        .thenAccept(
            end -> {
              if (end.lost()) {
                worker.interrupt();
              }
            });
    // readme:end
    worker.join(60_000);
    assertFalse(worker.isAlive());
    assertFalse(lease.isValid());
  }

  @Test
  void manyReadUnderSharedLeases() throws Exception {
    Resource catalog = new Resource();
    // readme:start shared
    redlock.runLeased(
        LeaseRequest.of("catalog", Duration.ofSeconds(10)).shared().waitUpTo(Duration.ofSeconds(5)),
        lease -> report(catalog, lease.fencingToken()));
    // readme:end
    // readme:start as-a-read-write-lock
    ReadWriteLock lock =
        redlock.asReadWriteLock(
            LeaseRequest.of("catalog", Duration.ofSeconds(10)).renewFor(Duration.ofMinutes(5)));
    lock.readLock().lock();
    try {
      show(catalog);
    } finally {
      lock.readLock().unlock();
    }
    // readme:end
    lock.writeLock().lock();
    lock.writeLock().unlock();
  }

  private static void report(Resource catalog, long token) {
    assertTrue(catalog.highestToken < token);
  }

  private static void show(Resource catalog) {
    assertEquals(List.of(), catalog.written);
  }

  @Test
  void lockIsUsedAsAnyOther() {
    Resource ledger = new Resource();
    // readme:start as-a-lock
    LeaseLock lock =
        redlock.asLock(
            LeaseRequest.of("ledger", Duration.ofSeconds(10)).renewFor(Duration.ofMinutes(5)));
    lock.lock();
    try {
      ledger.write("entry", lock.lease().fencingToken());
    } finally {
      lock.unlock();
    }
    // readme:end
    assertEquals(List.of("entry"), ledger.written);
    lock.lock();
    lock.unlock();
  }
}
