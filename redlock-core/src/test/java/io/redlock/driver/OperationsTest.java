package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.FreeResult.Outcome;
import io.redlock.Inspection;
import io.redlock.RedlockOperations;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Inspect;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What operators ask, where {@link ServiceScenesTest} does not show it. */
class OperationsTest {

  private static final String HEX = "0123456789abcdef0123456789abcdef";
  private static final String RESOURCE = "orders/42";
  private static final long TOKEN = 1_700_000_000_000_000L;
  private static final NodeReply FREED = NodeReply.freed(9_000, TOKEN, "billing@pod-7:4211");
  private static final NodeReply SEEN = inspected("billing@pod-7:4211/" + HEX + "@" + TOKEN);

  private final Bed bed = new Bed(3);

  private static NodeReply inspected(@Nullable String value, String... waiters) {
    return NodeReply.inspected(
        new NodeReport(value, 9_000, TOKEN, waiters.length, List.of(waiters), "", 0, List.of()));
  }

  @Test
  void waitersAreNamedByTheirLabels() throws Exception {
    bed.script(request -> inspected(null, "w@1/" + HEX + ":7", HEX + ":8"));
    Inspection inspection = bed.redlock.operations().inspect(RESOURCE);
    assertEquals(RESOURCE, inspection.resource());
    assertEquals(2, inspection.quorum());
    assertEquals("b free, 2 waiting", inspection.nodes().get(1).toString());
    assertEquals(List.of("w@1", ""), inspection.nodes().get(1).waiters());
  }

  @Test
  void blockingCallsReturnWhatTheNodesSay() throws InterruptedException {
    bed.script(request -> request instanceof Inspect ? SEEN : FREED);
    assertEquals(Outcome.FREED, bed.redlock.operations().free(RESOURCE).outcome());
    NodeReply held = NodeReply.held(4_000, TOKEN, "billing@pod-7:4211");
    bed.script(request -> request instanceof Inspect ? SEEN : held);
    assertEquals(
        Outcome.OTHER_HOLDER, bed.redlock.operations().free(RESOURCE, TOKEN + 1).outcome());
    assertEquals(List.of(), bed.node(0).asked(Free.class).get(1).seen());
  }

  @Test
  void wrongArgumentSendsNothing() {
    RedlockOperations operations = bed.redlock.operations();
    for (String resource : new String[] {"", " ", "x".repeat(600)}) {
      String message =
          assertThrows(IllegalArgumentException.class, () -> operations.free(resource))
              .getMessage();
      assertTrue(message.startsWith("cannot set free: "), message);
      assertThrows(IllegalArgumentException.class, () -> operations.inspect(resource));
      assertThrows(IllegalArgumentException.class, () -> operations.inspectAsync(resource));
    }
    for (long token : new long[] {0, -1}) {
      String message =
          assertThrows(IllegalArgumentException.class, () -> operations.free(RESOURCE, token))
              .getMessage();
      assertTrue(message.contains("token " + token + " is not positive"), message);
    }
    assertEquals(0, bed.asked(NodeRequest.class));
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
  void interruptedThreadAsksNobody() {
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> bed.redlock.operations().inspect("r"));
    assertFalse(Thread.interrupted(), "the interrupt was consumed");
    assertEquals(List.of(), bed.journal);
  }
}
