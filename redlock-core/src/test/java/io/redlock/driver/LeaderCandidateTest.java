package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.RetryStrategy;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Every way in which a term begins and ends. Time is virtual, and passes only while no work runs or
 * while the work waits for its {@link #orders}.
 */
@Timeout(300)
class LeaderCandidateTest {

  private static final Duration PAUSE = Bed.TTL.dividedBy(3);
  private static final String LABEL = "billing@pod-7:4211";

  private final Bed bed = new Bed(3);
  private final List<Thread> threads = new ArrayList<>();
  private final List<Lease> terms = new ArrayList<>();
  private final List<Leadership> led = new ArrayList<>();
  private final LinkedBlockingQueue<Callable<?>> orders = new LinkedBlockingQueue<>();
  private final AtomicInteger interrupts = new AtomicInteger();
  private ThreadFactory factory = Thread::new;
  private Runnable beforeCall = () -> {};

  @AfterEach
  void endWork() throws InterruptedException {
    for (Thread thread : threads) {
      orders.add(() -> null);
      thread.interrupt();
      thread.join(60_000);
    }
  }

  private Leadership candidate() {
    return candidate(Bed.REQUEST);
  }

  private Leadership candidate(LeaseRequest request) {
    LeaderCandidate candidate =
        new LeaderCandidate(
            bed.context,
            request,
            this::work,
            asked -> {
              beforeCall.run();
              Pauses pauses = new Pauses(RetryStrategy.jitteredBackoff(), bed.context.random);
              return new AcquireLoop(bed.context, asked, pauses, bed.redlock);
            },
            task -> {
              Thread thread = factory.newThread(task);
              threads.add(thread);
              return thread;
            });
    bed.time.watch(candidate::check);
    candidate.begin();
    return candidate;
  }

  /** Waits for orders until one returns null. */
  private void work(Lease lease, Leadership leadership) throws Exception {
    synchronized (terms) {
      led.add(leadership);
      terms.add(lease);
      terms.notifyAll();
    }
    Object goesOn = true;
    while (goesOn != null) {
      try {
        goesOn = orders.take().call();
      } catch (InterruptedException e) {
        interrupts.incrementAndGet();
        throw e;
      }
    }
  }

  private Lease term(int number) throws InterruptedException {
    synchronized (terms) {
      while (terms.size() < number) {
        terms.wait();
      }
      return terms.get(number - 1);
    }
  }

  private void order(Callable<?> order) {
    orders.add(order);
  }

  /** Waits until the work of this term, and what follows on its thread, has ended. */
  private void awaitEnd(int number) throws InterruptedException {
    Thread thread = threads.get(number - 1);
    thread.join(60_000);
    assertFalse(thread.isAlive(), "the work has not ended");
  }

  /** Returns a candidate whose work has returned; it pauses before its next call. */
  private Leadership candidateAfterItsFirstTerm() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    term(1);
    order(() -> null);
    awaitEnd(1);
    return candidate;
  }

  private void grantAll() {
    bed.script(Bed::yes);
  }

  private void refuseAll() {
    bed.script(
        request ->
            request instanceof Grant || request instanceof Extend
                ? NodeReply.held(-1, 5, LABEL)
                : Bed.yes(request));
  }

  /** Has the work ignore one interrupt; returns when it is ready to. */
  private void orderToIgnoreAnInterrupt() throws InterruptedException {
    CountDownLatch begun = new CountDownLatch(1);
    order(
        () -> {
          begun.countDown();
          try {
            Thread.sleep(60_000);
          } catch (InterruptedException ignored) {
            interrupts.incrementAndGet();
          }
          return true;
        });
    begun.await();
  }

  @Test
  void candidateThatIsGrantedTheLeaseLeads() throws InterruptedException {
    grantAll();
    try (Leadership candidate = candidate()) {
      Lease lease = term(1);
      assertTrue(candidate.isLeader());
      assertTrue(lease.isValid());
      assertEquals("orders/42", candidate.resource());
      assertEquals("candidate for orders/42", candidate.toString());
      assertEquals(Optional.empty(), candidate.leader(), "its owner id has no label");
      assertEquals(Bed.REQUEST.resources(), lease.resources());
    }
    assertEquals(1, interrupts.get());
    bed.time.pass(Bed.TTL);
    bed.assertNothingIsLeft("closed");
  }

  @Test
  void leaderIsNamedByItsOwnerId() throws InterruptedException {
    bed.ownerIds = () -> LABEL + "/" + "0f".repeat(16);
    grantAll();
    try (Leadership candidate = candidate()) {
      term(1);
      assertEquals(Optional.of(LABEL), candidate.leader());
    }
  }

  @Test
  void candidateThatIsRefusedNamesTheLeader() {
    refuseAll();
    try (Leadership candidate = candidate()) {
      assertFalse(candidate.isLeader());
      assertEquals(Optional.of(LABEL), candidate.leader());
    }
  }

  @Test
  void candidateThatIsRefusedWaitsWithoutEndAndThenLeads() throws InterruptedException {
    refuseAll();
    Leadership candidate = candidate();
    bed.time.pass(Duration.ofMinutes(10));
    assertEquals(0, threads.size());
    grantAll();
    bed.time.pass(Duration.ofMinutes(1));
    term(1);
    assertTrue(candidate.isLeader());
    candidate.close();
  }

  @Test
  void termIsRenewedWithoutEnd() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    Lease lease = term(1);
    bed.time.pass(Duration.ofMinutes(90));
    assertTrue(candidate.isLeader());
    assertTrue(lease.isValid());
    assertEquals(1, threads.size());
    candidate.close();
  }

  @Test
  void termEndsAtTheLongestHoldOfItsRequest() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate(Bed.REQUEST.renewFor(Duration.ofMinutes(5)));
    Lease lease = term(1);
    bed.time.pass(Duration.ofMinutes(6));
    assertFalse(lease.isValid());
    awaitEnd(1);
    assertEquals(1, interrupts.get());
    candidate.close();
  }

  @Test
  void workThatReturnsEndsItsTermAndTheNextComesAfterAPause() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    Lease first = term(1);
    order(() -> null);
    awaitEnd(1);
    assertFalse(first.isValid());
    assertFalse(candidate.isLeader());
    assertEquals(Optional.empty(), candidate.leader());
    assertEquals("abc", bed.releasedOn());
    bed.time.pass(PAUSE.minusMillis(1));
    assertEquals(1, threads.size());
    bed.time.passMillis(2);
    Lease second = term(2);
    assertTrue(second.fencingToken() > first.fencingToken());
    assertEquals(0, interrupts.get());
    candidate.close();
  }

  @Test
  void workThatThrowsEndsItsTermAndTheNextComesAfterAPause() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    int number = 0;
    for (Throwable failure : List.of(new Exception("e"), new AssertionError("a"))) {
      number++;
      term(number);
      order(
          () -> {
            if (failure instanceof Error error) {
              throw error;
            }
            throw (Exception) failure;
          });
      awaitEnd(number);
      assertFalse(candidate.isLeader());
      bed.time.pass(PAUSE);
    }
    term(3);
    candidate.close();
  }

  @Test
  void workThatReleasesItsLeaseIsInterruptedAndTheNextTermComes() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    Lease lease = term(1);
    order(
        () -> {
          lease.close();
          return lease;
        });
    awaitEnd(1);
    assertEquals(1, interrupts.get());
    bed.time.pass(PAUSE);
    term(2);
    candidate.close();
  }

  @Test
  void lostLeaseInterruptsTheWorkBeforeItsDeadline() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    Lease lease = term(1);
    bed.script(request -> request instanceof Extend ? null : Bed.yes(request));
    int granted = bed.releases();
    while (candidate.isLeader()) {
      bed.time.passMillis(10);
    }
    awaitEnd(1);
    assertFalse(lease.isValid());
    assertEquals(1, interrupts.get());
    assertTrue(bed.releases() > granted, "the keys are released once the work has stopped");
    candidate.close();
  }

  @Test
  void lostLeaseOfWorkThatIgnoresTheInterruptIsFollowedByNoTermUntilItEnds()
      throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    term(1);
    orderToIgnoreAnInterrupt();
    refuseAll();
    bed.time.pass(Bed.TTL);
    grantAll();
    bed.time.pass(Duration.ofHours(1));
    assertFalse(candidate.isLeader());
    assertEquals(1, threads.size());
    order(() -> null);
    awaitEnd(1);
    assertEquals(1, interrupts.get());
    bed.time.pass(PAUSE);
    term(2);
    candidate.close();
  }

  @Test
  void leaderThatResignsIsInterruptedAndReleasesWhenItsWorkHasEnded() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    Lease lease = term(1);
    candidate.resign();
    assertFalse(candidate.isLeader());
    awaitEnd(1);
    assertFalse(lease.isValid());
    assertEquals("abc", bed.releasedOn());
    bed.time.pass(PAUSE);
    term(2);
    candidate.close();
  }

  @Test
  void leaseOfWorkThatGoesOnAfterItWasAskedToStopIsKeptAndRenewed() throws InterruptedException {
    bed.ownerIds = () -> LABEL + "/" + "0f".repeat(16);
    grantAll();
    Leadership candidate = candidate();
    Lease lease = term(1);
    orderToIgnoreAnInterrupt();
    candidate.resign();
    while (interrupts.get() == 0) {
      Thread.sleep(1);
    }
    candidate.resign();
    bed.time.pass(Duration.ofHours(1));
    assertTrue(lease.isValid());
    assertFalse(candidate.isLeader());
    assertEquals(Optional.empty(), candidate.leader(), "it resigned");
    assertEquals(0, bed.releases());
    order(() -> null);
    awaitEnd(1);
    assertEquals("abc", bed.releasedOn());
    assertEquals(1, interrupts.get(), "resigning twice interrupts once");
    candidate.close();
  }

  @Test
  void leaderThatWasPausedBeyondItsDeadlineKnowsItBeforeAnyTimerRuns() throws InterruptedException {
    bed.ownerIds = () -> LABEL + "/" + "0f".repeat(16);
    grantAll();
    Leadership candidate = candidate();
    term(1);
    assertEquals(Optional.of(LABEL), candidate.leader());
    bed.time.pause(Bed.TTL);
    assertFalse(candidate.isLeader());
    assertEquals(Optional.empty(), candidate.leader());
    candidate.close();
  }

  @Test
  void candidateThatIsClosedAsItsNextCallBeginsGivesThatCallUp() throws InterruptedException {
    Leadership candidate = candidateAfterItsFirstTerm();
    int granted = bed.asked(Grant.class);
    bed.script(request -> request instanceof Grant ? null : Bed.yes(request));
    beforeCall = candidate::close;
    bed.time.pass(PAUSE);
    assertTrue(bed.context.queues.isEmpty(), "no call waits");
    assertTrue(bed.asked(Grant.class) > granted, "it had begun");
    bed.time.pass(Duration.ofHours(1));
    assertEquals(1, threads.size());
    bed.assertNothingIsLeft("closed");
  }

  @Test
  void candidateThatIsClosedAsItsNextCallIsGrantedGivesTheLeaseBack() throws InterruptedException {
    Leadership candidate = candidateAfterItsFirstTerm();
    int granted = bed.asked(Grant.class);
    beforeCall = candidate::close;
    bed.time.pass(PAUSE);
    assertTrue(bed.asked(Grant.class) > granted, "it had begun");
    assertEquals(1, threads.size(), "no other term");
    bed.time.pass(Bed.TTL);
    bed.assertNothingIsLeft("closed");
  }

  @Test
  void resigningDoesNothingUnlessItLeads() throws InterruptedException {
    refuseAll();
    Leadership candidate = candidate();
    candidate.resign();
    grantAll();
    bed.time.pass(Duration.ofMinutes(1));
    term(1);
    assertTrue(candidate.isLeader());
    candidate.close();
    candidate.resign();
  }

  @Test
  void candidateThatIsClosedWhileItWaitsLeavesNothing() {
    refuseAll();
    Leadership candidate = candidate();
    bed.time.pass(Duration.ofSeconds(1));
    candidate.close();
    candidate.close();
    assertTrue(bed.context.queues.isEmpty(), "its call is given up at once");
    assertEquals(1, bed.events.stream().filter("given up"::equals).count());
    grantAll();
    bed.time.pass(Duration.ofHours(1));
    assertEquals(0, threads.size());
    bed.time.pass(Bed.TTL);
    bed.assertNothingIsLeft("closed");
  }

  @Test
  void candidateThatIsClosedBetweenTermsLeavesNothing() throws InterruptedException {
    Leadership candidate = candidateAfterItsFirstTerm();
    int timers = bed.time.tasks();
    candidate.close();
    assertEquals(timers - 1, bed.time.tasks(), "the pause before the next term");
    bed.time.pass(Duration.ofHours(1));
    assertEquals(1, threads.size());
    bed.time.pass(Bed.TTL);
    bed.assertNothingIsLeft("closed");
  }

  @Test
  void candidateThatIsClosedByItsOwnWorkDoesNotWaitForItself() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    term(1);
    order(
        () -> {
          candidate.close();
          return null;
        });
    awaitEnd(1);
    bed.time.pass(Bed.TTL);
    bed.assertNothingIsLeft("closed");
  }

  @Test
  void leaseThatIsGrantedAsTheCandidateIsClosedIsReleased() {
    bed.script(request -> request instanceof Grant ? null : Bed.yes(request));
    Leadership candidate = candidate();
    candidate.close();
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2);
    assertEquals("abc", bed.releasedOn());
    assertEquals(0, threads.size());
  }

  /** Returns a thread that waits for the end of the candidature. */
  private static Thread closing(Leadership candidate) {
    Thread closer = new Thread(candidate::close);
    closer.start();
    while (closer.getState() != Thread.State.WAITING && closer.isAlive()) {
      Thread.onSpinWait();
    }
    return closer;
  }

  @Test
  void closingWaitsForWorkThatGoesOnForATtlAndItsLeaseStays() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    Lease lease = term(1);
    orderToIgnoreAnInterrupt();
    Thread closer = closing(candidate);
    bed.time.pass(Bed.TTL);
    assertTrue(closer.isAlive());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS + 1);
    closer.join(60_000);
    assertFalse(closer.isAlive());
    assertTrue(lease.isValid());
    order(() -> null);
    awaitEnd(1);
    assertEquals("abc", bed.releasedOn());
  }

  @Test
  void interruptEndsTheWaitOfClosingAndIsSetAgain() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    term(1);
    orderToIgnoreAnInterrupt();
    Thread.currentThread().interrupt();
    candidate.close();
    assertTrue(Thread.interrupted());
    order(() -> null);
    awaitEnd(1);
  }

  @Test
  void closedRedlockEndsTheTerm() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    Lease lease = term(1);
    bed.redlock.close();
    awaitEnd(1);
    assertFalse(lease.isValid());
    assertFalse(candidate.isLeader());
    assertEquals(1, interrupts.get());
    candidate.close();
  }

  @Test
  void closingAfterTheRedlockReturnsThoughTheWorkGoesOn() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    term(1);
    orderToIgnoreAnInterrupt();
    bed.redlock.close();
    candidate.close();
    order(() -> null);
    awaitEnd(1);
  }

  @Test
  void closingThatWaitsForWorkReturnsWhenTheRedlockIsClosed() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    term(1);
    orderToIgnoreAnInterrupt();
    Thread closer = closing(candidate);
    bed.redlock.close();
    closer.join(60_000);
    assertFalse(closer.isAlive());
    assertTrue(bed.context.waits.isEmpty());
    order(() -> null);
    awaitEnd(1);
  }

  @Test
  void candidateThatWaitsWhenItsRedlockIsClosedPlansNoOtherCall() {
    refuseAll();
    candidate();
    AtomicInteger planned = new AtomicInteger();
    bed.time.duringNextSchedule(planned::incrementAndGet);
    bed.redlock.close();
    assertEquals(0, planned.get());
  }

  @Test
  void termForWhichNoThreadStartsIsGivenBackAndFollowedByAnother() throws InterruptedException {
    grantAll();
    factory =
        task -> {
          factory = Thread::new;
          throw new OutOfMemoryError("no thread");
        };
    Leadership candidate = candidate();
    assertEquals("abc", bed.releasedOn());
    bed.time.pass(PAUSE);
    term(1);
    assertTrue(candidate.isLeader());
    candidate.close();
  }

  @Test
  void callThatFailsOnceDelaysTheNextTerm() throws InterruptedException {
    assertTheNextTermComesAfterTwoPauses(
        () ->
            beforeCall =
                () -> {
                  beforeCall = () -> {};
                  throw new OutOfMemoryError("no call");
                });
  }

  @Test
  void candidateLeadsAgainAfterMemoryWasShortForSeconds() throws InterruptedException {
    for (String when : List.of("as its work ends", "while it pauses", "as it calls")) {
      grantAll();
      int before = terms.size();
      try (Leadership candidate = candidate()) {
        term(before + 1);
        if (when.equals("as its work ends")) {
          shortOfMemory();
        }
        order(() -> null);
        awaitEnd(before + 1);
        if (when.equals("while it pauses")) {
          shortOfMemory();
        }
        if (when.equals("as it calls")) {
          beforeCall = this::shortOfMemory;
        }
        bed.time.passWithChecks(Duration.ofSeconds(30));
        assertTrue(candidate.isLeader(), when);
        term(before + 2);
      }
    }
  }

  private void shortOfMemory() {
    ThreadFactory threads = factory;
    beforeCall = () -> {};
    bed.time.shortOfMemory(Duration.ofSeconds(12));
    long endNanos = bed.time.monotonicNanos() + Duration.ofSeconds(12).toNanos();
    factory =
        task -> {
          if (bed.time.monotonicNanos() - endNanos < 0) {
            throw new OutOfMemoryError("no thread");
          }
          factory = threads;
          return threads.newThread(task);
        };
  }

  @Test
  void workEndsItsOwnCandidature() throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    term(1);
    order(
        () -> {
          led.get(0).close();
          return null;
        });
    awaitEnd(1);
    assertEquals(List.of(candidate), led);
    bed.time.pass(Bed.TTL);
    assertEquals(1, threads.size());
    bed.assertNothingIsLeft("closed by its work");
  }

  @Test
  void supplierOfOwnerIdsThatFailsDelaysTheNextTerm() throws InterruptedException {
    assertTheNextTermComesAfterTwoPauses(
        () ->
            bed.ownerIds =
                () -> {
                  bed.ownerIds = () -> "owner-9";
                  throw new IllegalArgumentException("no id");
                });
  }

  private void assertTheNextTermComesAfterTwoPauses(Runnable failure) throws InterruptedException {
    grantAll();
    Leadership candidate = candidate();
    term(1);
    failure.run();
    order(() -> null);
    awaitEnd(1);
    bed.time.pass(PAUSE);
    assertEquals(1, threads.size());
    bed.time.pass(PAUSE);
    term(2);
    candidate.close();
  }

  @Test
  void closedRedlockMakesNoCandidate() {
    bed.redlock.close();
    assertThrows(
        IllegalStateException.class, () -> bed.redlock.lead("orders/42", Bed.TTL, this::work));
  }

  @Test
  void workRunsOnANamedDaemonWithTheClassLoaderOfTheCaller() throws Exception {
    ClassLoader loader = new ClassLoader() {};
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    LinkedBlockingQueue<Thread> seen = new LinkedBlockingQueue<>();
    Thread.currentThread().setContextClassLoader(loader);
    Leadership candidate;
    try {
      candidate =
          bed.redlock.lead(
              "orders/42",
              Bed.TTL,
              (lease, leadership) -> {
                seen.add(Thread.currentThread());
                Thread.sleep(60_000);
              });
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2); // on a thread with another loader
    grantAll();
    Thread thread = seen.poll(60, TimeUnit.SECONDS);
    assertNotNull(thread);
    assertTrue(thread.isDaemon());
    assertEquals("redlock-leader-orders/42", thread.getName());
    assertEquals(loader, thread.getContextClassLoader());
    candidate.close();
    thread.join(60_000);
    assertFalse(thread.isAlive());
  }
}
