package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Inspection;
import io.redlock.Inspection.Answer;
import io.redlock.Inspection.Held;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Inspect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class InquiryTest {

  private static final String HEX = "0123456789abcdef0123456789abcdef";

  private final Bed bed = new Bed(3);

  private static NodeReply held(String owner, long millis) {
    return held(owner, millis, "");
  }

  private static NodeReply held(String owner, long millis, String doubt) {
    return NodeReply.inspected(new NodeReport(owner, millis, 5, 0, List.of(), doubt));
  }

  private static NodeReply free(String doubt, String... waiters) {
    return NodeReply.inspected(
        new NodeReport(null, -1, 5, waiters.length, List.of(waiters), doubt));
  }

  private static String words(Inspection inspection) {
    return inspection.nodes().stream()
        .map(Inspection.Node::toString)
        .collect(Collectors.joining("; "));
  }

  @Test
  void everyNodeIsAskedOnceForTheKeyAndForNothingElse() throws Exception {
    bed.script(request -> held("billing@pod-7/" + HEX, 9_800));
    Inspection inspection = bed.redlock.operations().inspect("orders/42");
    assertEquals(List.of("a Inspect", "b Inspect", "c Inspect"), bed.journal);
    assertEquals(List.of("app:orders/42"), bed.node(0).asked(Inspect.class).get(0).names());
    assertEquals("orders/42", inspection.resource());
    assertEquals(2, inspection.quorum());
    assertEquals(Optional.of("billing@pod-7"), inspection.holder());
    assertEquals(Optional.of(Duration.ofMillis(9_800)), inspection.remaining());
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("an inspection");
    assertEquals(List.of(), bed.events);
  }

  @Test
  void everyKindOfHolderGetsAnHonestLine() throws Exception {
    bed.node(0).script(request -> held(HEX + "-2", 9_800));
    bed.node(1).script(request -> held("0d1f…", -1));
    bed.node(2).script(request -> held("redlock:newer/" + HEX, 100));
    assertEquals(
        "a held for 9.8s more by a client without a label;"
            + " b held without limit by another Redlock client, or another version of this one;"
            + " c held for 100ms more by redlock:newer",
        words(bed.redlock.operations().inspect("r")));
  }

  @Test
  void nodeWithoutAKeyThatMayHaveLostItIsDoubtful() throws Exception {
    bed.node(0).script(request -> free("it was restarted"));
    bed.node(1).script(request -> free("", "w@1/" + HEX + ":7", HEX + ":8"));
    bed.node(2).script(request -> NodeReply.misconfigured("a key of another application"));
    Inspection inspection = bed.redlock.operations().inspect("r");
    assertEquals(
        "a free, but abstains: it was restarted; b free, 2 waiting; c a key of another application",
        words(inspection));
    assertEquals(
        List.of(Answer.DOUBTFUL, Answer.FREE, Answer.NONE),
        inspection.nodes().stream().map(Inspection.Node::answer).toList());
    assertEquals(List.of("w@1", ""), inspection.nodes().get(1).waiters());
    assertEquals(Held.UNKNOWN, inspection.held());
  }

  @Test
  void keyOfANodeThatMayHaveLostAnotherIsNoVoteForItsOwner() throws Exception {
    bed.node(0).script(request -> held("billing@pod-7/" + HEX, 9_800));
    bed.node(1).script(request -> held("shop@pod-8/" + HEX, 900, "it was restarted"));
    bed.node(2).script(request -> free(""));
    Inspection inspection = bed.redlock.operations().inspect("r");
    assertEquals(
        List.of(Answer.HELD, Answer.DOUBTFUL, Answer.FREE),
        inspection.nodes().stream().map(Inspection.Node::answer).toList());
    assertEquals(Optional.of("shop@pod-8"), inspection.nodes().get(1).holder());
    assertEquals(
        "b held for 900ms more by shop@pod-8, but abstains: it was restarted",
        inspection.nodes().get(1).toString());
    assertEquals(Held.UNKNOWN, inspection.held(), "billing may have lost its key there");
  }

  @Test
  void nodesAreAwaitedForOneNodeTimeout() {
    bed.node(0).script(request -> free(""));
    bed.node(2).holdSends();
    CompletableFuture<Inspection> inspection = bed.redlock.operations().inspectAsync("r");
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS - 1);
    assertFalse(inspection.isDone());
    bed.time.passMillis(1);
    assertEquals("a free; b no answer in 50ms; c not sent in time", words(Bed.now(inspection)));
    assertTrue(bed.node(2).calls().get(0).wasWithdrawn());
    bed.node(1).answer(Inspect.class, free("")); // too late, and harmless
    assertEquals(Held.UNKNOWN, Bed.now(inspection).held());
    bed.assertNothingIsLeft("an inspection");
  }

  @Test
  void nodesAreNotAwaitedOnceTheirAnswersAreEnough() {
    bed.node(1).holdSends();
    List<List<Boolean>> answered = new ArrayList<>();
    CompletableFuture<List<Poll.Answer>> answers =
        Poll.ask(
            bed.context,
            new NodeRequest.Look(List.of("a", "b"), 1),
            replies -> {
              answered.add(replies.stream().map(reply -> reply != null).toList());
              return replies.get(2) != null;
            });
    bed.node(0).answer(NodeRequest.Look.class, NodeReply.unreachable("down"));
    assertFalse(answers.isDone());
    bed.node(2).answer(NodeRequest.Look.class, NodeReply.unreachable("down"));
    assertEquals(3, Bed.now(answers).size());
    assertTrue(bed.node(1).calls().get(0).wasWithdrawn());
    assertEquals(List.of(List.of(true, false, false), List.of(true, false, true)), answered);
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("a question");
  }

  @Test
  void nodesAreNotAskedOnceTheAnswersOfOthersAreEnough() {
    bed.script(request -> NodeReply.unreachable("down"));
    Poll.ask(bed.context, new NodeRequest.Look(List.of("a"), 1), replies -> replies.get(1) != null);
    assertEquals(List.of("a Look", "b Look"), bed.journal);
  }

  @Test
  void nameThatCannotBeLockedIsRefusedUnsent() {
    for (String name : List.of(" ", "r".repeat(600))) {
      assertThrows(IllegalArgumentException.class, () -> bed.redlock.operations().inspect(name));
      assertThrows(
          IllegalArgumentException.class, () -> bed.redlock.operations().inspectAsync(name));
    }
    assertThrows(NullPointerException.class, () -> bed.redlock.operations().inspect(null));
    assertEquals(List.of(), bed.journal);
  }

  @Test
  void closedServiceDoesNotPassOffItsOwnEndAsTheNodesState() {
    CompletableFuture<Inspection> during = bed.redlock.operations().inspectAsync("r");
    bed.redlock.close();
    CompletionException ended = assertThrows(CompletionException.class, during::join);
    assertTrue(ended.getCause() instanceof IllegalStateException, ended::toString);
    assertThrows(IllegalStateException.class, () -> bed.redlock.operations().inspect("r"));
    CompletableFuture<Inspection> after = bed.redlock.operations().inspectAsync("r");
    assertThrows(CompletionException.class, after::join);
    assertEquals(0, bed.asked(NodeRequest.Release.class));
  }

  @Test
  void interruptedThreadAsksNobody() {
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> bed.redlock.operations().inspect("r"));
    assertFalse(Thread.interrupted(), "the interrupt was consumed");
    assertEquals(List.of(), bed.journal);
  }
}
