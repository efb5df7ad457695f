package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.RedlockOperations;
import io.redlock.ReleaseResult;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(300)
class QuorumRedlockTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private final Bed bed = new Bed(3);

  @Test
  void blockingCallReturnsTheLeaseOrSaysWhyNot() throws InterruptedException {
    bed.script(Bed::yes);
    try (Lease lease = bed.redlock.acquire("orders/42", Bed.TTL, Duration.ZERO)) {
      assertTrue(lease.isValid());
    }
    bed.script(
        request -> request instanceof Grant ? NodeReply.held(5_000, 1, "") : Bed.yes(request));
    LockNotAcquiredException refused =
        assertThrows(LockNotAcquiredException.class, () -> bed.redlock.acquire(Bed.REQUEST));
    assertEquals(AcquireResult.Outcome.CONTENDED, refused.result().outcome());
    assertEquals(
        AcquireResult.Outcome.CONTENDED, bed.redlock.tryAcquire("orders/42", Bed.TTL).outcome());
  }

  @Test
  void threadThatWaitsForItselfIsWarned() throws InterruptedException {
    bed.script(Bed::yes);
    Lease lease = bed.redlock.acquire(Bed.REQUEST);
    String warning = Thread.currentThread() + " waits for app:orders/42, which it holds";
    CompletableFuture<Void> frees =
        CompletableFuture.runAsync(
            () -> {
              while (!log.newWarnings().contains(warning)) {
                Thread.onSpinWait();
              }
              lease.close();
            });
    bed.redlock.acquire(Bed.REQUEST.waitUpTo(Duration.ofDays(1))).close();
    frees.join();
    bed.redlock.acquire(Bed.REQUEST.waitUpTo(Duration.ofDays(1))).close();
    assertEquals(List.of(), log.newWarnings());
  }

  @Test
  void threadThatHasReleasedDoesNotWaitForItselfThoughAnotherIsAboutToEndTheLease()
      throws InterruptedException {
    bed.script(Bed::yes);
    HeldLease lease = (HeldLease) bed.redlock.acquire(Bed.REQUEST);
    LeaseRequest again = Bed.REQUEST.waitUpTo(Duration.ofDays(1));
    bed.time.whenAwaited(future -> Thread.currentThread().interrupt());
    AtomicInteger reads = new AtomicInteger();
    bed.time.whenRead(
        () -> {
          if (reads.incrementAndGet() == 2) { // the first step of the other thread
            lease.close();
            assertThrows(InterruptedException.class, () -> bed.redlock.acquire(again));
          }
        });
    lease.owner.wake();
    assertTrue(reads.get() >= 2);
    assertEquals(List.of(), log.newWarnings());
  }

  @Test
  void interruptedThreadDoesNotBeginToWait() {
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> bed.redlock.tryAcquire(Bed.REQUEST));
    assertFalse(Thread.interrupted(), "the interrupt was consumed");
    assertEquals(0, bed.journal.size());
  }

  @Test
  void badRequestIsRefusedBeforeAnythingIsSent() {
    LeaseRequest bad = LeaseRequest.of(" ", Duration.ZERO).waitUpTo(Duration.ofMillis(-1));
    for (Runnable call :
        List.<Runnable>of(() -> bed.redlock.acquireAsync(bad), () -> bed.redlock.asLock(bad))) {
      IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, call::run);
      assertTrue(refused.getMessage().contains("resource \" \" is blank"), refused.getMessage());
      assertTrue(refused.getMessage().contains("ttl 0s"), refused.getMessage());
      assertTrue(refused.getMessage().contains("waitUpTo -1ms"), refused.getMessage());
    }
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> bed.redlock.lead(" ", Duration.ZERO, Duration.ZERO, (term, self) -> {}));
    for (String part : List.of("resource \" \" is blank", "ttl 0s", "renewFor 0s")) {
      assertTrue(refused.getMessage().contains(part), refused.getMessage());
    }
    assertEquals(0, bed.journal.size());
  }

  /** Its releases follow when it has sent the grants; no clock runs meanwhile. */
  @Test
  void threadThatIsSendingGrantsCanCloseTheServiceThoughItIsInterrupted() {
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                Thread.currentThread().interrupt();
                bed.redlock.close();
              }
              return null;
            });
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(Bed.REQUEST);
    assertTrue(Thread.interrupted(), "the interrupt stays set");
    assertTrue(call.isCompletedExceptionally());
    assertEquals("ab", bed.releasedOn(), "c was closed before it was asked");
  }

  @Test
  void nodeThatCannotBeClosedKeepsNothingElseFromIt() {
    HeldLease lease = bed.lease();
    bed.node(0)
        .whenClosed(
            () -> {
              throw new IllegalStateException("a node's mistake");
            });
    bed.redlock.close();
    assertEquals(
        List.of("A step of the close failed: this is a defect of the lock library"), log.errors());
    assertFalse(lease.isValid());
    assertTrue(bed.node(2).isClosed());
    assertEquals(0, bed.time.tasks());
    bed.redlock.close();
  }

  @Test
  void closingStopsAllNodesBeforeItWaitsForTheFirst() {
    List<Boolean> stopped = new ArrayList<>();
    bed.node(0).whenClosed(() -> bed.nodes.forEach(node -> stopped.add(node.isStopped())));
    bed.redlock.close();
    bed.redlock.close();
    assertEquals(List.of(true, true, true), stopped, "and closes them once");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void operationsOfAClosedServiceFailAtOnce(boolean isClosing) {
    HeldLease lease = bed.lease();
    bed.script(request -> null);
    bed.journal.clear();
    RedlockOperations operations = bed.redlock.operations();
    Runnable test =
        () -> {
          for (CompletableFuture<?> future :
              List.of(
                  bed.redlock.acquireAsync(Bed.REQUEST), operations.inspectAsync("orders/42"))) {
            assertIsClosed(assertThrows(CompletionException.class, () -> Bed.now(future)));
          }
          for (Executable call :
              List.<Executable>of(
                  () -> bed.redlock.tryAcquire(Bed.REQUEST),
                  () -> operations.inspect("orders/42"),
                  () -> operations.freeAsync("orders/42"),
                  () -> operations.freeAsync("orders/42", 5),
                  () -> bed.redlock.lead("orders/42", Bed.TTL, (term, leadership) -> {}))) {
            assertIsClosed(new Error(assertThrows(IllegalStateException.class, call)));
          }
          ExtendResult extended = Bed.now(lease.extendAsync(Bed.TTL));
          assertEquals(ExtendResult.Outcome.LOST, extended.outcome());
        };
    if (isClosing) {
      bed.node(2).whenClosed(test);
    }
    bed.redlock.close();
    if (!isClosing) {
      test.run();
    }
    assertEquals(List.of(), bed.journal);
    assertEquals(List.of(), log.errors());
  }

  private static void assertIsClosed(Throwable failure) {
    assertEquals("this Redlock is closed", failure.getCause().getMessage());
  }

  /** The ways to wait for a lease, which others have. */
  private List<Callable<?>> blockingCalls() {
    LeaseRequest patient = Bed.REQUEST.waitUpTo(Duration.ofDays(1)).renewFor(Bed.TTL);
    return List.of(
        () -> bed.redlock.acquire(patient),
        () -> bed.redlock.tryAcquire(patient),
        () -> bed.redlock.callLeased(patient, lease -> "never"),
        () -> {
          bed.redlock.asLock(patient).lock();
          return "never";
        },
        () -> bed.redlock.asLock(patient).tryLock(1, TimeUnit.DAYS));
  }

  @Test
  void blockedCallersAreWokenByClose() throws InterruptedException {
    Queue<Throwable> thrown = new ConcurrentLinkedQueue<>();
    CountDownLatch asked = new CountDownLatch(3);
    bed.script(
        request -> {
          asked.countDown();
          return null;
        });
    List<Thread> callers = new ArrayList<>();
    for (Callable<?> call : blockingCalls()) {
      Thread caller =
          Bed.begun( // until it waits, it uses the bed as well
              () -> {
                try {
                  call.call();
                } catch (Exception e) {
                  thrown.add(e);
                }
              },
              Thread.State.WAITING);
      assertTrue(caller.isAlive());
      callers.add(caller);
    }
    assertTrue(asked.await(60, TimeUnit.SECONDS));
    bed.redlock.close();
    for (Thread caller : callers) {
      join(caller);
    }
    assertEquals(callers.size(), thrown.size());
    for (Throwable each : thrown) {
      assertInstanceOf(IllegalStateException.class, each);
      assertEquals("this Redlock is closed", each.getMessage());
    }
    assertEquals(3, bed.releases(), "of the one that asked");
  }

  @Test
  void lockThatIsHeldAtTheCloseIsLost() {
    bed.script(Bed::yes);
    LeaseLock lock = bed.redlock.asLock(Bed.REQUEST.renewFor(Bed.TTL));
    lock.lock();
    bed.redlock.close();
    assertEquals(0, bed.releases(), "its keys run out");
    assertThrows(LeaseLostException.class, lock::unlock);
  }

  /**
   * One thread counts a quorum, another closes the service before the call gets its lease. In every
   * order, no caller may hold a valid lease whose release was sent.
   */
  @Test
  void closeNeverReleasesALeaseThatACallIsJustHandingOut() throws InterruptedException {
    CountDownLatch decided = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    AtomicBoolean releasedWhileValid = new AtomicBoolean();
    AtomicReference<Lease> handedOut = new AtomicReference<>();
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(Bed.REQUEST);
    call.thenAccept(result -> handedOut.set(result.lease().orElseThrow()));
    bed.answerGrants(NodeReply.GRANTED, 0);
    Thread answering = new Thread(() -> bed.answerGrants(NodeReply.GRANTED, 1));
    bed.betweenSteps(
        () -> {
          if (Thread.currentThread() == answering) {
            decided.countDown();
            await(goOn);
          }
        });
    bed.node(0)
        .script(
            request -> {
              if (request instanceof Release) {
                goOn.countDown(); // half closed: let the other thread finish
                join(answering);
                Lease lease = handedOut.get();
                releasedWhileValid.compareAndSet(false, lease != null && lease.isValid());
              }
              return Bed.yes(request);
            });
    answering.start();
    await(decided);
    bed.redlock.close();
    goOn.countDown();
    join(answering);
    assertFalse(releasedWhileValid.get());
    assertTrue(call.isDone());
  }

  /** A closed node takes no release: those of grants that a thread still sends go first. */
  @Test
  void closeWaitsUntilAThreadThatSendsGrantsHasSentTheirReleases() {
    Thread closing = Thread.currentThread();
    CountDownLatch sending = new CountDownLatch(1);
    AtomicBoolean closed = new AtomicBoolean();
    List<Integer> releases = new ArrayList<>();
    Duration patience = Duration.ofMinutes(25); // for a busy machine: real time
    QuorumRedlock redlock =
        (QuorumRedlock)
            Bed.builder(bed.time, bed.nodes)
                .maxTtl(Duration.ofHours(1))
                .nodeTimeout(patience)
                .build();
    bed.node(0)
        .script(
            request -> {
              if (request instanceof Grant) {
                sending.countDown();
                while (!(redlock.context.closed.get()
                        && closing.getState() == Thread.State.TIMED_WAITING)
                    && !closed.get()) {
                  Thread.yield();
                }
              }
              return null;
            });
    bed.node(0)
        .whenClosed(
            () -> {
              bed.nodes.forEach(node -> releases.add(node.releases()));
              closed.set(true);
            });
    Thread caller =
        new Thread(() -> redlock.acquireAsync(LeaseRequest.of("orders/42", Duration.ofHours(1))));
    caller.start();
    await(sending);
    redlock.close();
    join(caller);
    assertEquals(List.of(1, 0, 0), releases);
  }

  @Test
  void interruptStaysSetAndDoesNotKeepTheServiceFromClosing() {
    HeldLease lease = bed.lease();
    Thread.currentThread().interrupt();
    bed.redlock.close();
    assertTrue(Thread.interrupted());
    assertFalse(lease.isValid());
    assertTrue(bed.nodes.stream().allMatch(ScriptedNode::isClosed));
  }

  private static void await(CountDownLatch latch) {
    try {
      assertTrue(latch.await(60, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void join(Thread thread) {
    try {
      thread.join(60_000);
      assertFalse(thread.isAlive());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void bodyRunsUnderALeaseThatIsReleasedAfterwardsOnceUnlessByTheBody()
      throws InterruptedException {
    bed.script(Bed::yes);
    String value =
        bed.redlock.callLeased(
            Bed.REQUEST,
            lease -> {
              assertTrue(lease.isValid());
              assertEquals(0, bed.releases());
              return "done";
            });
    assertEquals("done", value);
    assertEquals("abc", bed.releasedOn());
    ReleaseResult early = bed.redlock.callLeased(Bed.REQUEST, Lease::release);
    assertEquals(ReleaseResult.RELEASED, early);
    assertEquals(6, bed.releases(), "once each");
  }

  @Test
  void lossThatOnlyTheReleaseFindsIsReported() {
    bed.script(request -> request instanceof Release ? NodeReply.NOT_HELD : Bed.yes(request));
    LeaseLostException lost =
        assertThrows(
            LeaseLostException.class,
            () -> bed.redlock.callLeased(Bed.REQUEST, lease -> "unprotected"));
    assertTrue(lost.getMessage().contains("no majority held it"), lost.getMessage());
  }

  @Test
  void interruptedReleaseGoesOnInTheBackgroundAndThatOfAResourceMasksNothing() {
    IOException failure = new IOException("the body's own");
    HeldLease first = bed.lease();
    HeldLease second = bed.lease(LeaseRequest.of("other", Bed.TTL));
    bed.script(request -> null);
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, first::release);
    assertEquals("abc", bed.releasedOn());
    IOException thrown =
        assertThrows(
            IOException.class,
            () -> {
              try (second) {
                Thread.currentThread().interrupt();
                throw failure;
              }
            });
    assertTrue(Thread.interrupted());
    assertSame(failure, thrown);
    assertEquals(0, thrown.getSuppressed().length);
    assertEquals(6, bed.releases());
  }

  @Test
  void releaseThatIsNotConfirmedAndAnInterruptOfTheBodyDoNotChangeItsResult()
      throws InterruptedException {
    bed.script(
        request -> request instanceof Release ? NodeReply.unreachable("down") : Bed.yes(request));
    String value =
        bed.redlock.callLeased(
            Bed.REQUEST,
            lease -> {
              Thread.currentThread().interrupt();
              return "done";
            });
    assertTrue(Thread.interrupted(), "it stays set");
    assertEquals("done", value);
    assertEquals("abc", bed.releasedOn());
  }

  @Test
  void bodyThrowsItsOwnCheckedException() {
    bed.script(Bed::yes);
    IOException failure = new IOException("the body's own");
    try {
      bed.redlock.runLeased(
          Bed.REQUEST,
          lease -> {
            throw failure;
          });
      fail("nothing was thrown");
    } catch (IOException | InterruptedException thrown) { // no other checked one to catch
      assertSame(failure, thrown);
    }
    assertEquals("abc", bed.releasedOn());
  }

  @Test
  void exceptionOfTheBodyIsNeverMasked() {
    bed.script(Bed::yes);
    Exception failure = new Exception("the body's own");
    Exception thrown =
        assertThrows(
            Exception.class,
            () ->
                bed.redlock.callLeased(
                    Bed.REQUEST,
                    lease -> {
                      bed.time.pause(Duration.ofMinutes(1));
                      throw failure;
                    }));
    assertSame(failure, thrown);
    assertInstanceOf(LeaseLostException.class, thrown.getSuppressed()[0]);
    assertEquals("abc", bed.releasedOn());
  }

  @Test
  void leaseThatWasLostDuringTheBodyIsReportedAfterIt() {
    bed.script(Bed::yes);
    assertThrows(
        LeaseLostException.class,
        () ->
            bed.redlock.callLeased(
                Bed.REQUEST,
                lease -> {
                  bed.time.pause(Duration.ofMinutes(1));
                  return "too late";
                }));
  }
}
