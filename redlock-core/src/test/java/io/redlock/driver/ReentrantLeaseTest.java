package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Grant;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A lock that its thread may lock again. */
@Timeout(300)
class ReentrantLeaseTest {

  private static final LeaseRequest REQUEST = Bed.REQUEST.renewFor(Duration.ofMinutes(5));

  private final Bed bed = new Bed(3);
  private final LeaseLock lock =
      new ReentrantLease(bed.context, REQUEST, new ReentrantLease.Holds());

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("driver/Locks.txt", LockLife::new);
  }

  @Test
  void locksOnTheSameResourcesAreOne() {
    bed.script(Bed::yes);
    LeaseLock first = bed.redlock.asLock(REQUEST);
    LeaseLock second = bed.redlock.asLock(REQUEST.waitUpTo(Bed.TTL));
    first.lock();
    second.lock(); // would wait for itself
    assertSame(first.lease(), second.lease());
    first.unlock();
    second.unlock();
    assertThrows(IllegalMonitorStateException.class, first::unlock);
    assertEquals(1, bed.node(0).asked(Grant.class).size());
  }

  @Test
  void locksOnAnyOfSeveralResourcesAreEachTheirOwn() {
    bed.script(Bed::yes);
    LeaseRequest permits =
        LeaseRequest.anyOf(List.of("a", "b"), Bed.TTL).renewFor(Duration.ofMinutes(5));
    bed.redlock.asLock(permits).lock();
    bed.redlock.asLock(permits).lock();
    assertEquals(2, bed.redlock.operations().leases().size());
  }

  @Test
  void leaseThatNoMemoryIsLeftToRememberIsReleased() {
    bed.script(Bed::yes);
    ReentrantLease.Holds full =
        new ReentrantLease.Holds() {
          @Override
          void put(Object lock, HeldLease lease) {
            throw new InternalError("no memory, as the test wants it");
          }
        };
    assertThrows(InternalError.class, new ReentrantLease(bed.context, REQUEST, full)::lock);
    assertEquals(List.of(), bed.redlock.operations().leases());
    assertEquals(3, bed.releases());
  }

  @ParameterizedTest
  @ValueSource(longs = {0, -1, Long.MIN_VALUE})
  void tryLockWithoutTimeMakesOneAttempt(long time) throws InterruptedException {
    bed.script(request -> request instanceof Grant ? NodeReply.held(-1, 5, "") : Bed.yes(request));
    assertFalse(lock.tryLock(time, TimeUnit.DAYS));
    assertEquals(1, bed.node(0).asked(Grant.class).size());
  }

  @Test
  void conditionsAreNotSupported() {
    assertThrows(UnsupportedOperationException.class, lock::newCondition);
  }

  @Test
  void lockSaysWhatItLocks() {
    assertEquals("lock on " + REQUEST, lock.toString());
  }

  @Test
  void threadHoldsEachOfItsLocksByItself() {
    bed.script(Bed::yes);
    LeaseLock first = bed.redlock.asLock(REQUEST);
    LeaseLock second =
        bed.redlock.asLock(LeaseRequest.of("other", Bed.TTL).renewFor(Duration.ofMinutes(5)));
    first.lock();
    second.lock();
    first.unlock();
    assertThrows(IllegalMonitorStateException.class, first::lease);
    second.unlock();
    assertEquals(List.of(), bed.redlock.operations().leases());
  }

  @Test
  void readLockOfAWriterIsUnlockedAsOftenAsItWasLocked() {
    bed.script(Bed::yes);
    LeaseReadWriteLock locks = bed.redlock.asReadWriteLock(REQUEST);
    LeaseLock read = locks.readLock();
    locks.writeLock().lock();
    read.lock();
    read.unlock();
    assertEquals(
        "the current thread does not hold the read lock on orders/42",
        assertThrows(IllegalMonitorStateException.class, read::unlock).getMessage());
    locks.writeLock().unlock();
    assertEquals(List.of(), bed.redlock.operations().leases());
    assertTrue(read.toString().startsWith("read lock on orders/42"), read.toString());
  }

  @Test
  void threadWithBothLocksHasOneLeaseUntilItHasUnlockedBoth() {
    bed.script(Bed::yes);
    LeaseReadWriteLock lock = bed.redlock.asReadWriteLock(REQUEST);
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
}
