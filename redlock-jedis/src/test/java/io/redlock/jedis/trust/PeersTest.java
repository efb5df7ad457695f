package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.trust.Roll.Advice;
import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class PeersTest {

  private static final long SKEW_MICROS = Marks.SKEW_MICROS;
  private static final List<String> NAMES = List.of("node-0", "node-1", "node-2");
  private static final long HOUR = 3_600_000_000L;
  private static final long NOW = 1_700_000_000_000_000L;

  private final Peers peers = new Peers(NAMES, Quorum.of(3), SKEW_MICROS);
  private long monotonicMicros = 7 * HOUR;
  private long wallMicros = NOW;

  private final Ticker ticker =
      new Ticker() {
        @Override
        public long monotonicNanos() {
          return monotonicMicros * 1_000;
        }

        @Override
        public long wallMicros() {
          return wallMicros;
        }
      };

  @Test
  void beforeAQuorumIsHeardThisMachinesClockCounts() {
    Surroundings first = hear(0, "a", NOW - HOUR);
    assertFalse(first.byMedian());
    assertEquals(NOW, first.clockMicros());
  }

  @Test
  void medianOfThreeClocksIsTheMiddleOne() {
    hear(0, "a", NOW - HOUR);
    hear(1, "b", NOW + 5);
    Surroundings third = hear(2, "c", NOW + HOUR);
    assertTrue(third.byMedian());
    assertEquals(NOW + 5, third.clockMicros());
  }

  @Test
  void wrongClockIsNotThatOfAQuorumThoughItBeTheMedian() {
    hear(0, "a", NOW);
    Surroundings wrong = hear(1, "b", NOW - HOUR);
    assertTrue(wrong.byMedian());
    assertEquals(NOW - HOUR, wrong.clockMicros());
    assertTrue(wrong.beyondSkewMicros().isEmpty());
    assertTrue(hear(0, "a", NOW).beyondSkewMicros().isEmpty());
    assertEquals(OptionalLong.of(0), hear(2, "c", NOW).beyondSkewMicros());
    assertTrue(hear(1, "b", NOW - HOUR).beyondSkewMicros().isEmpty());
  }

  @Test
  void whatWasMisreadMayBeBeyondTheSkew() {
    hear(0, "a", NOW);
    assertEquals(OptionalLong.of(0), hear(1, "b", NOW + SKEW_MICROS).beyondSkewMicros());
    assertTrue(hear(1, "b", NOW + SKEW_MICROS + 1).beyondSkewMicros().isEmpty());
    assertEquals(OptionalLong.of(9), misread("b", NOW + SKEW_MICROS, 9).beyondSkewMicros());
    assertEquals(OptionalLong.of(18), misread("b", NOW + SKEW_MICROS + 9, 9).beyondSkewMicros());
    assertTrue(misread("b", NOW + SKEW_MICROS + 10, 9).beyondSkewMicros().isEmpty());
    assertEquals(OptionalLong.of(0), hear(2, "c", NOW + 1).beyondSkewMicros());
  }

  private Surroundings misread(String runId, long nodeMicros, long uncertaintyMicros) {
    return misread(1, runId, nodeMicros, uncertaintyMicros);
  }

  private Surroundings misread(int node, String runId, long nodeMicros, long uncertaintyMicros) {
    long middle = monotonicMicros * 1_000;
    long half = uncertaintyMicros * 1_000;
    return peers.hear(
        node, audit(runId, nodeMicros, ""), middle - half, middle + half, ticker, Marks.GUARDED);
  }

  /**
   * After a stall the clocks are read again one by one, and the median is still the old reading.
   */
  @Test
  void nodeThatIsReadExactlyIsNotRefusedBecauseTheMedianWasMisread() {
    long stall = SKEW_MICROS + 450_000;
    misread(1, "b", NOW + stall, stall);
    misread(2, "c", NOW + stall, stall);
    Surroundings exact = hear(0, "a", NOW);
    assertEquals(NOW + stall, exact.clockMicros());
    assertEquals(stall, exact.uncertaintyMicros());
    TrustRules rules = TrustRules.observing(true, SKEW_MICROS);
    assertNull(rules.misconfiguration(audit("a", NOW, ""), exact));
    Surroundings wrong = hear(0, "a", NOW - SKEW_MICROS - 1);
    assertNotNull(rules.misconfiguration(audit("a", NOW - SKEW_MICROS - 1, ""), wrong));
  }

  @Test
  void clocksRunOnBetweenAudits() {
    hear(0, "a", NOW);
    hear(1, "b", NOW + 5);
    monotonicMicros += HOUR;
    wallMicros += HOUR;
    assertEquals(NOW + HOUR, hear(2, "c", NOW - HOUR).clockMicros());
  }

  @Test
  void clockOfANodeThatLeftDoesNotCount() {
    hear(0, "a", NOW - HOUR);
    hear(1, "b", NOW - HOUR);
    peers.left(0);
    assertFalse(hear(1, "b", NOW - HOUR).byMedian());
  }

  @Test
  void clocksThatWereReadBeforeThisMachineSleptDoNotCount() {
    hear(0, "a", NOW);
    hear(1, "b", NOW);
    wallMicros += HOUR;
    Surroundings afterSleep = hear(2, "c", NOW + HOUR);
    assertFalse(afterSleep.byMedian());
    assertEquals(NOW + HOUR, afterSleep.clockMicros());
    assertTrue(hear(0, "a", NOW + HOUR).byMedian());
  }

  @Test
  void timeOfTheAuditIsTheUncertainty() {
    NodeAudit audit = audit("a", NOW, "");
    long before = monotonicMicros * 1_000;
    long after = before + 8_000_000;
    assertEquals(
        4_000, peers.hear(0, audit, before, after, ticker, Marks.GUARDED).uncertaintyMicros());
  }

  @Test
  void whoComesSecondToAServerIsTheTwinUntilTheFirstLeaves() {
    assertEquals("", hear(0, "a", NOW).sameServerAs());
    assertEquals("node-0", hear(1, "a", NOW).sameServerAs());
    assertEquals("", hear(0, "a", NOW).sameServerAs());
    assertEquals("node-0", hear(2, "a", NOW).sameServerAs());
    peers.left(0);
    assertEquals("", hear(2, "a", NOW).sameServerAs());
    assertEquals("node-2", hear(1, "a", NOW).sameServerAs());
  }

  @Test
  void twinsAreNoQuorum() {
    hear(0, "a", NOW);
    assertFalse(hear(1, "a", NOW).byMedian());
    assertFalse(hear(2, "a", NOW).byMedian());
  }

  /** Otherwise one server could be the quorum that shows which mark another one gets. */
  @Test
  void markOfATwinCountsOnce() {
    String mark = Marks.founded("a", "r", 1, true, NAMES).toString();
    hear(0, "a", NOW, mark);
    hear(2, "a", NOW, mark);
    Advice advice = hear(1, "b", NOW, "").advice();
    assertTrue(advice.toString().contains("node-2 must answer"), advice.toString());
  }

  /** After a pause of this process a change of masters may have gone on: all are asked again. */
  @Test
  void auditThatIsOlderThanThreeSecondsShowsNoMark() {
    String first = Marks.founded("a", "r", 1, true, NAMES).toString();
    String second = Marks.founded("b", "r", 1, true, NAMES).toString();
    hear(0, "a", NOW, first);
    hear(1, "b", NOW, second);
    monotonicMicros += 3_000_000;
    assertInstanceOf(Advice.Write.class, hear(2, "c", NOW, "").advice());
    monotonicMicros += 1;
    assertInstanceOf(Advice.Wait.class, hear(2, "c", NOW, "").advice());
    hear(1, "b", NOW, second);
    Advice advice = hear(2, "c", NOW, "").advice();
    assertTrue(advice.toString().contains("node-0 must answer"), advice::toString);
    hear(0, "a", NOW, first);
    assertInstanceOf(Advice.Write.class, hear(2, "c", NOW, "").advice());
  }

  @Test
  void othersAreInUseOnceTheirMarksAreOldEnough() {
    long bornMillis = NOW / 1_000 - Marks.ABSTENTION_MILLIS;
    String young = Marks.founded("b", "r", bornMillis + 1, true, NAMES).toString();
    String old = Marks.founded("b", "r", bornMillis, true, NAMES).toString();
    String foreign = Marks.founded("z", "r", bornMillis, true, NAMES).toString();
    assertFalse(hear(0, "a", NOW).othersInUse());
    hear(1, "b", NOW, young);
    assertFalse(hear(0, "a", NOW).othersInUse());
    hear(1, "b", NOW, foreign);
    assertFalse(hear(0, "a", NOW).othersInUse());
    assertFalse(hear(1, "b", NOW, old).othersInUse(), "itself does not count");
    assertTrue(hear(0, "a", NOW).othersInUse());
  }

  @Test
  void noneVotesBeforeAQuorumIsAcceptedAtTheSameTime() {
    AtomicInteger told = new AtomicInteger();
    peers.whenQuorum(told::incrementAndGet);
    assertFalse(peers.judged(0, true));
    peers.left(0);
    assertFalse(peers.judged(1, true));
    assertFalse(peers.judged(2, false));
    assertTrue(peers.tooFew().contains("only 1 of 3"), peers.tooFew());
    assertFalse(peers.hasQuorum());
    assertEquals(0, told.get());
    assertTrue(peers.judged(0, true));
    assertEquals(1, told.get());
    assertTrue(peers.hasQuorum());
    peers.left(0);
    peers.left(1);
    assertTrue(peers.judged(2, false));
    peers.whenQuorum(told::incrementAndGet);
    assertEquals(1, told.get());
  }

  private Surroundings hear(int node, String runId, long nodeMicros) {
    return hear(node, runId, nodeMicros, "");
  }

  private Surroundings hear(int node, String runId, long nodeMicros, String birth) {
    long now = monotonicMicros * 1_000;
    return peers.hear(node, audit(runId, nodeMicros, birth), now, now, ticker, Marks.GUARDED);
  }

  private static NodeAudit audit(String runId, long nodeMicros, String birth) {
    return new NodeAudit(
        "7", runId, "master", "standalone", "r", 0, 0, "noeviction", 0, nodeMicros, birth);
  }

  // At the boundaries.

  @Test
  void whatWasHeardIsFreshUpToASkewOfThisMachinesClocks() {
    hear(0, "a", NOW);
    wallMicros += SKEW_MICROS;
    assertTrue(hear(1, "b", NOW).byMedian());
    wallMicros += SKEW_MICROS + 1;
    assertFalse(hear(2, "c", NOW).byMedian());
  }

  @Test
  void quorumIsToldOnce() {
    AtomicInteger told = new AtomicInteger();
    peers.whenQuorum(told::incrementAndGet);
    peers.judged(0, true);
    peers.judged(1, true);
    peers.judged(2, true);
    peers.left(0);
    peers.left(1);
    peers.left(2);
    peers.judged(0, true);
    peers.judged(1, true);
    assertEquals(1, told.get());
  }

  @Test
  void twoClocksMayBothHaveBeenMisread() {
    long middle = monotonicMicros * 1_000;
    peers.hear(0, audit("a", NOW, ""), middle - 5_000, middle + 5_000, ticker, Marks.GUARDED);
    Surroundings second = misread("b", NOW + SKEW_MICROS, 9);
    assertEquals(OptionalLong.of(14), second.beyondSkewMicros());
  }
}
