package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.redlock.simulation.SimPlan.Change;
import io.redlock.simulation.SimPlan.Change.Left;
import io.redlock.spi.Quorum;
import io.redlock.testkit.BrokenNodes;
import io.redlock.testkit.Budget;
import io.redlock.testkit.VariantTable;
import java.io.IOException;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Lock services with one rule broken: the simulation must notice, within so many seeds, and in CI
 * the same plans with nothing broken must pass.
 */
@Tag("search")
@Tag("budget")
class SimulationVariantsTest {

  private static final int MOST_SEEDS = 5_000;
  private static final VariantTable TABLE =
      new VariantTable("simulator", "seeds", SimulationVariantsTest.class);

  /**
   * One broken rule.
   *
   * @param bend makes a plan one under which the rule matters
   * @param spoil breaks the rule where it is a matter of the plan
   */
  private record Variant(
      String rule,
      SimInvariant expected,
      Parts parts,
      Consumer<SimPlan> bend,
      Consumer<SimPlan> spoil) {

    SimPlan plan(long seed) {
      SimPlan plan = SimPlan.of(seed);
      bend.accept(plan);
      return plan;
    }

    SimPlan spoiltPlan(long seed) {
      SimPlan plan = plan(seed);
      spoil.accept(plan);
      return plan;
    }

    @Override
    public String toString() {
      return rule;
    }
  }

  @ParameterizedTest
  @MethodSource("variants")
  void brokenRuleIsNoticed(Variant variant) {
    Violation violation = null;
    long seed = TABLE.firstToTry(variant.rule) - 1;
    while (violation == null && seed < MOST_SEEDS) {
      seed++;
      violation = Simulation.run(variant.spoiltPlan(seed), variant.parts(), false).violation();
    }
    assertNotNull(violation, variant + " was not noticed in " + MOST_SEEDS + " seeds");
    assertEquals(variant.expected, violation.invariant(), variant + ": " + violation);
    if (Budget.isAmple()) {
      SimPlan sound = variant.plan(seed);
      assertNull(
          Simulation.run(sound, new Parts(), false).violation(), "with nothing broken: " + sound);
    }
    TABLE.noticed(variant.rule, violation.invariant(), seed);
  }

  @AfterAll
  static void finishTable() throws IOException {
    TABLE.finish(variants().count());
  }

  private static Variant spoilt(
      SimInvariant expected, String rule, Consumer<SimPlan> bend, Consumer<SimPlan> spoil) {
    return new Variant(rule, expected, new Parts(), bend, spoil);
  }

  private static Variant variant(
      SimInvariant expected, String rule, Parts parts, Consumer<SimPlan> bend) {
    return new Variant(rule, expected, parts, bend, plan -> {});
  }

  private static Variant variant(SimInvariant expected, String rule, Parts parts) {
    return variant(expected, rule, parts, plan -> {});
  }

  /** What is left behind is still there once it is calm. */
  private static void longKeys(SimPlan plan) {
    plan.maxTtlMillis = 10_000;
    plan.chaosNanos = 6_000 * SimPlan.MILLI;
    plan.unchecked(SimInvariant.I7);
  }

  /** Nodes lose their data so often that holders are hit; only what users see is looked at. */
  private static void lossy(SimPlan plan) {
    plan.nodes = 3;
    plan.maxTtlMillis = 300;
    plan.nodeTimeoutNanos = 10 * SimPlan.MILLI;
    plan.hopNanos = Math.min(plan.hopNanos, SimPlan.MILLI);
    plan.jitterNanos = Math.min(plan.jitterNanos, SimPlan.MILLI);
    plan.lossMargin = Duration.ZERO;
    plan.skewMicros = 20_000;
    plan.fewVictims = false;
    plan.nodeFaultGapNanos = 150 * SimPlan.MILLI;
    plan.unchecked(SimInvariant.I8, SimInvariant.I9);
  }

  static Stream<Variant> variants() {
    return Stream.of(
            protocolVariants(),
            laneVariants(),
            callbackVariants(),
            changeVariants(),
            permitVariants())
        .flatMap(each -> each);
  }

  /** All masters are swapped, and one client is forgotten until the end. */
  private static void swapAll(SimPlan plan) {
    plan.changing(new Change(3, 0, 3, Left.UNTIL_THE_COMMIT)).only();
    plan.resources = 1;
  }

  /** Mistakes in a change of masters, none of which stays. */
  private static Stream<Variant> changeVariants() {
    return Stream.of(
        variant(
            SimInvariant.I1,
            "29b clients that move need no majority of the old masters",
            Variants.movesWithout(Quorum::present),
            SimulationVariantsTest::halvesAll),
        variant(
            SimInvariant.I1,
            "29c clients that move need no majority of the new masters",
            Variants.movesWithout(Quorum::future),
            plan -> {
              halvesAll(plan);
              plan.unchecked(SimInvariant.I6); // the second holder may extend before the first
            }),
        variant(
            SimInvariant.I1,
            "29g a commit does not wait",
            Variants.hastyOperator(),
            plan -> {
              swapAll(plan);
              plan.maxTtlMillis = 3_000;
            }),
        variant(
            SimInvariant.I3,
            "29l a commit carries only counters of leases that may be valid",
            Variants.carriesYoungCountersOnly(),
            plan -> {
              plan.changing(new Change(3, 0, 3, Left.NOBODY)).only().settingClocksBack();
            }),
        variant(
            SimInvariant.I1,
            "31h evicted keys are not lost data",
            Variants.evictedKeysAreNotCounted(),
            plan -> onlySeen(plan.evicting())),
        variant(
            SimInvariant.I1,
            "31i a client marks a node that has left",
            Variants.leavingIsForgotten(),
            plan -> {
              plan.changing(new Change(3, 0, 3, Left.FOR_EVER)).only();
              plan.resources = 1;
            }),
        variant(
            SimInvariant.I1,
            "31m a server that comes back to its address is not recognised",
            Variants.returnedServerIsNotRecognised(),
            plan -> onlySeen(plan.swapping())),
        variant(
            SimInvariant.I23,
            "29k clients that move know the old masters only",
            Variants.movesNowhere(),
            SimulationVariantsTest::swapAll));
  }

  /** Only what users see is looked at. */
  private static void onlySeen(SimPlan plan) {
    plan.unchecked(SimInvariant.I6, SimInvariant.I8, SimInvariant.I9, SimInvariant.I21);
  }

  /** Leases of one half of the masters are noticed as such before two meet. */
  private static void halvesAll(SimPlan plan) {
    swapAll(plan);
    plan.unchecked(SimInvariant.I9, SimInvariant.I21);
  }

  /** A permit that is free is not found. */
  private static Stream<Variant> permitVariants() {
    return Stream.of(
        variant(
            SimInvariant.I24,
            "30a who has seen that a name is taken does not look at it again",
            Variants.lanes(BrokenLane.RemembersWhatIsTaken::new),
            plan -> plan.permits(5).only()),
        variant(
            SimInvariant.I24,
            "30b a look leaves out the name that its process released last",
            Variants.lanes(BrokenLane.LeavesOutWhatWasReleased::new),
            plan -> plan.permits(5).only()),
        variant(
            SimInvariant.I24,
            "30c a waiter asks again only when its own process has released a name",
            Variants.waitsToBeWoken(),
            plan -> {
              oneCallerEach(plan);
              plan.unchecked(SimInvariant.I7); // it may wait beyond the end, too
            }));
  }

  /** Keys outlive their leases by far, and names stay free while their last holders think. */
  private static void oneCallerEach(SimPlan plan) {
    plan.permits(2).only();
    plan.sessions = 1;
    plan.maxTtlMillis = 5_000;
    plan.thinkNanos = plan.maxTtlNanos();
  }

  /** So many nodes are struck, and so often, that the lanes of a quorum are. */
  private static void widely(SimPlan plan, SimFault fault) {
    plan.only(fault);
    plan.fewVictims = false;
    plan.nodeFaultGapNanos = plan.maxTtlNanos() / 2;
  }

  /** Defects of a lane, for which nothing in the protocol makes up. */
  private static Stream<Variant> laneVariants() {
    return Stream.of(
        variant(
            SimInvariant.I18,
            "L01 the ping of an idle node is dropped",
            BrokenLanes.pingIsDropped(),
            SimPlan::only),
        variant(
            SimInvariant.I17,
            "L02 a release goes last after a reconnect",
            BrokenLanes.releaseGoesLastAfterAReconnect(),
            plan -> plan.unchecked(SimInvariant.I12)),
        variant(
            SimInvariant.I17,
            "L03 a release overtakes the grant of its owner",
            BrokenLanes.releaseOvertakesItsGrant()),
        variant(
            SimInvariant.I16,
            "L04 an answer is given to the neighbour",
            BrokenLanes.answerGoesToTheNeighbour()),
        variant(SimInvariant.I16, "L05 an answer is given twice", BrokenLanes.answerIsGivenTwice()),
        variant(
            SimInvariant.I16,
            "L06 what was written is called unsent when the connection is lost",
            BrokenLanes.writtenIsCalledUnsent()),
        variant(
            SimInvariant.I7,
            "L07 silence never ends",
            BrokenLanes.silenceNeverEnds(),
            plan -> widely(plan, SimFault.NODE_PAUSE)),
        variant(
            SimInvariant.I12,
            "L08 the queue is forgotten at close",
            BrokenLanes.queueIsForgottenAtClose(),
            plan -> plan.faults.add(SimFault.CLIENT_CLOSE)),
        variant(
            SimInvariant.I12,
            "L09 a late answer is dropped",
            BrokenLanes.lateAnswerIsDropped(100 * SimPlan.MILLI)),
        variant(
            SimInvariant.I16,
            "L10 a withdrawn request is sent all the same",
            BrokenLanes.withdrawnIsSentAllTheSame()),
        variant(
            SimInvariant.I12,
            "L11 the unanswered is forgotten with its connection",
            BrokenLanes.unansweredIsForgottenWithItsConnection()),
        variant(
            SimInvariant.I17,
            "L12 two threads write at once",
            BrokenLanes.twoWriteAtOnce(),
            plan -> plan.faults.add(SimFault.WRITE_STALL)),
        variant(
            SimInvariant.I18,
            "L13 a new connection is not audited",
            BrokenLanes.newConnectionIsNotAudited(),
            plan -> plan.unchecked(SimInvariant.I8)),
        variant(
            SimInvariant.I7,
            "L14 a missing script is taken for an answer",
            BrokenLanes.missingScriptIsAnAnswer(),
            plan -> widely(plan, SimFault.SCRIPT_FLUSH)),
        variant(
            SimInvariant.I8,
            "L15 the birth mark is not carried",
            BrokenLanes.birthMarkIsNotCarried()));
  }

  /** Defects of the way to user code. */
  private static Stream<Variant> callbackVariants() {
    return Stream.of(
        variant(
            SimInvariant.I7,
            "U01 a callback that the executor rejects is dropped",
            Variants.refusedCallbacksAreDropped(),
            plan -> plan.only(SimFault.USER_CODE)));
  }

  private static Stream<Variant> protocolVariants() {
    return Stream.of(
        variant(
            SimInvariant.I1,
            "02b the monotonic clock alone decides",
            Variants.monotonicClockAlone(),
            plan ->
                plan.only(SimFault.CLIENT_SUSPEND).unchecked(SimInvariant.I2, SimInvariant.I21)),
        variant(
            SimInvariant.I1,
            "03a no allowance for drift",
            Variants.configured(builder -> builder.driftPerSecond(Duration.ZERO)),
            plan -> plan.only(SimFault.CLIENT_RATE, SimFault.NODE_RATE).unchecked(SimInvariant.I2)),
        variant(
            SimInvariant.I9,
            "04b an error counts as a yes",
            Variants.lanes(BrokenLane.CountsErrors::new)),
        variant(
            SimInvariant.I9,
            "04c a node counts twice",
            Variants.nodeCountedTwice(),
            plan -> plan.nodes = 3),
        variant(
            SimInvariant.I5,
            "05 a retry uses the owner id again",
            Variants.oneOwnerId(),
            plan -> plan.unchecked(SimInvariant.I1)),
        variant(
            SimInvariant.I5,
            "06 a release skips nodes that did not answer",
            Variants.lanes(BrokenLane.ReleasesWhereAnswered::new),
            SimulationVariantsTest::longKeys),
        variant(
            SimInvariant.I5,
            "07 a release on another connection leaves no tombstone",
            Variants.nodes(BrokenNodes.WithoutTombstones::new)),
        variant(
            SimInvariant.I5,
            "08 an extend sets a missing key",
            Variants.nodes(BrokenNodes.ExtendingWhatIsMissing::new),
            plan -> plan.unchecked(SimInvariant.I8)),
        variant(
            SimInvariant.I1,
            "09a an extend succeeds by any one node",
            Variants.extendedByAnyNode(),
            plan -> plan.unchecked(SimInvariant.I21)),
        variant(
            SimInvariant.I9,
            "10 grants of different rounds are counted together",
            Variants.lanes(BrokenLane.CountsAllRounds::new)),
        variant(
            SimInvariant.I3,
            "11a a free key is granted at the counter not above it",
            Variants.nodes(BrokenNodes.GrantingEqualTokens::new),
            plan -> plan.unchecked(SimInvariant.I2, SimInvariant.I5)),
        variant(
            SimInvariant.I8,
            "11b a repeated grant does not store its token",
            Variants.nodes(BrokenNodes.ForgettingHigherTokens::new)),
        variant(
            SimInvariant.I7,
            "11c tokens are compared as text",
            Variants.nodes(BrokenNodes.ComparingText::new)),
        variant(
            SimInvariant.I8,
            "11d counters are printed as doubles",
            Variants.nodes(BrokenNodes.PrintingDoubles::new)),
        variant(
            SimInvariant.I3,
            "12a a release deletes the counter",
            Variants.nodes(BrokenNodes.ReleasingCounters::new),
            plan -> plan.unchecked(SimInvariant.I5, SimInvariant.I6, SimInvariant.I8)),
        variant(
            SimInvariant.I3,
            "12b a counter that is ahead runs out before the time has come",
            Variants.nodes(BrokenNodes.ForgettingTheLead::new),
            plan -> {
              plan.only(SimFault.NODE_CLOCK_STEP);
              plan.nodes = 3;
              plan.fewVictims = false;
              plan.nodeFaultGapNanos = plan.maxTtlNanos();
              plan.skewMicros = 20_000;
              plan.retentionMillis = 80; // four times skew: counters run out during the run
            }),
        spoilt(
            SimInvariant.I1,
            "13a a node votes as soon as it is back",
            plan -> plan.unchecked(SimInvariant.I8),
            plan -> plan.guarded = false),
        variant(
            SimInvariant.I1,
            "13c only a restart makes a node abstain",
            Variants.birthThatSurvivesFlush(),
            plan -> lossy(plan.only(SimFault.NODE_FLUSH))),
        variant(
            SimInvariant.I7,
            "14a node timeouts pass one after the other",
            Variants.oneNodeAfterTheOther()),
        variant(
            SimInvariant.I7,
            "14b a tie never resolves",
            Variants.retriesWithoutJitter(),
            plan -> {
              plan.only();
              plan.nodes = 2;
              plan.clients = 2;
              plan.inARing = true;
              plan.jitterNanos = 0;
            }),
        variant(
            SimInvariant.I5,
            "15a a renewal races the release",
            Variants.lanesAndNodes(
                BrokenLane.ExtendsAfterRelease::new, BrokenNodes.WithoutTombstones::new)),
        variant(
            SimInvariant.I11,
            "15b no loss is reported while the renewal thread waits",
            Variants.renewalThreadStarves(),
            plan -> plan.unchecked(SimInvariant.I7)),
        variant(
            SimInvariant.I1,
            "15c a release deletes whatever is there",
            Variants.nodes(BrokenNodes.ReleasingAnybody::new),
            plan -> plan.unchecked(SimInvariant.I21)),
        variant(
            SimInvariant.I7,
            "16 retries have no jitter",
            Variants.retriesWithoutJitter(),
            plan -> {
              plan.only();
              plan.nodes = 3;
              plan.clients = 3;
              plan.inARing = true;
              plan.jitterNanos = 0;
            }),
        variant(
            SimInvariant.I5,
            "17 a caller that gives up leaves its lease behind",
            Variants.cancelIsSwallowed(),
            plan -> {
              longKeys(plan);
              plan.faults.add(SimFault.CANCEL);
            }),
        variant(
            SimInvariant.I8,
            "18a an extend shortens the key",
            Variants.nodes(BrokenNodes.ShorteningByExtends::new)),
        variant(
            SimInvariant.I8,
            "18b a repeated grant shortens the key",
            Variants.nodes(BrokenNodes.ShorteningByGrants::new)),
        variant(
            SimInvariant.I1,
            "19 stragglers are released while the lease is alive",
            Variants.lanes(BrokenLane.ReleasesStragglers::new),
            plan -> plan.unchecked(SimInvariant.I5, SimInvariant.I21)),
        variant(SimInvariant.I8, "20 a join asks for no birth", Variants.joinsAnyBirth()),
        variant(
            SimInvariant.I5,
            "21 the release forgets what an extend may have left",
            Variants.lanes(BrokenLane.ReleasesWhereGranted::new),
            SimulationVariantsTest::longKeys),
        variant(
            SimInvariant.I1,
            "22 a node that was replaced keeps its birth",
            Variants.birthWithoutReplicationId(),
            plan -> lossy(plan.only(SimFault.NODE_FAILOVER))),
        variant(
            SimInvariant.I21,
            "27 an inspection asks for no birth",
            Variants.inspectsAnyBirth(),
            plan -> {
              lossy(plan.only(SimFault.NODE_FLUSH));
              plan.unchecked(SimInvariant.I1);
            }),
        variant(
            SimInvariant.I1,
            "28a what an operator sets free is deleted",
            Variants.nodes(BrokenNodes.FreeingByDeletion::new),
            plan -> plan.only(SimFault.SET_FREE)),
        variant(
            SimInvariant.I22,
            "28b what an operator sets free can still be extended",
            Variants.nodes(BrokenNodes.FreeingInWordsOnly::new),
            plan -> plan.only(SimFault.SET_FREE)));
  }
}
