package io.redlock.protocol;

import static io.redlock.spi.NodeLook.ENDLESS;
import static io.redlock.spi.NodeLook.FREE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class LookRoundTest {

  private static final Quorum FIVE = Quorum.of(5);

  /** Nodes 0 to 2 are the present ones, nodes 2 to 4 the future ones. */
  private static final Quorum MOVING = new Quorum(0b00111, 0b11100);

  private static final NodeReply DOWN = NodeReply.unreachable("down");

  /** The answer of a node that holds each name for so many ms. */
  private static NodeReply held(long... millis) {
    return NodeReply.looked(new NodeLook(LongStream.of(millis).boxed().toList(), ""));
  }

  private static NodeReply doubtful(long... millis) {
    List<Long> keys = LongStream.of(millis).boxed().toList();
    return NodeReply.looked(new NodeLook(keys, "restarted a while ago"));
  }

  /** A look at the names 0 and 1; nodes that are left out have not answered. */
  private static LookRound look(NodeReply... replies) {
    return LookRound.of(FIVE, 2, Arrays.asList(replies));
  }

  /** A look at one name. */
  private static LookRound look(Quorum quorum, NodeReply... replies) {
    return LookRound.of(quorum, 1, Arrays.asList(replies));
  }

  @Test
  void nameThatAQuorumDoesNotHoldIsFreeAndOneThatItHoldsIsHeld() {
    LookRound look = look(held(FREE, 1_000), held(FREE, 2_000), held(FREE, 3_000));
    assertTrue(look.isDecided());
    assertTrue(look.isFree(0));
    assertFalse(look.isHeld(0));
    assertTrue(look.isHeld(1));
    assertFalse(look.isFree(1));
  }

  @Test
  void heldNameIsFreeWhenSoManyKeysHaveExpiredThatAQuorumIsLeft() {
    LookRound look = look(FIVE, held(3_000), held(1_000), held(FREE), held(2_000), held(9_000));
    assertTrue(look.isHeld(0));
    assertEquals(2_000, look.remainingMillis(0), "two of four keys");
  }

  @Test
  void keysOfEachNameAreCountedByThemselves() {
    LookRound look = look(held(5_000, 7_000), held(4_000, 9_000), held(1_000, 8_000));
    assertEquals(5_000, look.remainingMillis(0));
    assertEquals(9_000, look.remainingMillis(1));
  }

  @Test
  void keyThatNeverExpiresIsTheLastToGo() {
    assertEquals(
        3_000, look(FIVE, held(ENDLESS), held(3_000), held(FREE), held(2_000)).remainingMillis(0));
    assertEquals(-1, look(FIVE, held(ENDLESS), held(ENDLESS), held(ENDLESS)).remainingMillis(0));
  }

  @Test
  void keyWithoutTimeLeftIsGoneAtOnce() {
    assertEquals(0, look(FIVE, held(0), held(0), held(0)).remainingMillis(0));
  }

  @Test
  void nodeThatHoldsANameHoldsItHoweverMuchItDoubts() {
    LookRound look = look(FIVE, doubtful(2_000), doubtful(2_000), doubtful(2_000));
    assertTrue(look.isHeld(0));
    assertTrue(look.isDecided());
  }

  @Test
  void nodeInDoubtThatHoldsNothingProvesNothing() {
    LookRound look = look(FIVE, held(FREE), held(FREE), doubtful(FREE), doubtful(FREE), DOWN);
    assertTrue(look.isDecided(), "all have answered");
    assertFalse(look.isFree(0));
    assertFalse(look.isHeld(0));
    assertEquals(-1, look.remainingMillis(0));
    LookRound held = look(FIVE, held(1_000), held(2_000), held(3_000), doubtful(FREE), held(FREE));
    assertEquals(2_000, held.remainingMillis(0), "the free one and two keys");
  }

  @Test
  void lookIsDecidedOnceANameIsFree() {
    assertFalse(look(held(FREE, FREE), held(FREE, 1_000)).isDecided());
    LookRound look = look(held(FREE, FREE), held(FREE, 1_000), held(FREE, FREE));
    assertTrue(look.isDecided());
    assertFalse(look.isFree(1) || look.isHeld(1));
  }

  @Test
  void lookIsUndecidedWhileNodesAreMissingAndNoNameIsFree() {
    assertFalse(look(held(1_000, FREE), held(1_000, FREE), held(1_000, 1_000)).isDecided());
    assertFalse(
        look(held(1_000, FREE), DOWN, held(1_000, FREE), held(1_000, 1_000), null).isDecided());
    assertTrue(
        look(held(1_000, FREE), DOWN, held(1_000, FREE), held(1_000, 1_000), DOWN).isDecided());
    assertTrue(look(held(1, 1), held(1, 1), held(1, 1)).isDecided());
  }

  @Test
  void nameIsFreeOnBothMajoritiesOrNotAtAllWhileClientsMove() {
    NodeReply free = held(FREE);
    assertTrue(look(MOVING, free, free, free, held(1_000), free).isFree(0));
    LookRound held = look(MOVING, held(1_000), free, free, held(3_000), held(2_000));
    assertFalse(held.isFree(0));
    assertTrue(held.isHeld(0));
    assertEquals(2_000, held.remainingMillis(0), "the earlier key of the future majority");
  }

  @Test
  void heldNameMayBeFreeWhenItsLastKnownKeyExpires() {
    LookRound look = look(MOVING, held(3_000), held(2_000));
    assertTrue(look.isHeld(0));
    assertEquals(3_000, look.remainingMillis(0), "of the future nodes none has answered");
  }
}
