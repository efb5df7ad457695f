package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.FreeResult;
import io.redlock.FreeResult.Outcome;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.Votes.Vote;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Inspect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

class FreeingTest {

  private static final String RESOURCE = "orders/42";
  private static final long TOKEN = 1_700_000_000_000_000L;
  private static final NodeReply FREED = NodeReply.freed(9_000, TOKEN, "billing@pod-7:4211");

  private static final String VALUE =
      "billing@pod-7:4211/0123456789abcdef0123456789abcdef@" + TOKEN;
  private static final NodeReply SEEN = inspected(VALUE, TOKEN, "");
  private static final NodeReply EMPTY = inspected(null, 0, "");
  private static final NodeReply MISSING = NodeReply.NOT_HELD;

  private final Bed bed = new Bed(3);

  private static NodeReply inspected(String value, long counter, String doubt) {
    return NodeReply.inspected(new NodeReport(value, 9_000, counter, 0, List.of(), doubt));
  }

  private CompletableFuture<FreeResult> free() {
    return free(bed, 0);
  }

  private CompletableFuture<FreeResult> free(Bed bed, long token) {
    CompletableFuture<FreeResult> free =
        token == 0
            ? bed.redlock.operations().freeAsync(RESOURCE)
            : bed.redlock.operations().freeAsync(RESOURCE, token);
    bed.nodes.forEach(node -> node.answer(Inspect.class, SEEN));
    return free;
  }

  private void answer(NodeReply reply, int... nodes) {
    for (int node : nodes) {
      bed.node(node).answer(Free.class, reply);
    }
  }

  @Test
  void resourceIsSetFreeWhenEveryNodeHasAnswered() {
    CompletableFuture<FreeResult> free = free();
    answer(FREED, 0, 1);
    assertFalse(free.isDone(), "an operator wants to know about each");
    answer(NodeReply.freed(8_000, TOKEN, ""), 2);
    FreeResult result = Bed.now(free);
    assertEquals(Outcome.FREED, result.outcome());
    // 9,001 ms, 1 % of them and 2 ms.
    assertEquals(Optional.of(Duration.ofNanos(9_093_010_000L)), result.grantableIn());
    assertEquals(Optional.of("billing@pod-7:4211"), result.holder());
    assertEquals(3, result.votes().count(Vote.YES));
    assertEquals(
        "set free: can be granted again in 9.0s (a set free, held for 9.0s more by"
            + " billing@pod-7:4211, b set free, held for 9.0s more by billing@pod-7:4211, c set"
            + " free, held for 8.0s more)",
        result.toString());
    assertEquals(0, bed.releases(), "nothing is locked");
    bed.time.pass(Duration.ofMinutes(1));
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void requestNamesTheKeyTheValuesThatWereSeenAndTheHighestCounter() {
    bed.redlock.operations().freeAsync(RESOURCE, TOKEN);
    assertEquals(List.of("app:orders/42"), bed.node(0).asked(Inspect.class).get(0).names());
    bed.node(0).answer(Inspect.class, SEEN);
    bed.node(1).answer(Inspect.class, inspected("other@5", TOKEN + 3, ""));
    assertEquals(0, bed.asked(Free.class));
    bed.node(2).answer(Inspect.class, NodeReply.unreachable("refused connection"));
    for (ScriptedNode node : bed.nodes) {
      Free request = node.asked(Free.class).get(0);
      assertEquals(List.of("app:orders/42"), request.names());
      assertEquals("freed/", request.owner());
      assertEquals(List.of(VALUE), request.seen());
      assertEquals(TOKEN + 3, request.buried());
    }
  }

  @Test
  void nodeInDoubtDoesNotProveThatNobodyHoldsIt() {
    CompletableFuture<FreeResult> free = bed.redlock.operations().freeAsync(RESOURCE);
    bed.node(0).answer(Inspect.class, inspected(null, 0, "it was restarted"));
    bed.node(1).answer(Inspect.class, NodeReply.unreachable("refused connection"));
    bed.node(2).answer(Inspect.class, EMPTY);
    answer(MISSING, 0, 2);
    answer(NodeReply.unreachable("refused connection"), 1);
    FreeResult result = Bed.now(free);
    assertEquals(Outcome.UNKNOWN, result.outcome());
    assertEquals(
        "unknown: too few nodes can tell, its holder may go on (a nobody holds it, but abstains: it"
            + " was restarted, b refused connection, c nobody holds it)",
        result.toString());
  }

  @Test
  void resourceThatNoMajorityHoldsCanBeGrantedNow() {
    CompletableFuture<FreeResult> free = free();
    answer(MISSING, 0, 1, 2);
    FreeResult result = Bed.now(free);
    assertEquals(Outcome.NOT_HELD, result.outcome());
    assertEquals(Optional.of(Duration.ZERO), result.grantableIn());
  }

  @Test
  void holderAtAnotherTokenIsNamedAndLeftAlone() {
    CompletableFuture<FreeResult> free = free(bed, TOKEN);
    answer(NodeReply.held(4_000, TOKEN + 1, "reports"), 0, 1, 2);
    FreeResult result = Bed.now(free);
    assertEquals(Outcome.OTHER_HOLDER, result.outcome());
    assertEquals(Optional.empty(), result.grantableIn());
    assertEquals(Optional.of("reports"), result.holder());
    assertTrue(result.toString().contains("at token " + (TOKEN + 1)), result::toString);
  }

  @Test
  void nodesThatDoNotAnswerInTimeLeaveTheResultUnknown() {
    CompletableFuture<FreeResult> free = bed.redlock.operations().freeAsync(RESOURCE, TOKEN);
    bed.node(2).holdSends();
    bed.nodes.forEach(node -> node.answer(Inspect.class, SEEN));
    answer(FREED, 0);
    bed.time.pass(Duration.ofMillis(Bed.NODE_TIMEOUT_MILLIS));
    FreeResult result = Bed.now(free);
    assertEquals(Outcome.UNKNOWN, result.outcome());
    assertEquals(Optional.empty(), result.grantableIn());
    assertEquals("b no answer in 50ms", result.votes().nodes().get(1).toString());
    assertEquals("c not sent in time", result.votes().nodes().get(2).toString());
    answer(MISSING, 1);
    assertEquals(1, bed.node(0).asked(Free.class).size(), "late answers count no more");
  }

  @Test
  void answersAtTheTimeoutAreEnoughIfTheyAreOfAMajority() {
    CompletableFuture<FreeResult> free = free();
    answer(FREED, 0, 2);
    bed.time.pass(Duration.ofMillis(Bed.NODE_TIMEOUT_MILLIS));
    assertEquals(Outcome.FREED, Bed.now(free).outcome());
  }

  @Test
  void operatorIsNamedByTheLabelOfItsClient() {
    assertEquals("freed/ops@host", new OwnerIds("ops@host/", () -> "1").freed());
    assertEquals("freed/", new OwnerIds("", () -> "1").freed());
  }

  @Test
  void ownerIdThatLooksLikeAResourceSetFreeIsRefused() {
    OwnerIds looksLikeIt = new OwnerIds("", () -> "freed/ops@host");
    String message = assertThrows(IllegalStateException.class, looksLikeIt::get).getMessage();
    assertTrue(message.endsWith("looks like a resource that was set free: return another id"));
    assertEquals("a/freed/1", new OwnerIds("a/", () -> "freed/1").get());
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
    assertThrows(NullPointerException.class, () -> bed.redlock.operations().freeAsync(null));
    for (String resource : new String[] {"", "x".repeat(600)}) {
      String message =
          assertThrows(
                  IllegalArgumentException.class, () -> bed.redlock.operations().free(resource))
              .getMessage();
      assertTrue(message.startsWith("cannot set free: "), message);
    }
    for (long token : new long[] {0, -1}) {
      String message =
          assertThrows(
                  IllegalArgumentException.class,
                  () -> bed.redlock.operations().free(RESOURCE, token))
              .getMessage();
      assertTrue(message.contains("token " + token + " is not positive"), message);
    }
    assertEquals(0, bed.asked(NodeRequest.class));
  }

  @Test
  void closedServiceSetsNothingFree() {
    bed.redlock.close();
    assertThrows(IllegalStateException.class, this::free);
    assertEquals(0, bed.asked(Free.class));
  }

  @Test
  void closingTheServiceEndsACallWithTheAnswersUntilThen() {
    CompletableFuture<FreeResult> free = free();
    answer(FREED, 0);
    bed.redlock.close();
    assertEquals(Outcome.UNKNOWN, Bed.now(free).outcome());
    Bed other = new Bed(3);
    CompletableFuture<FreeResult> enough = free(other, 0);
    other.node(0).answer(Free.class, FREED);
    other.node(2).answer(Free.class, FREED);
    assertFalse(enough.isDone());
    other.redlock.close();
    assertEquals(Outcome.FREED, Bed.now(enough).outcome());
  }

  @Test
  void errorOfOneNodeInTheSecondRoundSparesTheOthers() {
    CompletableFuture<FreeResult> free = bed.redlock.operations().freeAsync(RESOURCE);
    bed.node(0).answer(Inspect.class, SEEN);
    bed.node(1).answer(Inspect.class, SEEN);
    bed.node(1).failsNext(new AssertionError("broken"));
    bed.node(2).answer(Inspect.class, SEEN);
    bed.node(0).answer(Free.class, FREED);
    bed.node(2).answer(Free.class, FREED);
    FreeResult result = Bed.now(free);
    assertEquals(Outcome.FREED, result.outcome());
    assertEquals("b not sent", result.votes().nodes().get(1).toString());
  }

  @Test
  void holderLearnsThatAnOperatorSetItFree() {
    HeldLease lease = bed.lease();
    List<LeaseEnd> ends = new ArrayList<>();
    lease.ended().thenAccept(ends::add);
    NodeReply freed = NodeReply.of(Kind.NOT_HELD, "freed by ops@host");
    bed.script(request -> request instanceof NodeRequest.Extend ? freed : NodeReply.NOT_HELD);
    ExtendResult result = Bed.now(lease.extendAsync(Bed.TTL));
    assertEquals(ExtendResult.Outcome.LOST, result.outcome(), result::toString);
    assertEquals(Cause.REFUSED, ends.get(0).cause());
    assertEquals(
        "an operator set it free (freed by ops@host): too few nodes still hold it: 0 of 3"
            + " granted, 2 needed (a freed by ops@host, b freed by ops@host, c freed by ops@host)",
        ends.get(0).detail());
  }
}
