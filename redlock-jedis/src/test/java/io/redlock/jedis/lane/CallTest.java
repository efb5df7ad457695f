package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Grant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class CallTest {

  private final RequestEncoder encoder = new RequestEncoder(1_000, 1_000);
  private final Invocation grant = encoder.encode(new Grant(List.of("a"), "owner", 17, 1_000));
  private final List<String> answers = new ArrayList<>();

  @RegisterExtension private final KeptLog log = new KeptLog();

  private Call call(Invocation invocation) {
    return new Call(invocation, 3, (slot, reply) -> answers.add(slot + " " + reply.kind()));
  }

  @Test
  void firstAnswerCountsAndIsDeliveredToItsSlot() {
    Call call = call(grant);
    call.deliver();
    assertEquals(List.of(), answers, "there is none yet");
    assertTrue(call.decide(NodeReply.GRANTED));
    assertFalse(call.decide(NodeReply.NOT_HELD));
    call.deliver();
    assertEquals(List.of("3 GRANTED"), answers);
    assertEquals(Call.State.OVER, call.state);
  }

  @Test
  void handlerThatThrowsHarmsNobody() {
    for (Throwable each : List.of(new IllegalStateException("a"), new OutOfMemoryError("b"))) {
      Call call =
          new Call(
              grant,
              0,
              (slot, reply) -> {
                answers.add("called");
                FakeNet.raise(each);
              });
      call.decide(NodeReply.GRANTED);
      call.deliver();
    }
    assertEquals(List.of("called", "called"), answers);
    assertEquals(2, log.errors().size(), log.errors().toString());
  }

  @Test
  void commandsOfTheLaneHaveNobodyToAnswer() {
    Call audit = new Call(AuditCall.invocation(1, null), 0, null);
    assertFalse(audit.decide(NodeReply.GRANTED));
    audit.deliver();
    assertEquals(List.of(), log.errors());
  }

  @Test
  void onlyTheReleaseOfACallerIsOne() {
    assertTrue(call(encoder.encode(LaneStage.release("a"))).isRelease());
    assertFalse(call(grant).isRelease());
  }

  @Test
  void commandNamesItsScriptOrCarriesIt() {
    Call call = call(grant);
    ScriptCommand reused = new ScriptCommand();
    List<Argument> guard = List.of(Argument.of("birth"), Argument.of("|3|"));
    List<String> bySha = TestNode.words(call.command(reused, guard));
    assertEquals("EVALSHA", bySha.get(0));
    assertEquals(List.of("birth", "|3|"), bySha.subList(bySha.size() - 2, bySha.size()));
    int bytes = call.bytes();
    assertTrue(bytes > bySha.stream().mapToInt(String::length).sum() - "birth|3|".length());
    call.byText = true;
    List<String> byText = TestNode.words(call.command(reused, guard));
    assertEquals("EVAL", byText.get(0));
    assertEquals(bySha.subList(2, bySha.size()), byText.subList(2, byText.size()));
    assertEquals(bytes + byText.get(1).length(), call.bytes());
  }
}
