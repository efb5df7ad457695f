package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.simulation.SimPlan.Change;
import io.redlock.simulation.SimPlan.Change.Left;
import java.util.List;
import java.util.function.LongFunction;
import java.util.function.ToLongFunction;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Plans for a purpose, in virtual time: nothing is violated, and what is looked for happens. */
@Tag("search")
class CampaignSimulationTest {

  private static final Figure WAIT_IN_TURN = new Figure("waits in turn", it -> it.queued, 1);
  private static final Figure READ = new Figure("reads", it -> it.reads, 5);
  private static final Figure WORK = new Figure("works", it -> it.leases, 50);
  private static final Figure PASS_ON = new Figure("passes a lease on", it -> it.passed, 50);
  private static final Figure WAIT_FOR_ANY =
      new Figure("waits while a name is free", it -> it.longestFreeNanos, 0);

  /** What happens more often than so many times a seed. */
  private record Figure(String what, ToLongFunction<Campaign> count, int leastPerSeed) {}

  /**
   * What some plans are for.
   *
   * @param brief how many seeds {@code verify} runs
   * @param all how many it and CI run
   */
  private record Purpose(
      String text, int brief, int all, LongFunction<SimPlan> plans, List<Figure> figures) {

    void run(List<Long> seeds) {
      Campaign campaign = Campaign.run(text, seeds, plans);
      for (Figure figure : figures) {
        long count = figure.count.applyAsLong(campaign);
        assertTrue(
            count > (long) figure.leastPerSeed * seeds.size(), "hardly anybody " + figure.what);
      }
    }

    @Override
    public String toString() {
      return text;
    }
  }

  @ParameterizedTest
  @MethodSource({"fair", "shared", "permits", "leaders", "counters", "changes"})
  @Tag("budget")
  void nothingIsViolated(Purpose purpose) {
    purpose.run(Campaign.seeds(purpose.brief, purpose.all));
  }

  @ParameterizedTest
  @MethodSource("fair")
  @Tag("long")
  void nothingIsViolatedInManyMoreRuns(Purpose purpose) {
    purpose.run(Campaign.seeds(purpose.all * 400));
  }

  /** First come, first served: order, patience, and every fault there is. */
  static Stream<Purpose> fair() {
    return Stream.of(
        fair(
            "without faults fair waiters are served in the order of their tickets",
            4,
            CampaignSimulationTest::inOrder),
        fair(
            "no fair waiter is held up for long by others that stand still, leave or die",
            4,
            seed -> SimPlan.of(seed).crowd().only(SimPlan.FAULTS_OF_CLIENTS)),
        fair(
            "some waiters are fair and some are not",
            8,
            seed -> SimPlan.of(seed).fair(seed % 2 == 0 ? 100 : 50)));
  }

  private static Purpose fair(String text, int brief, LongFunction<SimPlan> plans) {
    return new Purpose(text, brief, 5 * brief, plans, List.of(WAIT_IN_TURN));
  }

  private static SimPlan inOrder(long seed) {
    return SimPlan.of(seed).crowd().only();
  }

  @ParameterizedTest
  @CsvSource({
    "2424, nodes had a lower ticket between two rounds of the attempt that won",
    "3574, a node counted as silent just when a waiter gave up whose ticket it had"
  })
  void nothingIsViolatedWhereADefectWasFound(long seed, String found) {
    assertNull(Simulation.run(inOrder(seed)).violation(), found);
  }

  /** Half of the calls read, a quarter wait in turn. */
  static Stream<Purpose> shared() {
    return Stream.of(
        shared(
            "nobody waits to read while nobody writes",
            seed -> SimPlan.of(seed).sharedAndServed().only()),
        shared(
            "processes that stop and die hold up no reader or writer for long",
            seed -> SimPlan.of(seed).sharedAndServed().rarely().only(SimPlan.FAULTS_OF_PROCESSES)),
        shared("readers and writers under any fault", seed -> SimPlan.of(seed).shared()),
        shared(
            "a fair writer is served while readers overlap without end",
            seed -> {
              SimPlan plan = SimPlan.of(seed).sharedAndServed().only();
              plan.resources = 1;
              plan.sharedPercent = 90;
              plan.fairPercent = 50;
              return plan;
            }));
  }

  private static Purpose shared(String text, LongFunction<SimPlan> plans) {
    return new Purpose(text, 4, 20, plans, List.of(READ, WAIT_IN_TURN));
  }

  /**
   * More callers than permits: no permit has two holders (I1), and none is free while somebody
   * waits for one (I24).
   */
  static Stream<Purpose> permits() {
    List<Figure> judged = List.of(WORK, WAIT_FOR_ANY);
    return Stream.of(
        permits("nobody waits for a permit while one is free", judged, SimPlan::only),
        permits(
            "nobody waits for a permit while one is free and majorities are well",
            judged,
            plan -> plan.rarely().only(SimPlan.FAULTS_OF_PROCESSES)),
        permits(
            "no permit has two holders though masters lose data and packets",
            List.of(WORK),
            plan -> plan));
  }

  private static Purpose permits(String text, List<Figure> figures, UnaryOperator<SimPlan> faults) {
    return new Purpose(
        text, 4, 12, seed -> faults.apply(SimPlan.of(seed).permits(2 + (int) (seed % 4))), figures);
  }

  /** Candidates that resign, are closed, by their work too, and take their time to stop. */
  static Stream<Purpose> leaders() {
    return Stream.of(
        leaders("candidates work one after the other", SimPlan::only),
        leaders("candidates work one after the other under any fault", plan -> plan));
  }

  private static Purpose leaders(String text, UnaryOperator<SimPlan> faults) {
    LongFunction<SimPlan> plans = seed -> faults.apply(SimPlan.of(seed).leading());
    return new Purpose(text, 4, 20, plans, List.of(new Figure("leads", it -> it.leases, 10)));
  }

  /** Somebody writes to a master what no client does. */
  static Stream<Purpose> counters() {
    return Stream.of(
        new Purpose(
            "nobody follows a counter that is far ahead",
            4,
            20,
            seed -> SimPlan.of(seed).with(SimFault.NODE_COUNTER),
            List.of()));
  }

  /** The masters change under clients that work, with the production commands. */
  static Stream<Purpose> changes() {
    return Stream.of(
        change(
            "leases are granted all the time while masters change",
            4,
            seed -> changing(seed, someLeft(seed)).only()),
        change(
            "leases are granted while masters and terms change and a minority stops or dies",
            5,
            seed ->
                changing(seed, someLeft(seed))
                    .meddling()
                    .rarely()
                    .only(SimPlan.FAULTS_OF_PROCESSES)),
        change(
            "fair waiters keep their order while masters change",
            4,
            seed -> {
              SimPlan plan = changing(seed, Left.NOBODY).only();
              plan.fairPercent = 100;
              plan.resources = 1;
              plan.sessions = 2;
              return plan;
            }),
        change(
            "readers and writers are served while masters change",
            1,
            seed -> {
              SimPlan plan = changing(seed, someLeft(seed)).only();
              plan.sharedPercent = 50;
              plan.fairPercent = 25;
              return plan;
            }),
        change(
            "names are set free while masters change",
            1,
            seed -> changing(seed, someLeft(seed)).only(SimFault.SET_FREE)),
        new Purpose(
            "leases are passed on while masters change",
            1,
            2,
            seed -> changing(seed, someLeft(seed)).hot().only(),
            List.of(WORK, PASS_ON)),
        change("masters change under faults", 4, seed -> disturbed(seed, someLeft(seed))),
        change(
            "a client that is forgotten for ever is served no more",
            2,
            seed -> changing(seed, Left.FOR_EVER).only()),
        change(
            "a client that is forgotten for ever is served no more under faults",
            2,
            seed -> disturbed(seed, Left.FOR_EVER)),
        change(
            "tokens rise though all clocks are set back after the commit",
            2,
            seed -> changing(seed, Left.NOBODY).only().settingClocksBack()),
        change(
            "terms change and change back before the masters do",
            2,
            seed ->
                changing(seed, Left.NOBODY)
                    .agreeing()
                    .only(SimFault.NODE_FLUSH, SimFault.CLIENT_PAUSE)),
        change(
            "keys that are evicted are lost though the policy is fixed within a ttl",
            2,
            seed -> SimPlan.of(seed).strikingMajorities(SimFault.NODE_POLICY)),
        change(
            "servers that come back to their addresses are not trusted at once",
            2,
            seed -> SimPlan.of(seed).strikingMajorities(SimFault.NODE_SWAP)),
        change(
            "a master that is copied goes on voting unless its data came back from a copy",
            2,
            seed -> SimPlan.of(seed).strikingMajorities(SimFault.NODE_COPY)),
        change(
            "a node that lost its past while it was refused abstains",
            2,
            seed -> SimPlan.of(seed).strikingMajorities(SimFault.NODE_REFUSED)),
        change(
            "who is refused where his lease was forgotten learns that it is lost",
            2,
            seed -> SimPlan.of(seed).strikingMajorities(SimFault.NODE_OTHERS)));
  }

  private static Purpose change(String text, int brief, LongFunction<SimPlan> plans) {
    return new Purpose(text, brief, 2 * brief, plans, List.of(WORK));
  }

  private static SimPlan disturbed(long seed, Left left) {
    return changing(seed, left)
        .rarely()
        .without(SimFault.NODE_CLOCK_STEP)
        .without(SimFault.SET_FREE);
  }

  /** In three to five, five to three, one and all swapped, and five to seven. */
  private static SimPlan changing(long seed, Left left) {
    return SimPlan.of(seed)
        .changing(
            switch ((int) (seed % 5)) {
              case 0 -> new Change(3, 3, 5, left);
              case 1 -> new Change(5, 3, 3, left);
              case 2 -> new Change(3, 2, 3, left);
              case 3 -> new Change(5, 5, 7, left);
              default -> new Change(3, 0, 3, left);
            });
  }

  private static Left someLeft(long seed) {
    return seed % 3 == 0 ? Left.UNTIL_THE_COMMIT : Left.NOBODY;
  }
}
