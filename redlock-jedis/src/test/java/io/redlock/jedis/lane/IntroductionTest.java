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
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What goes over a connection before it carries requests. */
class IntroductionTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final String AUDIT = "audit as text";

  @Test
  void laneDialsWhenItIsStarted() {
    LaneBed bed = new LaneBed();
    assertEquals(State.CONNECTING, bed.state());
    assertEquals(-1, bed.millisToTick());
    bed.start();
    assertEquals(List.of("Dial"), bed.done());
    assertEquals(List.of(), bed.written());
    assertEquals(NODE_TIMEOUT_MILLIS, bed.millisToTick());
  }

  @Test
  void nodeIsAuditedThenLoadsItsScriptsThenServes() {
    LaneBed bed = new LaneBed(3, true).others(2).start();
    bed.connect();
    assertEquals(List.of(AUDIT), bed.written());
    bed.answer();
    assertEquals(List.of(LaneBed.loads()), bed.written());
    for (int left = Introduction.LOADED.size(); left > 0; left--) {
      assertEquals(State.CONNECTING, bed.state());
      bed.answer();
    }
    assertEquals(State.UP, bed.state());
    assertEquals(List.of("UP"), bed.told());
    assertEquals(List.of("Dial", "FirstAttempt"), bed.done());
    assertEquals(List.of(), bed.written());
    assertEquals(
        OptionalLong.of(bed.wallMicros() - bed.nowNanos / 1_000), bed.clock.offsetMicros());
  }

  @Test
  void timeSpentOnLoadingScriptsCountsAsTimeSinceTheAudit() {
    LaneBed bed = new LaneBed(3, true).others(2).start().connect();
    bed.answer().hang(900).answerAll().written();
    assertEquals(State.UP, bed.state());
    bed.pass(99);
    assertEquals(List.of(), bed.written());
    bed.pass(1);
    assertEquals(List.of("audit"), bed.written());
  }

  @Test
  void connectionOnWhichALoadedScriptIsAnsweredByAnAuditIsGivenUp() {
    LaneBed bed = new LaneBed(3, true).others(2).start().connect();
    bed.answer().done();
    bed.answer(bed.node.audited(List.of("EVAL", "", "1", "", "0"), bed.wallMicros()));
    assertEquals(State.DOWN, bed.state());
    assertTrue(bed.done().contains("end 1"));
  }

  @Test
  void nodeThatCompletesTheQuorumIsAuditedAgainAndVotes() {
    LaneBed bed = new LaneBed(3, true).others(1).start().connect();
    bed.answerToAudit().answer();
    for (int i = 0; i < Introduction.LOADED.size(); i++) {
      assertEquals(State.CONNECTING, bed.state());
      bed.answer();
    }
    assertEquals(List.of(AUDIT, LaneBed.loads(), AUDIT), bed.written());
    assertEquals(State.CONNECTING, bed.state());
    bed.answer();
    assertEquals(List.of("UP"), bed.told());
  }

  @Test
  void nodeWaitsForAQuorumAndIsAuditedAgainOnceThereIsOne() {
    LaneBed bed = new LaneBed(3, true).start().connect().answerAll();
    assertEquals(List.of(AUDIT, LaneBed.loads()), bed.written());
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), bed.written());
    assertEquals(State.CONNECTING, bed.state());
    bed.others(1).quorum();
    assertEquals(List.of(AUDIT), bed.written());
    bed.answer();
    assertEquals(List.of("UP"), bed.told());
  }

  @Test
  void nodeThatIsToldTooLittleGoesOnWaiting() {
    LaneBed bed = new LaneBed(3, true).start().connect().answerAll();
    bed.written();
    bed.quorum(); // so it is told, but there is none
    assertEquals(List.of(AUDIT), bed.written());
    bed.answer();
    assertEquals(State.CONNECTING, bed.state());
    bed.others(1).quorum();
    assertEquals(List.of(AUDIT), bed.written());
    bed.answer();
    assertEquals(List.of("UP"), bed.told());
  }

  @Test
  void nodeWaitsForAQuorumNoLongerThanANodeTimeout() {
    LaneBed bed = new LaneBed(3, true).start();
    bed.hang(NODE_TIMEOUT_MILLIS / 2).connect().answerAll().written();
    Asked early = bed.grant("early");
    bed.pass(NODE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), bed.told());
    bed.pass(1);
    assertEquals(
        List.of("ABSTAINING: only 1 of 3 nodes can be used so far; none votes until 2 can"),
        bed.told());
    assertEquals(
        List.of(NodeReply.unreachable("not yet connected")), early.answers, "waited for too long");
    assertEquals(List.of("audit"), bed.written(), "there may be a quorum since");
    bed.others(1).answer();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void quorumThatIsFoundLaterIsAReasonForAnAudit() {
    LaneBed bed = new LaneBed(3, true).start().connect().answerAll();
    bed.pass(NODE_TIMEOUT_MILLIS).answerAll().written();
    assertEquals(State.ABSTAINING, bed.state());
    bed.others(1).quorum();
    assertEquals(List.of("audit"), bed.written());
    bed.answer();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void quorumThatIsFoundDuringTheIntroductionChangesNothing() {
    LaneBed bed = new LaneBed(3, true);
    bed.others(1).quorum();
    bed.start().connect().written();
    bed.quorum();
    assertEquals(List.of(), bed.written());
    bed.answer().quorum().answerAll().quorum();
    assertEquals(List.of(LaneBed.loads(), AUDIT, "audit"), bed.written());
    assertEquals(State.UP, bed.state());
  }

  @Test
  void markThatIsDueIsWrittenBeforeTheScriptsAreLoaded() {
    LaneBed bed = new LaneBed(3, true).others(2).start();
    bed.node.birth = "";
    bed.connect();
    List<String> first = bed.lastCommand();
    bed.answer();
    List<String> second = bed.lastCommand();
    assertEquals(first.size() + 4, second.size(), "it carries a mark");
    assertTrue(second.get(6).startsWith("4 run0 repl0 "), second.toString());
    bed.answerAll();
    assertEquals(List.of(AUDIT, AUDIT, LaneBed.loads()), bed.written().subList(0, 3));
    assertTrue(bed.node.birth.startsWith("4 run0 repl0 "), bed.node.birth);
    assertEquals(State.ABSTAINING, bed.state());
  }

  @Test
  void markThatOthersWriteAllTheTimeIsTriedFourTimes() {
    LaneBed bed = new LaneBed(3, true).others(2).start();
    bed.node.birth = "";
    bed.node.takesMarks = false;
    bed.connect();
    for (int i = 0; i < 5; i++) {
      bed.answer();
    }
    List<String> expected = new ArrayList<>(Collections.nCopies(5, AUDIT));
    expected.add(LaneBed.loads());
    assertEquals(expected, bed.written());
  }

  @Test
  void markThatIsStillDueIsTriedAgainOnceTheLaneServes() {
    LaneBed bed = new LaneBed(3, true).others(2).start();
    bed.node.birth = "";
    bed.node.takesMarks = false;
    bed.connect();
    for (int i = 0; i < 5 + Introduction.LOADED.size(); i++) {
      bed.answer();
    }
    assertEquals(State.ABSTAINING, bed.state());
    bed.node.takesMarks = true;
    bed.written();
    bed.tick();
    assertEquals(List.of("audit"), bed.written());
    assertTrue(bed.lastCommand().size() > 5, "it carries a mark");
    bed.answer();
    assertTrue(bed.node.birth.startsWith("4 run0 repl0 "), bed.node.birth);
  }

  @Test
  void eachAuditHasANumberOfItsOwn() {
    LaneBed bed = new LaneBed(1, false).start().connect();
    String first = bed.lastCommand().get(4);
    for (int i = 0; i < 1 + Introduction.LOADED.size(); i++) {
      bed.answer();
    }
    assertEquals(Long.parseLong(first) + 1, Long.parseLong(bed.lastCommand().get(4)));
  }

  @Test
  void whatWaitedForTheConnectionFollowsReleasesFirst() {
    LaneBed bed = new LaneBed(3, true).others(2).start();
    Asked grant = bed.grant("a");
    bed.release("b");
    bed.extend("c");
    Asked gone = bed.grant("d");
    bed.release("e");
    assertTrue(gone.withdraw());
    bed.connect().written();
    for (int i = 0; i < 1 + Introduction.LOADED.size(); i++) {
      bed.answer();
    }
    assertEquals(
        List.of(LaneBed.loads(), "release b, release e, grant a, extend c"), bed.written());
    bed.answerAll();
    assertEquals(List.of(NodeReply.GRANTED), grant.answers);
    assertEquals(List.of(), gone.answers);
    assertEquals(0, bed.status().queued());
  }

  @Test
  void refusedNodeServesReleasesOnly() {
    LaneBed bed = new LaneBed(3, true).others(2).start();
    bed.node.role = "slave";
    Asked grant = bed.grant("waited");
    bed.connect().answerAll();
    assertEquals(List.of("MISCONFIGURED: it is a replica: address its master instead"), bed.told());
    NodeReply refused = NodeReply.misconfigured("it is a replica: address its master instead");
    assertEquals(List.of(refused), grant.answers);
    assertEquals(List.of(refused), bed.grant("a").answers);
    assertEquals(List.of(refused), bed.extend("a").answers);
    assertEquals(List.of(), bed.release("a").answers);
  }

  /** Otherwise its answers would count for two nodes. */
  @Test
  void whatWaitedIsNotSentToAServerThatIsAnotherNode() {
    LaneBed bed = new LaneBed(3, true).others(2).start();
    bed.node.runId = "run1";
    Asked extend = bed.extend("a");
    Asked release = bed.release("b");
    bed.connect().answerAll();
    assertEquals(List.of(NodeReply.Kind.MISCONFIGURED), extend.kinds());
    assertEquals(List.of(NodeReply.Kind.RELEASED), release.kinds());
    assertFalse(bed.written().toString().contains("extend a"));
  }

  @Test
  void whatWaitsForAnswersIsNotSentToANodeThatIsRefusedMeanwhile() {
    LaneBed bed = new LaneBed(3, true).others(2).up();
    bed.node.role = "slave";
    bed.pass(1_000);
    assertEquals(List.of("audit"), bed.written());
    bed.grant("sent");
    Asked extend = bed.extend("a");
    Asked release = bed.release("b");
    assertEquals(List.of("grant sent"), bed.written());
    bed.answerAll();
    assertEquals(List.of(NodeReply.Kind.MISCONFIGURED), extend.kinds());
    assertEquals(List.of(NodeReply.Kind.RELEASED), release.kinds());
    assertFalse(bed.written().toString().contains("extend a"));
  }

  @Test
  void errorInsteadOfTheFirstAuditEndsTheConnection() {
    LaneBed bed = new LaneBed().start();
    Asked grant = bed.grant("a");
    bed.connect().done();
    bed.answerError("LOADING Redis is loading the dataset in memory");
    assertEquals(List.of("end 1", "FirstAttempt"), bed.done());
    NodeReply refused = NodeReply.unreachable("LOADING Redis is loading the dataset in memory");
    assertEquals(List.of(refused), grant.answers);
    assertEquals(List.of("DOWN: " + refused.detail()), bed.told());
    assertEquals(List.of(20L), bed.pausesMillis());
  }

  @Test
  void rightThatTheAuditLacksIsAMistakeOfTheConfiguration() {
    LaneBed bed = new LaneBed(3, true).others(2).start().connect();
    bed.answerError("NOPERM this user has no permissions to run the 'eval' command");
    bed.answerAll();
    assertEquals(
        List.of(
            "MISCONFIGURED: NOPERM this user has no permissions to run the 'eval' command"
                + ": allow it with ACL SETUSER"),
        bed.told());
    bed.tick();
    bed.answerAll();
    assertEquals(State.UP, bed.state(), "the next audit succeeds");
  }

  @Test
  void nodeWithoutMemoryForItsMarkAbstains() {
    LaneBed bed = new LaneBed(3, true).others(2).start();
    bed.node.birth = "";
    bed.connect().answer();
    bed.answerError("OOM command not allowed when used memory > 'maxmemory'.").answerAll();
    assertEquals(State.ABSTAINING, bed.state());
    assertTrue(
        bed.status()
            .reason()
            .orElse("")
            .startsWith("its birth mark cannot be written: out of memory"));
  }

  @Test
  void scriptThatCannotBeLoadedIsSentAsTextLater() {
    LaneBed bed = new LaneBed(3, true).others(2).start().connect().answer();
    for (int i = 0; i < Introduction.LOADED.size(); i++) {
      bed.answerError("NOPERM this user has no permissions to run the 'script|load' command");
    }
    assertEquals(State.UP, bed.state());
    Asked grant = bed.grant("a");
    bed.written();
    bed.answerNoScript();
    assertEquals(List.of("grant a as text"), bed.written());
    bed.answer();
    assertEquals(List.of(NodeReply.GRANTED), grant.answers);
  }

  @Test
  void answerToSomethingElseEndsTheIntroduction() {
    LaneBed bed = new LaneBed().start().connect();
    bed.done();
    bed.answer(TestNode.bytes("GRANT 1"));
    assertEquals(List.of("end 1", "FirstAttempt"), bed.done());
    assertEquals(List.of("DOWN: out of step: an answer to something else"), bed.told());
  }

  @Test
  void connectionThatNobodyAskedForIsGivenUp() {
    LaneBed bed = new LaneBed().up();
    Wire known = bed.wire;
    bed.connect();
    bed.wire = known;
    assertEquals(List.of("end 2"), bed.done());
    bed.grant("a");
    bed.answer();
    assertEquals(List.of("grant a"), bed.written());
    assertEquals(State.UP, bed.state());
  }

  @Test
  void introductionWithoutAnAnswerIsAbandonedAfterTheSilenceTimeout() {
    LaneBed bed = new LaneBed().start().connect();
    bed.done();
    bed.pass(LaneBed.SILENCE_TIMEOUT_MILLIS - 1);
    assertEquals(List.of(), bed.done());
    bed.pass(1);
    assertEquals(List.of("end 1", "FirstAttempt"), bed.done());
    assertEquals("DOWN: no answer for too long", bed.told().get(0));
  }

  @Test
  void quorumThatComesWhileThereIsNoConnectionAuditsNothing() {
    LaneBed bed = new LaneBed(3, true).start().connect().answerAll();
    bed.lose(new IOException("reset")).written();
    bed.others(2).quorum();
    bed.pass(1_000).connect();
    assertEquals(List.of(AUDIT), bed.written());
  }

  @Test
  void errorInsteadOfTheSecondAuditGivesTheConnectionUp() {
    LaneBed bed = new LaneBed(3, true).start().connect().answerAll();
    bed.others(1).quorum();
    bed.done();
    bed.answerError("BUSY");
    assertEquals(State.DOWN, bed.state());
    assertEquals(List.of("end 1", "FirstAttempt"), bed.done());
  }
}
