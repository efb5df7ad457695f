package io.redlock.simulation;

import static io.redlock.simulation.SimInvariant.I1;
import static io.redlock.simulation.SimInvariant.I12;
import static io.redlock.simulation.SimInvariant.I2;
import static io.redlock.simulation.SimInvariant.I21;
import static io.redlock.simulation.SimInvariant.I5;
import static io.redlock.simulation.SimInvariant.I6;
import static io.redlock.simulation.SimInvariant.I7;
import static io.redlock.simulation.SimInvariant.I8;
import static io.redlock.simulation.SimInvariant.I9;

import io.redlock.Lease;
import io.redlock.RetryStrategy;
import io.redlock.jedis.lane.Dialer;
import io.redlock.jedis.membership.Served;
import io.redlock.simulation.Parts.Sighting;
import io.redlock.simulation.SimPlan.Change;
import io.redlock.simulation.SimPlan.Change.Left;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.BrokenNode;
import io.redlock.testkit.ForwardingNode;
import io.redlock.testkit.ModelFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;

/** Lock services, nodes and operators that break one rule each. */
final class BrokenRules {

  private BrokenRules() {}

  /**
   * A broken rule.
   *
   * @param text its number in the list of known mistakes, and what is wrong
   * @param bend makes a plan one under which the rule matters
   * @param parts breaks it
   */
  record BrokenRule(String text, Consumer<SimPlan> bend, Consumer<Parts> parts) {

    BrokenRule under(Consumer<SimPlan> plan) {
      return new BrokenRule(text, plan, parts);
    }

    BrokenRule by(Consumer<Parts> broken) {
      return new BrokenRule(text, bend, broken);
    }

    BrokenRule nodes(ModelFactory model) {
      return by(parts -> parts.model = model);
    }

    BrokenRule clients(Supplier<Habit> habit) {
      return by(parts -> parts.clientsHave(habit));
    }

    BrokenRule retryingAfter(Duration pause) {
      RetryStrategy always = (failures, cause, random) -> pause;
      return by(parts -> parts.settings = builder -> builder.retryStrategy(always));
    }

    BrokenRule lanes(Supplier<Habit> habit) {
      return by(parts -> parts.lanesHave(habit));
    }

    BrokenRule wires(Function<SimSocket, Dialer> dialer) {
      return by(parts -> parts.dialer = dialer);
    }

    SimPlan plan(long seed) {
      SimPlan plan = SimPlan.of(seed);
      bend.accept(plan);
      return plan;
    }

    Parts broken() {
      Parts broken = new Parts();
      parts.accept(broken);
      return broken;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  private static BrokenRule rule(String text) {
    return new BrokenRule(text, plan -> {}, parts -> {});
  }

  static Stream<BrokenRule> all() {
    return Stream.of(
            clocksAndQuorums(), nodes(), clients(), operators(), waiters(), readers(), lanes())
        .flatMap(each -> each);
  }

  private static Stream<BrokenRule> clocksAndQuorums() {
    return Stream.of(
        rule("02b the monotonic clock alone decides")
            .under(plan -> plan.only(SimFault.CLIENT_SUSPEND).unchecked(I2, I21))
            .by(parts -> parts.ticker = BrokenRules::monotonicClockAlone),
        rule("03a no allowance for drift")
            .under(plan -> plan.only(SimFault.CLIENT_RATE, SimFault.NODE_RATE).unchecked(I2))
            .by(parts -> parts.settings = builder -> builder.driftPerSecond(Duration.ZERO)),
        rule("04b an error counts as a yes").clients(Habits::countsErrors),
        rule("04c a node counts twice")
            .under(plan -> plan.nodes = 3)
            .by(parts -> parts.nodes = (lanes, process) -> firstTwice(lanes)),
        rule("10 grants of different rounds are counted together").clients(Habits::countsAllRounds),
        rule("14a node timeouts pass one after the other").clients(Habits::oneAfterTheOther),
        rule("14b a tie never resolves")
            .under(plan -> inARing(plan, 2))
            .retryingAfter(Duration.ofMillis(20)),
        rule("16 retries have no jitter")
            .under(plan -> inARing(plan, 3))
            .retryingAfter(Duration.ofMillis(20)));
  }

  private static Ticker monotonicClockAlone(SimProcess process) {
    return new Ticker() {
      @Override
      public long monotonicNanos() {
        return process.monotonicNanos();
      }

      @Override
      public long wallMicros() {
        return Simulation.EPOCH_NANOS / 1_000 + process.monotonicNanos() / 1_000;
      }
    };
  }

  /** In the place of the last node there is the first one, with a second name. */
  private static List<LockNode> firstTwice(List<SimNode> lanes) {
    SimNode first = lanes.get(0);
    List<LockNode> nodes = new ArrayList<>(lanes.subList(0, lanes.size() - 1));
    nodes.add(
        new ForwardingNode(first) {
          @Override
          public String name() {
            return first.name() + "-again";
          }

          @Override
          public void start(Ticker ticker, Scheduler scheduler, Observer observer) {}
        });
    return nodes;
  }

  /** As many clients as nodes, each with a nearest node of its own. */
  private static void inARing(SimPlan plan, int size) {
    plan.only();
    plan.nodes = size;
    plan.clients = size;
    plan.inARing = true;
    plan.jitterNanos = 0;
  }

  private static Stream<BrokenRule> nodes() {
    return Stream.of(
        rule("07 a release on another connection leaves no tombstone")
            .nodes(BrokenNode.WITHOUT_TOMBSTONES),
        rule("08 an extend sets a missing key")
            .under(plan -> plan.unchecked(I8))
            .nodes(BrokenNode.EXTENDING_WHAT_IS_MISSING),
        rule("11a a free key is granted at the counter not above it")
            .under(plan -> plan.unchecked(I2, I5))
            .nodes(BrokenNode.GRANTING_EQUAL_TOKENS),
        rule("11b a repeated grant does not store its token")
            .nodes(BrokenNode.FORGETTING_HIGHER_TOKENS),
        rule("11c tokens are compared as text").nodes(BrokenNode.COMPARING_TEXT),
        rule("11d counters are printed as doubles").nodes(BrokenNode.PRINTING_DOUBLES),
        rule("12a a release deletes the counter")
            .under(plan -> plan.unchecked(I5, I6, I8))
            .nodes(BrokenNode.RELEASING_COUNTERS),
        rule("12b a counter that is ahead runs out before the time has come")
            .under(BrokenRules::countersRunOut)
            .nodes(BrokenNode.FORGETTING_THE_LEAD),
        rule("13a a node votes as soon as it is back")
            .under(plan -> plan.unchecked(I8))
            .by(parts -> parts.guarded = false),
        rule("13c only a restart makes a node abstain")
            .under(plan -> lossy(plan.only(SimFault.NODE_FLUSH)))
            .by(parts -> parts.birthAfterFlush = birth -> birth),
        rule("15c a release deletes whatever is there")
            .under(plan -> plan.unchecked(I21))
            .nodes(BrokenNode.RELEASING_ANYBODY),
        rule("18a an extend shortens the key").nodes(BrokenNode.SHORTENING_BY_EXTENDS),
        rule("18b a repeated grant shortens the key").nodes(BrokenNode.SHORTENING_BY_GRANTS),
        rule("20 a join asks for no birth")
            .by(parts -> parts.heedsBirth = request -> !(request instanceof NodeRequest.Extend)),
        rule("22 a node that was replaced keeps its birth")
            .under(plan -> lossy(plan.only(SimFault.NODE_FAILOVER)))
            .by(parts -> parts.replicationId = id -> "any"),
        rule("26f a counter is followed however far it is ahead")
            .under(plan -> plan.with(SimFault.NODE_COUNTER))
            .nodes(BrokenNode.FOLLOWING_ANY_COUNTER),
        rule("27 an inspection asks for no birth")
            .under(plan -> lossy(plan.only(SimFault.NODE_FLUSH).unchecked(I1)))
            .by(parts -> parts.heedsBirth = request -> !(request instanceof NodeRequest.Inspect)),
        rule("28a what an operator sets free is deleted")
            .under(plan -> plan.only(SimFault.SET_FREE))
            .nodes(BrokenNode.FREEING_BY_DELETION),
        rule("28b what an operator sets free can still be extended")
            .under(plan -> plan.only(SimFault.SET_FREE))
            .nodes(BrokenNode.FREEING_IN_WORDS_ONLY));
  }

  private static void countersRunOut(SimPlan plan) {
    plan.only(SimFault.NODE_CLOCK_STEP);
    plan.nodes = 3;
    plan.fewVictims = false;
    plan.nodeFaultGapNanos = plan.maxTtlNanos();
    plan.skewMicros = 20_000;
    plan.retentionMillis = 80; // four times skew: counters run out during the run
  }

  /** Nodes lose their data so often that holders are hit; only what users see is looked at. */
  private static void lossy(SimPlan plan) {
    plan.quick().nodes = 3;
    plan.skewMicros = 20_000;
    plan.fewVictims = false;
    plan.nodeFaultGapNanos = 150 * SimPlan.MILLI;
    plan.unchecked(I8, I9);
  }

  private static Stream<BrokenRule> clients() {
    return Stream.of(
        rule("05 a retry uses the owner id again")
            .under(plan -> plan.unchecked(I1))
            .by(
                parts ->
                    parts.ownerIds =
                        ids -> {
                          String only = ids.get();
                          return () -> only;
                        }),
        rule("06 a release skips nodes that did not answer")
            .under(BrokenRules::longKeys)
            .clients(Habits::releasesWhereAnswered),
        rule("09a an extend succeeds by any one node")
            .under(plan -> plan.unchecked(I21))
            .by(
                parts ->
                    parts.nodes =
                        (lanes, process) -> {
                          Habit shared = Habits.extendsByAnyNode();
                          return lanes.stream().map(lane -> shared.of(lane, process)).toList();
                        }),
        rule("15a a renewal races the release")
            .by(
                parts -> {
                  parts.clientsHave(Habits::extendsAfterRelease);
                  parts.model = BrokenNode.WITHOUT_TOMBSTONES;
                }),
        rule("15b no loss is reported while the renewal thread waits")
            .under(plan -> plan.unchecked(I7))
            .by(parts -> parts.scheduler = BrokenRules::starving),
        rule("17 a caller that gives up leaves its lease behind")
            .under(
                plan -> {
                  longKeys(plan);
                  plan.faults.add(SimFault.CANCEL);
                })
            .by(parts -> parts.cancellable = result -> result.thenApply(same -> same)),
        rule("19 stragglers are released while the lease is alive")
            .under(plan -> plan.unchecked(I5, I21))
            .clients(Habits::releasesStragglers),
        rule("21 the release forgets what an extend may have left")
            .under(BrokenRules::longKeys)
            .clients(Habits::releasesWhereGranted),
        rule("43 a leader's lease is released before its work has ended")
            .under(plan -> plan.leading().only())
            .by(parts -> parts.stopping = Lease::close),
        rule("U01 a callback that the executor rejects is dropped")
            .under(plan -> plan.only(SimFault.USER_CODE))
            .by(parts -> parts.threads = starter -> work -> {}));
  }

  /** What is left behind is still there once it is calm. */
  private static void longKeys(SimPlan plan) {
    plan.maxTtlMillis = 10_000;
    plan.chaosNanos = 6_000 * SimPlan.MILLI;
    plan.unchecked(I7);
  }

  /** Timers do not run while a node owes an answer: their thread waits for it. */
  private static Scheduler starving(SimScheduler scheduler, List<SimNode> lanes) {
    return new ForwardingScheduler(scheduler) {
      @Override
      public Timer timer(Runnable task) {
        Timer[] made = new Timer[1];
        made[0] =
            scheduler.timer(
                () -> {
                  if (lanes.stream().anyMatch(lane -> lane.open() > 0)) {
                    made[0].set(scheduler.nowNanos() + 10 * SimPlan.MILLI);
                  } else {
                    task.run();
                  }
                });
        return made[0];
      }
    };
  }

  /** Mistakes in a change of masters, none of which stays, and in what marks are to show. */
  private static Stream<BrokenRule> operators() {
    return Stream.of(
        rule("29b clients that move need no majority of the old masters")
            .under(BrokenRules::swapHalves)
            .by(parts -> moveWithout(parts, Quorum::present)),
        rule("29c clients that move need no majority of the new masters")
            .under(
                plan -> {
                  swapHalves(plan);
                  plan.unchecked(I6); // the second holder may extend before the first
                })
            .by(parts -> moveWithout(parts, Quorum::future)),
        rule("29g a commit does not wait")
            .under(
                plan -> {
                  swapAll(plan, Left.UNTIL_THE_COMMIT);
                  plan.maxTtlMillis = 3_000;
                })
            .by(parts -> parts.operatorPause = pause -> Duration.ZERO),
        rule("29k clients that move know the old masters only")
            .under(plan -> swapAll(plan, Left.UNTIL_THE_COMMIT))
            .by(parts -> parts.needed = quorum -> new Quorum(quorum.present(), 0)),
        rule("29l a commit carries only counters of leases that may be valid")
            .under(
                plan -> plan.changing(new Change(3, 0, 3, Left.NOBODY)).only().settingClocksBack())
            .by(parts -> parts.carried = BrokenRules::youngCounters),
        rule("31h evicted keys are not lost data")
            .under(plan -> onlySeen(plan.strikingMajorities(SimFault.NODE_POLICY)))
            .by(parts -> parts.evictedKeys = count -> 0),
        rule("31i a client marks a node that has left")
            .under(plan -> swapAll(plan, Left.FOR_EVER))
            .by(parts -> parts.birthAfterRestart = BrokenRules::asIfItHadNotLeft),
        rule("31o a shorter abstention is agreed at once")
            .under(BrokenRules::agreeing)
            .by(parts -> parts.operatorPause = pause -> Duration.ZERO),
        rule("41 a mark is carried into the history of a promoted master")
            .under(plan -> onlySeen(plan.strikingMajorities(SimFault.NODE_COPY)))
            .by(parts -> parts.formerReplicationId = id -> "0"),
        rule("41b a mark is carried without a previous audit")
            .under(plan -> onlySeen(plan.strikingMajorities(SimFault.NODE_COPY)))
            .by(parts -> parts.carries = (before, now) -> before.birth().isEmpty()),
        rule("41c a mark is carried although its text differs")
            .under(plan -> onlySeen(plan.strikingMajorities(SimFault.NODE_COPY)))
            .by(parts -> parts.carries = BrokenRules::carriesAnother),
        rule("41d a mark is carried that a refused node showed")
            .under(plan -> onlySeen(plan.strikingMajorities(SimFault.NODE_REFUSED)))
            .by(parts -> parts.carries = (before, now) -> before.isRefused()),
        rule("31m a server that comes back to its address is not recognised")
            .under(plan -> onlySeen(plan.strikingMajorities(SimFault.NODE_SWAP)))
            .by(parts -> parts.returnsAsItself = false));
  }

  private static void swapAll(SimPlan plan, Left left) {
    plan.changing(new Change(3, 0, 3, left)).only();
    plan.resources = 1;
  }

  private static void agreeing(SimPlan plan) {
    swapAll(plan, Left.NOBODY);
    plan.agreeing().only(SimFault.NODE_FLUSH, SimFault.CLIENT_PAUSE).unchecked(I9, I21);
    plan.skewMicros = 20_000;
    plan.fewVictims = false;
  }

  /** Leases of one half of the masters are noticed as such before two meet. */
  private static void swapHalves(SimPlan plan) {
    swapAll(plan, Left.UNTIL_THE_COMMIT);
    plan.unchecked(I9, I21);
  }

  /** Only what users see is looked at. */
  private static void onlySeen(SimPlan plan) {
    plan.unchecked(I6, I8, I9, I21);
  }

  /** Clients that move do not ask these masters, which count as having granted. */
  private static void moveWithout(Parts parts, ToIntFunction<Quorum> masters) {
    parts.nodes =
        (lanes, process) -> {
          int left = process.quorum.isJoint() ? masters.applyAsInt(process.quorum) : 0;
          return lanes.stream()
              .<LockNode>map(
                  lane ->
                      (left & 1 << lane.index) == 0
                          ? lane
                          : Habits.takesForGranted().of(lane, process))
              .toList();
        };
  }

  private static boolean carriesAnother(Sighting before, String now) {
    return !before.birth().isEmpty() && !before.birth().equals(now);
  }

  private static Map<String, Long> youngCounters(
      Map<String, Long> counters, long nowMicros, SimPlan plan) {
    long oldest = nowMicros - plan.abstentionMillis() * 1_000 - 2 * plan.skewMicros;
    Map<String, Long> young = new TreeMap<>(counters);
    young.values().removeIf(counter -> counter < oldest);
    return young;
  }

  private static String asIfItHadNotLeft(String birth) {
    return birth.replace(" " + Served.NOBODY + " ", " |first| ");
  }

  private static Stream<BrokenRule> waiters() {
    return Stream.of(
        rule("24a a node grants past its queue")
            .under(plan -> plan.crowd().only())
            .nodes(BrokenNode.PASSING_THE_QUEUE_BY),
        rule("24c a ticket never runs out")
            .under(BrokenRules::patientCrowd)
            .nodes(BrokenNode.KEEPING_TICKETS),
        rule("24e a node wakes nobody")
            .under(plan -> plan.crowd().only())
            .nodes(BrokenNode.WAKING_NOBODY),
        rule("30a who has seen that a name is taken does not look at it again")
            .under(plan -> plan.permits(5).only())
            .clients(Habits::remembersWhatIsTaken),
        rule("30b a look leaves out the name that its process released last")
            .under(plan -> plan.permits(5).only())
            .clients(Habits::leavesOutWhatWasReleased),
        rule("30c a waiter asks again only when its own process has released a name")
            .under(BrokenRules::oneCallerEach)
            .retryingAfter(Duration.ofHours(1)));
  }

  /** Some die, and the others wait for longer than that should take. */
  private static void patientCrowd(SimPlan plan) {
    plan.crowd().only(SimFault.CLIENT_CRASH).unchecked(I7, I12);
    plan.maxTtlMillis = 300;
    plan.lossMargin = Duration.ZERO; // that of longer leases leaves nothing of such a ttl
    plan.nodeTimeoutNanos = 10 * SimPlan.MILLI;
    plan.maxWaitNanos = 60_000 * SimPlan.MILLI;
    plan.chaosNanos = 90_000 * SimPlan.MILLI;
    plan.clients = 3;
  }

  /** Keys outlive their leases by far, and names stay free while their last holders think. */
  private static void oneCallerEach(SimPlan plan) {
    plan.permits(2).only().unchecked(I7); // it may wait beyond the end, too
    plan.sessions = 1;
    plan.maxTtlMillis = 5_000;
    plan.thinkNanos = plan.maxTtlNanos();
  }

  private static Stream<BrokenRule> readers() {
    return Stream.of(
            rule("33c a writer passes those who read").nodes(BrokenNode.PASSING_READERS),
            rule("33f all readers have one end").nodes(BrokenNode.ENDING_TOGETHER),
            rule("36a a reader's release leaves no tombstone")
                .nodes(BrokenNode.LEAVING_NO_TOMBSTONE),
            rule("37c a reader needs a token above the counter")
                .nodes(BrokenNode.OUTBIDDING_READERS),
            rule("40b a reader without a ticket passes a writer that waits")
                .nodes(BrokenNode.PASSING_WITHOUT_TICKET))
        .map(rule -> rule.under(plan -> plan.sharedAndServed().only()));
  }

  /** Defects of a lane, for which nothing in the protocol makes up. */
  private static Stream<BrokenRule> lanes() {
    return Stream.of(
        rule("L01 the ping of an idle node is dropped")
            .under(SimPlan::only)
            .by(parts -> parts.laneScheduler = BrokenRules::droppingPings),
        rule("L02 a release goes last after a reconnect")
            .under(plan -> plan.unchecked(I12))
            .lanes(Habits::releaseGoesLastAfterAReconnect),
        rule("L03 a release overtakes the grant of its owner")
            .lanes(Habits::releaseOvertakesItsGrant),
        rule("L04 an answer is given to the neighbour").lanes(Habits::answerGoesToTheNeighbour),
        rule("L05 an answer is given twice").lanes(Habits::answerIsGivenTwice),
        rule("L06 what was written is called unsent when the connection is lost")
            .lanes(Habits::writtenIsCalledUnsent),
        rule("L07 silence never ends")
            .under(plan -> widely(plan, SimFault.NODE_PAUSE))
            .lanes(Habits::silenceNeverEnds),
        rule("L08 the queue is forgotten at close")
            .under(plan -> plan.faults.add(SimFault.CLIENT_CLOSE))
            .lanes(Habits::queueIsForgottenAtClose),
        rule("L09 a late answer is dropped").lanes(Habits::lateAnswerIsDropped),
        rule("L10 a withdrawn request is sent all the same")
            .lanes(Habits::withdrawnIsSentAllTheSame),
        rule("L11 the unanswered is forgotten with its connection")
            .lanes(Habits::unansweredIsForgottenWithItsConnection),
        rule("L12 two threads write at once")
            .under(plan -> plan.faults.add(SimFault.WRITE_STALL))
            .wires(BrokenWires::twoWriteAtOnce),
        rule("L13 a new connection is not audited")
            .under(plan -> plan.unchecked(I8))
            .wires(BrokenWires::newConnectionIsNotAudited),
        rule("L14 a missing script is taken for an answer")
            .under(plan -> widely(plan, SimFault.SCRIPT_FLUSH))
            .wires(BrokenWires::missingScriptIsAnAnswer),
        rule("44a an extend skips a node that refuses the client")
            .under(plan -> plan.strikingMajorities(SimFault.NODE_OTHERS))
            .lanes(() -> Habits.answersWhereRefused(NodeReply.misconfigured("refused"))),
        rule("44b a node that refuses the client counts as one that has forgotten it")
            .under(plan -> plan.strikingMajorities(SimFault.NODE_OTHERS))
            .lanes(() -> Habits.answersWhereRefused(NodeReply.NOT_HELD)),
        rule("L15 the birth mark is not carried").wires(BrokenWires::birthMarkIsNotCarried));
  }

  /** The tick that would bring the next audit of an idle node is lost. */
  private static Scheduler droppingPings(Scheduler scheduler, SimProcess process) {
    return new ForwardingScheduler(scheduler) {
      @Override
      public Timer timer(Runnable task) {
        Timer timer = scheduler.timer(task);
        return new Timer() {
          @Override
          public void set(long atNanos) {
            if (atNanos - process.monotonic.nanos() > 200 * SimPlan.MILLI) {
              timer.cancel();
            } else {
              timer.set(atNanos);
            }
          }

          @Override
          public void cancel() {
            timer.cancel();
          }
        };
      }
    };
  }

  /** So many nodes are struck, and so often, that the lanes of a quorum are. */
  private static void widely(SimPlan plan, SimFault fault) {
    plan.only(fault);
    plan.fewVictims = false;
    plan.nodeFaultGapNanos = plan.maxTtlNanos() / 2;
  }
}
