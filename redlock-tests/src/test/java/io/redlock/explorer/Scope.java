package io.redlock.explorer;

import io.redlock.explorer.Catalog.Node;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.Tenure;
import io.redlock.spi.Quorum;
import io.redlock.testkit.ModelFactory;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * How much may happen in one search. Every setter returns the scope.
 *
 * <p>Without a horizon time stands still: nothing ever gets too old, and a key may run out at any
 * moment. With one, time goes on in ticks, and keys run out when their time has come.
 */
final class Scope {

  static final int NODES = 3;

  /** Longer than a ticket or a key of any scope is kept. */
  static final int TICKS_UNTIL_ALL_HAS_RUN_OUT = 400;

  private static final long TICK_MILLIS = 10;
  private static final long FOREVER_MILLIS = 1L << 40;
  private static final int[] ONE_NAME = {0};

  final String name;
  int attempts = 2;
  int rounds = 1;
  int extensions;
  int[] grantTicks = {1};
  int[] extendTicks = {1};
  int horizon;
  int[] aheadMicros = {0};
  int skewMicros = 1_000_000;
  long startMicros = 1_000_000; // what clocks show at the beginning
  long retentionMillis = FOREVER_MILLIS; // for which counters are kept

  /** Clients count tokens up from what nodes tell them, and look at no clock for it. */
  boolean countsTokens;

  int cuts;
  int copies;
  int withdrawals; // of requests, before they were sent
  int losses;
  int shortages; // requests that find a node out of memory
  int passes;

  /** How often a client is suspended, its monotonic clock with it, or its wall clock set back. */
  int clockFaults;

  long gainMicros;
  boolean isAheadAtFirst;
  long driftMicros;
  int quarantineTicks;
  int neededQuarantineTicks;
  boolean lossIsNoticed = true; // else nodes lose their data and keep their birth

  /** Tries every moment even for what makes no difference, as {@link Settling} has it. */
  boolean everyDelay;

  boolean waitersDie;

  boolean nothingIsLate;

  boolean isSetFree;

  /** The token of the lease that a quorum of nodes has granted before. */
  long heldBefore;

  boolean isDriven;
  private int heldTicks;

  int ticketTicks; // for which nodes keep a ticket, if not for as long as they are asked to
  private int[] waiters = {};
  private int[][] sets = {};
  private List<Mode> modes = List.of();
  private String[] marks = {};
  private int names = 1;
  private boolean heldAtFirst;
  private long[] countersAtFirst = new long[NODES];
  boolean reusesOwner; // the second attempt is the first client's retry, under the same owner id
  private ModelFactory nodeRules = NodeModel::new;
  private ClientRules clientRules = ExplorerRules::new;
  private ClientRules readerRules = ExplorerRules::new;
  private final Set<ExplorerInvariant> unchecked = EnumSet.noneOf(ExplorerInvariant.class);

  /** What an attempt is for. */
  enum Mode {
    WRITER,
    READER,
    /** A reader that leaves no tickets. */
    UNFAIR_READER,
    /** Another Redlock client: it sets a key if there is none, and knows no tokens. */
    FOREIGN
  }

  /** Makes the rules of a client. */
  interface ClientRules {
    ExplorerRules with(Scope scope);
  }

  private Scope(String name) {
    this.name = name;
  }

  static Scope of(String name) {
    return new Scope(name);
  }

  /** So many owners, each of which tries once. */
  Scope attempts(int count) {
    if (count > Catalog.OWNERS.size()) {
      throw new IllegalArgumentException(count + " attempts: at most " + Catalog.OWNERS.size());
    }
    attempts = count;
    return this;
  }

  /** Fair waiters, each of which tries so often at most. */
  Scope fair(int... attemptsOfEach) {
    waiters =
        IntStream.range(0, attemptsOfEach.length)
            .flatMap(waiter -> IntStream.generate(() -> waiter).limit(attemptsOfEach[waiter]))
            .toArray();
    return attempts(waiters.length);
  }

  /** What each attempt is for, or each fair waiter; all write unless this is said. */
  Scope modes(Mode... ofEach) {
    modes = List.of(ofEach);
    return isFair() ? this : attempts(ofEach.length);
  }

  private Mode mode(int attempt) {
    return modes.isEmpty() ? Mode.WRITER : modes.get(isFair() ? waiters[attempt] : attempt);
  }

  /** Whether the attempt is for a shared lease. */
  boolean isShared(int attempt) {
    return mode(attempt) == Mode.READER || mode(attempt) == Mode.UNFAIR_READER;
  }

  /** Whether the attempt is of a client that knows no tokens. */
  boolean isForeign(int attempt) {
    return mode(attempt) == Mode.FOREIGN;
  }

  /** Whether the attempt leaves tickets. */
  boolean isFair(int attempt) {
    return isFair() && mode(attempt) != Mode.UNFAIR_READER;
  }

  private boolean hasReaders() {
    return modes.contains(Mode.READER) || modes.contains(Mode.UNFAIR_READER);
  }

  /** Whether nothing but a reader ever comes. */
  private boolean isOnlyRead() {
    return hasReaders()
        && IntStream.range(0, attempts).allMatch(this::isShared)
        && !heldAtFirst
        && !isSetFree
        && heldBefore == 0;
  }

  /** One attempt for each of these sets of names, which are numbered from 0. */
  Scope sets(int[]... ofNames) {
    sets = ofNames;
    names = 1 + Arrays.stream(sets).flatMapToInt(Arrays::stream).max().orElseThrow();
    return attempts(ofNames.length);
  }

  /** Tells the attempts apart by something that no rule looks at. */
  Scope marked(String... ofEach) {
    marks = ofEach;
    return attempts(ofEach.length);
  }

  /** Somebody who does not take part holds the name on all nodes at first. */
  Scope heldAtFirst() {
    heldAtFirst = true;
    return this;
  }

  /**
   * What the nodes' counters are at first: a majority was ahead when it granted the last lease, and
   * somebody tried once more.
   */
  Scope countersAtFirst(long... counters) {
    countersAtFirst = counters;
    heldBefore = Arrays.stream(counters).sorted().toArray()[NODES - NODES / 2 - 1];
    return this;
  }

  /** Fair waiters may die between their attempts, and any ticket may run out at any moment. */
  Scope waitersDie() {
    waitersDie = true;
    return this;
  }

  /** Rounds get all their answers, nobody gives up meanwhile, and no lease's keys run out. */
  Scope nothingIsLate() {
    nothingIsLate = true;
    return this;
  }

  /**
   * An operator's request to set the name free may reach any node at any moment, with and without
   * the order to bury the highest counter of all.
   */
  Scope setFree() {
    isSetFree = true;
    return this;
  }

  /** So many acquire rounds in each attempt at most. */
  Scope rounds(int most) {
    rounds = most;
    return this;
  }

  /** So many extends of each lease at most. */
  Scope extensions(int most) {
    extensions = most;
    return this;
  }

  /** The ttls an attempt chooses from. */
  Scope grantTicks(int... choices) {
    grantTicks = choices;
    return this;
  }

  /** The ttls an extend chooses from. */
  Scope extendTicks(int... choices) {
    extendTicks = choices;
    return this;
  }

  /** Time ends after so many ticks. */
  Scope horizon(int ticks) {
    horizon = ticks;
    return this;
  }

  /** By how much a client's idea of the time may be ahead when it proposes a token. */
  Scope aheadMicros(int... choices) {
    aheadMicros = choices;
    return this;
  }

  /** How far clocks may lie apart, as the nodes are told. */
  Scope skewMicros(int skew) {
    skewMicros = skew;
    return this;
  }

  /** Somebody has written so high a counter that no node follows it, whatever the rules say. */
  boolean isFar(long counter) {
    return new NodeModel(skewMicros, retentionMillis).isFar(counter, micros(horizon));
  }

  /** What a client's first proposal is drawn from. */
  long proposedMicros(int now) {
    return micros(countsTokens ? 0 : now);
  }

  /** How often a connection breaks; what was on its way may be executed whenever, or never. */
  Scope cuts(int most) {
    cuts = most;
    return this;
  }

  /** How many requests are copied on the way; a copy may be executed whenever, however often. */
  Scope copies(int most) {
    copies = most;
    return this;
  }

  /** Owners do by themselves what is due: they lose, release, repeat and confirm. */
  Scope driven() {
    isDriven = true;
    return this;
  }

  /** Leases are renewed until they were held for so long. */
  Scope renewed(int longestHoldTicks) {
    heldTicks = longestHoldTicks;
    return this;
  }

  boolean isRenewed() {
    return heldTicks > 0;
  }

  /** The end of the longest hold. */
  Deadline heldUntil() {
    return new Deadline(nanos(heldTicks), micros(heldTicks));
  }

  /** How often a node loses all it knows, and for how long it abstains then. */
  Scope losses(int most, int abstainTicks) {
    losses = most;
    quarantineTicks = abstainTicks;
    neededQuarantineTicks = abstainTicks;
    return this;
  }

  /** For how long nodes really abstain. */
  Scope abstainingOnlyFor(int ticks) {
    quarantineTicks = ticks;
    return this;
  }

  /** How often a lease is passed on. */
  Scope passes(int most) {
    passes = most;
    return this;
  }

  /** How much each node's clock may gain, all told, and how much clients allow for it. */
  Scope drift(long gained, long allowed) {
    gainMicros = gained;
    driftMicros = allowed;
    return this;
  }

  /** Each node's clock is ahead by so much, until it is set right at any moment. */
  Scope aheadAtFirst(long micros) {
    gainMicros = micros;
    isAheadAtFirst = true;
    return this;
  }

  /** Changes what is changed seldom. */
  Scope with(Consumer<Scope> change) {
    change.accept(this);
    return this;
  }

  /** Nodes by other rules. */
  Scope nodes(ModelFactory rules) {
    nodeRules = rules;
    return this;
  }

  /** Clients by other rules. */
  Scope clients(ClientRules rules) {
    clientRules = rules;
    return readers(rules);
  }

  /** Readers by other rules. */
  Scope readers(ClientRules rules) {
    readerRules = rules;
    return this;
  }

  /** Leaves invariants out. */
  Scope without(ExplorerInvariant... invariants) {
    unchecked.addAll(List.of(invariants));
    return this;
  }

  NodeModel nodeModel() {
    return nodeRules.with(skewMicros, retentionMillis);
  }

  /** The owner of an attempt as production has it. */
  Tenure tenure(int attempt) {
    ClientRules rules = isShared(attempt) ? readerRules : clientRules;
    return new Tenure(
        rules.with(this), Quorum.of(NODES), isFair(attempt), false, isShared(attempt), passes > 0);
  }

  /** What a client decides besides. */
  ExplorerRules rules() {
    return clientRules.with(this);
  }

  /** The loss margin is zero, so that a lease is used to the last instant. */
  LeaseTerms terms(int ticks) {
    return new LeaseTerms(Quorum.of(NODES), ttlMillis(ticks), driftMicros * 1_000, 0, 0);
  }

  boolean checks(ExplorerInvariant invariant) {
    return !unchecked.contains(invariant)
        && (isTimed() || !invariant.needsTime)
        && switch (invariant) {
          case I13 -> isFair() && isFaultless();
          case I14 -> isFair() || names > 1 || heldBefore > 0 || hasReaders();
          case I15 -> names > 1 && !isSetFree; // an operator frees one of them
          case I20 -> losses == 0 && !countersExpire();
          case I22 -> isSetFree && extensions > 0 && names == 1 && losses == 0;
          case I28 -> isOnlyRead();
          default -> true;
        };
  }

  /** Whether a ticket is lost only when its waiter takes it back. */
  private boolean isFaultless() {
    return nothingIsLate && isLossless() && !waitersDie && !isSetFree && !isTimed();
  }

  /** Whether requests get to their nodes, once and in order. */
  boolean isLossless() {
    return cuts == 0 && copies == 0 && withdrawals == 0 && losses == 0;
  }

  boolean isFair() {
    return waiters.length > 0;
  }

  /** Which fair waiter tries. */
  int waiter(int attempt) {
    return waiters[attempt];
  }

  /** Whether the same waiter made the attempt before. */
  boolean isRepeated(int attempt) {
    return isFair() && attempt > 0 && waiters[attempt] == waiters[attempt - 1];
  }

  /** The names that an attempt is for. */
  int[] set(int attempt) {
    return sets.length == 0 ? ONE_NAME : sets[attempt];
  }

  /** Whether leases of the two attempts exclude each other. */
  boolean exclude(int attempt, int other) {
    return !(isShared(attempt) && isShared(other)) && meet(attempt, other);
  }

  private boolean meet(int attempt, int other) {
    for (int name : set(attempt)) {
      for (int its : set(other)) {
        if (name == its) {
          return true;
        }
      }
    }
    return false;
  }

  /** For how long a ticket is kept that asks for so long. */
  long ticketMillis(long askedMillis) {
    return ticketTicks == 0 ? askedMillis : ttlMillis(ticketTicks);
  }

  /** What a node is at the beginning. */
  Node firstNode(int node) {
    Cell first =
        heldAtFirst ? Cell.EMPTY.locked(Catalog.STRANGERS, endOfFirstMillis()) : Cell.EMPTY;
    long counter = countersAtFirst[node];
    Cell counting = counter == 0 ? first : first.counting(counter, Long.MAX_VALUE);
    return Node.of(Collections.nCopies(names, counting), 0, Node.OLD, isAheadAtFirst);
  }

  private long endOfFirstMillis() {
    return Math.floorDiv(startMicros, 1_000L) + ttlMillis(1);
  }

  /**
   * All that tells an attempt from others before it begins, but for its number. States that differ
   * only in which of two like attempts did what are searched once: whoever gives attempts another
   * property adds it here, or states are missed.
   *
   * @param tries how often its fair waiter tries
   */
  private record Likeness(List<Integer> names, Mode mode, long tries, String mark) {}

  private Likeness likeness(int attempt) {
    int waiter = isFair() ? waiters[attempt] : -1;
    return new Likeness(
        Arrays.stream(set(attempt)).boxed().toList(),
        mode(attempt),
        Arrays.stream(waiters).filter(each -> each == waiter).count(),
        marks.length == 0 ? "" : marks[attempt]);
  }

  /** Whether it makes no difference which of two owners that have not begun does so first. */
  boolean areAlike(int attempt, int other) {
    return likeness(attempt).equals(likeness(other));
  }

  /** Whether one owner can stand for another, which has neither its id nor a ticket elsewhere. */
  boolean ownersAreAlike() {
    return !reusesOwner
        && !isFair()
        && IntStream.range(0, attempts).allMatch(attempt -> areAlike(0, attempt));
  }

  /** Which owner id an attempt goes by. */
  int owner(int attempt) {
    return reusesOwner && attempt == 1 ? 0 : attempt;
  }

  String ownerName(int attempt) {
    return Catalog.OWNERS.get(owner(attempt));
  }

  boolean isTimed() {
    return horizon > 0;
  }

  /** Whether a tombstone that ends then does not end in this scope. */
  boolean outlivesAll(long untilMillis) {
    return !isTimed() || untilMillis > Math.floorDiv(nodeMicros(horizon, true), 1_000L);
  }

  boolean countersExpire() {
    return retentionMillis < FOREVER_MILLIS;
  }

  /** The longest life that is over when so many ticks have passed. */
  long ttlMillis(int ticks) {
    return ticks * TICK_MILLIS - 1;
  }

  long millis(int ticks) {
    return ticks * TICK_MILLIS;
  }

  /** What a clock that is right shows. */
  long micros(int now) {
    return startMicros + now * TICK_MILLIS * 1_000;
  }

  long nodeMicros(int now, boolean gained) {
    return micros(now) + (gained ? gainMicros : 0);
  }

  /** What a monotonic clock shows that never stopped. */
  long nanos(int now) {
    return now * TICK_MILLIS * 1_000_000;
  }

  @Override
  public String toString() {
    return name;
  }
}
