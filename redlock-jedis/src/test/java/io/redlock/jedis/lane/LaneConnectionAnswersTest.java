package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneBed.NODE_TIMEOUT_MILLIS;
import static io.redlock.jedis.lane.LaneBed.WATCH_MILLIS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.LaneBed.Asked;
import io.redlock.jedis.trust.KeptLog;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest.Inspect;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What an answer means, and to whom it goes. */
class LaneConnectionAnswersTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private final LaneBed bed = new LaneBed();

  @BeforeEach
  void connect() {
    bed.up();
  }

  @Test
  void answersGoToTheRequestsInTheirOrder() {
    Asked grant = bed.grant("a");
    Asked extend = bed.extend("b");
    assertFalse(bed.machine.isIdle());
    bed.answerWord("HELD", " 500 - 17").answer();
    assertEquals(List.of(NodeReply.held(500, 17, "")), grant.answers);
    assertEquals(List.of(NodeReply.EXTENDED), extend.answers);
    assertTrue(bed.machine.isIdle());
  }

  @Test
  void roundTripsAreCounted() {
    bed.grant("a");
    bed.hang(2).answer();
    assertEquals(Duration.ofMillis(2), bed.status().roundTripMedian().orElseThrow());
  }

  @Test
  void requestsCarryTheMarkThatWasJudged() {
    LaneBed guarded = new LaneBed(3, true).others(2).up();
    guarded.grant("a");
    List<String> command = guarded.lastCommand();
    String guard = command.get(command.size() - 1);
    assertTrue(guarded.node.birth.startsWith(guard) && guard.endsWith("|k7f2| "), guard);
  }

  // Scripts that the server has forgotten.

  @Test
  void requestWhoseScriptIsForgottenIsSentAsTextAheadOfTheQueue() {
    Asked first = bed.grant("a");
    Asked second = bed.grant("b");
    Asked third = bed.grant("c");
    bed.written();
    bed.answerNoScript();
    assertEquals(List.of("grant a as text"), bed.written(), "by the reader, though one is due");
    bed.answerNoScript();
    assertEquals(List.of("grant b as text"), bed.written());
    bed.answer().answer();
    assertEquals(List.of("grant c"), bed.written());
    bed.answer();
    assertEquals(List.of(NodeReply.GRANTED), first.answers);
    assertEquals(List.of(NodeReply.GRANTED), second.answers);
    assertEquals(List.of(NodeReply.GRANTED), third.answers);
  }

  @Test
  void requestThatIsNotKnownEvenAsTextIsAnswered() {
    Asked grant = bed.grant("a");
    bed.answerNoScript().answerNoScript();
    assertEquals(List.of(NodeReply.unreachable("NOSCRIPT No matching script")), grant.answers);
    assertEquals(State.UP, bed.state());
  }

  @Test
  void auditWhoseScriptIsForgottenIsSentAsText() {
    bed.pass(1_000).written();
    bed.answerNoScript();
    assertEquals(List.of("audit as text"), bed.written());
    bed.answer();
    assertEquals(State.UP, bed.state());
  }

  @Test
  void textCountsForTheBytesThatAreUnanswered() {
    String big = "x".repeat(32_000);
    bed.grant("a");
    bed.answerNoScript(); // more than a kilobyte more
    bed.hang(4).grant(big);
    bed.grant("b");
    bed.hang(4).grant("c");
    bed.written();
    assertEquals(2, bed.due(), "64 KiB are unanswered");
    bed.answer().answer();
    assertEquals(List.of("grant b, grant c"), bed.written());
  }

  @Test
  void requestThatNobodyWaitsForIsNotRepeatedWhenItsScriptIsForgotten() {
    Asked grant = bed.grant("a");
    bed.pass(NODE_TIMEOUT_MILLIS + WATCH_MILLIS);
    assertEquals(List.of(NodeReply.unknown(LaneBed.SILENT)), grant.answers);
    bed.written();
    bed.answerNoScript();
    assertEquals(List.of(), bed.written());
    assertEquals(1, grant.answers.size());
    assertTrue(bed.machine.isIdle());
  }

  // Inspections.

  private static Asked inspect(LaneBed bed) {
    return bed.send("inspect a", new Inspect(List.of("a"), 17));
  }

  private static NodeReport report(Asked inspection) {
    NodeReport report = inspection.answers.get(0).report();
    assertNotNull(report);
    return report;
  }

  @Test
  void inspectionTellsWhatTheNodeHolds() {
    Asked asked = inspect(bed);
    bed.answerWord("STATE", " 1500 owner 41 0").written();
    assertEquals("owner", report(asked).owner());
    assertEquals("", report(asked).doubt());
    assertEquals(List.of(), bed.written(), "no audit is due");
  }

  @Test
  void inspectionOfANodeThatAbstainsIsInDoubt() {
    LaneBed guarded = new LaneBed(3, true).others(2).up();
    guarded.node.birth = "";
    guarded.pass(1_000).answerAll();
    assertEquals(State.ABSTAINING, guarded.state());
    Asked asked = inspect(guarded);
    while (guarded.due() > 1) {
      guarded.answer(); // audits go first
    }
    guarded.answerWord("STATE", " -2 - 0 0");
    assertEquals(guarded.status().reason().orElse(""), report(asked).doubt());
  }

  @Test
  void inspectionThatFindsAnotherMarkIsInDoubtAndTheNodeIsAudited() {
    Asked asked = inspect(bed);
    bed.written();
    bed.answerWord("UNMARKED", " -2 - 41 0");
    assertEquals("its birth mark changed; it is being audited", report(asked).doubt());
    bed.tick();
    assertEquals(List.of("audit"), bed.written());
  }

  // Out of step.

  @Test
  void answerToAnotherRequestCostsTheConnection() {
    Asked first = bed.grant("a");
    Asked second = bed.grant("b");
    Asked third = bed.grant("c");
    bed.answer(TestNode.bytes("GRANT 17"));
    NodeReply unknown = NodeReply.unknown("out of step: an answer to something else");
    assertEquals(List.of(unknown), first.answers);
    assertEquals(List.of(unknown), second.answers);
    assertEquals(List.of(), third.answers, "it was not sent");
    assertEquals(List.of("DOWN: out of step: an answer to something else"), bed.told());
    assertEquals(List.of("end 1"), bed.done());
  }

  @Test
  void answerThatNobodyWaitsForCostsTheConnection() {
    bed.deliver(TestNode.bytes("GRANT 17"));
    assertEquals(List.of("DOWN: out of step: an answer that nobody waits for"), bed.told());
    assertEquals(List.of("end 1"), bed.done());
  }

  @Test
  void answerToAnAuditThatIsNoneCostsTheConnection() {
    bed.pass(1_000);
    bed.answer(TestNode.texts("17", "", "", "", "", "", "", "", "", "", ""));
    assertEquals(List.of("DOWN: out of step: an answer to something else"), bed.told());
  }

  @Test
  void answersOfAConnectionThatWasGivenUpAreIgnored() {
    Wire old = bed.wire;
    bed.grant("a");
    bed.answer().deliver("out of step");
    bed.introduce();
    Wire fresh = bed.wire;
    Asked grant = bed.grant("b");
    bed.wire = old;
    bed.deliver(TestNode.bytes("RELEASED 1"));
    bed.wire = fresh;
    assertEquals(State.UP, bed.state());
    bed.answer();
    assertEquals(List.of(NodeReply.GRANTED), grant.answers);
    assertEquals(null, bed.machine.received(null, "anything", bed.nowNanos));
    assertEquals(State.UP, bed.state());
  }

  // What else answers do.

  @Test
  void errorsAreAnswersToo() {
    Asked grant = bed.grant("a");
    bed.answerError("BUSY Redis is busy running a script.");
    assertEquals(Kind.UNREACHABLE, grant.answers.get(0).kind());
    assertEquals(State.UP, bed.state());
    assertEquals("BUSY Redis is busy running a script", bed.status().lastError().orElse(""));
  }

  @Test
  void nodeThatSaysItsTimeIsBelieved() {
    bed.grant("a");
    bed.hang(2);
    bed.answerWord("CLOCK", " 1234567");
    long middleMicros = bed.nowNanos / 1_000 - 1_000;
    assertEquals(OptionalLong.of(1_234_567 - middleMicros), bed.clock.offsetMicros());
  }

  @Test
  void abstentionIsAReasonForAnAudit() {
    bed.pass(300).grant("a");
    bed.written();
    bed.node.birth = "";
    bed.answerWord("ABSTAIN", "");
    bed.pass(0);
    assertEquals(List.of("audit"), bed.written());
  }

  @Test
  void abstentionFromAnExtendIsAReasonForAnAuditEvenIfTheNodeAbstainsFromGrants() {
    LaneBed guarded = new LaneBed(3, true).others(2).up();
    guarded.pass(1_000);
    guarded.node.mark(3, true, guarded.wallMicros() / 1_000);
    guarded.answer().written();
    Asked extend = guarded.extend("a");
    guarded.written();
    guarded.answerWord("ABSTAIN", "");
    guarded.pass(0);
    assertEquals(Kind.ABSTAIN, extend.answers.get(0).kind());
    assertEquals(List.of("audit"), guarded.written());
  }

  @Test
  void abstentionOfANodeThatIsKnownToAbstainIsExplainedAndNoReasonForAnAudit() {
    LaneBed guarded = new LaneBed(3, true).others(2).up();
    guarded.pass(1_000);
    Asked grant = guarded.grant("a");
    guarded.node.mark(3, true, guarded.wallMicros() / 1_000);
    guarded.answer().written();
    guarded.answerWord("ABSTAIN", "");
    String reason = "its data is new; it votes in 35s";
    NodeReply explained = NodeReply.abstain(TestNode.ABSTENTION_MILLIS, reason);
    assertEquals(List.of(explained), grant.answers);
    assertEquals(List.of(explained), guarded.grant("b").answers);
    guarded.pass(999);
    assertEquals(List.of(), guarded.written());
  }

  @Test
  void fairWaiterThatIsRefusedListens() {
    bed.fairGrant("a");
    bed.answerWord("HELD", " 500 - 17");
    assertEquals(List.of("Listen"), bed.done());
    bed.fairGrant("a");
    bed.answerWord("WAIT", " 500");
    assertEquals(List.of("Listen"), bed.done());
    bed.fairGrant("a");
    bed.answer();
    bed.grant("a");
    bed.answerWord("HELD", " 500 - 17");
    assertEquals(List.of(), bed.done());
  }
}
