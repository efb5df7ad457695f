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
import io.redlock.LeaseTooShortException;
import io.redlock.RedlockListener;
import io.redlock.ReleaseResult;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Release;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

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
  void validityIsTtlLessDriftAndLossMargin() {
    assertEquals(VALIDITY, lease.remaining());
    assertTrue(lease.isValid());
    lease.ensureValid(VALIDITY);
    assertTrue(lease.isValid());
  }

  @Test
  void leaseThatIsTooShortIsNotALostOne() {
    LeaseTooShortException tooShort =
        assertThrows(
            LeaseTooShortException.class, () -> lease.ensureValid(VALIDITY.plusSeconds(1)));
    assertEquals(VALIDITY, tooShort.remaining());
    assertTrue(tooShort.getMessage().endsWith(": extend it first"), tooShort.getMessage());
    assertTrue(lease.isValid(), "asking for too much ends nothing");
    lease.ensureValid(Duration.ZERO);
    lease.ensureValid(Duration.ofSeconds(-1));
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

  @Test
  void lossThatNoTimerHasSeenYetIsSeenByTheFirstCall() {
    bed.time.pause(VALIDITY);
    LeaseLostException lost =
        assertThrows(LeaseLostException.class, () -> lease.ensureValid(Duration.ZERO));
    assertEquals(Cause.EXPIRED, lost.end().cause());
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  @Test
  void lossIsSignalledOnceAMarginBeforeTheDeadline() {
    bed.time.pass(VALIDITY.minusNanos(1));
    assertTrue(lease.isValid());
    assertEquals(List.of(), causes());
    bed.time.pass(Duration.ofNanos(1));
    assertFalse(lease.isValid());
    assertEquals(List.of(Cause.EXPIRED), causes());
    settle();
    lease.close();
    assertEquals(List.of(Cause.EXPIRED), causes());
    assertEquals(List.of("EXPIRED"), bed.events);
  }

  @Test
  void keysOfALostLeaseStayUntilTheDeadlineThatOthersCountOn() {
    bed.time.pass(Bed.TTL.minusMillis(102).minusNanos(1));
    assertEquals(0, bed.releases());
    bed.time.pass(Duration.ofNanos(1));
    assertEquals("abc", bed.releasedOn());
    settle();
    assertEquals(3, bed.releases());
  }

  @Test
  void holderReleasesALostLeaseEarlier() {
    bed.time.pass(VALIDITY);
    assertEquals(ReleaseResult.RELEASED, Bed.now(lease.releaseAsync()));
    assertEquals("abc", bed.releasedOn());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("released before its keys would have been");
    settle();
    assertEquals(3, bed.releases());
  }

  @ParameterizedTest
  @ValueSource(longs = {9, 60, 3_600})
  void afterAPauseTheVeryFirstLookTellsTheTruth(long seconds) {
    List<Consumer<HeldLease>> looks =
        List.of(
            held -> assertFalse(held.isValid()),
            held -> assertEquals(Duration.ZERO, held.remaining()),
            held -> assertThrows(LeaseLostException.class, () -> held.ensureValid(Duration.ZERO)),
            held ->
                assertEquals(
                    ExtendResult.Outcome.LOST, Bed.now(held.extendAsync(Bed.TTL)).outcome()),
            held -> Bed.now(held.releaseAsync()));
    for (Consumer<HeldLease> look : looks) {
      for (boolean suspended : new boolean[] {false, true}) {
        Bed other = new Bed(3);
        HeldLease held = other.lease();
        List<LeaseEnd> told = new ArrayList<>();
        held.ended().thenAccept(told::add);
        if (suspended) {
          other.time.stepWall(Duration.ofSeconds(seconds));
        } else {
          other.time.pause(Duration.ofSeconds(seconds));
        }
        look.accept(held);
        assertEquals(0, other.asked(Extend.class));
        other.time.pass(COARSE_TICK);
        assertEquals(1, told.size());
        assertEquals(Cause.EXPIRED, told.get(0).cause());
      }
    }
  }

  @Test
  void wallClockSetForwardEndsTheLeaseAtTheNextTick() {
    bed.time.passMillis(1_000);
    bed.time.stepWall(VALIDITY.minusMillis(900));
    bed.time.pass(COARSE_TICK);
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  @Test
  void smallStepMovesTheLossForward() {
    bed.time.stepWall(Duration.ofSeconds(3));
    bed.time.pass(VALIDITY.minusSeconds(3).minusMillis(1));
    assertTrue(lease.isValid());
    bed.time.passMillis(1);
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  @Test
  void machineThatSleepsAfterTheWallClockWasSetBackIsNoticedAfterAnExtension() {
    bed.time.stepWall(Duration.ofHours(-1));
    bed.time.passMillis(5_000);
    assertEquals(ExtendResult.Outcome.EXTENDED, Bed.now(extend()).outcome());
    bed.time.stepWall(Bed.TTL); // suspended for as long as the keys live
    assertFalse(lease.isValid());
  }

  @Test
  void extensionIsMeasuredFromItsOwnStart() {
    bed.time.passMillis(3_000);
    bed.script(request -> null);
    CompletableFuture<ExtendResult> extension = extend();
    bed.time.passMillis(20);
    answerExtends(NodeReply.EXTENDED, 2);
    answerExtends(NodeReply.JOINED, 0);
    assertEquals(Optional.of(VALIDITY.minusMillis(20)), Bed.now(extension).remaining());
    assertEquals(VALIDITY.minusMillis(20), lease.remaining());
    bed.time.pass(VALIDITY.minusMillis(21));
    assertTrue(lease.isValid());
    bed.time.passMillis(1);
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  @Test
  void extendCarriesTheLeasesOwnOwnerAndTokenAndWhenItWasSent() {
    bed.time.passMillis(3_000);
    extend();
    Extend extend = bed.node(1).asked(Extend.class).get(0);
    assertEquals(
        new Extend(
            List.of("app:orders/42"),
            "owner-1",
            lease.fencingToken(),
            10_000,
            bed.time.wallMicros()),
        extend);
  }

  @Test
  void unknownExtensionChangesNothing() {
    bed.time.passMillis(1_000);
    bed.script(request -> null);
    CompletableFuture<ExtendResult> extension = extend();
    answerExtends(NodeReply.EXTENDED, 1);
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    assertEquals(ExtendResult.Outcome.UNKNOWN, Bed.now(extension).outcome());
    assertEquals(VALIDITY.minusMillis(1_050), lease.remaining());
    answerExtends(NodeReply.EXTENDED, 0, 2);
    assertEquals(VALIDITY.minusMillis(1_050), lease.remaining(), "late answers do not count");
    settle();
  }

  @Test
  void refusalByAQuorumLosesTheLeaseAtOnceAndForGood() {
    bed.script(request -> null);
    CompletableFuture<ExtendResult> extension = extend();
    CompletableFuture<ExtendResult> another = extend();
    answerExtends(NodeReply.NOT_HELD, 0, 1);
    ExtendResult lost = Bed.now(extension);
    assertEquals(ExtendResult.Outcome.LOST, lost.outcome());
    assertEquals(
        "0 of 3 granted, 2 needed (a does not hold it, b does not hold it, c not awaited)",
        lost.votes().toString());
    assertEquals(List.of(Cause.REFUSED), causes());
    assertFalse(lease.isValid());
    answerExtends(NodeReply.EXTENDED, 0, 1);
    answerExtends(NodeReply.EXTENDED, 2);
    assertEquals(ExtendResult.Outcome.LOST, Bed.now(another).outcome());
    assertFalse(lease.isValid(), "lost stays lost");
    assertEquals(ExtendResult.Outcome.LOST, Bed.now(extend()).outcome());
    assertEquals(
        List.of("LOST", "REFUSED", "LOST", "LOST").stream().sorted().toList(),
        bed.events.stream().sorted().toList());
    settle();
    assertEquals("abc", bed.releasedOn());
  }

  @ParameterizedTest
  @CsvSource({"false, 0, REFUSED", "true, 12, EXPIRED"})
  void extendThatLosesTheLeaseEndsItThoughNoMemoryTellsWhy(
      boolean isHeld, long seconds, Cause cause) {
    bed.script(request -> null);
    CompletableFuture<ExtendResult> extension = extend();
    bed.whenCounted =
        () -> {
          if (Bed.isIn(Fanout.class, "votes")) {
            throw new OutOfMemoryError("memory is short");
          }
        };
    bed.time.pause(Duration.ofSeconds(seconds));
    NodeReply reply = isHeld ? NodeReply.EXTENDED : NodeReply.NOT_HELD;
    assertThrows(OutOfMemoryError.class, () -> answerExtends(reply, 0, 1));
    bed.whenCounted = () -> {};
    assertEquals(List.of(cause), causes());
    assertEquals(ExtendResult.Outcome.UNKNOWN, Bed.now(extension).outcome());
    assertFalse(bed.context.queues.isLeased("app:orders/42"));
    bed.script(Bed::yes);
    answerExtends(reply, 2);
    settle();
  }

  @Test
  void nodeThatJoinedLateIsReleasedToo() {
    Bed other = new Bed(3);
    other.script(Bed::yes);
    other.node(2).script(request -> NodeReply.unreachable("down"));
    HeldLease held =
        (HeldLease) Bed.now(other.redlock.acquireAsync(Bed.REQUEST)).lease().orElseThrow();
    other.node(2).script(request -> null);
    Bed.now(held.extendAsync(Bed.TTL));
    held.close();
    assertEquals("abc", other.releasedOn(), "its extend is on the way");
    other.node(2).answer(Extend.class, NodeReply.JOINED);
    other.node(2).answer(Release.class, NodeReply.RELEASED);
    other.time.pass(Duration.ofMinutes(1));
    other.assertNothingIsLeft("joined late");
  }

  @Test
  void releaseFromWithinAnExtensionsFanOutStandsBehindAllOfIt() {
    bed.journal.clear();
    bed.node(0)
        .script(
            request -> {
              if (request instanceof Extend) {
                lease.close();
              }
              return Bed.yes(request);
            });
    CompletableFuture<ExtendResult> extension = extend();
    assertEquals(
        List.of("a Extend", "b Extend", "c Extend", "a Release", "b Release", "c Release"),
        bed.journal);
    assertEquals(ExtendResult.Outcome.LOST, Bed.now(extension).outcome());
    assertEquals(List.of(Cause.RELEASED), causes());
    settle();
  }

  @Test
  void releaseEndsValidityAtOnceAndOnce() {
    bed.script(request -> null);
    CompletableFuture<ReleaseResult> release = lease.releaseAsync();
    assertFalse(lease.isValid());
    assertEquals(Duration.ZERO, lease.remaining());
    assertEquals(List.of(Cause.RELEASED), causes());
    lease.close();
    assertEquals(3, bed.releases());
    for (ScriptedNode node : bed.nodes) {
      node.answer(Release.class, NodeReply.RELEASED);
    }
    assertEquals(ReleaseResult.RELEASED, Bed.now(release));
    assertEquals(ReleaseResult.RELEASED, Bed.now(lease.releaseAsync()));
    assertEquals(List.of("RELEASED"), bed.events);
    settle();
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
  void extendingAReleasedLeaseIsAMistakeOfTheCaller() {
    lease.close();
    assertThrows(IllegalStateException.class, () -> lease.extendAsync(Bed.TTL));
    assertEquals(0, bed.asked(Extend.class));
  }

  @Test
  void extensionOutOfRangeChangesNothing() {
    for (Duration bad :
        List.of(Duration.ZERO, Duration.ofMillis(-1), Duration.ofHours(1), Duration.ofMillis(50))) {
      assertThrows(IllegalArgumentException.class, () -> lease.extendAsync(bad));
    }
    assertEquals(VALIDITY, lease.remaining());
    assertEquals(0, bed.asked(Extend.class));
  }

  @Test
  void lostLeaseSaysHowItWasLost() {
    bed.time.pass(VALIDITY);
    LeaseLostException lost =
        assertThrows(LeaseLostException.class, () -> lease.ensureValid(Duration.ZERO));
    assertEquals(
        "lease on orders/42, token "
            + lease.fencingToken()
            + " has ended: EXPIRED, it was not extended before its deadline came near",
        lost.getMessage());
  }

  @Test
  void manyLeasesShareOneWatchOfTheWallClock() {
    Bed other = new Bed(1);
    for (int index = 0; index < 100; index++) {
      other.lease(LeaseRequest.of("resource " + index, Bed.TTL));
    }
    other.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    assertEquals(101, other.time.tasks(), "a timer for each, one tick for all");
    other.time.stepWall(Duration.ofMinutes(1));
    other.time.pass(COARSE_TICK);
    assertEquals(List.of(), other.context.liveLeases.snapshot());
  }

  @Test
  void nodeThatLostItsPastIsAskedAgainAtOnce() {
    bed.node(2).isReset();
    bed.time.passMillis(0);
    assertEquals(3, bed.asked(Extend.class));
    assertTrue(lease.remaining().compareTo(VALIDITY.minusMillis(1)) >= 0, "not shortened");
    bed.script(request -> NodeReply.NOT_HELD);
    bed.node(1).isReset();
    bed.time.passMillis(0);
    assertEquals(List.of(Cause.REFUSED), causes());
  }

  @Test
  void nodeThatNeverGrantedMayLoseItsPastUnasked() {
    Bed other = new Bed(3);
    other.script(Bed::yes);
    other.node(2).script(request -> NodeReply.unreachable("down"));
    Bed.now(other.redlock.acquireAsync(Bed.REQUEST));
    other.node(2).isReset();
    other.time.passMillis(0);
    assertEquals(0, other.asked(Extend.class));
  }

  /** The loss comes earlier, so that the timer is set anew. */
  private static final Duration STEP = Duration.ofSeconds(1);

  @ParameterizedTest
  @ValueSource(longs = {1, 4_000})
  void lossIsToldInTimeThoughTheProcessWasPausedBeforeItsTimerWasSet(long millis) {
    bed.time.stepWall(STEP);
    bed.time.pauseBeforeScheduling(Duration.ofMillis(millis));
    lease.check();
    bed.time.pass(VALIDITY.minus(STEP).minusMillis(millis));
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  @Test
  void lossIsToldAtOnceIfThePauseBeforeItsTimerWasSetWasTooLong() {
    bed.time.stepWall(STEP);
    bed.time.pauseBeforeScheduling(VALIDITY);
    lease.check();
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  private void failNextSchedule() {
    bed.time.duringNextSchedule(
        () -> {
          throw new Error("no memory for a task");
        });
  }

  @Test
  void lossIsToldThoughItsTimerCouldNotBeSet() {
    bed.time.stepWall(STEP);
    failNextSchedule();
    assertThrows(Error.class, lease::check);
    bed.time.pass(VALIDITY.minus(STEP));
    assertEquals(List.of(Cause.EXPIRED), causes());
  }

  @Test
  void leaseOfAServiceThatIsClosedIsLostOnce() {
    bed.redlock.close();
    assertEquals(List.of(Cause.CLOSED), causes());
    assertEquals(0, bed.releases());
    assertFalse(lease.isValid());
  }

  @Test
  void leaseOfAServiceThatIsClosedCanNeitherBeReleasedNorExtended() {
    bed.redlock.close();
    assertEquals(ReleaseResult.UNCONFIRMED, Bed.now(lease.releaseAsync()));
    assertEquals(ExtendResult.Outcome.LOST, Bed.now(extend()).outcome());
    assertEquals(0, bed.asked(Extend.class));
    assertEquals(List.of(Cause.CLOSED), causes());
  }

  @Test
  void endThatIsAskedForLateIsToldAllTheSame() {
    for (boolean lost : new boolean[] {false, true}) {
      Bed other = new Bed(3);
      HeldLease held = other.lease();
      if (lost) {
        other.time.pass(VALIDITY);
      } else {
        held.close();
      }
      List<Cause> told = new ArrayList<>();
      held.ended().thenAccept(how -> told.add(how.cause()));
      held.ended().thenAccept(how -> told.add(how.cause()));
      Cause cause = lost ? Cause.EXPIRED : Cause.RELEASED;
      assertEquals(List.of(cause, cause), told);
    }
  }

  @Test
  void listenerHearsForHowLongALeaseWasHeld() {
    List<Duration> held = new ArrayList<>();
    List<Duration> took = new ArrayList<>();
    Bed other =
        new Bed(
            3,
            Runnable::run,
            new RedlockListener() {
              @Override
              public void onEnd(Lease lease, LeaseEnd end, Duration span) {
                held.add(span);
              }

              @Override
              public void onExtend(Lease lease, ExtendResult result, Duration span) {
                took.add(span);
              }
            });
    HeldLease theirs = other.lease();
    other.time.passMillis(1_234);
    other.script(request -> null);
    CompletableFuture<ExtendResult> extension = theirs.extendAsync(Bed.TTL);
    other.time.passMillis(7);
    other.nodes.forEach(node -> node.answer(Extend.class, NodeReply.EXTENDED));
    assertEquals(ExtendResult.Outcome.EXTENDED, Bed.now(extension).outcome());
    theirs.close();
    assertEquals(List.of(Duration.ofMillis(7)), took);
    assertEquals(List.of(Duration.ofMillis(1_241)), held);
  }

  @Test
  void reaffirmingDoesNotLengthenTheLease() {
    bed.time.passMillis(5_000);
    Duration before = lease.remaining();
    bed.node(0).isReset();
    bed.time.passMillis(0);
    assertEquals(before, lease.remaining(), "the warning comes as long before the deadline");
    Extend extend = bed.node(1).asked(Extend.class).get(0);
    assertTrue(extend.ttlMillis() < 5_100 && extend.ttlMillis() > 4_890, extend::toString);
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
  void refusedLeaseLeavesOnlyTheTimerOfItsRelease() {
    bed.script(request -> NodeReply.NOT_HELD);
    extend();
    bed.time.pass(COARSE_TICK.plusMillis(Bed.NODE_TIMEOUT_MILLIS));
    assertEquals(List.of(Cause.REFUSED), causes());
    assertEquals(1, bed.time.tasks());
  }

  @Test
  void onlyTheFirstEndOfALeaseMovesTheLine() {
    LeaseRequest patient = Bed.REQUEST.waitUpTo(Duration.ofMinutes(1));
    LeaseEnd how = new LeaseEnd(Cause.CLOSED, "for a test");
    List<Consumer<HeldLease>> ways =
        List.of(HeldLease::close, held -> held.lose(how), held -> held.abandon(how));
    for (Consumer<HeldLease> first : ways) {
      for (Consumer<HeldLease> again : ways) {
        Bed other = new Bed(3);
        HeldLease held = other.lease(patient);
        CompletableFuture<AcquireResult> next = other.redlock.acquireAsync(patient);
        CompletableFuture<AcquireResult> last = other.redlock.acquireAsync(patient);
        assertFalse(next.isDone());
        first.accept(held);
        assertTrue(Bed.now(next).lease().orElseThrow().isValid());
        again.accept(held);
        assertFalse(last.isDone(), "the next lease is in its way");
      }
    }
  }

  @Test
  void leaseThatExpiresWhileItIsHandedOutIsNotRenewed() {
    Bed other = new Bed(3);
    CompletableFuture<AcquireResult> call =
        other.redlock.acquireAsync(Bed.REQUEST.renewFor(Duration.ofHours(1)));
    other.answerGrants(NodeReply.GRANTED, 0);
    boolean[] paused = {false};
    other.betweenSteps(
        () -> {
          if (!paused[0]) {
            paused[0] = true;
            other.time.pause(Bed.TTL);
          }
        });
    other.answerGrants(NodeReply.GRANTED, 1);
    Lease held = Bed.now(call).lease().orElseThrow();
    assertTrue(paused[0]);
    assertFalse(held.isValid());
    other.script(Bed::yes);
    other.answerGrants(NodeReply.GRANTED, 2);
    other.time.pass(Duration.ofMinutes(1));
    assertEquals(List.of("ACQUIRED", "EXPIRED"), other.events.stream().sorted().toList());
    other.assertNothingIsLeft("expired at once");
  }

  @Test
  void resetOfANodeAfterTheTimeOfALeaseOnlyTellsItsEnd() {
    bed.time.stepWall(VALIDITY);
    bed.node(0).isReset();
    bed.time.passMillis(0);
    assertEquals(List.of("a restarted", "EXPIRED"), bed.events);
  }

  @Test
  void checkTellsTheLossOfALeaseThatIsNotRenewed() {
    bed.time.stepWall(VALIDITY);
    lease.check();
    assertEquals(List.of(Cause.EXPIRED), causes());
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
  void everyoneWhoAwaitsTheEndIsTold() {
    List<Cause> others = new ArrayList<>();
    lease.ended().thenAccept(how -> others.add(how.cause()));
    lease.ended().thenAccept(how -> others.add(how.cause()));
    lease.close();
    assertEquals(List.of(Cause.RELEASED), causes());
    assertEquals(List.of(Cause.RELEASED, Cause.RELEASED), others);
  }

  @Test
  void endThatNobodyAwaitsIsPassedToTheListenerAlone() {
    int[] callbacks = {0};
    Bed other =
        new Bed(
            3,
            task -> {
              callbacks[0]++;
              task.run();
            },
            null);
    HeldLease held = other.lease();
    callbacks[0] = 0;
    held.close();
    assertEquals(List.of("RELEASED"), other.events);
    assertEquals(1, callbacks[0]);
  }

  @Test
  void watcherHearsOfTheEndOnceAndAtOnceIfItHasCome() {
    List<Cause> watched = new ArrayList<>();
    lease.ending.watch(how -> watched.add(how.cause()));
    assertEquals(List.of(), watched);
    lease.close();
    lease.close();
    assertEquals(List.of(Cause.RELEASED), watched);
    lease.ending.watch(how -> watched.add(how.cause()));
    assertEquals(List.of(Cause.RELEASED, Cause.RELEASED), watched);
  }
}
