package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneBed.NODE_TIMEOUT_MILLIS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.LaneBed.Asked;
import io.redlock.jedis.trust.KeptLog;
import io.redlock.spi.NodeReply;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The end of a lane: bounded, and it leaves nothing unanswered. */
class LaneMachineClosingTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final NodeReply CLOSED = NodeReply.unreachable("closed");
  private static final NodeReply TOO_LATE = NodeReply.unknown("closed before the answer came");

  private final LaneBed bed = new LaneBed();

  @Test
  void idleLaneSaysFarewellAndGivesItsConnectionBackWhole() {
    bed.up().close();
    assertEquals(List.of("audit"), bed.written());
    assertEquals(List.of(), bed.done());
    bed.answer();
    assertEquals(List.of("end whole 1", "FirstAttempt", "Closed"), bed.done());
    assertEquals(List.of("CLOSED"), bed.told());
    assertEquals(0, bed.status().queued());
    assertEquals("", bed.status().reason().orElse(""));
  }

  @Test
  void whatWasGivenBeforeIsWrittenAndAnswered() {
    bed.up();
    Asked first = bed.grant("a");
    bed.grant("b");
    Asked last = bed.release("c");
    bed.close();
    assertEquals(List.of(CLOSED), bed.grant("d").answers);
    assertEquals(List.of(CLOSED), bed.release("d").answers);
    bed.answer().answer();
    assertEquals(List.of("grant a", "grant b", "release c, audit"), bed.written());
    bed.answer();
    assertEquals(List.of(), bed.done());
    bed.answer();
    assertEquals(List.of("end whole 1", "FirstAttempt", "Closed"), bed.done());
    assertEquals(List.of(NodeReply.GRANTED), first.answers);
    assertEquals(List.of(NodeReply.RELEASED), last.answers);
  }

  @Test
  void closeIsBoundedByANodeTimeout() {
    bed.up();
    Asked release = bed.release("a");
    bed.grant("b");
    Asked never = bed.grant("c");
    bed.writersComeBack = false;
    bed.pass(5).close();
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), release.answers);
    assertEquals(List.of(), bed.done());
    bed.pass(1);
    assertEquals(List.of(TOO_LATE), release.answers);
    assertEquals(1, never.answers.size());
    assertEquals(List.of("end 1", "FirstAttempt", "Closed"), bed.done());
    assertEquals(-1, bed.millisToTick(), "nothing is planned any more");
    assertEquals(State.CLOSED, bed.state());
    assertTrue(bed.machine.isIdle());
  }

  @Test
  void whatIsNeverSentIsUnreachableAndWhatWasSentIsUnknown() {
    bed.up().writersComeBack = false;
    Asked sent = bed.grant("a");
    Asked queued = bed.extend("b");
    Asked release = bed.release("c");
    bed.pass(NODE_TIMEOUT_MILLIS - 10).close();
    bed.hang(1).pass(9);
    assertEquals(List.of(NodeReply.unknown(LaneBed.SILENT)), sent.answers);
    assertEquals(List.of(NodeReply.unreachable(LaneBed.SILENT)), queued.answers);
    bed.pass(NODE_TIMEOUT_MILLIS);
    assertEquals(List.of(CLOSED), release.answers, "not even its life saves it");
    assertEquals(List.of("end 1", "FirstAttempt", "Closed"), bed.done());
    assertEquals(1, sent.answers.size());
  }

  @Test
  void connectionThatIsStillWrittenToIsNotWhole() {
    bed.up().writersComeBack = false;
    bed.close();
    bed.answer();
    assertEquals(List.of("end 1", "FirstAttempt", "Closed"), bed.done());
  }

  @Test
  void secondCloseChangesNothing() {
    bed.up().close().pass(NODE_TIMEOUT_MILLIS / 2).close();
    assertEquals(List.of("audit"), bed.written());
    bed.pass(NODE_TIMEOUT_MILLIS / 2);
    assertEquals(State.CLOSED, bed.state());
    bed.done();
    bed.told();
    bed.close();
    bed.tick();
    assertEquals(List.of(), bed.done());
    assertEquals(List.of(), bed.told());
    assertEquals(List.of(CLOSED), bed.release("a").answers);
  }

  @Test
  void laneThatWasNotStartedClosesAtOnce() {
    bed.close();
    assertEquals(List.of("FirstAttempt", "Closed"), bed.done());
    assertEquals(List.of(CLOSED), bed.grant("a").answers);
  }

  @Test
  void laneThatPausesClosesAtOnce() {
    bed.start();
    Asked release = bed.release("a");
    bed.fail(new IOException("gone")).done();
    bed.close();
    assertEquals(List.of("FirstAttempt", "Closed"), bed.done());
    assertEquals(List.of(CLOSED), release.answers);
    bed.pass(2_000);
    assertEquals(List.of(), bed.done());
  }

  @Test
  void laneThatConnectsForNobodyClosesAtOnceAndLetsTheConnectionGo() {
    bed.start().done();
    bed.close();
    assertEquals(List.of("FirstAttempt", "Closed"), bed.done());
    bed.connect();
    assertEquals(List.of("end 1"), bed.done());
    bed.fail(new IOException("gone")).lose(new IOException("gone"));
    assertEquals(List.of(), bed.done());
    assertEquals(List.of("CLOSED"), bed.told());
  }

  @Test
  void laneThatIntroducesItselfForNobodyClosesAtOnce() {
    bed.start().connect().done();
    bed.close();
    assertEquals(List.of("end 1", "FirstAttempt", "Closed"), bed.done());
  }

  @Test
  void whatWaitsForTheConnectionIsStillWrittenAtTheEnd() {
    bed.start();
    Asked release = bed.release("a");
    bed.close();
    bed.pass(NODE_TIMEOUT_MILLIS / 2).connect().done();
    bed.answerAll();
    assertEquals(List.of(NodeReply.RELEASED), release.answers);
    assertEquals(List.of("FirstAttempt", "end whole 1", "FirstAttempt", "Closed"), bed.done());
  }

  @Test
  void whatWaitsForTheConnectionIsAnsweredWhenThatFails() {
    bed.start().done();
    Asked release = bed.release("a");
    bed.close().fail(new IOException("gone"));
    assertEquals(List.of(CLOSED), release.answers);
    assertTrue(bed.done().contains("Closed"));
    assertEquals(List.of(), bed.pausesMillis());
  }

  @Test
  void whatWaitsForTheConnectionIsAnsweredAfterANodeTimeout() {
    bed.start();
    Asked release = bed.release("a");
    bed.pass(30).close();
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), release.answers);
    bed.pass(1);
    assertEquals(List.of(CLOSED), release.answers);
  }

  @Test
  void connectionThatIsLostDuringTheCloseEndsIt() {
    bed.up().grant("warm");
    bed.answer();
    Asked sent = bed.grant("a");
    bed.grant("b");
    Asked queued = bed.grant("c");
    bed.close().lose(new IOException("reset"));
    assertEquals(List.of(NodeReply.unknown("connection lost: reset")), sent.answers);
    assertEquals(List.of(CLOSED), queued.answers);
    assertEquals(List.of("end 1", "FirstAttempt", "Closed"), bed.done());
    assertEquals(State.CLOSED, bed.state());
  }

  @Test
  void lateTickEndsTheClose() {
    bed.up().close();
    bed.hang(60_000).tick();
    assertEquals(State.CLOSED, bed.state());
    assertEquals(List.of("end 1", "FirstAttempt", "Closed"), bed.done());
  }

  @Test
  void everythingIsAnsweredOnceWheneverItIsClosed() {
    for (long seed = 0; seed < 500; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      LaneBed each = new LaneBed().start();
      List<Asked> asked = new ArrayList<>();
      List<Asked> taken = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        live(each, random, asked, taken);
      }
      each.close().pass(NODE_TIMEOUT_MILLIS);
      String where = "seed " + seed;
      assertEquals(State.CLOSED, each.state(), where);
      assertEquals(1, each.done().stream().filter("Closed"::equals).count(), where);
      asked.removeAll(taken);
      for (Asked request : asked) {
        assertEquals(1, request.answers.size(), where + " " + request.label);
      }
      for (Asked request : taken) {
        assertEquals(List.of(), request.answers, where);
      }
      assertTrue(each.machine.isIdle(), where);
      assertFalse(each.machine.hasMore(), where);
    }
  }

  private static void live(
      LaneBed each, SplittableRandom random, List<Asked> asked, List<Asked> taken) {
    switch (random.nextInt(14)) {
      case 0, 1, 2 -> asked.add(each.grant("a"));
      case 3, 4 -> asked.add(each.release("b"));
      case 5 -> asked.add(each.giveUpTicket("c"));
      case 6 -> {
        Asked one = asked.isEmpty() ? each.grant("d") : asked.get(random.nextInt(asked.size()));
        if (!asked.contains(one)) {
          asked.add(one);
        }
        if (one.answers.isEmpty() && one.withdraw()) {
          taken.add(one);
        }
      }
      case 7, 8 -> each.pass(random.nextInt(150));
      case 9, 10 -> {
        if (each.done().contains("Dial")) {
          each.connect();
        }
        each.answerAll();
      }
      case 11 -> {
        if (each.due() > 0) {
          each.answerNoScript();
        }
      }
      case 12 -> {
        if (random.nextInt(4) == 0) {
          each.lose(new IOException("reset"));
        }
      }
      default -> {
        if (random.nextInt(8) == 0) {
          each.breakDown(new OutOfMemoryError("heap"));
        }
      }
    }
  }

  @Test
  void secondCloseAddsNothing() {
    bed.up().grant("a");
    bed.close().close();
    bed.answer();
    assertEquals(1, bed.due(), "the audit that goes last");
  }

  @Test
  void endComesOnce() {
    bed.up().pass(50).machine.end(bed.nowNanos);
    assertEquals(List.of(NodeReply.unreachable("closed")), bed.release("a").answers);
    bed.machine.takeEffects();
    bed.machine.ticks().planned();
    bed.machine.end(bed.nowNanos);
    bed.machine.close(bed.nowNanos);
    assertEquals(List.of(), bed.machine.takeEffects());
    assertFalse(bed.machine.ticks().isReplanned());
  }

  @Test
  void auditThatGoesLastIsWatched() {
    bed.up().pass(50).close();
    assertEquals(LaneBed.WATCH_MILLIS, bed.millisToTick());
  }
}
