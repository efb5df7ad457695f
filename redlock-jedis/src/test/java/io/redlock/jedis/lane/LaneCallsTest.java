package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.scripts.Script;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The order of calls, their number, and what becomes of those that are refused. */
class LaneCallsTest {

  private static final long RELEASE_LIFE = 1_000;
  private static final NodeReply REFUSAL = NodeReply.unreachable("test");

  private final RequestEncoder encoder = new RequestEncoder(1_000, 1_000);
  private final List<LaneEffect> effects = new ArrayList<>();
  private final List<String> answers = new ArrayList<>();
  private final LaneCalls calls = new LaneCalls(RELEASE_LIFE, effects::add);

  private Call call(String name, NodeRequest request) {
    return Call.request(
        encoder.encode(request),
        0,
        (slot, reply) -> answers.add(name + " " + reply.kind()),
        call -> false);
  }

  private Call grant(String name) {
    return call(name, new Grant(List.of(name), "owner", 17, 1_000));
  }

  private Call release(String name) {
    return call(name, new Release(List.of(name), "owner", 17));
  }

  private Call queued(Call call, long nowNanos) {
    calls.add(call, nowNanos);
    return call;
  }

  private List<Call> sendAll() {
    List<Call> batch = new ArrayList<>();
    calls.sendQueued(batch, Long.MAX_VALUE, 0);
    return batch;
  }

  /** What was decided is delivered. */
  private List<String> answers() {
    effects.forEach(effect -> ((LaneEffect.Answer) effect).call().deliver());
    effects.clear();
    return answers;
  }

  /** Tells whether the call is kept anywhere; one that is over is always known. */
  private boolean isKept(Call call) {
    Call.State state = call.state;
    call.state = Call.State.SENT;
    boolean isKept = calls.knows(call);
    call.state = state;
    return isKept;
  }

  @Test
  void callThatGoesAheadIsWorkToDo() {
    assertTrue(calls.isIdle());
    assertFalse(calls.hasMore());
    Call ahead = Call.loading(Script.GRANT);
    calls.addAhead(ahead);
    assertFalse(calls.isIdle());
    assertTrue(calls.hasMore());
    List<Call> batch = new ArrayList<>();
    calls.sendAhead(batch, 5);
    assertEquals(List.of(ahead), batch);
    assertEquals(5, ahead.sinceNanos);
    assertFalse(calls.isIdle(), "it is unanswered");
    assertFalse(calls.hasMore());
    assertSame(ahead, calls.oldest());
    calls.removeOldest();
    assertTrue(calls.isIdle());
  }

  @Test
  void releasesAreMovedToTheFrontInTheirOrder() {
    Call grant = queued(grant("a"), 0);
    Call first = queued(release("b"), 0);
    Call other = queued(grant("c"), 0);
    Call second = queued(release("d"), 0);
    calls.putReleasesFirst();
    assertEquals(4, calls.queued());
    assertEquals(List.of(first, second, grant, other), sendAll());
    assertEquals(0, calls.queued());
    assertEquals(4, calls.unanswered());
  }

  @Test
  void sendingEndsOnceSoManyBytesAreUnanswered() {
    Call first = queued(grant("a"), 0);
    Call second = queued(grant("b"), 0);
    List<Call> batch = new ArrayList<>();
    calls.sendQueued(batch, first.bytes(), 0);
    assertEquals(List.of(first), batch);
    calls.removeOldest();
    batch.clear();
    calls.sendQueued(batch, 1, 0);
    assertEquals(List.of(second), batch, "what was answered does not count");
  }

  @Test
  void releaseIsKeptUntilItIsPointless() {
    Call release = queued(release("a"), 7);
    calls.refuseQueued(REFUSAL, 7 + RELEASE_LIFE - 1);
    assertEquals(List.of(), answers());
    assertEquals(1, calls.queued());
    calls.refuseQueued(REFUSAL, 7 + RELEASE_LIFE);
    assertEquals(List.of("a UNREACHABLE"), answers());
    assertEquals(0, calls.queued());
    assertFalse(isKept(release));
  }

  @Test
  void refusalEmptiesTheQueueOfEverythingElse() {
    Call grant = queued(grant("a"), 0);
    Call gone = queued(grant("b"), 0);
    assertTrue(calls.withdraw(gone));
    Call release = queued(release("c"), 0);
    calls.refuseQueued(REFUSAL, 1);
    assertEquals(List.of("a UNREACHABLE"), answers());
    assertFalse(isKept(grant));
    assertFalse(isKept(gone));
    assertTrue(isKept(release));
    calls.refuseAll(REFUSAL);
    assertEquals(List.of("a UNREACHABLE", "c UNREACHABLE"), answers());
    assertFalse(isKept(release));
    assertTrue(calls.isIdle());
  }

  @Test
  void whatIsTakenBackIsForgottenWithoutWhatIsNot() {
    Call kept = queued(grant("kept"), 0);
    Call first = queued(grant("a"), 0);
    assertTrue(calls.withdraw(first));
    for (int i = 1; i < 4_096; i++) {
      assertTrue(calls.withdraw(queued(grant("b"), 0)));
    }
    assertTrue(isKept(first));
    assertTrue(calls.withdraw(queued(grant("c"), 0)));
    assertFalse(isKept(first));
    assertEquals(1, calls.queued());
    assertEquals(List.of(kept), sendAll());
  }

  @Test
  void lateAnswersAreGivenToAllButReleases() {
    queued(grant("a"), 0);
    queued(release("b"), 0);
    sendAll();
    calls.answerLate(NodeReply.unknown("late"));
    assertEquals(List.of("a UNKNOWN"), answers());
    assertEquals(2, calls.unanswered(), "their answers are still read");
    calls.answerSent(NodeReply.unknown("lost"));
    assertEquals(List.of("a UNKNOWN", "b UNKNOWN"), answers());
  }

  @Test
  void lostConnectionTakesWhatWasSentAndWhatGoesAhead() {
    queued(grant("a"), 0);
    sendAll();
    calls.addAhead(grant("b"));
    Call waiting = queued(grant("c"), 0);
    calls.answerSent(NodeReply.unknown("lost"));
    assertEquals(List.of("a UNKNOWN", "b UNKNOWN"), answers());
    assertEquals(0, calls.unanswered());
    List<Call> batch = new ArrayList<>();
    calls.sendAhead(batch, 0);
    assertEquals(List.of(), batch);
    calls.sendQueued(batch, 1, 0);
    assertEquals(List.of(waiting), batch, "no byte is unanswered");
  }

  // Looks.

  private Call look(String name) {
    return call(name, new NodeRequest.Inspect(List.of(name), 17));
  }

  /** A look at 300 names. */
  private Call bigLook() {
    return call("look", new NodeRequest.Look(Collections.nCopies(300, "look"), 17));
  }

  @Test
  void looksGoBehindEverythingElseAndFewNamesAtATime() {
    int sent = 4; // beyond 1,000 names
    List<Call> looks = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      looks.add(queued(bigLook(), 0));
    }
    Call extend =
        queued(call("extend", new NodeRequest.Extend(List.of("a"), "owner", 17, 1_000, 1)), 0);
    Call release = queued(release("b"), 0);
    List<Call> batch = sendAll();
    assertEquals(List.of(extend, release), batch.subList(0, 2));
    assertEquals(looks.subList(0, sent), batch.subList(2, batch.size()));
    assertEquals(List.of(), sendAll());
    Call next = queued(grant("c"), 0);
    assertEquals(List.of(next), sendAll());
    for (int i = 0; i < 3; i++) {
      calls.removeOldest();
    }
    assertEquals(looks.subList(sent, sent + 1), sendAll());
    calls.answerSent(NodeReply.unknown("test"));
    assertEquals(looks.subList(sent + 1, 2 * sent + 1), sendAll());
  }

  @Test
  void looksHaveTheirTurnOnALaneThatIsNeverIdle() {
    Call look = queued(look("look"), 0);
    int sentBefore = 0;
    while (look.state == Call.State.QUEUED && sentBefore < 1_000) {
      queued(grant("busy"), 0);
      queued(grant("busy"), 0);
      calls.sendQueued(new ArrayList<>(), 1, 0); // one more is sent than was answered
      calls.removeOldest();
      sentBefore++;
    }
    assertEquals(LaneCalls.REQUESTS_A_LOOK, sentBefore - 1);
    Call withdrawn = queued(look("withdrawn"), 0);
    Call next = queued(look("next"), 0);
    calls.withdraw(withdrawn);
    List<Call> batch = sendAll();
    assertEquals(LaneCalls.REQUESTS_A_LOOK, batch.indexOf(next));
    assertFalse(batch.contains(withdrawn));
  }

  @Test
  void looksAreRefusedAndWithdrawnAsOtherRequests() {
    Call gone = queued(look("gone"), 0);
    queued(look("refused"), 0);
    assertTrue(calls.withdraw(gone));
    assertEquals(1, calls.queued());
    calls.refuseQueued(REFUSAL, 0);
    assertEquals(0, calls.queued());
    assertEquals(List.of("refused UNREACHABLE"), answers());
    queued(look("last"), 0);
    calls.refuseAll(REFUSAL);
    assertEquals(List.of("refused UNREACHABLE", "last UNREACHABLE"), answers());
    assertTrue(calls.isIdle());
  }
}
