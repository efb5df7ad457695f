package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.Quorum;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AvailabilityCheckTest {

  private final Bed bed = new Bed(5);
  private int ends;

  /** Looks at the names a and b. */
  private AvailabilityCheck look() {
    AvailabilityCheck look = new AvailabilityCheck(bed.context, List.of("a", "b"));
    look.start(ended -> ends++);
    return look;
  }

  /** Makes a node answer at once, with how many ms each name is held; -1 for not at all. */
  private void answer(int node, long a, long b) {
    bed.node(node)
        .script(
            request -> NodeReply.inspected(report(request.names().get(0).equals("a") ? a : b, "")));
  }

  private static NodeReport report(long heldMillis, String doubt) {
    String owner = heldMillis < 0 ? null : "somebody";
    return new NodeReport(owner, heldMillis, 1, 0, List.of(), doubt);
  }

  @Test
  void nameThatAQuorumDoesNotHoldIsFreeAndOneThatItHoldsIsTaken() {
    for (int node = 0; node < 3; node++) {
      answer(node, -1, 1_000 * (node + 1));
    }
    AvailabilityCheck look = look();
    assertEquals(1, ends);
    assertTrue(look.isFree(0));
    assertFalse(look.isTaken(0));
    assertTrue(look.isTaken(1));
    assertFalse(look.isFree(1));
  }

  @Test
  void takenNameIsFreeWhenSoManyKeysHaveExpiredThatAQuorumIsLeft() {
    answer(0, 3_000, -1);
    answer(1, 1_000, -1);
    answer(2, -1, -1);
    answer(3, 2_000, -1);
    AvailabilityCheck look = look();
    assertTrue(look.isTaken(0));
    assertEquals(2_000, look.remainingMillis(0), "two of three keys");
  }

  @Test
  void keysOfEachNameAreCountedByThemselves() {
    answer(0, 5_000, 7_000);
    answer(1, 4_000, 9_000);
    answer(2, 1_000, 8_000);
    AvailabilityCheck look = look();
    assertEquals(5_000, look.remainingMillis(0));
    assertEquals(9_000, look.remainingMillis(1));
  }

  @Test
  void keyThatNeverExpiresIsTheLastToGo() {
    bed.node(0)
        .script(
            request -> NodeReply.inspected(new NodeReport("somebody", -1, 1, 0, List.of(), "")));
    answer(1, 3_000, -1);
    answer(2, -1, -1);
    answer(3, 2_000, -1);
    assertEquals(3_000, look().remainingMillis(0));
  }

  @Test
  void keyWithoutTimeLeftIsGoneAtOnce() {
    for (int node = 0; node < 3; node++) {
      answer(node, 0, 0);
    }
    assertEquals(0, look().remainingMillis(0));
  }

  @Test
  void nodeThatHoldsANameHoldsItHoweverMuchItDoubts() {
    bed.script(
        request ->
            NodeReply.inspected(
                new NodeReport("somebody", 2_000, 1, 0, List.of(), "restarted a while ago")));
    AvailabilityCheck look = look();
    assertTrue(look.isTaken(0) && look.isTaken(1));
  }

  /** Nodes 0 to 2 tell of one name and nodes 2 to 4 of the other. */
  @ParameterizedTest
  @ValueSource(longs = {-1, 1_000})
  void lookEndsWhenAllIsKnownOfEachNameThoughFewNodesHaveAnsweredAll(long heldMillis) {
    for (int node = 0; node < 5; node++) {
      boolean tellsA = node <= 2;
      boolean tellsB = node >= 2;
      bed.node(node)
          .script(
              request ->
                  (request.names().get(0).equals("a") ? tellsA : tellsB)
                      ? NodeReply.inspected(report(heldMillis, ""))
                      : null);
    }
    AvailabilityCheck look = look();
    assertEquals(1, ends);
    assertEquals(heldMillis < 0, look.isFree(0) && look.isFree(1));
    assertEquals(heldMillis > 0, look.isTaken(0) && look.isTaken(1));
  }

  /** Nodes 0 to 2 are the present ones, nodes 2 to 4 the future ones. */
  @Test
  void nameIsFreeOnBothMajoritiesOrNotAtAllWhileClientsMove() {
    Bed moving = new Bed(new Quorum(0b00111, 0b11100));
    long[][] heldMillis = {{-1, 1_000}, {-1, -1}, {-1, -1}, {1_000, 3_000}, {-1, 2_000}};
    for (int node = 0; node < heldMillis.length; node++) {
      long[] held = heldMillis[node];
      moving
          .node(node)
          .script(
              request ->
                  NodeReply.inspected(
                      report(held[request.names().get(0).equals("a") ? 0 : 1], "")));
    }
    AvailabilityCheck free = new AvailabilityCheck(moving.context, List.of("a"));
    free.start(ended -> ends++);
    assertTrue(free.isFree(0));
    AvailabilityCheck taken = new AvailabilityCheck(moving.context, List.of("b"));
    taken.start(ended -> ends++);
    assertEquals(2, ends);
    assertFalse(taken.isFree(0));
    assertTrue(taken.isTaken(0));
    assertEquals(2_000, taken.remainingMillis(0), "the earlier key of the future majority");
  }

  /** Of the future nodes, 2 to 4, none has answered. */
  @Test
  void takenNameMayBeFreeWhenItsLastKnownKeyExpires() {
    Bed moving = new Bed(new Quorum(0b00111, 0b11100));
    moving.node(0).script(request -> NodeReply.inspected(report(3_000, "")));
    moving.node(1).script(request -> NodeReply.inspected(report(2_000, "")));
    AvailabilityCheck look = new AvailabilityCheck(moving.context, List.of("a"));
    look.start(ended -> ends++);
    assertTrue(look.isTaken(0));
    assertEquals(3_000, look.remainingMillis(0));
  }

  @Test
  void endOfAKeyThatNeverExpiresIsNotKnown() {
    for (int node = 0; node < 3; node++) {
      bed.node(node)
          .script(
              request -> NodeReply.inspected(new NodeReport("somebody", -1, 1, 0, List.of(), "")));
    }
    assertEquals(-1, look().remainingMillis(0));
  }

  @Test
  void nodesThatCannotTellLeaveANameInDoubt() {
    for (int node = 0; node < 5; node++) {
      int number = node;
      bed.node(node)
          .script(
              request ->
                  number < 2
                      ? NodeReply.inspected(report(-1, ""))
                      : number < 4
                          ? NodeReply.inspected(report(-1, "abstains"))
                          : NodeReply.unreachable("down"));
    }
    AvailabilityCheck look = look();
    assertEquals(1, ends);
    assertFalse(look.isFree(0) || look.isTaken(0));
  }

  @Test
  void lookEndsWhenAQuorumHasAnsweredAllAndANameIsFree() {
    answer(0, -1, -1);
    answer(1, -1, 1_000);
    AvailabilityCheck look = look();
    assertEquals(0, ends);
    bed.node(2).answer(Inspect.class, NodeReply.inspected(report(-1, "")));
    assertEquals(0, ends, "b may be free as well");
    look.onReply(2, NodeReply.inspected(report(-1, "")));
    assertEquals(0, ends, "it said that before");
    bed.node(2).answer(Inspect.class, NodeReply.inspected(report(1_000, "")));
    assertEquals(1, ends);
    assertTrue(look.isFree(0));
    assertFalse(look.isFree(1) || look.isTaken(1));
  }

  @Test
  void lookWaitsForTheOthersWhileNoNameIsFree() {
    answer(0, 1_000, 1_000);
    answer(1, -1, -1);
    answer(2, -1, -1);
    look();
    assertEquals(0, ends);
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS - 1);
    assertEquals(0, ends);
    bed.time.passMillis(1);
    assertEquals(1, ends);
  }

  @Test
  void answerTwiceOrAfterTheEndDoesNotCount() {
    AvailabilityCheck look = look();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    assertEquals(1, ends);
    for (int node = 0; node < 5; node++) {
      bed.node(node).answer(Inspect.class, NodeReply.inspected(report(-1, "")));
    }
    look.onReply(0, NodeReply.inspected(report(-1, "")));
    look.onTimeout();
    assertEquals(1, ends);
    assertFalse(look.isFree(0));
  }

  @Test
  void requestsThatWereNotSentAreWithdrawnAtTheTimeout() {
    bed.nodes.forEach(ScriptedNode::holdSends);
    look();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    assertEquals(1, ends);
    for (ScriptedNode node : bed.nodes) {
      assertTrue(node.calls().stream().noneMatch(call -> call.withdraw()), "still there");
    }
  }

  @Test
  void closedServiceSendsNothing() {
    bed.redlock.close();
    look();
    assertEquals(1, ends);
    assertEquals(0, bed.asked(NodeRequest.Inspect.class));
  }
}
