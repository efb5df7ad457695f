package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneBed.WATCH_MILLIS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.LaneBed.Asked;
import io.redlock.jedis.lane.LaneConnection.Batch;
import io.redlock.jedis.lane.LaneConnection.Writer;
import io.redlock.jedis.trust.KeptLog;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What is written when, and by whom. */
class LaneConnectionWritingTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final long PATIENCE_MILLIS = 3;

  private final LaneBed bed = new LaneBed();

  @BeforeEach
  void connect() {
    bed.up().grant("first");
    bed.answerAll().written();
  }

  // Batches.

  @Test
  void callerWritesUnlessTwoCallsAreUnanswered() {
    bed.grant("a");
    bed.grant("b");
    bed.grant("c");
    assertEquals(List.of("grant a", "grant b"), bed.written());
    assertEquals(1, bed.status().queued());
    assertFalse(bed.machine.hasMore());
    bed.answer();
    assertEquals(List.of(), bed.written());
    bed.grant("d");
    assertEquals(List.of("grant c, grant d"), bed.written(), "one is unanswered");
    assertEquals(0, bed.status().queued());
  }

  @Test
  void whatHasCollectedFollowsTheLastAnswerInOneBatch() {
    bed.grant("a");
    bed.grant("b");
    bed.extend("c");
    bed.release("d");
    bed.grant("e");
    bed.written();
    bed.answer();
    assertEquals(List.of(), bed.written());
    bed.answer();
    assertEquals(List.of("extend c, release d, grant e"), bed.written());
  }

  @Test
  void readerWritesNothingWhileAnAnswerIsDue() {
    bed.grant("a");
    bed.grant("b");
    bed.grant("c");
    bed.answer();
    bed.written();
    assertNull(bed.machine.nextBatch(Writer.READER, bed.nowNanos));
    assertNotNull(bed.machine.nextBatch(Writer.ANYBODY, bed.nowNanos));
  }

  // Patience.

  @Test
  void callerWritesPastASlowAnswer() {
    bed.grant("a");
    bed.grant("b");
    bed.hang(PATIENCE_MILLIS).release("c");
    assertEquals(List.of("grant a", "grant b"), bed.written());
    bed.nowNanos++;
    bed.release("d");
    assertEquals(List.of("release c, release d"), bed.written());
  }

  @Test
  void writingStartsThePatienceAnew() {
    bed.grant("a");
    bed.hang(PATIENCE_MILLIS).grant("b");
    bed.nowNanos++;
    bed.grant("c");
    assertEquals(List.of("grant a", "grant b"), bed.written());
    bed.hang(PATIENCE_MILLIS).grant("d");
    assertEquals(List.of("grant c, grant d"), bed.written());
  }

  @Test
  void readingStartsThePatienceAnew() {
    bed.grant("a");
    bed.grant("b");
    bed.hang(2).grant("c");
    bed.hang(2).answer();
    bed.grant("d");
    bed.written();
    bed.hang(PATIENCE_MILLIS).grant("e");
    assertEquals(List.of(), bed.written());
    bed.nowNanos++;
    bed.grant("f");
    assertEquals(List.of("grant e, grant f"), bed.written());
  }

  @Test
  void tickWritesPastASlowAnswer() {
    bed.grant("a");
    bed.grant("b");
    bed.release("c");
    bed.written();
    bed.pass(WATCH_MILLIS - 1);
    assertEquals(List.of(), bed.written());
    bed.pass(1);
    assertEquals(List.of("release c"), bed.written());
  }

  // Distance.

  /** Returns a lane all of whose round trips took so long. */
  private static LaneBed distant(long roundTripMicros) {
    LaneBed distant = new LaneBed().start().connect();
    for (int due = distant.due(); due > 0; due = distant.due()) {
      distant.nowNanos += roundTripMicros * 1_000;
      for (int answer = 0; answer < due; answer++) {
        distant.answer();
      }
    }
    assertEquals(State.UP, distant.state());
    distant.written();
    return distant;
  }

  @Test
  void distantNodeGetsTheNextBatchAQuarterOfARoundTripAfterTheLast() {
    LaneBed distant = distant(8_000);
    distant.grant("a");
    distant.grant("b");
    distant.hang(1).grant("c");
    assertEquals(List.of("grant a", "grant b"), distant.written());
    distant.pass(1);
    assertEquals(List.of("grant c"), distant.written(), "by a tick");
    distant.hang(2).grant("d");
    assertEquals(List.of("grant d"), distant.written(), "by its caller");
    assertNull(distant.machine.nextBatch(Writer.READER, distant.nowNanos));
  }

  @Test
  void batchesToADistantNodeAreAQuarterOfAMillisecondApart() {
    LaneBed distant = distant(500);
    distant.grant("a");
    distant.grant("b");
    distant.nowNanos += 249_999;
    distant.grant("c");
    assertEquals(List.of("grant a", "grant b"), distant.written());
    distant.nowNanos++;
    distant.tick();
    assertEquals(List.of("grant c"), distant.written());
  }

  @Test
  void oneQuickAnswerShowsThatANodeIsNear() {
    LaneBed near = distant(500);
    near.grant("first");
    near.nowNanos += 499_999;
    near.answer().written();
    near.grant("a");
    near.grant("b");
    near.grant("c");
    assertEquals(List.of("grant a", "grant b"), near.written());
    assertTrue(near.millisToTick() > PATIENCE_MILLIS);
    near.hang(PATIENCE_MILLIS).tick();
    assertEquals(List.of(), near.written());
  }

  @Test
  void newConnectionMeasuresItsDistanceAnew() {
    bed.lose(new IOException("reset"));
    bed.connect();
    for (int due = bed.due(); due > 0; due = bed.due()) {
      bed.hang(8);
      for (int answer = 0; answer < due; answer++) {
        bed.answer();
      }
    }
    bed.written();
    bed.grant("a");
    bed.grant("b");
    bed.grant("c");
    bed.pass(2);
    assertEquals(List.of("grant a", "grant b", "grant c"), bed.written());
  }

  @Test
  void distantNodeThatStopsReadingIsNotAskedAgainAndAgain() {
    String big = "x".repeat(10_000);
    LaneBed distant = distant(8_000);
    for (int i = 0; i < 10; i++) {
      distant.grant(big + i);
    }
    distant.pass(LaneBed.NODE_TIMEOUT_MILLIS - 1);
    assertEquals(4, distant.due(), "as many bytes as fit a socket");
  }

  // Writers.

  @Test
  void oneWritesAtATimeAndGoesOnWithWhatCameMeanwhile() {
    bed.writersComeBack = false;
    bed.grant("a");
    assertEquals(List.of("grant a"), bed.written());
    bed.grant("b");
    bed.hang(PATIENCE_MILLIS + 1).grant("c");
    assertEquals(List.of(), bed.written());
    bed.comeBack();
    assertEquals(List.of("grant b, grant c"), bed.written());
    bed.comeBack();
    assertEquals(List.of(), bed.written());
    assertNull(bed.underWay);
  }

  @Test
  void answerThatComesBeforeItsWriterIsBackStartsNoSecondOne() {
    bed.writersComeBack = false;
    bed.grant("a");
    bed.grant("b");
    bed.written();
    bed.answer();
    assertEquals(List.of(), bed.written());
    bed.comeBack();
    assertEquals(List.of("grant b"), bed.written());
  }

  @Test
  void writerOfALostConnectionDisturbsNotTheNextOneAndKeepsItsBatch() {
    bed.writersComeBack = false;
    bed.grant("a");
    Batch old = bed.underWay;
    assertNotNull(old);
    List<Call> batch = List.copyOf(old.calls());
    bed.lose(new IOException("reset"));
    bed.underWay = null;
    bed.writersComeBack = true;
    bed.introduce();
    bed.writersComeBack = false;
    bed.grant("b");
    assertEquals(List.of("grant b"), bed.written());
    assertEquals(batch, old.calls());
    bed.machine.writeFailed(old.wire(), new IOException("reset"), bed.nowNanos);
    bed.machine.written(old.wire());
    bed.grant("c");
    assertEquals(List.of(), bed.written(), "one writes to the new connection");
    assertEquals(State.UP, bed.state());
    bed.comeBack();
    assertEquals(List.of("grant c"), bed.written());
  }

  @Test
  void failedWriteCostsTheConnection() {
    bed.writersComeBack = false;
    Asked grant = bed.grant("a");
    Asked waiting = bed.grant("b");
    bed.underWay = null;
    bed.machine.writeFailed(bed.wire, new IOException("broken pipe"), bed.nowNanos);
    bed.writersComeBack = true;
    bed.pass(0).tick();
    assertEquals(List.of(NodeReply.unknown("connection lost: broken pipe")), grant.answers);
    assertEquals(List.of(), waiting.answers, "it was not sent");
    assertEquals(List.of("end 1", "Dial"), bed.done());
    assertEquals(List.of("DOWN: connection lost: broken pipe"), bed.told());
    bed.connect().answerAll();
    assertEquals(List.of(NodeReply.GRANTED), waiting.answers);
  }

  @Test
  void nothingIsWrittenWithoutAConnection() {
    LaneBed fresh = new LaneBed().start();
    fresh.grant("a");
    assertNull(fresh.machine.nextBatch(Writer.READER, fresh.nowNanos));
    assertNull(fresh.machine.nextBatch(Writer.ANYBODY, fresh.nowNanos));
  }

  // Limits.

  @Test
  void callersLeaveAtMostSoManyBytesUnanswered() {
    String big = "x".repeat(10_000);
    for (int i = 0; i < 10; i++) {
      bed.grant(big + i);
    }
    bed.written();
    bed.hang(PATIENCE_MILLIS + 1).grant("last");
    // A grant names its key twice, so it takes 20,000 bytes; two are under way.
    assertEquals(2, bed.written().get(0).split(", ").length);
    assertEquals(4, bed.due());
    bed.hang(PATIENCE_MILLIS + 1).tick();
    assertEquals(List.of(), bed.written());
    bed.answer().hang(PATIENCE_MILLIS + 1).tick();
    assertEquals(List.of("grant " + big + 4), bed.written());
  }

  @Test
  void readerWritesMoreThanCallersAtOnce() {
    String big = "x".repeat(10_000);
    bed.grant("a");
    bed.grant("b");
    for (int i = 10; i < 70; i++) {
      bed.grant(big + i);
    }
    bed.written();
    bed.answer().answer();
    assertEquals(52, bed.written().get(0).split(", ").length, "a megabyte");
    bed.answerAll();
    assertEquals(8, bed.written().get(0).split(", ").length);
    assertEquals(State.UP, bed.state());
  }

  @Test
  void callBeyondEveryLimitIsSentAlone() {
    bed.grant("x".repeat(1 << 20));
    assertEquals(1, bed.due());
    bed.grant("b");
    assertEquals(1, bed.due());
    bed.written();
    bed.answer();
    assertEquals(List.of("grant b"), bed.written());
  }

  @Test
  void fullLaneRefusesAllButReleases() {
    bed.grant("a");
    bed.grant("b");
    for (int i = 1; i < LaneSettings.MAX_QUEUED; i++) {
      bed.grant("c");
    }
    assertEquals(List.of(), bed.grant("last").answers);
    assertEquals(LaneSettings.MAX_QUEUED, bed.status().queued());
    assertEquals(
        List.of(NodeReply.unreachable("lane busy: 16384 requests are waiting to be sent")),
        bed.grant("d").answers);
    assertEquals(Kind.UNREACHABLE, bed.giveUpTicket("d").answers.get(0).kind());
    assertEquals(List.of(), bed.release("a").answers);
    assertEquals(LaneSettings.MAX_QUEUED + 1, bed.status().queued());
    assertEquals(State.UP, bed.state());
  }

  // Taking back.

  @Test
  void whatIsTakenBackIsNeverWritten() {
    bed.grant("a");
    bed.grant("b");
    Asked gone = bed.grant("c");
    Asked kept = bed.grant("d");
    assertTrue(gone.withdraw());
    assertFalse(gone.withdraw(), "it was");
    assertEquals(1, bed.status().queued());
    bed.written();
    bed.answer().answer();
    assertEquals(List.of("grant d"), bed.written());
    assertFalse(kept.withdraw(), "it is sent");
    bed.answer();
    assertFalse(kept.withdraw(), "it is answered");
    assertEquals(List.of(), gone.answers);
    assertEquals(List.of(NodeReply.GRANTED), kept.answers);
    assertTrue(bed.machine.isIdle());
  }

  @Test
  void whatIsTakenBackIsNotAnsweredWhenTheRestIsRefused() {
    bed.grant("a");
    bed.grant("b");
    Asked gone = bed.grant("c");
    Asked waiting = bed.grant("d");
    assertTrue(gone.withdraw());
    bed.breakDown(new OutOfMemoryError("test"));
    assertEquals(List.of(), gone.answers);
    assertEquals(1, waiting.answers.size());
    assertEquals(0, bed.status().queued());
  }

  @Test
  void callsThatAreTakenBackDoNotPileUp() {
    bed.grant("a");
    bed.grant("b");
    List<Asked> gone = new ArrayList<>();
    for (int i = 0; i < 4_097; i++) {
      gone.add(bed.grant("c"));
    }
    for (int i = 0; i < 4_096; i++) {
      assertTrue(gone.get(i).withdraw());
    }
    assertTrue(isInTheQueue(gone.get(0)));
    assertTrue(gone.get(4_096).withdraw());
    assertFalse(isInTheQueue(gone.get(0)));
    assertEquals(0, bed.status().queued());
    bed.written();
    bed.answer().answer();
    assertEquals(List.of(), bed.written());
  }

  private boolean isInTheQueue(Asked withdrawn) {
    Call call = withdrawn.call;
    assertNotNull(call);
    call.state = Call.State.SENT; // the machine knows any call that is over
    boolean isThere = bed.machine.knows(call);
    call.state = Call.State.OVER;
    return isThere;
  }

  @Test
  void patienceIsCountedFromTheLastWriteToo() {
    bed.grant("a");
    bed.hang(1).grant("b");
    bed.hang(PATIENCE_MILLIS - 1);
    bed.nowNanos++;
    bed.grant("c"); // the oldest is late, and the last write is not
    assertEquals(List.of("grant a", "grant b"), bed.written());
    bed.hang(1);
    bed.nowNanos--;
    bed.grant("d");
    assertEquals(List.of(), bed.written());
    bed.nowNanos++;
    bed.grant("e");
    assertEquals(List.of("grant c, grant d, grant e"), bed.written());
  }

  @Test
  void auditThatIsDueWhileAWriterHangsIsLookedAfterAtEachWatch() {
    bed.writersComeBack = false;
    bed.grant("a");
    bed.answer(); // before its writer is back
    bed.pass(1_000);
    assertTrue(bed.machine.isIdle());
    assertEquals(WATCH_MILLIS, bed.millisToTick());
    bed.pass(WATCH_MILLIS);
    assertEquals(WATCH_MILLIS, bed.millisToTick());
  }

  @Test
  void nodeThatHasJustAnsweredIsGivenTime() {
    bed.grant("a");
    bed.grant("b");
    bed.hang(PATIENCE_MILLIS);
    bed.nowNanos++;
    bed.grant("c"); // past what is unanswered
    bed.hang(2).answer();
    bed.hang(PATIENCE_MILLIS).written();
    bed.grant("d"); // nothing was written for 5 ms
    assertEquals(List.of(), bed.written());
    bed.nowNanos++;
    bed.grant("e");
    assertEquals(List.of("grant d, grant e"), bed.written());
  }
}
