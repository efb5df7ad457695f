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
import java.net.ConnectException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** Connections that cannot be made, that are lost, and that are given up. */
class LaneMachineConnectionTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final IOException RESET = new IOException("reset");
  private static final NodeReply REFUSED = NodeReply.unreachable("refused connection");
  private static final JedisConnectionException REFUSAL =
      new JedisConnectionException(new ConnectException("Connection refused"));

  private final LaneBed bed = new LaneBed();

  // None is there.

  @Test
  void requestBeforeTheStartIsRefused() {
    assertEquals(List.of(NodeReply.unreachable("not started")), bed.grant("a").answers);
    assertEquals(List.of(NodeReply.unreachable("not started")), bed.release("a").answers);
  }

  @Test
  void refusedConnectionRefusesWhatWaitedButReleases() {
    bed.start().done();
    Asked grant = bed.grant("a");
    Asked release = bed.release("a");
    bed.pass(20).fail(REFUSAL);
    assertEquals(List.of(REFUSED), grant.answers);
    assertEquals(List.of(), release.answers);
    assertEquals(List.of("FirstAttempt"), bed.done());
    assertEquals(List.of("DOWN: refused connection"), bed.told());
    assertEquals(List.of(REFUSED), bed.extend("a").answers);
    assertEquals(List.of(REFUSED), bed.giveUpTicket("a").answers);
    assertEquals(List.of(), bed.release("b").answers);
    assertEquals("refused connection", bed.status().lastError().orElse(""));
  }

  @Test
  void refusedPasswordIsAMistakeOfTheConfiguration() {
    bed.start().fail(new JedisDataException("WRONGPASS invalid username-password pair"));
    assertEquals(
        List.of(
            "MISCONFIGURED: WRONGPASS, the server refuses this user with this password: correct them in"
                + " clientConfig or in the environment (REDLOCK_NODES), or enable the user"),
        bed.told());
  }

  @Test
  void pausesDoubleUpToASecondAndAreSpread() {
    bed.start().done();
    for (long most : List.of(20L, 40L, 80L, 160L, 320L, 640L, 1_000L, 1_000L)) {
      bed.fail(REFUSAL);
      assertEquals(List.of(most), bed.pausesMillis());
      assertEquals(List.of("FirstAttempt"), bed.done());
      bed.pass(most / 2 - 1);
      assertEquals(List.of(), bed.done());
      bed.pass(1);
      assertEquals(List.of("Dial"), bed.done());
    }
    for (int i = 0; i < 100; i++) {
      bed.fail(REFUSAL).pass(500);
    }
    assertEquals(1_000, bed.pausesMillis().get(99));
    bed.introduce();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void failureOfAnAttemptThatIsOverChangesNothing() {
    bed.up().fail(REFUSAL);
    assertEquals(State.UP, bed.state());
    bed.lose(RESET).told();
    bed.pausesMillis();
    bed.fail(REFUSAL);
    assertEquals(List.of(), bed.pausesMillis(), "it pauses already");
    assertEquals(List.of(), bed.told());
  }

  @Test
  void requestsWaitANodeTimeoutForTheFirstConnectionAndReleasesLonger() {
    bed.start();
    Asked grant = bed.grant("a");
    Asked release = bed.release("a");
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), grant.answers);
    bed.pass(1);
    assertEquals(List.of(NodeReply.unreachable("not yet connected")), grant.answers);
    assertEquals(State.CONNECTING, bed.state());
    assertEquals(List.of(), bed.told());
    assertEquals(List.of(NodeReply.unreachable("not yet connected")), bed.grant("b").answers);
    bed.connect().answerAll();
    assertEquals(List.of(NodeReply.RELEASED), release.answers);
    assertEquals(List.of("UP"), bed.told());
  }

  @Test
  void introductionCountsAsConnecting() {
    bed.start();
    Asked grant = bed.grant("a");
    bed.pass(NODE_TIMEOUT_MILLIS / 2).connect().answer().pass(NODE_TIMEOUT_MILLIS / 2);
    assertEquals(List.of(NodeReply.unreachable("not yet connected")), grant.answers);
  }

  @Test
  void nothingIsDueWhileAnAttemptHangs() {
    bed.start().pass(NODE_TIMEOUT_MILLIS);
    assertEquals(-1, bed.millisToTick());
    bed.connect().answerAll();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void releaseThatHasBecomePointlessIsAnswered() {
    bed.start();
    Asked old = bed.release("a");
    bed.fail(REFUSAL).pass(32_000);
    Asked young = bed.release("b");
    bed.pass(999);
    bed.fail(REFUSAL);
    assertEquals(List.of(), old.answers);
    bed.pass(1_000).fail(REFUSAL);
    assertEquals(List.of(REFUSED), old.answers);
    assertEquals(List.of(), young.answers);
  }

  // One is lost.

  @Test
  void whatWasSentIsUnknownAndTheRestWaitsForTheNextConnection() {
    bed.up().grant("warm");
    bed.answer();
    Asked sent = bed.grant("a");
    Asked release = bed.release("b");
    Asked waiting = bed.grant("c");
    Asked waitingRelease = bed.release("d");
    bed.lose(RESET);
    NodeReply unknown = NodeReply.unknown("connection lost: reset");
    assertEquals(List.of(unknown), sent.answers);
    assertEquals(List.of(unknown), release.answers, "the driver repeats it");
    assertEquals(List.of(), waiting.answers);
    assertEquals(List.of("end 1", "Dial"), bed.done());
    assertEquals(List.of("DOWN: connection lost: reset"), bed.told());
    assertEquals("connection lost: reset", bed.status().lastError().orElse(""));
    bed.written();
    bed.connect().answerAll();
    assertEquals("release d, grant c", bed.written().get(2));
    assertEquals(List.of(NodeReply.GRANTED), waiting.answers);
    assertEquals(List.of(NodeReply.RELEASED), waitingRelease.answers);
    assertEquals(1, sent.answers.size());
    assertEquals(List.of("UP"), bed.told());
  }

  @Test
  void requestsWaitANodeTimeoutForTheNextConnection() {
    bed.up().grant("warm");
    bed.answer().pass(500).lose(RESET);
    Asked grant = bed.grant("a");
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), grant.answers);
    bed.pass(1);
    assertEquals(List.of(NodeReply.unreachable("connection lost: reset")), grant.answers);
    assertEquals(Duration.ofMillis(NODE_TIMEOUT_MILLIS), bed.status().sinceAgo());
    assertEquals(List.of(NodeReply.unreachable("connection lost: reset")), bed.grant("b").answers);
  }

  @Test
  void connectionThatNeverAnsweredIsFollowedByAPause() {
    bed.up().grant("a");
    bed.lose(RESET);
    assertEquals(List.of("end 1"), bed.done());
    assertEquals(List.of(20L), bed.pausesMillis());
    bed.pass(10);
    assertEquals(List.of("Dial"), bed.done());
    bed.introduce().lose(RESET);
    assertEquals(List.of(40L), bed.pausesMillis());
  }

  @Test
  void anAuditThatIsAnsweredMakesTheConnectionOneThatWorked() {
    bed.up().pass(1_000).answer().lose(RESET);
    assertEquals(List.of("end 1", "Dial"), bed.done());
  }

  @Test
  void connectionThatWorkedMakesPausesShortAgain() {
    bed.start();
    for (int i = 0; i < 5; i++) {
      bed.fail(REFUSAL).pass(1_000);
    }
    bed.introduce().grant("a");
    bed.answer().lose(RESET).pausesMillis();
    bed.fail(REFUSAL);
    assertEquals(List.of(20L), bed.pausesMillis());
  }

  @Test
  void connectionThatIsLostDuringItsIntroductionIsNone() {
    bed.start();
    Asked grant = bed.grant("a");
    bed.connect().done();
    bed.lose(REFUSAL);
    assertEquals(List.of(REFUSED), grant.answers);
    assertEquals(List.of("end 1", "FirstAttempt"), bed.done());
    assertEquals(List.of(20L), bed.pausesMillis());
  }

  @Test
  void lossOfAConnectionThatWasGivenUpIsNoLoss() {
    bed.up().grant("a");
    Wire old = bed.wire;
    bed.answer().lose(RESET).introduce().wire = old;
    bed.lose(RESET);
    assertEquals(List.of(), bed.told());
    bed.machine.lost(null, RESET, bed.nowNanos);
    assertEquals(State.UP, bed.state());
    bed.machine.writeFailed(old, RESET, bed.nowNanos);
    assertEquals(State.UP, bed.state());
  }

  @Test
  void requestThatIsSentAgainAsTextIsUnknownWhenItsConnectionIsLost() {
    bed.up().writersComeBack = false;
    Asked grant = bed.grant("a");
    bed.answerNoScript(); // its writer is not back, so it is not written
    bed.underWay = null;
    bed.lose(RESET);
    assertEquals(List.of(NodeReply.unknown("connection lost: reset")), grant.answers);
  }

  @Test
  void nodeThatIsNotConnectedHasNoClockThatOthersHeed() {
    LaneBed three = new LaneBed(3, true).start().connect().answerAll();
    three.pass(NODE_TIMEOUT_MILLIS).answerAll();
    assertTrue(
        three.status().reason().orElse("").startsWith("only 1 of 3"),
        three.status().reason().orElse(""));
    three.lose(RESET).told();
    three.pass(1_000).connect();
    for (int i = 0; i < 1 + Introduction.LOADED.size(); i++) {
      three.answer();
    }
    three.pass(NODE_TIMEOUT_MILLIS);
    assertTrue(
        three.status().reason().orElse("").startsWith("only 1 of 3"),
        three.status().reason().orElse(""));
  }

  // A defect.

  @Test
  void laneThatFailsStartsFromTheBeginning() {
    bed.up();
    Asked sent = bed.grant("a");
    bed.grant("b");
    Asked queued = bed.grant("c");
    Asked release = bed.release("d");
    bed.breakDown(new OutOfMemoryError("heap"));
    String why = "the lane failed: java.lang.OutOfMemoryError: heap";
    assertEquals(List.of(NodeReply.unknown(why)), sent.answers);
    assertEquals(List.of(NodeReply.unreachable(why)), queued.answers);
    assertEquals(List.of("end 1", "FirstAttempt"), bed.done());
    assertEquals(List.of("DOWN: " + why), bed.told());
    bed.pass(1_000).introduce();
    assertEquals(List.of(NodeReply.RELEASED), release.answers);
    Asked next = bed.grant("e");
    bed.answerAll();
    assertEquals(List.of(NodeReply.GRANTED), next.answers);
  }

  @Test
  void failureBeforeTheStartAndAfterTheEndIsNone() {
    bed.breakDown(new OutOfMemoryError("heap"));
    assertEquals(State.CONNECTING, bed.state());
    assertEquals(List.of(), bed.done());
    bed.up().close().answerAll();
    bed.told();
    bed.done();
    bed.breakDown(new OutOfMemoryError("heap"));
    assertEquals(List.of(), bed.told());
    assertEquals(List.of(), bed.done());
  }

  @Test
  void failureWhileConnectingLetsTheConnectionThatComesGo() {
    bed.start().breakDown(new OutOfMemoryError("heap"));
    bed.done();
    bed.connect();
    assertEquals(List.of("end 1"), bed.done());
    bed.pass(1_000);
    assertEquals(List.of("Dial"), bed.done());
    bed.introduce();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void callsAreKnownWhileTheyAreQueuedSentOrOver() {
    bed.up();
    Asked sent = bed.grant("a");
    bed.grant("b");
    Asked queued = bed.grant("c");
    assertTrue(bed.machine.knows(sent.call));
    assertTrue(bed.machine.knows(queued.call));
    bed.answer();
    assertTrue(bed.machine.knows(sent.call));
    assertFalse(bed.machine.knows(null));
    assertFalse(
        bed.machine.knows(Call.request(bed.encoder.encode(sent.request), 7, sent, call -> false)));
  }

  @Test
  void lossOfNoConnectionIsNone() {
    bed.start().fail(REFUSAL);
    bed.told();
    bed.pausesMillis();
    bed.machine.lost(null, RESET, bed.nowNanos);
    assertEquals(List.of(), bed.pausesMillis());
    assertEquals(List.of(), bed.told());
  }

  @Test
  void nodeThatIsLostNoLongerCountsTowardsAQuorum() {
    LaneBed three = new LaneBed(3, true).start().connect().answerAll();
    three.pass(NODE_TIMEOUT_MILLIS).lose(RESET);
    three.others(1);
    assertFalse(three.trust(0).hasQuorum());
    three.others(2);
    assertTrue(three.trust(0).hasQuorum());
  }

  @Test
  void laneThatIsFullOfReleasesSaysWhyTheNodeIsDown() {
    bed.start().fail(REFUSAL);
    for (int i = 0; i < LaneSettings.MAX_QUEUED; i++) {
      bed.release("a");
    }
    assertEquals(List.of(REFUSED), bed.grant("b").answers);
  }
}
