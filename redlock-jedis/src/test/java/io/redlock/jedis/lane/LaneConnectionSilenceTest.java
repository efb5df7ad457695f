package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneBed.NODE_TIMEOUT_MILLIS;
import static io.redlock.jedis.lane.LaneBed.SILENCE_TIMEOUT_MILLIS;
import static io.redlock.jedis.lane.LaneBed.SILENT;
import static io.redlock.jedis.lane.LaneBed.WATCH_MILLIS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.LaneBed.Asked;
import io.redlock.jedis.trust.KeptLog;
import io.redlock.spi.NodeReply;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A node that does not answer, and a process that is held up itself. */
class LaneConnectionSilenceTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final NodeReply UNKNOWN = NodeReply.unknown(SILENT);
  private static final NodeReply REFUSED = NodeReply.unreachable(SILENT);

  private final LaneBed bed = new LaneBed();

  @BeforeEach
  void connect() {
    bed.up();
  }

  @Test
  void nodeIsSilentAfterANodeTimeout() {
    Asked grant = bed.grant("a");
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), grant.answers);
    assertEquals(State.UP, bed.state());
    bed.pass(1);
    assertEquals(List.of(UNKNOWN), grant.answers);
    assertEquals(List.of("SILENT: " + SILENT), bed.told());
    assertEquals(List.of(), bed.done(), "it keeps its connection");
  }

  @Test
  void silenceIsWarnedOfOnceWhenItLastsForASecond() {
    bed.grant("a");
    bed.pass(NODE_TIMEOUT_MILLIS + 1_000 - WATCH_MILLIS);
    assertEquals(State.SILENT, bed.state());
    assertEquals(List.of(), log.warnings());
    bed.pass(2 * WATCH_MILLIS);
    assertEquals(List.of("node n is SILENT: " + SILENT), log.warnings());
    bed.pass(2_000);
    assertEquals(1, log.warnings().size());
  }

  @Test
  void silenceIsCountedFromTheLastAnswer() {
    bed.grant("a");
    bed.pass(10).grant("b");
    bed.pass(80).answer();
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(State.UP, bed.state());
    bed.pass(WATCH_MILLIS);
    assertEquals(State.SILENT, bed.state());
  }

  @Test
  void silenceIsCountedFromTheOldestRequestAfterARest() {
    bed.grant("a");
    bed.answer().pass(500).grant("b");
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(State.UP, bed.state());
    bed.pass(1);
    assertEquals(State.SILENT, bed.state());
  }

  @Test
  void idleNodeIsNeverSilent() {
    bed.grant("a");
    bed.answer();
    bed.pass(900);
    assertEquals(State.UP, bed.state());
  }

  @Test
  void whatWaitedForASilentNodeIsRefusedButItsReleases() {
    bed.writersComeBack = false;
    Asked sent = bed.grant("a");
    Asked queued = bed.extend("b");
    Asked release = bed.release("c");
    bed.pass(NODE_TIMEOUT_MILLIS);
    assertEquals(List.of(UNKNOWN), sent.answers);
    assertEquals(List.of(REFUSED), queued.answers);
    assertEquals(List.of(), release.answers);
    assertEquals(1, bed.status().queued());
    bed.written();
    bed.comeBack();
    assertEquals(List.of("release c"), bed.written());
    bed.answerAll();
    assertEquals(List.of(NodeReply.RELEASED), release.answers);
  }

  @Test
  void silentNodeGetsReleasesAndWithdrawalsOnly() {
    Asked sent = bed.release("a");
    bed.grant("b");
    bed.pass(NODE_TIMEOUT_MILLIS).written();
    assertEquals(State.SILENT, bed.state());
    assertEquals(List.of(), sent.answers, "a release waits for its answer");
    assertEquals(List.of(REFUSED), bed.grant("a").answers);
    assertEquals(List.of(REFUSED), bed.extend("a").answers);
    Asked release = bed.release("c");
    Asked withdrawal = bed.giveUpTicket("d");
    bed.pass(WATCH_MILLIS);
    assertEquals(List.of("release c", "withdraw d"), bed.written());
    bed.answer().answer().answer();
    bed.answerWord("NOT_HELD", "");
    assertEquals(List.of(NodeReply.RELEASED), release.answers);
    assertEquals(List.of(NodeReply.NOT_HELD), withdrawal.answers);
  }

  @Test
  void lateAnswersAreReadAndEndTheSilence() {
    Asked first = bed.grant("a");
    Asked second = bed.grant("b");
    bed.pass(NODE_TIMEOUT_MILLIS).told();
    bed.answer();
    assertEquals(List.of("UP"), bed.told());
    bed.answer();
    assertEquals(List.of(UNKNOWN), first.answers);
    assertEquals(List.of(UNKNOWN), second.answers);
    Asked third = bed.grant("c");
    bed.answer();
    assertEquals(List.of(NodeReply.GRANTED), third.answers);
  }

  @Test
  void nodeFallsSilentAgain() {
    bed.grant("a");
    bed.grant("b");
    bed.pass(NODE_TIMEOUT_MILLIS).answer().told();
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), bed.told());
    bed.pass(WATCH_MILLIS);
    assertEquals(List.of("SILENT: " + SILENT), bed.told());
  }

  @Test
  void processThatWasHeldUpItselfFindsNobodySilent() {
    Asked grant = bed.grant("a");
    bed.hang(WATCH_MILLIS + WATCH_MILLIS + 500).tick();
    assertEquals(State.UP, bed.state());
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(State.UP, bed.state());
    bed.pass(1);
    assertEquals(State.SILENT, bed.state());
    assertEquals(List.of(UNKNOWN), grant.answers);
  }

  @Test
  void tickThatIsALittleLateIsOnTime() {
    bed.grant("a");
    bed.pass(3 * WATCH_MILLIS);
    bed.hang(2 * WATCH_MILLIS).tick();
    assertEquals(State.SILENT, bed.state());
  }

  @Test
  void tickThatIsTooLateStartsTheCountAnew() {
    bed.grant("a");
    bed.pass(3 * WATCH_MILLIS);
    bed.hang(2 * WATCH_MILLIS);
    bed.nowNanos++;
    bed.tick();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void callerAfterAHoldUpJudgesNobody() {
    bed.grant("a");
    bed.hang(2 * WATCH_MILLIS + NODE_TIMEOUT_MILLIS);
    assertEquals(List.of(), bed.grant("b").answers);
    assertEquals(State.UP, bed.state());
  }

  @Test
  void callerNoticesSilenceBeforeTheTickDoes() {
    bed.grant("a");
    bed.pass(NODE_TIMEOUT_MILLIS - 5); // the last tick was at 75, the next is at 100
    bed.grant("b"); // which is not brought forward
    assertEquals(5, bed.millisToTick());
    bed.hang(5);
    assertEquals(List.of(REFUSED), bed.grant("c").answers);
  }

  @Test
  void connectionIsAbandonedAfterTheSilenceTimeout() {
    bed.grant("warm");
    bed.answer();
    Asked release = bed.release("a");
    bed.pass(SILENCE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), release.answers);
    assertEquals(List.of(), bed.done());
    bed.pass(1);
    assertEquals(List.of(NodeReply.unknown("no answer for too long")), release.answers);
    assertEquals(List.of("end 1", "Dial"), bed.done());
    assertEquals("DOWN: no answer for too long", bed.told().get(1));
  }

  @Test
  void connectionIsKeptHoweverLongTheProcessIsHeldUp() {
    bed.grant("a");
    bed.hang(SILENCE_TIMEOUT_MILLIS * 2).tick();
    assertEquals(List.of(), bed.done());
    assertEquals(State.UP, bed.state());
  }

  @Test
  void connectionIsAbandonedThoughTicksAreLateNowAndThen() {
    bed.grant("a");
    long startNanos = bed.nowNanos;
    while (bed.done().isEmpty()) {
      bed.pass(900).hang(2 * WATCH_MILLIS + 1).tick();
    }
    long takenMillis = (bed.nowNanos - startNanos) / 1_000_000;
    assertTrue(takenMillis < SILENCE_TIMEOUT_MILLIS * 11 / 10, takenMillis + " ms");
  }

  @Test
  void idleConnectionIsKept() {
    for (int second = 0; second < 30; second++) {
      bed.pass(1_000).answerAll();
    }
    assertEquals(List.of(), bed.done());
    assertEquals(List.of(), bed.told());
  }

  @Test
  void withdrawalWaitsForASilentNodeToWake() {
    bed.up().grant("a");
    bed.pass(NODE_TIMEOUT_MILLIS);
    assertEquals(State.SILENT, bed.state());
    Asked withdrawal = bed.giveUpTicket("b");
    bed.pass(NODE_TIMEOUT_MILLIS);
    assertEquals(List.of(), withdrawal.answers);
    bed.answer();
    bed.answer();
    assertEquals(1, withdrawal.answers.size());
  }
}
