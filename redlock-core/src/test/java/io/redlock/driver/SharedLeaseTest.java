package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the driver does for readers. */
class SharedLeaseTest {

  private final Bed bed = new Bed(3);

  @Test
  void leaseOfAReaderSaysSo() {
    HeldLease lease = bed.lease(Bed.REQUEST.shared());
    assertTrue(lease.isShared());
    assertTrue(bed.redlock.operations().leases().get(0).shared());
    assertTrue(lease.toString().startsWith("shared lease on orders/42"), lease::toString);
    assertFalse(bed.lease().isShared());
  }

  @Test
  void threadWithBothLocksHasOneLeaseUntilItHasUnlockedBoth() {
    bed.script(Bed::yes);
    LeaseReadWriteLock lock =
        bed.redlock.asReadWriteLock(Bed.REQUEST.renewFor(Duration.ofMinutes(5)));
    lock.writeLock().lock();
    Lease lease = lock.writeLock().lease();
    lock.readLock().lock();
    lock.readLock().lock();
    assertSame(lease, lock.readLock().lease());
    assertEquals(
        List.of(3), bed.redlock.operations().leases().stream().map(LeaseStatus::holds).toList());
    lock.writeLock().unlock();
    assertThrows(IllegalMonitorStateException.class, lock.writeLock()::unlock);
    assertThrows(IllegalStateException.class, lock.writeLock()::lock);
    lock.readLock().unlock();
    assertTrue(lease.isValid());
    assertEquals(0, bed.releases());
    lock.readLock().unlock();
    assertFalse(lease.isValid());
    lock.readLock().lock();
    assertTrue(lock.readLock().lease().isShared());
    assertThrows(IllegalMonitorStateException.class, lock.writeLock()::lease);
    lock.readLock().unlock();
  }

  @Test
  void readAndWriteLockIsOnOneResourceAndSaysWhatToLeaveOut() {
    LeaseRequest request = Bed.REQUEST.renewFor(Bed.TTL);
    refused("leave shared() out", request.shared());
    refused("add .renewFor(...) to the request", Bed.REQUEST);
    refused("leave unlessHeld() out", request.unlessHeld());
    refused(
        "is on one resource, not on 2: make one with LeaseRequest.of(name, ttl)",
        LeaseRequest.ofAll(List.of("a", "b"), Bed.TTL).renewFor(Bed.TTL));
    refused("not on any of several", LeaseRequest.anyOf(List.of("a"), Bed.TTL).renewFor(Bed.TTL));
  }

  private void refused(String message, LeaseRequest request) {
    String refusal =
        assertThrows(IllegalArgumentException.class, () -> bed.redlock.asReadWriteLock(request))
            .getMessage();
    assertTrue(refusal.contains(message), refusal);
  }
}
