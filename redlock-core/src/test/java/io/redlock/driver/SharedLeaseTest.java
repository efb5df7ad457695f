package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What the driver does for readers. */
class SharedLeaseTest {

  private static final LeaseRequest READS = Bed.REQUEST.shared().waitUpTo(Duration.ofMinutes(5));
  private static final NodeReply READ = NodeReply.heldBy(60_000, 5, HolderLabel.SHARED);

  private final Bed bed = new Bed(3);

  private CompletableFuture<AcquireResult> call(LeaseRequest request) {
    return bed.redlock.acquireAsync(request);
  }

  private static Lease lease(CompletableFuture<AcquireResult> call) {
    return Bed.now(call).lease().orElseThrow();
  }

  private void refuseGrants(NodeReply refusal) {
    bed.script(request -> request instanceof Grant ? refusal : Bed.yes(request));
  }

  private List<Grant> grants() {
    return bed.node(0).asked(Grant.class);
  }

  @Test
  void everyRequestOfAReaderSaysSo() throws Exception {
    HeldLease lease = bed.lease(READS);
    lease.extend(Bed.TTL.multipliedBy(2));
    lease.extend(Bed.TTL);
    assertTrue(lease.isShared());
    assertTrue(bed.redlock.operations().leases().get(0).shared());
    assertTrue(lease.toString().startsWith("shared lease on orders/42"), lease::toString);
    lease.release();
    assertTrue(grants().get(0).shared());
    assertTrue(bed.node(0).asked(Extend.class).stream().allMatch(Extend::shared));
    Release release = bed.node(0).asked(Release.class).get(0);
    assertEquals(Bed.TTL.multipliedBy(2).toMillis(), release.sharedTtlMillis());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("released");
  }

  @Test
  void exclusiveRequestsSayNothing() throws Exception {
    HeldLease lease = bed.lease();
    lease.extend(Bed.TTL);
    lease.release();
    assertFalse(lease.isShared());
    assertFalse(grants().get(0).shared());
    assertFalse(bed.node(0).asked(Extend.class).get(0).shared());
    assertFalse(bed.node(0).asked(Release.class).get(0).shared());
  }

  @Test
  void sharedLeaseHoldsUpNoCall() {
    HeldLease reader = bed.lease(READS);
    assertTrue(lease(call(READS)).isValid());
    assertTrue(lease(call(Bed.REQUEST.waitUpTo(Bed.TTL))).isValid(), "it asks the nodes");
    reader.close();
    bed.lease(READS.unlessHeld()).close();
  }

  @Test
  void exclusiveLeaseHoldsUpReadersAndAllOfThemAskWhenItEnds() {
    Lease writer = bed.lease(Bed.REQUEST.waitUpTo(Bed.TTL));
    List<CompletableFuture<AcquireResult>> readers = new ArrayList<>();
    for (int reader = 0; reader < 5; reader++) {
      readers.add(call(READS));
    }
    assertEquals(1, grants().size());
    writer.close();
    for (CompletableFuture<AcquireResult> reader : readers) {
      assertTrue(lease(reader).isValid());
    }
    assertEquals(6, grants().size());
    readers.forEach(reader -> lease(reader).close());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("all have read");
  }

  @Test
  void readersAskTogetherOnceOneIsGranted() {
    List<CompletableFuture<AcquireResult>> readers = new ArrayList<>();
    for (int reader = 0; reader < 5; reader++) {
      readers.add(call(READS));
    }
    assertEquals(1, grants().size(), "the head asks for all");
    bed.answerGrants(NodeReply.GRANTED, 0, 1);
    assertTrue(lease(readers.get(0)).isValid());
    assertEquals(5, grants().size());
    call(READS);
    assertEquals(6, grants().size(), "a later one asks with them");
  }

  @Test
  void onlyTheHeadOfRefusedReadersAsksAgain() {
    refuseGrants(READ);
    for (int reader = 0; reader < 5; reader++) {
      call(READS);
    }
    bed.time.passMillis(100);
    int asked = grants().size();
    assertTrue(asked < 20, asked + " times");
    bed.script(request -> null);
    bed.time.passMillis(1_000);
    assertTrue(grants().size() > asked);
    assertEquals(
        1, grants().stream().skip(1).map(grant -> grant.owner().split("-")[1]).distinct().count());
  }

  @Test
  void onlyTheHeadOfFairReadersLeavesTickets() {
    for (int reader = 0; reader < 3; reader++) {
      call(READS.fair());
    }
    bed.answerGrants(NodeReply.GRANTED, 0, 1);
    assertEquals(
        List.of(3_000L, 3_000L, 0L), // the first has left the line when the second asks
        grants().stream().map(grant -> grant.ticket().lifeMillis()).toList());
    assertTrue(grants().stream().allMatch(grant -> grant.ticket().shared()));
    bed.answerGrants(NodeReply.waiting(3_000), 2, 1, 0, 0, 1, 2, 1, 0, 2);
    bed.time.passMillis(2_000);
    assertTrue(grants().size() > 3);
    assertEquals(
        2,
        grants().stream()
            .map(Grant::ticket)
            .filter(it -> it.lifeMillis() > 0)
            .map(Ticket::waiter)
            .distinct()
            .count());
  }

  @Test
  void readersAreOneHolderWhateverTheirCountersAre() {
    bed.node(0).script(request -> request instanceof Grant ? NodeReply.GRANTED : Bed.yes(request));
    for (int node = 1; node < 3; node++) {
      NodeReply read = NodeReply.heldBy(60_000 - node, 5 + node, HolderLabel.SHARED);
      bed.node(node).script(request -> request instanceof Grant ? read : Bed.yes(request));
    }
    AcquireResult refused = Bed.now(call(Bed.REQUEST));
    assertEquals(By.HOLDER, refused.contendedBy().orElseThrow());
    assertEquals("readers", refused.holder().orElseThrow());
    assertTrue(refused.votes().toString().contains("more by readers"), refused::toString);
    assertEquals(
        By.HOLDER, Bed.now(call(Bed.REQUEST.waitUpTo(Bed.TTL).unlessHeld())).contendedBy().get());
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
