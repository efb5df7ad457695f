package io.redlock.testkit;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertLost;
import static io.redlock.testkit.DeploymentUnderTest.NODES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.FreeResult;
import io.redlock.Inspection;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LeaseTooShortException;
import io.redlock.LockNotAcquiredException;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.scenes.Scenes;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What users rely on, one promise a test or a scene. Runs against nodes in memory and against real
 * servers, in real time: an upper bound of a wait is checked with much to spare, a lower one
 * exactly.
 */
@Execution(ExecutionMode.CONCURRENT)
public abstract class RedlockContract {

  static final Duration TTL = Duration.ofSeconds(20);
  static final Duration LESS = TTL.multipliedBy(3).dividedBy(5);

  /** No call fails because the machine stands still for 3 s. */
  static final Duration NODE_TIMEOUT = Duration.ofSeconds(5);

  /** For leases that shall run out while the test waits. */
  static final Duration BRIEF_TTL = Duration.ofSeconds(2);

  static final Duration BRIEF_TIMEOUT = Duration.ofMillis(400);
  static final Duration LONG_WAIT = Duration.ofMinutes(1);

  static final AtomicInteger RESOURCES = new AtomicInteger();

  final String resource = newName("resource");

  @AutoClose DeploymentUnderTest deployment;
  Redlock alice;
  Redlock bob;

  /** Five masters that vote, without keys. */
  protected abstract DeploymentUnderTest open();

  @BeforeEach
  final void start() {
    deployment = open();
    alice = deployment.connect(NODE_TIMEOUT);
    bob = deployment.connect(NODE_TIMEOUT);
  }

  private static String newName(String kind) {
    return kind + "-" + RESOURCES.incrementAndGet();
  }

  Lease acquire(Redlock client) throws InterruptedException {
    return client.acquire(resource, TTL, Duration.ZERO);
  }

  /** What others asked for and gave up may still be on its way to the nodes, and back. */
  Lease acquireSoon(Redlock client) throws InterruptedException {
    return client.acquire(resource, TTL, TTL.dividedBy(2));
  }

  LeaseRequest waiting() {
    return LeaseRequest.of(resource, TTL).waitUpTo(LONG_WAIT);
  }

  LeaseRequest brief() {
    return brief(BRIEF_TTL);
  }

  LeaseRequest brief(Duration ttl) {
    return LeaseRequest.of(resource, ttl).waitUpTo(LONG_WAIT);
  }

  void takeDown(int... nodes) {
    for (int node : nodes) {
      deployment.takeDown(node);
    }
  }

  static List<LeaseEnd> endsOf(Lease lease) {
    List<LeaseEnd> ends = new CopyOnWriteArrayList<>();
    lease.ended().thenAccept(ends::add);
    return ends;
  }

  static List<Cause> causes(List<LeaseEnd> ends) {
    return ends.stream().map(LeaseEnd::cause).toList();
  }

  static List<String> names(List<NodeStatus> nodes) {
    return nodes.stream().map(NodeStatus::name).toList();
  }

  static boolean isWaiting(Thread thread) {
    return thread.getState() == Thread.State.WAITING
        || thread.getState() == Thread.State.TIMED_WAITING;
  }

  boolean queued(int places) {
    return deployment.waiters(resource) == places;
  }

  LeaseRequest fair() {
    return waiting().fair();
  }

  LeaseRequest reading() {
    return LeaseRequest.of(resource, TTL).shared();
  }

  /** The promises that read as a dialogue, each on masters of its own. */
  @TestFactory
  @AgainIfItStoodStill
  Stream<DynamicTest> scenes() {
    return Stream.of("Acquire", "Lease")
        .map(file -> "testkit/contract/" + file + ".txt")
        .flatMap(file -> Scenes.of(file, () -> new ContractStage(open(), newName("scene") + "-")));
  }

  // Acquire.

  @Test
  void acquiredLeaseIsValidForLessThanItsTtlAndCarriesWhatItLocks() throws Exception {
    AcquireResult acquired = alice.tryAcquire(resource, TTL);
    Lease lease = assertAcquired(acquired);
    assertTrue(lease.isValid());
    assertEquals(Set.of(resource), lease.resources());
    assertTrue(lease.remaining().compareTo(TTL) < 0, lease.remaining()::toString);
    assertTrue(acquired.votes().count(Vote.YES) >= 3, acquired::toString);
    lease.ensureValid(TTL.dividedBy(2));
    assertThrows(LeaseTooShortException.class, () -> lease.ensureValid(TTL));
    assertTrue(lease.isValid());
  }

  @Test
  void refusedAcquireThrowsWithTheReasonOfEachNode() throws Exception {
    acquire(alice);
    LockNotAcquiredException refused =
        assertThrows(
            LockNotAcquiredException.class, () -> bob.acquire(resource, TTL, Duration.ZERO));
    AcquireResult contended = assertContended(refused.result());
    assertTrue(contended.lease().isEmpty());
    assertTrue(contended.votes().count(Vote.REFUSED) >= 3, contended::toString);
    assertTrue(contended.votes().toString().contains("held for"), contended::toString);
    assertTrue(refused.getMessage().startsWith("not acquired: "), refused::getMessage);
    assertTrue(refused.getMessage().contains(resource), refused::getMessage);
    for (NodeVote vote : contended.votes().nodes()) {
      assertTrue(refused.getMessage().contains(vote.node()), refused::getMessage);
    }
  }

  @ParameterizedTest
  @CsvSource({"false, 8, 10", "true, 2, 20"}) // of two, each is woken by the release of the other
  void contendersExcludeEachOtherAndAllGetTheirTurn(boolean areFair, int count, int turns)
      throws Exception {
    int[] unguarded = {0};
    AtomicInteger inside = new AtomicInteger();
    long start = System.nanoTime();
    Together.run(
        count,
        number -> {
          Redlock client = number % 2 == 0 ? alice : bob;
          for (int turn = 0; turn < turns; turn++) {
            try (Lease lease = client.acquire(areFair ? fair() : waiting())) {
              assertEquals(1, inside.incrementAndGet());
              unguarded[0]++;
              assertTrue(lease.isValid());
              inside.decrementAndGet();
            }
          }
        });
    Duration took = Duration.ofNanos(System.nanoTime() - start);
    assertEquals(count * turns, unguarded[0]);
    assertTrue(!areFair || took.compareTo(Duration.ofSeconds(turns)) < 0, took::toString);
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
  }

  @Test
  void waitLastsAsLongAsAskedAndNotMuchLonger() throws Exception {
    acquire(alice);
    Duration maxWait = Duration.ofMillis(300);
    Await.until(
        "it does not wait much longer",
        () -> {
          long start = System.nanoTime();
          assertContended(
              bob.acquireAsync(LeaseRequest.of(resource, TTL).waitUpTo(maxWait)).join());
          Duration waited = Duration.ofNanos(System.nanoTime() - start);
          assertTrue(waited.compareTo(maxWait) >= 0, waited::toString);
          return waited.compareTo(maxWait.plus(NODE_TIMEOUT)) < 0;
        });
  }

  // Many readers or one writer.

  @Test
  void allReadersOfAllProcessesReadAtOnceWhenTheWriterHasGone() throws Exception {
    Lease held = acquire(deployment.connect(NODE_TIMEOUT)); // its own readers would ask no node
    List<CompletableFuture<AcquireResult>> readers = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      readers.add((i % 2 == 0 ? alice : bob).acquireAsync(fair().shared()));
    }
    Await.until("one of each process waits at the nodes", () -> queued(2));
    held.release();
    for (CompletableFuture<AcquireResult> reader : readers) {
      assertTrue(Await.value("it reads", reader).lease().orElseThrow().isValid());
    }
    Inspection inspection = bob.operations().inspect(resource);
    assertEquals(100, inspection.reading(), inspection::toString);
    assertTrue(inspection.summary().contains("is held by 100 readers"), inspection::summary);
    for (CompletableFuture<AcquireResult> reader : readers) {
      reader.join().lease().orElseThrow().close();
    }
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
    Await.until("nobody stays in the queue", () -> queued(0));
  }

  @Test
  void allReadersLearnThatTheResourceWasSetFree() throws Exception {
    Redlock brief = deployment.connect(BRIEF_TIMEOUT);
    Await.inTime(
        BRIEF_TTL,
        ttl -> {
          LeaseRequest request = brief(ttl).shared().renewFor(Duration.ofMinutes(10));
          List<List<LeaseEnd>> ends = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            ends.add(endsOf(brief.acquire(request)));
          }
          long token = brief.operations().leases().get(0).fencingToken();
          FreeResult one = bob.operations().free(resource, token);
          assertEquals(FreeResult.Outcome.OTHER_HOLDER, one.outcome(), one::toString);
          FreeResult freed = bob.operations().free(resource);
          assertEquals(FreeResult.Outcome.FREED, freed.outcome(), freed::toString);
          ends.forEach(RedlockContract::assertSetFree);
          return ends;
        });
    assertFalse(bob.acquire(waiting()).isShared());
  }

  // Interrupt and cancel.

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void interruptEndsTheWaitAndLeavesNothingLocked(boolean isFair) throws Exception {
    Lease held = acquire(alice);
    CompletableFuture<Throwable> ended = new CompletableFuture<>();
    LeaseRequest request = isFair ? fair() : waiting();
    Thread waiter =
        new Thread(() -> ended.complete(assertThrows(Throwable.class, () -> bob.acquire(request))));
    waiter.start();
    Await.until("the waiter waits", () -> isWaiting(waiter));
    Await.until("it has its place", () -> !isFair || queued(1));
    waiter.interrupt();
    assertInstanceOf(InterruptedException.class, Await.value("the wait ends", ended));
    held.release();
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
    Await.until("nobody stays in the queue", () -> queued(0));
    acquireSoon(alice);
  }

  // Bad arguments.

  /** The faults that depend on a deployment; {@code Settings.txt} has them all. */
  @Test
  void badArgumentFailsBeforeAnythingIsSentAndEveryFaultIsNamed() {
    rejects(LeaseRequest.of("redlock:x", TTL), "reserved");
    rejects(LeaseRequest.of("x".repeat(513), TTL), "512");
    rejects(LeaseRequest.of(resource, Duration.ofSeconds(31)), "31s");
    rejects(LeaseRequest.of(resource, NODE_TIMEOUT.multipliedBy(2)), "nodeTimeout");
    rejects(
        LeaseRequest.of("  ", Duration.ZERO).waitUpTo(Duration.ofMillis(-1)),
        "blank",
        "positive",
        "negative");
    assertEquals(0, deployment.holders(resource));
  }

  private void rejects(LeaseRequest request, String... faults) {
    for (Executable call :
        List.<Executable>of(
            () -> alice.acquireAsync(request),
            () -> alice.acquire(request),
            () -> alice.tryAcquire(request))) {
      String message = assertThrows(IllegalArgumentException.class, call).getMessage();
      assertTrue(Stream.of(faults).allMatch(message::contains), message);
    }
  }

  // Release and end.

  @Test
  void leaseThatIsNotExtendedIsLostBeforeOthersCanHaveIt() throws Exception {
    Lease lease = deployment.connect(BRIEF_TIMEOUT).acquire(brief());
    List<LeaseEnd> ends = endsOf(lease);
    Lease next = bob.acquire(waiting());
    assertFalse(lease.isValid());
    assertThrows(LeaseLostException.class, () -> lease.ensureValid(Duration.ZERO));
    Await.until("the loss is told", () -> !ends.isEmpty());
    assertEquals(List.of(Cause.EXPIRED), causes(ends));
    assertLost(lease.extend(TTL));
    assertTrue(next.fencingToken() > lease.fencingToken());
    assertTrue(next.isValid());
  }

  // Extend and renew.

  @Test
  void renewedLeasesOutliveTheirTtlUntilTheyAreReleased() throws Exception {
    Duration ttl = Duration.ofSeconds(8); // renewed in time by a machine that stands still for 3 s
    Redlock holder = deployment.connect(ttl.dividedBy(4));
    LeaseRequest renewed =
        LeaseRequest.of(resource, ttl).waitUpTo(LONG_WAIT).renewFor(Duration.ofMinutes(5));
    Lease lease = holder.acquire(renewed);
    String read = resource + "-read";
    Lease reader =
        holder.acquire(LeaseRequest.of(read, ttl).shared().renewFor(Duration.ofMinutes(5)));
    Duration longer = ttl.multipliedBy(5).dividedBy(4);
    assertContended(bob.tryAcquire(LeaseRequest.of(resource, TTL).waitUpTo(longer)));
    assertContended(bob.tryAcquire(read, TTL));
    assertTrue(lease.isValid());
    assertTrue(reader.isValid());
    lease.release();
    assertEquals(ReleaseResult.RELEASED, reader.release());
    assertTrue(bob.acquire(waiting()).isValid());
  }

  // Bodies.

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void failureOfTheBodyIsNeverMasked(boolean releaseFailsToo) {
    Exception mine = new Exception("of the body");
    Exception thrown =
        assertThrows(
            Exception.class,
            () ->
                alice.callLeased(
                    waiting(),
                    lease -> {
                      if (releaseFailsToo) {
                        takeDown(0, 1, 2, 3, 4);
                      }
                      throw mine;
                    }));
    assertSame(mine, thrown);
    Await.until("nothing stays locked", () -> deployment.holders(resource) == 0);
  }

  // Set free by an operator.

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void holderThatIsSetFreeLearnsItAndTheNextComesAfterItsDeadline(boolean renews) throws Exception {
    Redlock holder = deployment.connect(BRIEF_TIMEOUT);
    Lease lease =
        Await.inTime(
            BRIEF_TTL,
            ttl -> {
              LeaseRequest request = brief(ttl);
              Lease held =
                  holder.acquire(renews ? request.renewFor(Duration.ofMinutes(10)) : request);
              List<LeaseEnd> ends = endsOf(held);
              FreeResult freed = bob.operations().free(resource, held.fencingToken());
              assertEquals(FreeResult.Outcome.FREED, freed.outcome(), freed::toString);
              if (!renews) { // then it learns it with its next renewal
                assertEquals(NODES, freed.votes().count(Vote.YES), freed::toString);
                Duration left = held.remaining();
                assertTrue(freed.grantableIn().orElseThrow().compareTo(left) > 0, freed::toString);
                assertContended(bob.tryAcquire(resource, TTL));
                assertLost(held.extend(ttl));
              }
              assertSetFree(ends);
              assertFalse(held.isValid());
              return held;
            });
    Lease next = bob.acquire(waiting());
    assertTrue(next.fencingToken() > lease.fencingToken());
    assertTrue(next.isValid());
  }

  private static void assertSetFree(List<LeaseEnd> ends) {
    Await.until("the loss is told", () -> !ends.isEmpty());
    assertEquals(List.of(Cause.REFUSED), causes(ends));
    assertTrue(ends.get(0).detail().startsWith("an operator set it free"), ends::toString);
  }

  @Test
  void fairWaiterKeepsItsPlaceWhenTheResourceIsSetFree() throws Exception {
    Redlock holder = deployment.connect(BRIEF_TIMEOUT);
    record Freed(Lease lease, CompletableFuture<AcquireResult> waiter) {}
    Freed freed =
        Await.inTime(
            BRIEF_TTL,
            ttl -> {
              String name = resource + " for " + ttl;
              Lease lease = holder.acquire(LeaseRequest.of(name, ttl).waitUpTo(LONG_WAIT));
              CompletableFuture<AcquireResult> waiter =
                  alice.acquireAsync(LeaseRequest.of(name, TTL).waitUpTo(LONG_WAIT).fair());
              Await.until("it waits", ttl, () -> deployment.waiters(name) == 1);
              assertEquals(FreeResult.Outcome.FREED, bob.operations().free(name).outcome());
              assertEquals(1, deployment.waiters(name));
              return new Freed(lease, waiter);
            });
    Lease next = assertAcquired(freed.waiter.get());
    assertTrue(next.fencingToken() > freed.lease.fencingToken());
    assertFalse(freed.lease.isValid());
  }

  // Nodes that are dead.

  @Test
  void clientStartsWhileNodesAreDeadAndSaysWhich() throws Exception {
    takeDown(2, 4);
    Redlock late = deployment.connect(NODE_TIMEOUT);
    assertAcquired(late.tryAcquire(resource, TTL));
    List<NodeStatus> nodes = late.operations().nodes();
    assertEquals(alice.operations().nodes().stream().map(NodeStatus::name).toList(), names(nodes));
    NodeView.await(late, 2, State.DOWN);
    assertFalse(NodeView.reason(late, 2).isBlank(), nodes::toString);
    assertEquals(State.UP, NodeView.state(late, 0));
  }
}
