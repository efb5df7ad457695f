package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.RedlockListener;
import io.redlock.ReleaseResult;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.scenes.FakeTime;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a lease does, where {@link ServiceScenesTest} does not show it. */
class HeldLeaseTest {

  /** The ttl less one percent, 2 ms, and the loss margin of a tenth. */
  private static final Duration VALIDITY = Bed.TTL.minusMillis(100 + 2 + 1_000);

  private static final Duration COARSE_TICK = Duration.ofMillis(50);

  private final Bed bed = new Bed(3);
  private final HeldLease lease = bed.lease();
  private final List<LeaseEnd> ends = new ArrayList<>();

  HeldLeaseTest() {
    lease.ended().thenAccept(ends::add);
  }

  private List<Cause> causes() {
    return ends.stream().map(LeaseEnd::cause).toList();
  }

  private CompletableFuture<ExtendResult> extend() {
    return lease.extendAsync(Bed.TTL);
  }

  private void answerExtends(NodeReply reply, int... nodes) {
    for (int node : nodes) {
      bed.node(node).answer(Extend.class, reply);
    }
  }

  private void settle() {
    bed.script(Bed::yes);
    bed.time.pass(Duration.ofMinutes(1));
    bed.assertNothingIsLeft("after a minute");
  }

  @Test
  void wallClockThatIsSetBackBetweenTwoLooksEndsNoLease() {
    bed.time.stepWall(Duration.ofHours(1));
    int[] reads = {0};
    bed.time.whenRead(
        () -> {
          if (++reads[0] == 2) {
            bed.time.stepWall(Duration.ofHours(-1));
          }
        });
    lease.ensureValid(Duration.ZERO);
    assertTrue(reads[0] > 2);
    assertTrue(lease.isValid());
  }

  /** They compare it with their own clocks (E2). */
  @Test
  void extendsAndRenewalsNameTheTimeOfTheNodesHoweverWrongTheWallClockIs() {
    long aheadMicros = 2 * FakeTime.START_WALL_MICROS;
    bed.nodes.forEach(node -> node.clockOffsetMicros(aheadMicros));
    LeaseRequest request = LeaseRequest.of("other", Bed.TTL).renewFor(Duration.ofHours(1));
    Lease renewed = bed.lease(request);
    renewed.extendAsync(Bed.TTL);
    bed.time.pass(Bed.TTL.dividedBy(2));
    List<Extend> sent = bed.node(0).asked(Extend.class);
    assertTrue(sent.size() > 1, sent::toString);
    sent.forEach(each -> assertTrue(each.sentMicros() > aheadMicros / 3 * 2, each::toString));
  }

  @Test
  void endThatIsAskedForWhileItComesIsPassedToTheExecutorOnce() {
    List<Runnable> tasks = new ArrayList<>();
    Bed other = new Bed(3, tasks::add, new RedlockListener() {});
    other.script(Bed::yes);
    CompletableFuture<AcquireResult> call = other.redlock.acquireAsync(Bed.REQUEST);
    tasks.remove(0).run();
    HeldLease held = (HeldLease) Bed.now(call).lease().orElseThrow();
    tasks.clear();
    LeaseEnd how = new LeaseEnd(Cause.RELEASED, "by its holder");
    synchronized (held.owner) {
      held.owner.ends(how);
    }
    held.ended().thenAccept(ends::add);
    held.owner.drain();
    assertEquals(List.of(), ends, "not on a thread of the library");
    tasks.forEach(Runnable::run);
    assertEquals(List.of(how), ends);
  }

  @ParameterizedTest
  @CsvSource({"false, 0, REFUSED", "true, 12, EXPIRED"})
  void extendThatLosesTheLeaseEndsItThoughNoMemoryTellsWhy(
      boolean isHeld, long seconds, Cause cause) {
    bed.script(request -> null);
    CompletableFuture<ExtendResult> extension = extend();
    bed.whenCounted =
        () -> {
          if (lease.owner.tenure.phase() != Phase.HOLDING) { // it is to say why
            bed.whenCounted = () -> {};
            throw new OutOfMemoryError("memory is short");
          }
        };
    bed.time.pause(Duration.ofSeconds(seconds));
    NodeReply reply = isHeld ? NodeReply.EXTENDED : NodeReply.NOT_HELD;
    answerExtends(reply, 0, 1);
    assertEquals(List.of(cause), causes());
    assertEquals(ExtendResult.Outcome.UNKNOWN, Bed.now(extension).outcome());
    assertFalse(bed.context.queues.isLeased("app:orders/42"));
    bed.script(Bed::yes);
    answerExtends(reply, 2);
    settle();
  }

  @Test
  void extensionThatHasEndedBeforeItsHolderWakesIsLost() throws InterruptedException {
    bed.time.whenAwaited(future -> bed.time.pause(Duration.ofSeconds(30)));
    assertEquals(ExtendResult.Outcome.LOST, lease.extend(Bed.TTL).outcome());
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  @Test
  void cancelledFuturesUndoNothing() {
    bed.script(request -> null);
    lease.extendAsync(Bed.TTL).cancel(true);
    answerExtends(NodeReply.EXTENDED, 0, 1, 2);
    assertTrue(lease.isValid());
    lease.releaseAsync().cancel(true);
    assertEquals("abc", bed.releasedOn());
    assertEquals(List.of(Cause.RELEASED), causes());
  }

  @Test
  void extensionIsReportedEvenIfItsCallerReleasesAtOnce() {
    bed.script(request -> null);
    lease.extendAsync(Bed.TTL).thenRun(lease::close);
    answerExtends(NodeReply.EXTENDED, 0, 1, 2);
    assertEquals(List.of("RELEASED", "EXTENDED"), bed.events);
  }

  @Test
  void manyLeasesShareOneTimerAndOneWatchOfTheWallClock() {
    Bed other = new Bed(1);
    for (int index = 0; index < 100; index++) {
      other.lease(LeaseRequest.of("resource " + index, Bed.TTL));
    }
    other.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    assertEquals(1, other.time.tasks(), "a timer for all");
    other.time.stepWall(Duration.ofMinutes(1));
    other.time.pass(COARSE_TICK);
    assertEquals(List.of(), HeldLease.all(other.context));
  }

  @Test
  void renewalsOfLeasesTakenAtDifferentMomentsShareTheirMoments() {
    Bed other = new Bed(1);
    List<Long> moments = new ArrayList<>();
    for (int index = 0; index < 50; index++) {
      other.lease(LeaseRequest.of("resource " + index, Bed.TTL).renewFor(Duration.ofMinutes(1)));
      other.time.pass(Duration.ofNanos(400_000));
    }
    other.script(
        request -> {
          moments.add(other.time.monotonicNanos());
          return Bed.yes(request);
        });
    other.time.pass(Bed.TTL.dividedBy(2));
    assertEquals(50, moments.size());
    assertTrue(moments.stream().distinct().count() <= 4, moments::toString);
    assertTrue(moments.stream().allMatch(nanos -> nanos % 10_000_000 == 0), moments::toString);
  }

  @Test
  void blockingCallsReturnWhatTheNodesSay() throws InterruptedException {
    assertEquals(ExtendResult.Outcome.EXTENDED, lease.extend(Bed.TTL).outcome());
    assertEquals(ReleaseResult.RELEASED, lease.release());
    assertEquals(ReleaseResult.RELEASED, lease.releaseUninterruptibly());
  }

  @Test
  void lossIsFoundInTheEndOfTheLeaseOrInItsRelease() {
    assertTrue(lease.loss(null).isEmpty());
    assertTrue(lease.loss(ReleaseResult.UNCONFIRMED).isEmpty());
    assertTrue(lease.loss(ReleaseResult.NOT_HELD).isPresent());
    lease.close();
    assertTrue(lease.loss(ReleaseResult.RELEASED).isEmpty());
    Bed other = new Bed(3);
    HeldLease lost = other.lease();
    other.time.pass(VALIDITY);
    assertTrue(lost.loss(ReleaseResult.RELEASED).isPresent());
    assertThrows(LeaseLostException.class, () -> lost.throwIfLost(null));
  }

  @Test
  void holderThatReleasesAsSoonAsItHearsOfTheLossLeavesNothing() {
    lease.ended().thenRun(lease::close);
    bed.time.pass(VALIDITY);
    assertEquals("abc", bed.releasedOn());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("released on the spot");
  }

  @Test
  void watcherHearsOfTheEndOnceAndAtOnceIfItHasCome() {
    List<Cause> watched = new ArrayList<>();
    lease.told.thenAccept(how -> watched.add(how.cause()));
    assertEquals(List.of(), watched);
    lease.close();
    lease.close();
    assertEquals(List.of(Cause.RELEASED), watched);
    lease.told.thenAccept(how -> watched.add(how.cause()));
    assertEquals(List.of(Cause.RELEASED, Cause.RELEASED), watched);
  }

  @Test
  void watcherThatFailsKeepsTheEndFromNobodyElse() {
    HeldLease other = new Bed(3).lease();
    for (int watchers = 0; watchers < 2; watchers++) {
      other.told.thenAccept(
          how -> {
            ends.add(how);
            throw new OutOfMemoryError("not even a line");
          });
    }
    other.ended().thenAccept(ends::add);
    other.close();
    assertEquals(List.of(Cause.RELEASED, Cause.RELEASED, Cause.RELEASED), causes());
  }
}
