package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseLostException;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LeaseTooShortException;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;

/** What a lease is not asked for, with what it says, and that it is none the worse for it. */
class BadInputTest {

  private static final Duration TTL = Duration.ofSeconds(9);

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  @Test
  void extendOutOfRangeChangesNothing() throws Exception {
    Redlock redlock = masters.connect();
    Lease lease = redlock.acquire("extend", TTL, TTL);
    masters.awaitHolders(5, "extend");
    refused("is above maxTtl 30s", () -> lease.extend(Duration.ofSeconds(31)));
    refused("is above maxTtl 30s", () -> lease.extendAsync(Duration.ofMillis(30_001)));
    refused("is not positive", () -> lease.extend(Duration.ZERO));
    refused("is not positive", () -> lease.extend(Duration.ofNanos(-1)));
    refused("is not below half of ttl", () -> lease.extend(Duration.ofMillis(500)));
    refused("leaves no validity", () -> lease.extend(Duration.ofMillis(1)));
    assertTrue(lease.isValid());
    assertTrue(masters.pttl(0, "extend") <= TTL.toMillis());
    assertTrue(lease.extend(Duration.ofSeconds(30)).outcome() == ExtendResult.Outcome.EXTENDED);
  }

  @Test
  void marginThatLeavesNothingOfTheTtlIsRefused() throws Exception {
    Redlock redlock = masters.connect(settings -> settings.lossMargin(TTL));
    refused("leaves no validity", () -> redlock.tryAcquire("margin", TTL));
    refused("leaves no validity", () -> redlock.acquireAsync(LeaseRequest.of("margin", TTL)));
    Lease lease = redlock.acquire("margin", Duration.ofSeconds(20), TTL);
    refused("leaves no validity", () -> lease.extend(TTL));
    assertTrue(lease.isValid());
    lease.release();

    refused("loss margin", () -> masters.connect(s -> s.lossMargin(Duration.ofSeconds(30))));
    refused("lossMargin -1s", () -> masters.connect(s -> s.lossMargin(Duration.ofSeconds(-1))));
    refused(
        "lossMargin", () -> masters.connect(s -> s.lossMargin(Duration.ofSeconds(Long.MAX_VALUE))));
  }

  @Test
  void sharingIsForOneResourceAndOneHolder() throws Exception {
    Redlock redlock = masters.connect();
    List<String> names = List.of("a", "b", "c");
    String several = "shared() with 3 resources: ask for one, or leave shared() out";
    LeaseRequest all = LeaseRequest.ofAll(names, TTL).shared().renewFor(TTL);
    refused(several, () -> redlock.acquire(all));
    refused(several, () -> redlock.acquireAsync(all));
    refused(several, () -> redlock.runLeased(all, lease -> {}));
    refused(several, () -> redlock.asLock(all));
    refused(
        "shared() with anyOf(): each name is a lock of its own; leave shared() out",
        () -> redlock.tryAcquire(LeaseRequest.anyOf(names, TTL).shared()));
    LeaseRequest one = LeaseRequest.of("catalog", TTL).renewFor(TTL);
    refused("leave shared() out", () -> redlock.asReadWriteLock(one.shared()));
    refused(
        "on one resource, not on 3",
        () -> redlock.asReadWriteLock(LeaseRequest.ofAll(names, TTL).renewFor(TTL)));
    refused(
        "holder \"shared\" is reserved for readers: choose another",
        () -> masters.connect(settings -> settings.holder("shared")));
    LeaseReadWriteLock lock = redlock.asReadWriteLock(one);
    lock.readLock().lock();
    IllegalStateException refused =
        assertThrows(IllegalStateException.class, () -> lock.writeLock().lock());
    assertEquals(
        "this thread reads catalog: unlock the read lock before you lock for writing,"
            + " or it waits for itself",
        refused.getMessage());
    lock.readLock().unlock();
    assertEquals(0, masters.holders("a"));
  }

  @Test
  void renewalHasAPositiveEnd() throws Exception {
    Redlock redlock = masters.connect();
    LeaseRequest request = LeaseRequest.of("renewal", TTL);
    refused("renewFor 0s is not positive", () -> redlock.acquire(request.renewFor(Duration.ZERO)));
    refused(
        "renewFor -1s is not positive",
        () -> redlock.asLock(request.renewFor(Duration.ofSeconds(-1))));
    assertEquals(0, masters.holders("renewal"));
    try (Lease lease = redlock.acquire(request.renewFor(Duration.ofSeconds(Long.MAX_VALUE)))) {
      assertTrue(lease.isValid(), "as good as endless");
    }
  }

  @Test
  void releasedLeaseIsOfNoMoreUse() throws Exception {
    Redlock redlock = masters.connect();
    Lease lease = redlock.acquire("released", TTL, TTL);
    assertEquals(ReleaseResult.RELEASED, lease.release());
    assertEquals(ReleaseResult.RELEASED, lease.release(), "it only reports");
    lease.close();
    IllegalStateException refused =
        assertThrows(IllegalStateException.class, () -> lease.extend(TTL));
    assertTrue(refused.getMessage().endsWith("was released and cannot be extended"));
    assertThrows(IllegalStateException.class, () -> lease.extendAsync(TTL));
    LeaseLostException ended =
        assertThrows(LeaseLostException.class, () -> lease.ensureValid(Duration.ZERO));
    assertTrue(ended.getMessage().contains("RELEASED, by its holder"), ended.getMessage());
    assertEquals(Duration.ZERO, lease.remaining());
  }

  @Test
  void leaseThatIsGoodForLessIsNotLostForBeingAsked() throws Exception {
    Redlock redlock = masters.connect();
    Lease lease = redlock.acquire("shorter", TTL, TTL);
    LeaseTooShortException tooShort =
        assertThrows(LeaseTooShortException.class, () -> lease.ensureValid(Duration.ofMinutes(1)));
    assertTrue(
        tooShort
            .getMessage()
            .matches(".* is valid for [1-8]\\.\\ds only, less than 60s: extend it first"),
        tooShort.getMessage());
    lease.ensureValid(Duration.ofSeconds(1));
    lease.ensureValid(Duration.ofSeconds(-1));
    assertTrue(lease.isValid());
  }

  private static void refused(String message, Executable call) {
    IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, call);
    assertTrue(refused.getMessage().contains(message), refused.getMessage());
  }
}
