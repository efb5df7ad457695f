package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.Scheduler;
import io.redlock.spi.StatusOfNode;
import io.redlock.spi.Ticker;
import io.redlock.testkit.NodeModel.Cell;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Histories made by hand: each invariant rejects what breaks it, and nothing else. */
class CheckerTest {

  private static final List<String> NAME = List.of("r");
  private static final long TTL_MILLIS = 1_000;
  private static final long NODE_TIMEOUT_MILLIS = 20;
  private static final long GOOD_NANOS = TTL_MILLIS * SimPlan.MILLI - 12 * SimPlan.MILLI;

  private static final LeaseEnd RELEASED = new LeaseEnd(LeaseEnd.Cause.RELEASED, "");

  private final SimPlan plan = plan();
  private final SimWorld world =
      new SimWorld(new SimTrace(false), EnumSet.noneOf(SimInvariant.class), 1_000_000);
  private final Checker checker = new Checker(world, plan);
  private final SimProcess a = process("a");
  private final SimProcess b = process("b");

  private static SimPlan plan() {
    SimPlan plan = SimPlan.of(1).only();
    plan.nodes = 3;
    plan.maxTtlMillis = (int) TTL_MILLIS;
    plan.nodeTimeoutNanos = NODE_TIMEOUT_MILLIS * SimPlan.MILLI;
    return plan;
  }

  private SimProcess process(String name) {
    return new SimProcess(
        name,
        world,
        new SimClock(world, 0, 0),
        new SimClock(world, Simulation.EPOCH_NANOS, 0),
        plan,
        new SimRandom(1),
        new FaultCount(),
        plan.allMasters());
  }

  /** What a lease says of itself; tests let it lie. */
  private static final class Claimed {
    long untilNanos;
    boolean ended;
  }

  private void pass(long millis) {
    world.runUntil(world.nowNanos() + millis * SimPlan.MILLI);
  }

  private void grant(SimProcess process, long token, int... nodes) {
    Grant grant = new Grant(NAME, process + "#" + token, token, TTL_MILLIS);
    checker.holds.asked(process, grant);
    for (int node : nodes) {
      executed(node, grant, Cell.EMPTY, held(grant), NodeReply.GRANTED);
    }
  }

  private static Cell held(NodeRequest request) {
    return new Cell(request.owner(), TTL_MILLIS, request.token(), 1_000_000);
  }

  private void executed(int node, NodeRequest request, Cell before, Cell after, NodeReply reply) {
    checker.nodes.executed(node, request, List.of(before), List.of(after), reply);
  }

  private SimHold hold(SimProcess process, long token, Claimed claimed) {
    return checker.holds.acquired(
        process,
        NAME,
        token,
        false,
        () -> claimed.ended ? 0 : Math.max(0, claimed.untilNanos - world.nowNanos()));
  }

  /** A lease as it should be. */
  private Claimed acquire(SimProcess process, long token) {
    grant(process, token, 0, 1, 2);
    Claimed claimed = new Claimed();
    claimed.untilNanos = world.nowNanos() + GOOD_NANOS;
    return claimed;
  }

  private void end(SimHold hold, Claimed claimed) {
    claimed.ended = true;
    checker.holds.ended(hold, RELEASED);
  }

  /** Lets the checks after each event see what there is. */
  private void look() {
    world.after(0, () -> {});
    pass(1);
  }

  private void expect(SimInvariant invariant) {
    look();
    Violation violation = world.violation();
    assertNotNull(violation, invariant + " was not noticed");
    assertEquals(invariant, violation.invariant(), violation::toString);
  }

  private void expectNothing() {
    look();
    assertNull(world.violation());
  }

  @Test
  void historyWithoutFaultIsAccepted() {
    Claimed first = acquire(a, 10);
    SimHold mine = hold(a, 10, first);
    CallChecks.Call call = checker.calls.begins(a, "extend", 10 * SimPlan.MILLI);
    pass(5);
    Extend extend = new Extend(NAME, mine.owner, 10, TTL_MILLIS, 0);
    checker.holds.asked(a, extend);
    Cell longer = new Cell(mine.owner, TTL_MILLIS + 5, 10, 1_000_000);
    executed(0, extend, held(extend), longer, NodeReply.EXTENDED);
    first.untilNanos = world.nowNanos() + GOOD_NANOS;
    checker.holds.extended(mine);
    call.done();
    ProtectedResource.Read read = checker.resource("r").read(10);
    checker.resource("r").write(read);
    end(mine, first);
    Release release = new Release(NAME, mine.owner, 10);
    executed(0, release, longer, new Cell("", 0, 10, 1_000_000), NodeReply.RELEASED);
    pass(1);
    Claimed second = acquire(b, 11);
    SimHold theirs = hold(b, 11, second);
    pass(900);
    end(theirs, second);
    expectNothing();
  }

  @Test
  void twoLeasesAtOnceBreakI1() {
    hold(a, 10, acquire(a, 10));
    hold(b, 11, acquire(b, 11));
    expect(SimInvariant.I1);
  }

  @Test
  void leaseThatOutlivesItsRoundBreaksI2() {
    Claimed claimed = acquire(a, 10);
    claimed.untilNanos += SimPlan.MILLI;
    hold(a, 10, claimed);
    expect(SimInvariant.I2);
  }

  @Test
  void leaseThatOutlivesItsExtensionBreaksI2() {
    Claimed claimed = acquire(a, 10);
    SimHold hold = hold(a, 10, claimed);
    pass(5);
    checker.holds.asked(a, new Extend(NAME, hold.owner, 10, TTL_MILLIS, 0));
    pass(5);
    claimed.untilNanos = world.nowNanos() + GOOD_NANOS;
    checker.holds.extended(hold);
    expect(SimInvariant.I2);
  }

  @Test
  void tokenUsedTwiceBreaksI3() {
    Claimed first = acquire(a, 10);
    end(hold(a, 10, first), first);
    hold(b, 10, acquire(b, 10));
    expect(SimInvariant.I3);
  }

  @Test
  void tokenBelowThatOfALeaseAcquiredBeforeBreaksI3() {
    Claimed first = acquire(a, 10);
    end(hold(a, 10, first), first);
    pass(1);
    hold(b, 9, acquire(b, 9));
    expect(SimInvariant.I3);
  }

  @Test
  void tokenBelowThatOfAnEarlierLeaseIsFineOnlyWhereDataWasLostAndAQuorumOfClocksWasSet() {
    Claimed first = acquire(a, 10);
    end(hold(a, 10, first), first);
    pass(1);
    checker.nodes.lostData(0);
    checker.nodes.steppedClock(0);
    assertTrue(checker.nodes.keepsTokensInOrder());
    checker.nodes.steppedClock(0);
    checker.nodes.steppedClock(1);
    assertFalse(checker.nodes.keepsTokensInOrder());
    pass(TTL_MILLIS);
    hold(b, 9, acquire(b, 9));
    expectNothing();
  }

  @Test
  void tokenBelowThatOfALeaseAcquiredMeanwhileIsFine() {
    Claimed slow = acquire(b, 9);
    pass(1);
    Claimed first = acquire(a, 10);
    end(hold(a, 10, first), first);
    slow.ended = true;
    hold(b, 9, slow);
    expectNothing();
  }

  @Test
  void updateThatIsUndoneThoughTokensAreCheckedBreaksI4() {
    ProtectedResource.Read first = checker.resource("r").read(10);
    ProtectedResource.Read same = checker.resource("r").read(10);
    checker.resource("r").write(first);
    checker.resource("r").write(same);
    expect(SimInvariant.I4);
  }

  @Test
  void lateWriteIsRefusedWhereTokensAreCheckedAndCountedWhereTheyAreNot() {
    ProtectedResource.Read late = checker.resource("r").read(10);
    ProtectedResource.Read next = checker.resource("r").read(11);
    checker.resource("r").write(next);
    checker.resource("r").write(late);
    assertEquals(1, checker.unfencedLosses());
    expectNothing();
  }

  @Test
  void ownerStoredAgainAfterItsReleaseBreaksI5() {
    Release release = new Release(NAME, "a#10", 10);
    executed(0, release, Cell.EMPTY, new Cell("", 0, 10, 1_000_000), NodeReply.NOT_HELD);
    Grant late = new Grant(NAME, "a#10", 10, TTL_MILLIS);
    executed(0, late, new Cell("", 0, 9, 1_000_000), held(late), NodeReply.GRANTED);
    expect(SimInvariant.I5);
  }

  @Test
  void extendAcrossSomebodyElsesLeaseBreaksI6() {
    Claimed first = acquire(a, 10);
    SimHold mine = hold(a, 10, first);
    pass(1);
    Claimed second = acquire(b, 11);
    second.ended = true;
    hold(b, 11, second);
    checker.holds.extended(mine);
    expect(SimInvariant.I6);
  }

  @Test
  void extendOfWhatWasSetFreeBreaksI22() {
    SimHold mine = hold(a, 10, acquire(a, 10));
    pass(1);
    long askedNanos = world.nowNanos();
    checker.holds.setFree("r", askedNanos, 11);
    pass(1);
    checker.holds.extended(mine, world.nowNanos());
    expectNothing();
    checker.holds.setFree("r", askedNanos, 10);
    checker.holds.extended(mine, askedNanos);
    expectNothing();
    pass(1);
    checker.holds.extended(mine, world.nowNanos());
    expect(SimInvariant.I22);
  }

  @Test
  void callThatDoesNotReturnBreaksI7() {
    checker.calls.begins(a, "acquire", 10 * SimPlan.MILLI);
    pass(13);
    expectNothing();
    pass(10);
    expect(SimInvariant.I7);
  }

  private CallChecks.Call acquiring(long waitMillis) {
    return checker.calls.beginsToAcquire(
        a, LeaseRequest.of("r", Duration.ofMillis(100)).waitUpTo(Duration.ofMillis(waitMillis)));
  }

  @Test
  void acquireThatTakesItsWaitAndANodeTimeoutIsFine() {
    CallChecks.Call call = acquiring(30);
    pass(30 + NODE_TIMEOUT_MILLIS);
    call.done();
    pass(100);
    expectNothing();
  }

  @Test
  void acquireThatTakesItsWaitAndTwoNodeTimeoutsBreaksI7() {
    acquiring(30);
    pass(30 + 2 * NODE_TIMEOUT_MILLIS);
    expect(SimInvariant.I7);
  }

  @Test
  void acquireWhoseLastTokenWasRefusedByClocksMayTakeAnotherNodeTimeout() {
    CallChecks.Call call = acquiring(30);
    pass(30 + NODE_TIMEOUT_MILLIS - 1);
    checker.calls.clockRefused(a, NAME);
    pass(NODE_TIMEOUT_MILLIS);
    call.done();
    pass(100);
    expectNothing();
    acquiring(30);
    pass(30);
    checker.calls.clockRefused(a, NAME);
    pass(3 * NODE_TIMEOUT_MILLIS);
    expect(SimInvariant.I7);
  }

  @Test
  void tokensThatClocksRefusedEarlierOrOfOthersGiveAnAcquireNoMoreTime() {
    CallChecks.Call call = acquiring(100);
    checker.calls.clockRefused(a, NAME);
    pass(100 + NODE_TIMEOUT_MILLIS);
    checker.calls.clockRefused(a, List.of("other"));
    checker.calls.clockRefused(b, NAME);
    expectNothing();
    pass(NODE_TIMEOUT_MILLIS);
    expect(SimInvariant.I7);
    call.done();
  }

  @Test
  void callThatTakesAsMuchLongerAsItsProcessStoodStillIsFine() {
    CallChecks.Call call = checker.calls.begins(a, "acquire", 10 * SimPlan.MILLI);
    a.freeze(100 * SimPlan.MILLI);
    pass(105);
    call.done();
    pass(100);
    expectNothing();
  }

  @Test
  void counterThatFallsBreaksI8() {
    Grant grant = new Grant(NAME, "a#10", 10, TTL_MILLIS);
    executed(0, grant, new Cell("", 0, 11, 1_000_000), held(grant), NodeReply.GRANTED);
    expect(SimInvariant.I8);
  }

  @Test
  void keyThatItsOwnerShortensBreaksI8() {
    Extend extend = new Extend(NAME, "a#10", 10, 1, 0);
    Cell shorter = new Cell("a#10", TTL_MILLIS - 1, 10, 1_000_000);
    executed(0, extend, held(extend), shorter, NodeReply.EXTENDED);
    expect(SimInvariant.I8);
  }

  @Test
  void grantByANodeWithoutItsPastBreaksI8() {
    pass(1);
    checker.nodes.lostData(0);
    pass(TTL_MILLIS - 1);
    grant(a, 10, 0);
    expect(SimInvariant.I8);
  }

  @Test
  void grantByANodeThatAbstainedLongEnoughIsFine() {
    pass(1);
    checker.nodes.lostData(0);
    pass(TTL_MILLIS);
    grant(a, 10, 0);
    expectNothing();
  }

  @Test
  void leaseOfTooFewServersBreaksI9() {
    grant(a, 10, 0);
    Claimed claimed = new Claimed();
    claimed.untilNanos = GOOD_NANOS;
    hold(a, 10, claimed);
    expect(SimInvariant.I9);
  }

  @Test
  void leaseOfOneServerCountedTwiceBreaksI9() {
    grant(a, 10, 0, 0);
    Claimed claimed = new Claimed();
    claimed.untilNanos = GOOD_NANOS;
    hold(a, 10, claimed);
    expect(SimInvariant.I9);
  }

  @Test
  void lockingAgainWithAnotherTokenBreaksI10() {
    checker.holds.lockedAgain(hold(a, 10, acquire(a, 10)), 11);
    expect(SimInvariant.I10);
  }

  @Test
  void lockHeldAfterTheLastUnlockBreaksI10() {
    checker.holds.unlocked(hold(a, 10, acquire(a, 10)), 0, true);
    expect(SimInvariant.I10);
  }

  @Test
  void lockingTwiceAndUnlockingTwiceIsFine() {
    Claimed claimed = acquire(a, 10);
    SimHold hold = hold(a, 10, claimed);
    checker.holds.lockedAgain(hold, 10);
    checker.holds.unlocked(hold, 1, true);
    end(hold, claimed);
    checker.holds.unlocked(hold, 0, false);
    expectNothing();
  }

  @Test
  void leaseThatEndsTwiceBreaksI11() {
    Claimed claimed = acquire(a, 10);
    SimHold hold = hold(a, 10, claimed);
    end(hold, claimed);
    end(hold, claimed);
    expect(SimInvariant.I11);
  }

  @Test
  void leaseThatIsValidAfterItsEndBreaksI11() {
    Claimed claimed = acquire(a, 10);
    checker.holds.ended(hold(a, 10, claimed), RELEASED);
    expect(SimInvariant.I11);
  }

  @Test
  void lossThatIsNotToldBreaksI11() {
    hold(a, 10, acquire(a, 10));
    pass(1_500);
    expect(SimInvariant.I11);
  }

  private static final Grant ASKED = new Grant(NAME, "a#10", 10, TTL_MILLIS);

  @Test
  void answerThatTheNodeNeverGaveBreaksI16() {
    LaneChecks.Letter letter = checker.lanes.sent(0, ASKED);
    checker.lanes.executed(0, ASKED, NodeReply.held(5, 9, ""));
    checker.lanes.answered(0, letter, NodeReply.GRANTED);
    expect(SimInvariant.I16);
  }

  @Test
  void requestThatIsExecutedAfterItsRefusalBreaksI16() {
    LaneChecks.Letter letter = checker.lanes.sent(0, ASKED);
    checker.lanes.answered(0, letter, NodeReply.unreachable("silent"));
    checker.lanes.executed(0, ASKED, NodeReply.GRANTED);
    expect(SimInvariant.I16);
  }

  @Test
  void requestThatIsRefusedAfterItsExecutionBreaksI16() {
    LaneChecks.Letter letter = checker.lanes.sent(0, ASKED);
    checker.lanes.executed(0, ASKED, NodeReply.GRANTED);
    checker.lanes.withdrawn(0, letter);
    expect(SimInvariant.I16);
  }

  @Test
  void requestThatIsRefusedOnceAndThenExecutedIsFineIfItWasSentTwice() {
    LaneChecks.Letter letter = checker.lanes.sent(0, ASKED);
    checker.lanes.answered(0, letter, NodeReply.unreachable("silent"));
    LaneChecks.Letter again = checker.lanes.sent(0, ASKED);
    checker.lanes.executed(0, ASKED, NodeReply.GRANTED);
    checker.lanes.answered(0, again, NodeReply.GRANTED);
    expectNothing();
  }

  @Test
  void unknownOfWhatWasExecutedIsFine() {
    LaneChecks.Letter letter = checker.lanes.sent(0, ASKED);
    checker.lanes.executed(0, ASKED, NodeReply.GRANTED);
    checker.lanes.answered(0, letter, NodeReply.unknown("connection lost"));
    expectNothing();
  }

  @Test
  void releaseThatHasWaitedAndGoesBehindOthersBreaksI17() {
    Release release = new Release(NAME, "b#9", 9);
    checker.lanes.sent(0, ASKED);
    checker.lanes.sent(0, release);
    LaneChecks.Order order = checker.lanes.order();
    order.heard();
    order.wrote(0, ASKED);
    order.wrote(0, release);
    expect(SimInvariant.I17);
  }

  @Test
  void grantBehindTheReleaseOfItsOwnerBreaksI17() {
    LaneChecks.Order order = checker.lanes.order();
    order.heard();
    Grant first = new Grant(NAME, "b#9", 9, TTL_MILLIS);
    checker.lanes.sent(0, first);
    order.wrote(0, first);
    Release release = new Release(NAME, "a#10", 10);
    checker.lanes.sent(0, ASKED);
    checker.lanes.sent(0, release);
    order.wrote(0, release);
    order.wrote(0, ASKED);
    expect(SimInvariant.I17);
  }

  @Test
  void releasesFirstAndThenTheOrderOfTheCallersIsFine() {
    Release waited = new Release(NAME, "b#9", 9);
    Release release = new Release(NAME, "a#10", 10);
    checker.lanes.sent(0, ASKED);
    checker.lanes.sent(0, waited);
    LaneChecks.Order order = checker.lanes.order();
    order.heard();
    order.wrote(0, waited);
    order.wrote(0, ASKED);
    checker.lanes.sent(0, release);
    order.wrote(0, release);
    order.wrote(0, ASKED); // once more, with the text of its script
    expectNothing();
  }

  /** A lane that shows its node as up, whatever happens. */
  private record Blind(String name) implements LockNode {

    @Override
    public void start(Ticker ticker, Scheduler scheduler, Observer observer) {}

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      throw new AssertionError("nothing is sent");
    }

    @Override
    public OptionalLong clockOffsetMicros() {
      return OptionalLong.empty();
    }

    @Override
    public NodeStatus status() {
      return new StatusOfNode(name, NodeStatus.State.UP, Duration.ZERO, "");
    }

    @Override
    public void close() {}
  }

  private SimSocket socket() {
    SimClock clock = new SimClock(world, Simulation.EPOCH_NANOS, 0);
    SimServer server = new SimServer(0, world, clock, new Parts(), checker, plan, new FaultCount());
    SimRandom random = new SimRandom(1);
    SimLink link = new SimLink(world, plan, random, new FaultCount(), SimPlan.MILLI);
    return new SimSocket("lane", server, link, a, plan, random, new FaultCount(), checker.lanes);
  }

  private void watch(SimSocket socket) {
    SimNode node = new SimNode(new Blind("n0"), socket, socket(), plan, checker, each -> each);
    node.start(a, new SimScheduler(a), status -> {});
  }

  @Test
  void nodeThatIsShownAsUpWithoutAnAuditBreaksI18() {
    SimSocket socket = socket();
    socket.audited(false);
    watch(socket);
    pass(2_900);
    expectNothing();
    pass(500);
    expect(SimInvariant.I18);
  }

  @Test
  void nodeThatIsShownAsUpThoughItOnlyAnswersErrorsBreaksI18() {
    SimSocket socket = socket();
    socket.audited(false);
    watch(socket);
    pass(2_000);
    socket.audited(true);
    pass(2_500);
    expect(SimInvariant.I18);
  }

  @Test
  void timeOfANodeThatIsShownAsUpCountsFromTheFirstTickAfterAPause() {
    SimSocket socket = socket();
    socket.audited(false);
    watch(socket);
    a.freeze(20_000 * SimPlan.MILLI);
    pass(20_000 + plan.auditPeriodNanos() / SimPlan.MILLI + 2_900);
    expectNothing();
    pass(500);
    expect(SimInvariant.I18);
  }

  @Test
  void nodeThatIsAuditedEverySecondIsFine() {
    SimSocket socket = socket();
    watch(socket);
    for (int second = 0; second < 5; second++) {
      socket.audited(false);
      pass(1_000);
    }
    expectNothing();
  }

  private SimHold extended(int times, int lostPasts) {
    checker.work.asked(a, new Grant(NAME, "a#10", 10, TTL_MILLIS));
    SimHold hold = hold(a, 10, acquire(a, 10));
    for (int loss = 0; loss < lostPasts; loss++) {
      checker.work.resets(a);
    }
    for (int i = 0; i < times; i++) {
      checker.work.asked(a, new Extend(NAME, hold.owner, 10, TTL_MILLIS, i));
    }
    return hold;
  }

  @Test
  void leaseThatIsReaffirmedAgainAndAgainBreaksI19() {
    checker.work.ended(extended(WorkChecks.EXTENDS_PER_LOSS + 1, 1));
    expect(SimInvariant.I19);
  }

  @Test
  void leaseThatIsReaffirmedForEachLostPastAndExtendedByItsHolderIsFine() {
    SimHold hold = extended(2 * WorkChecks.EXTENDS_PER_LOSS + 1, 2);
    checker.work.extending(hold);
    checker.work.ended(hold);
    expectNothing();
  }

  private void loseAPastWhileItsSchedulerStandsStill() {
    SimScheduler scheduler = new SimScheduler(a);
    checker.work.resets(a);
    scheduler.schedule(() -> a.standStill(5 * SimPlan.MILLI), 0);
  }

  @Test
  void leaseThatBeginsBeforeItsClientAnswersALostPastMayBeExtendedForIt() {
    loseAPastWhileItsSchedulerStandsStill();
    world.after(SimPlan.MILLI, () -> checker.work.ended(extended(1, 0)));
    pass(10);
    expectNothing();
  }

  @Test
  void leaseThatBeginsAfterALostPastWasAnsweredAndIsExtendedForItBreaksI19() {
    loseAPastWhileItsSchedulerStandsStill();
    pass(10);
    checker.work.ended(extended(1, 0));
    expect(SimInvariant.I19);
  }

  @Test
  void attemptThatIsBegunByACloseBreaksI19() {
    a.closing();
    checker.work.asked(a, ASKED);
    expect(SimInvariant.I19);
  }

  @Test
  void runThatNeverEndsBreaksI12() {
    world.after(0, this::again);
    pass(1);
    expect(SimInvariant.I12);
  }

  private void again() {
    world.after(0, this::again);
  }
}
