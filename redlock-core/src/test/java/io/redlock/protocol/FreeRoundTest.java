package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.protocol.FreeRound.Decision;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FreeRoundTest {

  private static final long TOKEN = 17;
  private static final NodeReply FREED = NodeReply.freed(900, TOKEN, "billing");
  private static final NodeReply FREED_BELOW = NodeReply.freed(100, TOKEN - 1, "");
  private static final NodeReply MISSING = NodeReply.nothingToFree(TOKEN);
  private static final NodeReply MISSING_BELOW = NodeReply.nothingToFree(0);
  private static final NodeReply OTHER = NodeReply.held(500, TOKEN, "billing");
  private static final NodeReply LOST = NodeReply.unknown("lost");

  private static final List<NodeReply> ALL =
      Arrays.asList(FREED, FREED_BELOW, MISSING, MISSING_BELOW, OTHER, LOST, null);

  private static FreeRound round(long buried, NodeReply... replies) {
    FreeRound round = FreeRound.begin(Quorum.of(replies.length), buried);
    for (int node = 0; node < replies.length; node++) {
      round = replies[node] == null ? round : round.answered(node, replies[node]);
    }
    return round;
  }

  private static Decision decide(NodeReply... replies) {
    return round(0, replies).decide();
  }

  @Test
  void quorumThatHoldsItForNobodyIsEnough() {
    assertEquals(Decision.FREED, decide(FREED, FREED, FREED));
    assertEquals(Decision.FREED, decide(FREED, LOST, FREED));
    assertEquals(Decision.FREED, decide(FREED, MISSING, null));
    assertEquals(Decision.NOT_HELD, decide(MISSING, MISSING, null));
    assertEquals(Decision.UNKNOWN, decide(FREED, LOST, null));
    assertEquals(Decision.UNKNOWN, decide(FREED, FREED, LOST, LOST, null));
  }

  @Test
  void nodeThatTheHolderMayJoinIsAskedAgainToBuryItsToken() {
    assertEquals(Decision.BURY, decide(FREED, MISSING_BELOW, LOST));
    assertEquals(Decision.BURY, decide(FREED, FREED, MISSING_BELOW));
    assertEquals(Decision.BURY, decide(FREED, FREED_BELOW, LOST));
    assertEquals(TOKEN, round(0, FREED, MISSING_BELOW, LOST).highest());
    assertEquals(Decision.FREED, round(TOKEN, FREED, MISSING, LOST).decide());
    assertEquals(Decision.UNKNOWN, round(TOKEN, FREED, LOST, LOST).decide());
  }

  @Test
  void holderAtAnotherTokenIsNotTouched() {
    assertEquals(Decision.OTHER_HOLDER, decide(OTHER, OTHER, OTHER));
    assertEquals(Decision.OTHER_HOLDER, decide(OTHER, OTHER, FREED));
    assertEquals(Decision.FREED, decide(OTHER, FREED, FREED));
    assertEquals(Decision.UNKNOWN, decide(OTHER, LOST, null));
  }

  @Test
  void longestLifeOfAFreedKeyCounts() {
    assertEquals(900, round(0, FREED_BELOW, FREED, OTHER).longestMillis());
    assertEquals(0, round(0, MISSING, OTHER, LOST).longestMillis());
  }

  /** Nodes 0 to 2 are the present ones, nodes 2 to 4 the future ones. */
  @Test
  void bothMajoritiesHoldItForNobodyWhileClientsMove() {
    Quorum both = new Quorum(0b00111, 0b11100);
    FreeRound present = FreeRound.begin(both, 0);
    for (int node = 0; node < 3; node++) {
      present = present.answered(node, FREED);
    }
    assertEquals(Decision.UNKNOWN, present.decide());
    assertEquals(Decision.FREED, present.answered(4, FREED).decide());
    assertEquals(Decision.BURY, present.answered(4, MISSING_BELOW).decide());
    assertEquals(Decision.OTHER_HOLDER, present.answered(3, OTHER).answered(4, OTHER).decide());
  }

  @Test
  void firstAnswerOfANodeCounts() {
    FreeRound round = FreeRound.begin(Quorum.of(2), 0).answered(0, FREED).answered(0, LOST);
    assertEquals(Kind.RELEASED, round.ballot().kind(0));
    assertFalse(round.isComplete());
    assertTrue(round.answered(1, LOST).isComplete());
  }

  /** The rule in plain words, for every combination of answers. */
  @ParameterizedTest
  @ValueSource(longs = {0, TOKEN})
  void successNeedsAQuorumOnWhichTheHolderCanNeitherExtendNorJoin(long buried) {
    every(new ArrayList<>(), 5, buried);
  }

  private static void every(List<NodeReply> replies, int nodes, long buried) {
    if (replies.size() < nodes) {
      for (NodeReply reply : ALL) {
        replies.add(reply);
        every(replies, nodes, buried);
        replies.remove(replies.size() - 1);
      }
      return;
    }
    long highest = buried;
    for (NodeReply reply : replies) {
      highest = reply == null ? highest : Math.max(highest, reply.counter());
    }
    int bound = 0;
    int answered = 0;
    for (NodeReply reply : replies) {
      boolean isNobodys =
          reply != null && (reply.kind() == Kind.RELEASED || reply.kind() == Kind.NOT_HELD);
      bound += isNobodys && reply.counter() == highest ? 1 : 0;
      answered += isNobodys || OTHER.equals(reply) ? 1 : 0;
    }
    Decision decision = round(buried, replies.toArray(NodeReply[]::new)).decide();
    switch (decision) {
      case FREED, NOT_HELD -> assertTrue(2 * bound > nodes, replies::toString);
      case BURY -> assertTrue(buried == 0 && 2 * answered > nodes, replies::toString);
      case OTHER_HOLDER -> assertTrue(replies.contains(OTHER), replies::toString);
      case UNKNOWN -> assertTrue(2 * bound < nodes, replies::toString);
    }
  }
}
