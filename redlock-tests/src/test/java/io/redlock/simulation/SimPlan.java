package io.redlock.simulation;

import io.redlock.spi.Quorum;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What one seed decides before anything happens: how many take part, on which settings, which
 * faults may strike and how often. Not final in its numbers: a test may bend a plan to its purpose
 * before the run.
 */
final class SimPlan {

  static final long MILLI = 1_000_000;

  static final Set<SimFault> FAULTS_OF_CLIENTS =
      EnumSet.of(
          SimFault.CLIENT_PAUSE,
          SimFault.THREAD_PAUSE,
          SimFault.CLIENT_CRASH,
          SimFault.CLIENT_CLOSE,
          SimFault.CANCEL,
          SimFault.WAKE_LOST,
          SimFault.WAKE_TWICE);

  /** Faults that stop a client or a node, and take no data. */
  static final Set<SimFault> FAULTS_OF_PROCESSES =
      EnumSet.of(
          SimFault.CLIENT_PAUSE,
          SimFault.CLIENT_CRASH,
          SimFault.CLIENT_CLOSE,
          SimFault.NODE_CRASH,
          SimFault.NODE_PAUSE,
          SimFault.NODE_OOM,
          SimFault.NODE_RATE);

  /** Faults that no plan draws by chance: only plans for their own sake have them. */
  private static final Set<SimFault> FAULTS_ON_PURPOSE =
      EnumSet.of(
          SimFault.WAKE_LOST,
          SimFault.WAKE_TWICE,
          SimFault.SET_FREE,
          SimFault.NODE_POLICY,
          SimFault.NODE_SWAP,
          SimFault.NODE_COPY,
          SimFault.NODE_REFUSED,
          SimFault.NODE_OTHERS,
          SimFault.NODE_COUNTER);

  final long seed;
  int nodes;
  int clients;
  int sessions; // callers in each client
  int resources;
  int maxTtlMillis;
  long nodeTimeoutNanos;
  long silenceTimeoutNanos;
  long connectTimeoutNanos;
  long skewMicros;
  long driftPartsPerMillion = 10_000;
  Duration lossMargin = Duration.ZERO;
  long retentionMillis;
  long hopNanos; // how long one message takes at least
  long jitterNanos;
  long chaosNanos;
  long thinkNanos; // between two things that a caller does, at most
  boolean adopted;
  boolean fewVictims; // faults of nodes strike a minority only
  boolean inARing; // each client has a nearest node of its own, and all have the same distances
  boolean boundedClose = true; // a lock service that is being closed begins no attempt
  boolean assumesTiming; // leases are held to their word though a fault breaks what they assume
  @Nullable Change change; // of the masters, in the run
  boolean agrees; // on other terms before the masters change
  boolean meddles; // an operator who agrees on other terms while the masters change
  long setBackNanos; // all clocks, from the commit until it gets calm
  boolean isHot; // callers want one name for a moment each, again and again
  boolean leads; // callers are candidates for leadership, and nothing else
  boolean permits; // callers ask for any one of the names, and nothing else
  Set<SimInvariant> unchecked = EnumSet.noneOf(SimInvariant.class);
  EnumSet<SimFault> faults = EnumSet.noneOf(SimFault.class);
  long pausePerMillion;
  long socketPerMillion; // of what is written, answered or dialled
  long heldPerMillion;
  long slowPerMillion;
  long duplicatePerMillion;
  long nodeFaultGapNanos;
  long clientFaultGapNanos;
  long networkFaultGapNanos;

  int fairPercent; // of the requests for one resource
  int sharedPercent; // of the same
  long maxWaitNanos; // of a caller that waits
  long maxSteps = 3_000_000; // more events show that something never ends

  /**
   * A change of masters. The present ones come first, and the last of them stay.
   *
   * @param present how many masters there are
   * @param staying how many of them are future masters, too
   * @param future how many there will be
   * @param left which client of the present masters is left behind by the commit
   */
  record Change(int present, int staying, int future, Left left) {

    /** What becomes of the first client. */
    enum Left {
      /** It moves with the others. */
      NOBODY,
      /** It does not move, and is replaced after the commit. */
      UNTIL_THE_COMMIT,
      /** Nobody thinks of it again, and all masters restart with their data. */
      FOR_EVER
    }

    /** The masters that clients know who do not move. */
    Quorum before() {
      return Quorum.of(present);
    }

    /** The masters of clients that move: bits, as all groups of masters here. */
    Quorum joint() {
      return new Quorum(before().present(), after());
    }

    /** The future masters. */
    int after() {
      return (1 << future) - 1 << present - staying;
    }
  }

  private SimPlan(long seed) {
    this.seed = seed;
  }

  static SimPlan of(long seed) {
    SimRandom random = SimRandom.of(seed, "plan");
    SimPlan plan = new SimPlan(seed);
    plan.size(random);
    plan.settings(random);
    plan.swarm(random);
    return plan;
  }

  private void size(SimRandom random) {
    nodes = (int) random.oneOf(1, 2, 3, 3, 3, 3, 4, 5, 5, 5, 6, 7);
    clients = (int) (random.percent(4) ? random.between(20, 50) : random.spread(1, 8));
    sessions = clients > 10 ? 1 : (int) random.oneOf(1, 1, 2, 3);
    resources = (int) random.oneOf(1, 1, 1, 2, 3);
  }

  private void settings(SimRandom random) {
    boolean crowded = clients > 10;
    maxTtlMillis =
        (int)
            (crowded
                ? random.oneOf(300, 1_000)
                : random.oneOf(300, 300, 1_000, 1_000, 3_000, 10_000));
    nodeTimeoutNanos = Math.min(random.spread(2, 64), maxTtlMillis / 8) * MILLI;
    silenceTimeoutNanos = silenceTimeoutNanos(random);
    connectTimeoutNanos = silenceTimeoutNanos;
    skewMicros = 1_000 * random.oneOf(20, 100, 500, 2_000);
    lossMargin = Duration.ofMillis(random.percent(60) ? 0 : maxTtlMillis / random.oneOf(10, 50));
    retentionMillis = Math.max(600_000, 10L * maxTtlMillis);
    hopNanos = random.spread(20_000, Math.max(20_000, nodeTimeoutNanos / 8));
    jitterNanos = random.percent(20) ? 0 : random.spread(1_000, nodeTimeoutNanos / 2);
    chaosNanos = Math.min(crowded ? 4_000 : 30_000, Math.max(4_000, 12L * maxTtlMillis)) * MILLI;
    maxWaitNanos = 3 * maxTtlNanos();
    thinkNanos = random.spread(MILLI, maxTtlNanos() / (crowded ? 1 : 4));
    adopted = random.percent(90);
    fewVictims = random.percent(50);
  }

  /** Mostly what is used unless somebody asks for another: a short one means many pings. */
  private long silenceTimeoutNanos(SimRandom random) {
    long shortNanos = Math.max(nodeTimeoutNanos * random.between(2, 10), 200 * MILLI);
    long usualNanos = Math.max(20 * nodeTimeoutNanos, 2_000 * MILLI);
    return random.percent(85) ? usualNanos : shortNanos;
  }

  private void swarm(SimRandom random) {
    int share = (int) random.oneOf(10, 20, 40, 60);
    for (SimFault fault : SimFault.values()) {
      if (FAULTS_ON_PURPOSE.contains(fault)) {
        continue;
      }
      boolean within = fault != SimFault.NODE_CLOCK_STEP && fault != SimFault.NODE_EVICT;
      if (random.percent(share) && within) {
        faults.add(fault);
      }
    }
    if (random.percent(5)) {
      faults.add(SimFault.NODE_CLOCK_STEP);
    }
    if (SimRandom.of(seed, "operator").percent(25)) {
      faults.add(SimFault.SET_FREE);
    }
    pausePerMillion = random.spread(10, 2_000);
    socketPerMillion = random.spread(100, 20_000);
    heldPerMillion = random.spread(500, 40_000);
    slowPerMillion = random.spread(500, 40_000);
    duplicatePerMillion = random.spread(1_000, 200_000);
    nodeFaultGapNanos = random.spread(maxTtlNanos() / 2, 16 * maxTtlNanos());
    clientFaultGapNanos = random.spread(maxTtlNanos() / 4, 8 * maxTtlNanos());
    networkFaultGapNanos = random.spread(maxTtlNanos() / 8, 8 * maxTtlNanos());
  }

  /** So many percent of the requests for one resource are fair, and wakes go astray. */
  SimPlan fair(int percent) {
    fairPercent = percent;
    SimRandom random = SimRandom.of(seed, "fair");
    for (SimFault fault : List.of(SimFault.WAKE_LOST, SimFault.WAKE_TWICE)) {
      if (random.percent(40)) {
        faults.add(fault);
      }
    }
    return this;
  }

  /** All want the same, and all are fair. */
  SimPlan crowd() {
    resources = 1;
    clients = Math.max(clients, 3);
    fairPercent = 100;
    return this;
  }

  /** Half of the requests for one resource are to read, a quarter are fair. */
  SimPlan shared() {
    fair(25);
    sharedPercent = 50;
    resources = 1 + (int) (seed % 2);
    nodes = Math.max(3, nodes);
    clients = Math.max(3, clients);
    return this;
  }

  /** The same, with masters that answer in time. */
  SimPlan sharedAndServed() {
    shared();
    serve(1_000, 20 * MILLI, 8);
    sessions = 3;
    thinkNanos = maxTtlNanos() / 8;
    maxWaitNanos = 5 * maxTtlNanos();
    chaosNanos = 12_000 * MILLI;
    return this;
  }

  /** The masters change in the middle of the run, for good or ill. */
  SimPlan changing(Change masters) {
    change = masters;
    nodes = masters.present + masters.future - masters.staying;
    sessions = 1;
    resources = 2;
    serve(300, 300 * MILLI / 8, 2);
    maxWaitNanos = 3 * maxTtlNanos();
    thinkNanos = maxTtlNanos() / 2;
    chaosNanos = 16_000 * MILLI; // a change that nothing holds up takes 15 s at most
    if (masters.left == Change.Left.FOR_EVER) {
      chaosNanos += nodes * (1_000 * MILLI + 2 * abstentionMillis() * MILLI);
    }
    return this;
  }

  /** The first thing that is changed is the longest ttl: it gets shorter, and long again. */
  SimPlan agreeing() {
    agrees = true;
    maxTtlMillis = 3_000;
    nodeFaultGapNanos = 3_000 * MILLI;
    chaosNanos += 30_000 * MILLI;
    return unchecked(SimInvariant.I23); // who may lock for longer than was agreed is not served
  }

  /** Another operator changes terms all the time, and the first steps are undone at times. */
  SimPlan meddling() {
    meddles = true;
    chaosNanos += 20_000 * MILLI;
    return this;
  }

  /** All clocks are set back after the commit, and names are at rest for longer than a lease. */
  SimPlan settingClocksBack() {
    resources = 20;
    setBackNanos = 120_000 * MILLI;
    chaosNanos += 8_000 * MILLI;
    // No mark may be from the future: all abstain.
    return unchecked(SimInvariant.I23, SimInvariant.I31);
  }

  /** Majorities are struck by this. */
  SimPlan strikingMajorities(SimFault fault) {
    only(fault);
    nodes = 3;
    sessions = 3;
    resources = 4;
    serve(fault == SimFault.NODE_SWAP ? 1_000 : 5_000, 20 * MILLI, 8);
    fewVictims = false;
    thinkNanos = 40 * MILLI;
    silenceTimeoutNanos = 2_000 * MILLI;
    maxWaitNanos = 2 * maxTtlNanos();
    nodeFaultGapNanos =
        switch (fault) {
          case NODE_POLICY -> 10_000 * MILLI;
          case NODE_REFUSED -> 8_000 * MILLI;
          case NODE_SWAP -> 1_000 * MILLI;
          default -> 2_000 * MILLI;
        };
    chaosNanos = 30_000 * MILLI;
    return this;
  }

  /** More callers than names, each of whom wants any one of them. */
  SimPlan permits(int names) {
    permits = true;
    resources = names;
    nodes = Math.max(3, nodes);
    sessions = names;
    serve(1_000, 20 * MILLI, 8);
    maxWaitNanos = 5 * maxTtlNanos();
    thinkNanos = maxTtlNanos() / 8;
    chaosNanos = 20_000 * MILLI;
    return this;
  }

  /** Candidates for leadership. */
  SimPlan leading() {
    leads = true;
    nodes = Math.max(3, nodes);
    clients = Math.max(2, Math.min(clients, 5));
    resources = 1;
    return this;
  }

  /** A few clients, each with many callers who want the same name for a moment. */
  SimPlan hot() {
    isHot = true;
    resources = 1;
    clients = Math.min(clients, 3);
    sessions = 6;
    maxWaitNanos = 5 * maxTtlNanos();
    thinkNanos = MILLI / 2;
    if (seed % 2 == 0) {
      faults.add(SimFault.SET_FREE);
    }
    return this;
  }

  /** Three clients of masters that vote from the start and answer long before a timeout. */
  private void serve(int ttlMillis, long longestTimeoutNanos, int jittersInATimeout) {
    clients = 3;
    adopted = true;
    maxTtlMillis = ttlMillis;
    nodeTimeoutNanos = Math.min(nodeTimeoutNanos, longestTimeoutNanos);
    jitterNanos = Math.min(jitterNanos, nodeTimeoutNanos / jittersInATimeout);
    hopNanos = Math.min(hopNanos, nodeTimeoutNanos / 8);
    skewMicros = Math.min(skewMicros, 500_000);
    lossMargin = Duration.ZERO;
    fewVictims = true;
  }

  /** Leases are short, messages fast, and losses told at the last moment. */
  SimPlan quick() {
    maxTtlMillis = 300;
    nodeTimeoutNanos = 10 * MILLI;
    hopNanos = Math.min(hopNanos, MILLI);
    jitterNanos = Math.min(jitterNanos, MILLI);
    lossMargin = Duration.ZERO;
    return this;
  }

  /** The same faults, less often. */
  SimPlan rarely() {
    nodeFaultGapNanos = Math.max(nodeFaultGapNanos, 4_000 * MILLI);
    clientFaultGapNanos = Math.max(clientFaultGapNanos, 2_000 * MILLI);
    networkFaultGapNanos = Math.max(networkFaultGapNanos, 1_000 * MILLI);
    return this;
  }

  /** The names of all resources. */
  List<String> names() {
    return IntStream.range(0, resources).mapToObj(number -> "r" + number).toList();
  }

  /** Whether only processes are struck, and data of a majority stay: it is known which are well. */
  boolean leavesTheNetworkAlone() {
    return FAULTS_OF_CLIENTS.containsAll(faults)
        || FAULTS_OF_PROCESSES.containsAll(faults)
        || faults.equals(EnumSet.of(SimFault.NODE_COPY));
  }

  /** Whether nodes and network do what they should. */
  boolean holdsUpOnlyClients() {
    return FAULTS_OF_CLIENTS.containsAll(faults);
  }

  /** Whether no message is so late that a node seems to be silent. */
  boolean answersInTime() {
    return 2 * (2 * hopNanos + jitterNanos) < nodeTimeoutNanos;
  }

  /** Whether each client acquires a name of its own again and again (I23). */
  boolean hasPulse() {
    return change != null || has(SimFault.NODE_COPY);
  }

  boolean has(SimFault fault) {
    return faults.contains(fault);
  }

  /** Only these faults. */
  SimPlan only(Collection<SimFault> kinds) {
    faults = EnumSet.noneOf(SimFault.class);
    faults.addAll(kinds);
    return this;
  }

  SimPlan only(SimFault... kinds) {
    return only(List.of(kinds));
  }

  /** The faults of a list of names. */
  static List<SimFault> faults(String names) {
    return Arrays.stream(names.split("[, ]+"))
        .filter(name -> !name.isEmpty())
        .map(SimFault::valueOf)
        .toList();
  }

  String faultNames() {
    return faults.stream().map(SimFault::name).collect(Collectors.joining(","));
  }

  /** These invariants are not looked at, so that what follows from their violation is seen. */
  SimPlan unchecked(SimInvariant... invariants) {
    unchecked.addAll(List.of(invariants));
    return this;
  }

  SimPlan with(SimFault fault) {
    faults.add(fault);
    return this;
  }

  SimPlan without(SimFault fault) {
    faults.remove(fault);
    return this;
  }

  Duration maxTtl() {
    return Duration.ofMillis(maxTtlMillis);
  }

  long maxTtlNanos() {
    return maxTtlMillis * MILLI;
  }

  /** After so long a release that did not get through is no longer repeated. */
  long releaseLifeNanos() {
    return maxTtlNanos() + skewMicros * 1_000 + 1_000 * MILLI;
  }

  /** The next audit follows within this, if nothing stands still: a ping later, and some. */
  long auditGapNanos() {
    return auditPeriodNanos() * 5 / 4 + nodeTimeoutNanos + 50 * MILLI;
  }

  long auditPeriodNanos() {
    return Math.min(1_000 * MILLI, silenceTimeoutNanos / 2);
  }

  /** From then on nothing goes wrong any more. */
  long calmFromNanos() {
    return chaosNanos;
  }

  int quorum() {
    return nodes / 2 + 1;
  }

  /** The masters that are enough for a client that knows all. */
  Quorum allMasters() {
    return Quorum.of(nodes);
  }

  /** How many nodes may fail at once such that each client still has a quorum. */
  int minority() {
    int least = change == null ? nodes : Math.min(change.present, change.future);
    return least - Quorum.majority(least);
  }

  /** The allowance for the drift of clocks over so long. */
  long driftNanos(long ttlMillis) {
    return ttlMillis * driftPartsPerMillion + 2 * MILLI;
  }

  /** For how long a node without its past does not vote. */
  long abstentionMillis() {
    return maxTtlMillis + driftNanos(maxTtlMillis) / MILLI + 1 + 2 * skewMicros / 1_000;
  }

  /** Whether nothing may happen that leases assume not to happen. */
  boolean keepsTimingAssumptions() {
    return assumesTiming
        || (!has(SimFault.NODE_CLOCK_STEP) && !has(SimFault.NODE_EVICT) && setBackNanos == 0);
  }

  @Override
  public String toString() {
    return Text.of(
        "seed %d: %d nodes, %d clients of %d callers, %d resources, maxTtl %d ms,"
            + " node timeout %d ms, skew %d ms, faults %s",
        seed,
        nodes,
        clients,
        sessions,
        resources,
        maxTtlMillis,
        nodeTimeoutNanos / MILLI,
        skewMicros / 1_000,
        faults);
  }
}
