package io.redlock.explorer;

import io.redlock.explorer.Scope.Mode;
import io.redlock.testkit.BrokenNode;
import io.redlock.testkit.VariantTable;
import java.io.IOException;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Protocols with one rule broken: the search must find what the rule is for. */
@Tag("search")
@Tag("ci")
class ExplorerVariantsTest {

  private static final Mode W = Mode.WRITER;
  private static final Mode R = Mode.READER;
  private static final Mode U = Mode.UNFAIR_READER;
  private static final Mode X = Mode.FOREIGN;
  private static final int MOST_STATES = 4_000_000;
  private static final VariantTable TABLE =
      new VariantTable("explorer", "states", ExplorerVariantsTest.class);

  @ParameterizedTest
  @MethodSource({"variants", "readers", "passes"})
  void brokenRuleIsNoticed(Scope scope) {
    Explorer.search(scope, MOST_STATES).assertNoticed(TABLE);
  }

  @AfterAll
  static void finishTable() throws IOException {
    TABLE.finish(variants().count() + readers().count() + passes().count());
  }

  /** Two clients, keys of two ticks; only what users see is looked for. */
  private static Scope timed(String name) {
    return internals(name)
        .without(ExplorerInvariant.I8, ExplorerInvariant.I9, ExplorerInvariant.I1_BACKED);
  }

  /** Two clients, keys of one tick, and no time after that; only what users see is looked for. */
  private static Scope brief(String name) {
    return timed(name).grantTicks(1).extendTicks(1).horizon(1);
  }

  /** Two clients, keys of two ticks; whatever is wrong is seen. */
  private static Scope internals(String name) {
    return Scope.of(name).attempts(2).grantTicks(2).extendTicks(2).horizon(2);
  }

  private static Scope untimed(String name) {
    return Scope.of(name).attempts(2).without(ExplorerInvariant.I8, ExplorerInvariant.I9);
  }

  /** Two clients that may lose a node's data once. */
  private static Scope lossy(String name) {
    return timed(name).horizon(1).losses(1, 2).without(ExplorerInvariant.I3);
  }

  static Stream<Scope> variants() {
    return Stream.of(
        timed("01 validity counts from the end of the round")
            .clients(BrokenClient.STAMPS_AT_THE_END)
            .without(ExplorerInvariant.I2),
        brief("02a the wall clock alone decides")
            .clients(BrokenClient.TRUSTS_THE_WALL_CLOCK)
            .with(scope -> scope.clockFaults = 1)
            .without(ExplorerInvariant.I2),
        brief("02b the monotonic clock alone decides")
            .clients(BrokenClient.TRUSTS_THE_MONOTONIC_CLOCK)
            .with(scope -> scope.clockFaults = 1)
            .without(ExplorerInvariant.I2),
        timed("03a no allowance for drift")
            .drift(10_000, 10_000)
            .clients(BrokenClient.IGNORES_DRIFT)
            .without(ExplorerInvariant.I2),
        timed("03b elapsed time is not checked").clients(BrokenClient.IGNORES_ELAPSED_TIME),
        timed("04a half of the nodes are a quorum").clients(BrokenClient.COUNTS_HALF),
        timed("04b an error counts as a yes").clients(BrokenClient.COUNTS_ERRORS).cuts(2),
        timed("04c a node counts twice").clients(BrokenClient.COUNTS_TWICE),
        timed("05 a retry uses the owner id again").with(scope -> scope.reusesOwner = true).cuts(1),
        timed("06 a release skips nodes that did not answer")
            .clients(BrokenClient.RELEASES_WHERE_GRANTED)
            .cuts(1),
        timed("07 a release on another connection leaves no tombstone")
            .nodes(BrokenNode.WITHOUT_TOMBSTONES)
            .cuts(1),
        timed("08 an extend sets a missing key")
            .nodes(BrokenNode.EXTENDING_WHAT_IS_MISSING)
            .horizon(0)
            .extensions(1)
            .cuts(1),
        timed("09a an extend succeeds by any one node")
            .grantTicks(1)
            .horizon(1)
            .clients(BrokenClient.EXTENDS_BY_ANY_NODE)
            .extensions(1),
        timed("09b an extension counts from its end")
            .clients(BrokenClient.EXTENDS_FROM_THE_END)
            .extensions(1)
            .without(ExplorerInvariant.I2),
        Scope.of("10 grants of different rounds are counted together")
            .attempts(2)
            .rounds(2)
            .clients(BrokenClient.COUNTS_ALL_ROUNDS),
        untimed("11a a free key is granted at the counter not above it")
            .nodes(BrokenNode.GRANTING_EQUAL_TOKENS),
        Scope.of("11b a repeated grant does not store its token")
            .attempts(2)
            .rounds(2)
            .nodes(BrokenNode.FORGETTING_HIGHER_TOKENS),
        untimed("11c tokens are compared as text")
            .with(scope -> scope.startMicros = 9)
            .aheadMicros(0, 1)
            .nodes(BrokenNode.COMPARING_TEXT),
        untimed("11d counters are printed as doubles")
            .with(scope -> scope.startMicros = 1_000_050)
            .nodes(BrokenNode.PRINTING_DOUBLES),
        untimed("12a a release deletes the counter").nodes(BrokenNode.RELEASING_COUNTERS),
        brief("12b a counter that is ahead runs out before the time has come")
            .nodes(BrokenNode.FORGETTING_THE_LEAD)
            .aheadMicros(0, 40_000)
            .horizon(2)
            .with(scope -> scope.retentionMillis = scope.millis(1)),
        lossy("13a a node votes as soon as it is back").abstainingOnlyFor(0),
        lossy("13b a node abstains a little too short").abstainingOnlyFor(1),
        brief("13d tokens are counted, and not told by a clock")
            .with(scope -> scope.countsTokens = true)
            .losses(1, 1),
        internals("15c a release deletes whatever is there").nodes(BrokenNode.RELEASING_ANYBODY),
        timed("18a an extend shortens the key")
            .nodes(BrokenNode.SHORTENING_BY_EXTENDS)
            .extendTicks(1)
            .horizon(1)
            .extensions(1),
        internals("18b a repeated grant shortens the key")
            .nodes(BrokenNode.SHORTENING_BY_GRANTS)
            .grantTicks(1)
            .horizon(1)
            .extensions(1)
            .copies(1)
            .without(ExplorerInvariant.I8),
        internals("19 stragglers are released while the lease is alive")
            .clients(BrokenClient.RELEASES_STRAGGLERS)
            .extensions(1)
            .cuts(1)
            .without(ExplorerInvariant.I5),
        internals("20 a join asks for no birth")
            .nodes(BrokenNode.JOINING_ANY_BIRTH)
            .losses(1, 2)
            .extensions(1),
        timed("21 the release forgets what an extend may have left")
            .clients(BrokenClient.FORGETS_EXTENDS)
            .extensions(1)
            .with(scope -> scope.withdrawals = 1),
        lossy("22 a node that was replaced keeps its birth")
            .with(scope -> scope.lossIsNoticed = false),
        timed("23 an extend counts after the deadline")
            .clients(BrokenClient.EXTENDS_WHAT_IS_OVER)
            .extensions(1),
        Scope.of("24a a node grants past its queue")
            .fair(1, 1)
            .heldAtFirst()
            .nothingIsLate()
            .nodes(BrokenNode.PASSING_THE_QUEUE_BY),
        Scope.of("24b a waiter draws a new ticket for each attempt")
            .fair(2, 1)
            .heldAtFirst()
            .nothingIsLate()
            .clients(BrokenClient.DRAWS_TICKETS_ANEW),
        Scope.of("24c a ticket never runs out")
            .fair(1, 1)
            .heldAtFirst()
            .nothingIsLate()
            .waitersDie()
            .horizon(1)
            .nodes(BrokenNode.KEEPING_TICKETS),
        Scope.of("24d a waiter that leaves takes back no ticket")
            .fair(1, 1)
            .heldAtFirst()
            .nothingIsLate()
            .clients(BrokenClient.LEAVES_TICKETS_BEHIND),
        ahead("26a a counter makes room for a skew above it")
            .nodes(BrokenNode.MAKING_ROOM_ABOVE_COUNTERS),
        ahead("26b a node takes tokens of any time").nodes(BrokenNode.ACCEPTING_ANY_TIME),
        ahead("26c a client trusts its own clock").clients(BrokenClient.VOUCHES_FOR_ITSELF),
        setRight("26d a counter beyond the skew is not outbid")
            .nodes(BrokenNode.REFUSING_SUCCESSORS),
        setRight("26e a node takes successors of its own counter only")
            .nodes(BrokenNode.KNOWING_ITS_OWN_COUNTER_ONLY),
        untimed("26f a counter is followed however far it is ahead")
            .rounds(2)
            .countersAtFirst(1L << 50, 0, 0)
            .nodes(BrokenNode.FOLLOWING_ANY_COUNTER),
        sets("25a a node locks the part of a set that is free").nodes(BrokenNode.GRANTING_PARTS),
        sets("25b only the first name's counter counts")
            .nodes(BrokenNode.COUNTING_THE_FIRST_NAME)
            .without(ExplorerInvariant.I8),
        sets("25c a release skips nodes that did not answer, and their keys stay")
            .clients(BrokenClient.RELEASES_WHERE_GRANTED)
            .without(ExplorerInvariant.I5),
        timed("28a what an operator sets free is deleted")
            .setFree()
            .horizon(1)
            .nodes(BrokenNode.FREEING_BY_DELETION),
        untimed("28b what an operator sets free can still be extended")
            .extensions(1)
            .setFree()
            .nodes(BrokenNode.FREEING_IN_WORDS_ONLY),
        driven("32 a renewal counts from its answer", 4)
            .extensions(1)
            .renewed(3)
            .clients(BrokenClient.EXTENDS_FROM_THE_END));
  }

  /** What breaks a rule for readers. */
  static Stream<Scope> readers() {
    return Stream.of(
        shared("33a a shared grant does not look at the key", W, R)
            .nodes(BrokenNode.LOOKING_AT_NO_KEY),
        shared("33b readers set no key", X, R).nodes(BrokenNode.SETTING_NO_KEY),
        shared("33c a writer passes those who read", W, R).nodes(BrokenNode.PASSING_READERS),
        internals("33d a reader's release deletes the key although others read")
            .modes(R, R)
            .nodes(BrokenNode.RELEASING_ALL),
        shared("33e the key ends with what was asked last", W, R)
            .extendTicks(1)
            .horizon(1)
            .extensions(1)
            .nodes(BrokenNode.ENDING_WITH_THE_LAST),
        shared("33f all readers have one end", R, R)
            .grantTicks(1, 2)
            .nodes(BrokenNode.ENDING_TOGETHER),
        shared("33g entries have no end", R).nodes(BrokenNode.NEVER_ENDING),
        shared("34a a reader is content with one node", W, R)
            .readers(BrokenClient.COUNTS_HALF)
            .without(ExplorerInvariant.I9),
        shared("34b a reader's extend is content with one node", W, R)
            .readers(BrokenClient.EXTENDS_BY_ANY_NODE)
            .grantTicks(1)
            .horizon(1)
            .extensions(1),
        shared("34c a shared lease counts from the end of the round", W, R)
            .readers(BrokenClient.STAMPS_AT_THE_END)
            .without(ExplorerInvariant.I2),
        lossy("35a a reader is let in by a node as soon as it is back")
            .modes(W, R)
            .abstainingOnlyFor(0),
        lossy("35b a reader is let in by a node that is back a little too early")
            .modes(W, R)
            .abstainingOnlyFor(1),
        internals("35c a reader joins whatever the birth")
            .modes(R)
            .nodes(BrokenNode.JOINING_ANY_BIRTH)
            .losses(1, 2)
            .extensions(1),
        shared("36a a reader's release leaves no tombstone", R)
            .nodes(BrokenNode.LEAVING_NO_TOMBSTONE)
            .cuts(1),
        shared("36b a reader's release leaves a tombstone only where it found an entry", R)
            .nodes(BrokenNode.BURYING_WHAT_IS_THERE)
            .cuts(1),
        shared("36c the tombstone of a reader ends after a ttl", R)
            .nodes(BrokenNode.BURYING_FOR_TTL)
            .skewMicros(10_000)
            .grantTicks(1)
            .horizon(2)
            .cuts(1),
        shared("36d a shared grant is executed whenever it was sent", R)
            .nodes(BrokenNode.GRANTING_LATE)
            .countersAtFirst(1_040_000, 1_040_000, 0)
            .skewMicros(10_000)
            .grantTicks(1)
            .rounds(2)
            .horizon(4)
            .cuts(1),
        shared("36e a reader's release skips nodes that did not answer", R)
            .readers(BrokenClient.RELEASES_WHERE_GRANTED)
            .cuts(1),
        untimed("36f a reader's release leaves no tombstone if its token is ahead of the clock")
            .modes(R)
            .nodes(BrokenNode.BURYING_TOKENS_OF_THE_TIME)
            .aheadMicros(1_900_000)
            .aheadAtFirst(1_900_000)
            .extensions(1)
            .copies(1),
        untimed("37a there is no floor")
            .modes(W, R)
            .aheadMicros(0, 1)
            .nodes(BrokenNode.WITHOUT_FLOOR),
        untimed("37b the floor is not compared with the counter")
            .modes(R, W, R)
            .aheadMicros(0, 1)
            .nothingIsLate()
            .nodes(BrokenNode.KEEPING_THE_FLOOR),
        untimed("37c a reader needs a token above the counter")
            .modes(R, R)
            .nodes(BrokenNode.OUTBIDDING_READERS),
        untimed("37d readers do not raise the counter")
            .modes(W, R)
            .nodes(BrokenNode.COUNTING_NO_READERS),
        Scope.of("37e a reader counts grants of different rounds together")
            .modes(W, R)
            .rounds(2)
            .readers(BrokenClient.COUNTS_ALL_ROUNDS),
        internals("37f a reader joins although a writer has come since")
            .modes(W, R)
            .grantTicks(1)
            .horizon(1)
            .extensions(1)
            .nodes(BrokenNode.JOINING_AFTER_WRITERS),
        internals("38a what is set free keeps its floor")
            .modes(R)
            .setFree()
            .nodes(BrokenNode.FREEING_ABOVE_THE_FLOOR),
        shared("38b what readers hold is deleted when it is set free", W, R)
            .setFree()
            .horizon(1)
            .nodes(BrokenNode.FREEING_BY_DELETION),
        fair("40a a reader passes a writer that waits", W, R).nodes(BrokenNode.PASSING_WRITERS),
        fair("40b a reader without a ticket passes a writer that waits", W, U)
            .nodes(BrokenNode.PASSING_WITHOUT_TICKET),
        fair("40c a grant takes a reader's ticket", R, W)
            .nodes(BrokenNode.DROPPING_TICKETS_WHEN_GRANTED),
        fair("40d a refusal takes a reader's ticket", R, W)
            .nodes(BrokenNode.DROPPING_TICKETS_WHEN_REFUSED),
        fair("40e readers wait for readers", R, R).nodes(BrokenNode.WAITING_FOR_READERS));
  }

  /** What breaks a rule for leases that are passed on. */
  static Stream<Scope> passes() {
    return Stream.of(
        passing("42a tokens are passed above the lowest counter that was named")
            .clients(BrokenClient.PASSES_ABOVE_THE_LOWEST),
        passing("42b tokens are passed above a counter that is lost")
            .horizon(1)
            .losses(2, 0)
            .clients(BrokenClient.PASSES_ABOVE_NOTHING),
        passing("42c tokens are passed of a round that nobody counted")
            .rounds(2)
            .clients(BrokenClient.PASSES_ABOVE_THE_FIRST_ROUND),
        passing("42d a token is passed above the granted one")
            .clients(BrokenClient.PASSES_ABOVE_ITS_TOKEN),
        passing("42e a token is passed twice").clients(BrokenClient.PASSES_THE_SAME_TOKEN),
        passing("42f a lease is passed on that is over")
            .horizon(2)
            .clients(BrokenClient.PASSES_WHAT_IS_OVER));
  }

  /** Two clients whose leases are passed on, and nodes with counters next to their tokens. */
  private static Scope passing(String name) {
    return untimed(name).aheadMicros(0, 2).countersAtFirst(999_999, 999_998, 999_990).passes(2);
  }

  /** Readers and writers, keys of two ticks; only what users see is looked for. */
  private static Scope shared(String name, Mode... modes) {
    return timed(name).modes(modes);
  }

  /** Fair waiters for a name that is held at first. */
  private static Scope fair(String name, Mode... modes) {
    return Scope.of(name).fair(1, 1).modes(modes).heldAtFirst().nothingIsLate();
  }

  /** A client that does by itself what is due. */
  private static Scope driven(String name, int ticks) {
    return Scope.of(name).attempts(1).grantTicks(ticks).horizon(ticks + 1).driven();
  }

  /** Two clients, of which one may be ahead by one and a half times the skew. */
  private static Scope ahead(String name) {
    return untimed(name).skewMicros(1_000_000).aheadMicros(1_000_000, 1_500_000);
  }

  /**
   * Two clients after a majority that was ahead was set right; counters differ by more than one.
   */
  private static Scope setRight(String name) {
    long hourMicros = 3_600_000_000L;
    return untimed(name).rounds(2).countersAtFirst(hourMicros, hourMicros + 700, 0);
  }

  /** Two clients that want one name in common, and another each. */
  private static Scope sets(String name) {
    return Scope.of(name).sets(new int[] {0, 1}, new int[] {1, 2}).aheadMicros(0, 1);
  }
}
