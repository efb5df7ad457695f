package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import org.junit.jupiter.api.Test;

class RivalsTest {

  private static final Quorum QUORUM = Quorum.of(5);

  private static Rivals named(String... owners) {
    Rivals rivals = Rivals.NONE;
    for (int node = 0; node < owners.length; node++) {
      rivals = rivals.with(node, NodeReply.heldBy(100, 1, owners[node]));
    }
    return rivals;
  }

  @Test
  void shortestRemainingLifeIsKept() {
    Rivals rivals = Rivals.NONE.with(0, NodeReply.heldBy(100, 1, ""));
    assertEquals(100, rivals.remainingMillis());
    assertEquals(rivals, rivals.with(1, NodeReply.heldBy(200, 1, "")));
    assertEquals(rivals, rivals.with(1, NodeReply.heldBy(-1, 1, "")));
    Rivals ending = rivals.with(1, NodeReply.heldBy(0, 1, ""));
    assertEquals(0, ending.remainingMillis());
    assertEquals(0, ending.with(2, NodeReply.heldBy(50, 1, "")).remainingMillis());
    assertEquals(-1, Rivals.NONE.remainingMillis());
  }

  @Test
  void answerThatRefusesForNobodyNamesNobody() {
    for (Kind kind : Kind.values()) {
      NodeReply reply = new NodeReply(kind, 0, 100, "", "x", null, null);
      Rivals told = Rivals.NONE.with(0, reply);
      assertEquals(kind == Kind.HELD ? 1 : 0, told.named().size(), kind::toString);
      assertEquals(kind == Kind.HELD || kind == Kind.WAIT ? 100 : -1, told.remainingMillis());
    }
    assertEquals(Rivals.NONE, Rivals.NONE.with(0, NodeReply.of(Kind.WAIT, "")));
  }

  @Test
  void ownerOnAQuorumHoldsTheResource() {
    assertTrue(named("x", "x", "x").isOne(QUORUM));
    assertTrue(named("y", "x", "y", "x", "x").isOne(QUORUM));
    assertFalse(named("x", "x").isOne(QUORUM));
    assertFalse(named("x", "x", "x", "y").isSplit(QUORUM, true));
  }

  @Test
  void voteIsSplitIfNobodyCanHaveAQuorum() {
    assertTrue(named("x", "y").isSplit(QUORUM, false));
    assertFalse(named("x").isSplit(QUORUM, false));
    assertTrue(named("x").isSplit(QUORUM, true));
  }

  @Test
  void missingAnswersMatterWhileTheyMayShowAHolder() {
    assertTrue(named("x", "x").mayBeSettledBy(QUORUM, 0b11100));
    assertTrue(named("x", "x").mayBeSettledBy(QUORUM, 0b00100));
    assertFalse(named("x", "x").mayBeSettledBy(QUORUM, 0));
    assertFalse(named("x").mayBeSettledBy(QUORUM, 0b00010));
    assertFalse(named("x", "x", "x").mayBeSettledBy(QUORUM, 0b11000), "it is known");
  }
}
