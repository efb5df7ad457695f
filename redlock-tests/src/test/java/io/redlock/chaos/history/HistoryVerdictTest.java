package io.redlock.chaos.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.simulation.SimInvariant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Histories made by hand: a good one, and bad ones of which each breaks one invariant. */
class HistoryVerdictTest {

  private static final long MILLI = 1_000_000;
  private static final long BEGIN = 1_000_000 * MILLI;

  private final List<HistoryEvent> events = new ArrayList<>();
  private final RunSettings settings =
      RunSettings.of(3, Duration.ofMillis(1_000), Duration.ofMillis(100), true, true);

  HistoryVerdictTest() {
    HistoryEvent run = settings.event();
    events.add(new HistoryEvent(BEGIN, run.actor(), run.kind(), run.details()));
  }

  private void at(long millis, String actor, String kind, Object... details) {
    events.add(HistoryEvent.at(BEGIN + millis * MILLI, actor, kind, details));
  }

  private void acquire(long millis, String actor) {
    at(millis, actor, "acquire", "resources", "r0", "ttl", 1_000, "within", 100);
  }

  private void exchange(long millis, String node, String op, String owner, long token, String is) {
    at(
        millis,
        node,
        "exchange",
        "op",
        op,
        "resources",
        "r0",
        "owner",
        owner,
        "token",
        token,
        "verdict",
        is,
        "arrived",
        BEGIN + (millis - 2) * MILLI,
        "forwarded",
        BEGIN + (millis - 1) * MILLI);
  }

  private void granted(long millis, String owner, long token, int nodes) {
    for (int node = 0; node < nodes; node++) {
      exchange(millis, "n" + node, "grant", owner, token, "GRANT");
    }
  }

  private void told(long millis, String actor, String kind, long token, long leftMillis) {
    at(
        millis,
        actor,
        kind,
        "token",
        token,
        "from",
        BEGIN + millis * MILLI,
        "left",
        leftMillis * MILLI,
        "resources",
        "r0");
  }

  private void ended(long millis, String actor, long token, String cause) {
    String process = actor.substring(0, actor.indexOf('/'));
    ended(millis, process, "r0", token, cause);
  }

  private void ended(long millis, String process, String resource, long token, String cause) {
    at(
        millis,
        process,
        "ended",
        "resources",
        resource,
        "token",
        token,
        "cause",
        cause,
        "renewed",
        0);
  }

  /** A lease from asking to the end of its release: 10 ms, then held for 100 ms, then 10 ms. */
  private void lease(long millis, String actor, String owner, long token) {
    acquire(millis, actor);
    granted(millis + 5, owner, token, 3);
    told(millis + 10, actor, "held", token, 970);
    at(millis + 110, actor, "release", "token", token, "within", 100);
    ended(millis + 111, actor, token, "RELEASED");
    for (int node = 0; node < 3; node++) {
      exchange(millis + 115, "n" + node, "release", owner, token, "RELEASED");
    }
    at(millis + 120, actor, "released", "token", token, "result", "RELEASED");
  }

  private void finds(SimInvariant... expected) {
    List<SimInvariant> found =
        HistoryVerdict.of(new History(events)).findings().stream()
            .map(Finding::invariant)
            .distinct()
            .sorted()
            .toList();
    assertEquals(List.of(expected), found, () -> HistoryVerdict.of(new History(events)).toString());
  }

  @Test
  void leasesOneAfterTheOtherAreGood() {
    lease(0, "c0/0", "a", 1);
    lease(200, "c1/0", "b", 2);
    at(900, "c0", "stopped", "threads", 0);
    finds();
  }

  @Test
  void twoAtOnceViolateI1() {
    acquire(0, "c0/0");
    granted(5, "a", 1, 3);
    told(10, "c0/0", "held", 1, 970);
    lease(100, "c1/0", "b", 2);
    ended(981, "c0/0", 1, "EXPIRED");
    finds(SimInvariant.I1);
  }

  @Test
  void leaseThatWasLostEarlyIsNotCertainToItsDeadline() {
    acquire(0, "c0/0");
    granted(5, "a", 1, 3);
    told(10, "c0/0", "held", 1, 970);
    lease(100, "c1/0", "b", 2);
    ended(150, "c0/0", 1, "REFUSED");
    finds();
  }

  /** A shared lease, held from 10 ms after it was asked for until its deadline. */
  private void reader(long millis, String actor, String owner, long token) {
    at(millis, actor, "acquire", "resources", "r0", "ttl", 1_000, "within", 100, "shared", true);
    granted(millis + 5, owner, token, 3);
    told(millis + 10, actor, "held", token, 970);
    ended(millis + 981, actor, token, "EXPIRED");
  }

  /** Exchanges so far become those of readers. */
  private void asReaders() {
    events.stream()
        .filter(event -> event.is("exchange"))
        .forEach(event -> event.details().put("shared", "true"));
  }

  @Test
  void readersAtOnceAreGoodWhateverTheirTokens() {
    reader(0, "c0/0", "a", 3);
    reader(100, "c1/0", "b", 3);
    reader(200, "c2/0", "c", 2);
    asReaders();
    finds();
  }

  @Test
  void writerBesideReadersViolatesI1() {
    reader(0, "c0/0", "a", 1);
    reader(500, "c1/0", "b", 1);
    asReaders();
    lease(1_200, "c2/0", "c", 2);
    finds(SimInvariant.I1);
  }

  @Test
  void readerBesideAWriterViolatesI1() {
    acquire(0, "c0/0");
    granted(5, "a", 1, 3);
    told(10, "c0/0", "held", 1, 970);
    ended(981, "c0/0", 1, "EXPIRED");
    reader(500, "c1/0", "b", 2);
    finds(SimInvariant.I1);
  }

  @Test
  void readerBelowAnEarlierWriterViolatesI3AndI8() {
    lease(0, "c0/0", "a", 2);
    reader(200, "c1/0", "b", 2);
    events.stream()
        .filter(event -> event.is("exchange") && event.text("owner").equals("b"))
        .forEach(event -> event.details().put("shared", "true"));
    finds(SimInvariant.I3, SimInvariant.I8);
  }

  @Test
  void writerBelowAnEarlierReaderViolatesI3AndI8() {
    reader(0, "c0/0", "a", 2);
    asReaders();
    lease(1_000, "c1/0", "b", 1);
    finds(SimInvariant.I3, SimInvariant.I8);
  }

  @Test
  void grantToAReaderAfterItsReleaseViolatesI5() {
    exchange(10, "n0", "release", "a", 2, "NOT_HELD");
    exchange(20, "n0", "grant", "b", 1, "GRANT"); // the release buries nobody else
    asReaders();
    finds();
    exchange(30, "n0", "grant", "a", 2, "GRANT");
    asReaders();
    finds(SimInvariant.I5);
  }

  @Test
  void updateThatAReaderSeesInPartViolatesI4OnceItsWriterHasFinishedIt() {
    pair(10, "write-pair", 1, 0, 1, "accepted");
    pair(20, "read-pair", 2, 0, 0, "accepted");
    at(30, "c0/0", "saw", "resource", "r0", "accepted", true, "fenced", "1,0", "unfenced", "1,0");
    finds();
    assertEquals(0, HistoryVerdict.of(new History(events)).unfencedLosses());
    pair(40, "write-pair", 1, 1, 1, "refused");
    finds();
    assertEquals(1, HistoryVerdict.of(new History(events)).unfencedLosses());
    events.removeIf(event -> event.is("read-pair") || event.atNanos() == BEGIN + 40 * MILLI);
    pair(40, "write-pair", 1, 1, 1, "accepted");
    finds(SimInvariant.I4);
  }

  @Test
  void lateWriteThatTheStoreAcceptsDuringAReadViolatesI4() {
    pair(10, "read-pair", 2, 0, 0, "accepted");
    pair(20, "write-pair", 1, 0, 1, "accepted");
    finds(SimInvariant.I4);
  }

  private void pair(long millis, String kind, long token, int half, long value, String outcome) {
    at(
        millis,
        "store",
        kind,
        "resource",
        "r0",
        "token",
        token,
        "half",
        half,
        "value",
        value,
        "unfenced",
        value,
        "fenced",
        outcome);
  }

  @Test
  void deadlineBeyondWhatTheRoundAllowsViolatesI2() {
    acquire(0, "c0/0");
    granted(5, "a", 1, 3);
    told(10, "c0/0", "held", 1, 985);
    finds(SimInvariant.I2);
  }

  @Test
  void extensionMayRoundItsTtlUp() {
    extendedAndGoodFor(985);
    finds();
  }

  @Test
  void extensionThatIsGoodForLongerThanRoundedViolatesI2() {
    extendedAndGoodFor(995);
    finds(SimInvariant.I2);
  }

  private void extendedAndGoodFor(long leftMillis) {
    acquire(0, "c0/0");
    granted(5, "a", 1, 3);
    told(10, "c0/0", "held", 1, 970);
    for (int node = 0; node < 3; node++) {
      exchange(300, "n" + node, "extend", "a", 1, "EXTENDED");
    }
    told(310, "c0/0", "look", 1, leftMillis);
    ended(1_290, "c0/0", 1, "EXPIRED");
  }

  @Test
  void lowerTokenAfterAHigherOneViolatesI3() {
    lease(0, "c0/0", "a", 2);
    events.removeIf(event -> event.is("exchange") && event.text("op").equals("release"));
    long low = 1;
    acquire(200, "c1/0");
    for (int node = 0; node < 3; node++) {
      at(204, "n" + node, "losing");
      at(204, "n" + node, "lost");
    }
    granted(2_000, "b", low, 3);
    told(2_001, "c1/0", "held", low, 970);
    finds(SimInvariant.I3);
  }

  @Test
  void sameTokenTwiceViolatesI3() {
    lease(0, "c0/0", "a", 1);
    acquire(200, "c1/0");
    told(210, "c1/0", "held", 1, 500);
    finds(SimInvariant.I3);
  }

  @Test
  void updateThatIsUndoneViolatesI4() {
    write(10, 1, 0, "accepted");
    write(20, 2, 0, "accepted");
    finds(SimInvariant.I4);
  }

  @Test
  void confirmedUpdateThatIsNotThereViolatesI4() {
    write(10, 1, 0, "accepted");
    at(11, "c0/0", "confirmed", "resource", "r0", "token", 1);
    at(12, "c0/0", "confirmed", "resource", "r0", "token", 1);
    finds(SimInvariant.I4);
  }

  @Test
  void staleWriteThatIsRefusedIsGood() {
    write(10, 2, 0, "accepted");
    write(20, 1, 0, "refused");
    finds();
    assertEquals(1, HistoryVerdict.of(new History(events)).unfencedLosses());
  }

  private void write(long millis, long token, long value, String outcome) {
    at(
        millis,
        "store",
        "write",
        "resource",
        "r0",
        "token",
        token,
        "value",
        value,
        "unfenced",
        value,
        "fenced",
        outcome);
  }

  @Test
  void grantAfterTheReleaseOfItsOwnerViolatesI5() {
    lease(0, "c0/0", "a", 1);
    exchange(300, "n2", "grant", "a", 1, "GRANT");
    finds(SimInvariant.I5);
  }

  @Test
  void keyThatIsLeftOverViolatesI5() {
    lease(0, "c0/0", "a", 1);
    at(2_000, "n2", "left", "resource", "r0", "owner", "a");
    finds(SimInvariant.I5);
  }

  @Test
  void leaseThatRanOutBeforeItsHolderWroteThatHeHadItIsGood() {
    acquire(0, "c1/0");
    granted(5, "b", 1, 3);
    acquire(15, "c0/0");
    granted(20, "a", 2, 3);
    told(25, "c0/0", "held", 2, 970);
    at(
        120,
        "c1/0",
        "held",
        "token",
        1,
        "from",
        BEGIN + 10 * MILLI,
        "left",
        2 * MILLI,
        "resources",
        "r0");
    ended(121, "c1/0", 1, "EXPIRED");
    told(200, "c0/0", "look", 2, 795);
    ended(1_000, "c0/0", 2, "EXPIRED");
    finds();
  }

  @Test
  void leaseThatIsGoodAfterAnotherHasBegunViolatesI6() {
    acquire(0, "c0/0");
    granted(5, "a", 1, 3);
    told(10, "c0/0", "held", 1, 50);
    lease(100, "c1/0", "b", 2);
    exchange(300, "n0", "extend", "a", 1, "EXTENDED");
    told(310, "c0/0", "look", 1, 500);
    ended(811, "c0/0", 1, "EXPIRED");
    finds(SimInvariant.I1, SimInvariant.I6);
  }

  @Test
  void leaseThatWasOverWhenItsHolderLearntOfItIsNotTakenForALaterOne() {
    acquire(0, "c0/0");
    granted(5, "a", 1, 3);
    granted(990, "b", 2, 3);
    acquire(980, "c1/0");
    told(995, "c1/0", "held", 2, 970);
    told(1_100, "c0/0", "held", 1, 0);
    told(1_200, "c1/0", "look", 2, 765);
    ended(1_100, "c0/0", 1, "EXPIRED");
    ended(1_966, "c1/0", 2, "EXPIRED");
    finds();
  }

  @Test
  void callThatDoesNotReturnViolatesI7() {
    acquire(0, "c0/0");
    at(9_000, "c0", "stopped", "threads", 0);
    finds(SimInvariant.I7);
  }

  @Test
  void callThatTakesTooLongViolatesI7UnlessItsProcessWasStopped() {
    acquire(0, "c0/0");
    at(9_000, "c0/0", "refused", "result", "CONTENDED", "why", "taken");
    finds(SimInvariant.I7);
    at(100, "harness", "pause", "target", "c0");
    at(8_000, "harness", "resume", "target", "c0");
    finds();
  }

  @Test
  void callThatTakesTooLongIsGoodIfItsProcessGotNoProcessor() {
    acquire(0, "c0/0");
    at(9_000, "c0/0", "refused", "result", "CONTENDED", "why", "taken");
    at(8_500, "c0", "stalled", "from", BEGIN + 200 * MILLI);
    finds();
  }

  @Test
  void refusalWhenAllFaultsAreOverViolatesI7() {
    String[] must = {"resources", "r0", "ttl", "1000", "within", "100", "must", "true"};
    at(0, "c0/0", "acquire", (Object[]) must);
    at(90, "c0/0", "refused", "result", "UNAVAILABLE", "why", "two nodes are down");
    finds(SimInvariant.I7);
  }

  @Test
  void lowerGrantAfterAHigherOneOnTheSameNodeViolatesI8() {
    exchange(10, "n0", "grant", "a", 2, "GRANT");
    exchange(20, "n0", "grant", "b", 1, "GRANT");
    finds(SimInvariant.I8);
  }

  @Test
  void counterThatFallsViolatesI8() {
    at(10, "n0", "seen", "resource", "r0", "owner", "", "counter", 5, "from", BEGIN);
    at(20, "n0", "seen", "resource", "r0", "owner", "", "counter", 4, "from", BEGIN + 15 * MILLI);
    finds(SimInvariant.I8);
  }

  @Test
  void voteOfANodeThatHasJustLostItsDataViolatesI8() {
    at(0, "n0", "losing");
    at(10, "n0", "lost");
    exchange(500, "n0", "grant", "a", 1, "GRANT");
    finds(SimInvariant.I8);
  }

  @Test
  void voteOfANodeThatIsNotFitViolatesI8IfNothingKeptClientsFromFindingOut() {
    at(0, "n0", "unfit");
    exchange(900, "n0", "grant", "a", 1, "GRANT");
    finds();
    exchange(5_000, "n0", "grant", "b", 2, "GRANT");
    finds(SimInvariant.I8);
    at(3_500, "nemesis", "fault", "fault", "LINK_LOSES_REPLIES", "target", "c0-n0");
    finds();
  }

  @Test
  void voteOfANodeThatIsFitAgainIsGood() {
    at(0, "n0", "unfit");
    at(4_900, "n0", "fit");
    exchange(5_000, "n0", "grant", "b", 2, "GRANT");
    finds();
  }

  @Test
  void masterThatAClientDoesWithoutWhenAllFaultsAreOverViolatesI7() {
    at(0, "c0", "masters", "missing", "");
    finds();
    at(1, "c1", "masters", "missing", "127.0.0.1:15000 DOWN");
    finds(SimInvariant.I7);
  }

  @Test
  void leaseOnAMinorityViolatesI9() {
    acquire(0, "c0/0");
    granted(5, "a", 1, 1);
    told(10, "c0/0", "held", 1, 970);
    finds(SimInvariant.I9);
  }

  @Test
  void leaseOfAClientThatMovesNeedsAMajorityOfBothSets() {
    knows(0, "n0,n1,n2", "n2");
    lease(10, "c0/0", "a", 1);
    finds();
    events.removeIf(event -> event.is("exchange") && event.actor().equals("n2"));
    finds(SimInvariant.I9);
  }

  private void knows(long millis, String nodes, String movingTo) {
    at(millis, "c0", "knows", "nodes", nodes, "movingTo", movingTo);
  }

  @Test
  void nodeHasNothingToForgetBeforeAClientKnowsIt() {
    at(100, "n0", "losing");
    at(100, "n0", "lost");
    knows(200, "n0,n1,n2", "");
    lease(300, "c0/0", "a", 1);
    finds();
    knows(50, "n0,n1,n2", "");
    finds(SimInvariant.I8);
  }

  /** A lease of its own, extended after 60 ms. */
  private void pulse(long millis) {
    int first = events.size();
    lease(millis, "c0/2", "own" + millis, millis + 1);
    events.get(first).details().put("pause", "100");
    at(millis + 50, "c0/2", "extend", "token", millis + 1, "within", 100);
    told(millis + 60, "c0/2", "extended", millis + 1, 900);
  }

  @Test
  void clientThatIsServedEverySecondIsServedAllTheTime() {
    pulse(0);
    pulse(1_000);
    pulse(2_000);
    finds();
  }

  @Test
  void secondAndANodeTimeoutWithoutALeaseViolatesI23() {
    pulse(0);
    pulse(1_101);
    finds(SimInvariant.I23);
  }

  @Test
  void clientThatIsNeverServedViolatesI23() {
    acquire(0, "c0/2");
    events.get(events.size() - 1).details().put("pause", "100");
    at(5, "c0/2", "refused", "result", "UNAVAILABLE", "why", "");
    acquire(1_101, "c0/2");
    finds(SimInvariant.I23);
  }

  @Test
  void leasesThatAreNotExtendedAreNoService() {
    pulse(0);
    pulse(600);
    pulse(1_150);
    events.removeIf(event -> event.kind().startsWith("extend") && event.number("token") == 601);
    finds(SimInvariant.I23);
  }

  @Test
  void timeWithoutAProcessorIsNoTimeWithoutALease() {
    pulse(0);
    pulse(2_200);
    at(700, "c0", "stalled", "from", BEGIN + 500 * MILLI);
    finds(SimInvariant.I23);
    at(1_600, "n1", "slow", "from", BEGIN + 1_400 * MILLI);
    finds();
  }

  @Test
  void clientWithoutItsMajoritiesNeedNotBeServed() {
    knows(0, "n0,n1,n2", "n2");
    pulse(0);
    pulse(2_000);
    at(200, "harness", "pause", "target", "n0");
    at(300, "harness", "resume", "target", "n0");
    finds(SimInvariant.I23);
    at(500, "harness", "pause", "target", "n2");
    at(600, "harness", "resume", "target", "n2");
    finds();
  }

  @Test
  void leaseThatEndsTwiceViolatesI11() {
    lease(0, "c0/0", "a", 1);
    ended(300, "c0/0", 1, "EXPIRED");
    finds(SimInvariant.I11);
  }

  @Test
  void leaseThatNeverEndsViolatesI11() {
    lease(0, "c0/0", "a", 1);
    events.removeIf(event -> event.is("ended"));
    at(900, "c0", "stopped", "threads", 0);
    finds(SimInvariant.I11);
  }

  @Test
  void leasesOfOneProcessWithTheSameTokenOnDifferentResourcesAreTwo() {
    lease(0, "c0/0", "a", 7);
    leaseOnAnotherResource(20, "c0/1", "b", 7);
    at(900, "c0", "stopped", "threads", 0);
    finds();
  }

  @Test
  void oneOfTwoLeasesWithTheSameTokenThatNeverEndsViolatesI11() {
    lease(0, "c0/0", "a", 7);
    leaseOnAnotherResource(20, "c0/1", "b", 7);
    events.removeIf(event -> event.is("ended") && event.text("resources").equals("r1"));
    at(900, "c0", "stopped", "threads", 0);
    finds(SimInvariant.I11);
  }

  private void leaseOnAnotherResource(long millis, String actor, String owner, long token) {
    int first = events.size();
    lease(millis, actor, owner, token);
    events.subList(first, events.size()).stream()
        .filter(event -> event.details().containsKey("resources"))
        .forEach(event -> event.details().put("resources", "r1"));
  }

  @Test
  void lossThatIsToldLateViolatesI11() {
    acquire(0, "c0/0");
    granted(5, "a", 1, 3);
    told(10, "c0/0", "held", 1, 970);
    ended(9_000, "c0/0", 1, "EXPIRED");
    finds(SimInvariant.I11);
  }

  @Test
  void threadThatIsLeftViolatesI12() {
    at(900, "c0", "stopped", "threads", 1);
    finds(SimInvariant.I12);
  }

  @Test
  void eventsReadAsTheyWereWritten() {
    lease(0, "c0/0", "a", 1);
    for (HistoryEvent event : events) {
      assertEquals(event, HistoryEvent.parse(event.toString()));
    }
  }
}
