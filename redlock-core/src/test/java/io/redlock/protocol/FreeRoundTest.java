package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.protocol.FreeRound.Decision;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class FreeRoundTest {

  private static final long TOKEN = 17;
  private static final String VALUE = "billing/1@" + TOKEN;
  private static final NodeReply SEEN = inspected("");
  private static final NodeReply FREED = NodeReply.freed(900, TOKEN, "billing");
  private static final NodeReply MISSING = NodeReply.NOT_HELD;
  private static final NodeReply OTHER = NodeReply.held(500, TOKEN, "billing");
  private static final NodeReply LOST = NodeReply.unknown("lost");

  private static NodeReply inspected(String doubt) {
    return NodeReply.inspected(new NodeReport(VALUE, 900, TOKEN, 0, List.of(), doubt));
  }

  private static FreeRound with(FreeRound round, NodeReply... replies) {
    for (int node = 0; node < replies.length; node++) {
      round = replies[node] == null ? round : round.answered(node, replies[node]);
    }
    return round;
  }

  /** The rule in plain words, for every combination of answers of nodes, trusted or not. */
  @Test
  void successNeedsAQuorumOfTrustedNodesOnWhichTheHolderCanExtendNothing() {
    every(new ArrayList<>(), 5);
  }

  private static void every(List<NodeReply> replies, int nodes) {
    if (replies.size() < nodes) {
      for (NodeReply reply : Arrays.asList(FREED, MISSING, OTHER, LOST, null)) {
        replies.add(reply);
        every(replies, nodes);
        replies.remove(replies.size() - 1);
      }
      return;
    }
    for (int doubtful = 0; doubtful < 1 << nodes; doubtful++) {
      List<NodeReply> inspected = new ArrayList<>();
      int bound = 0;
      int others = 0;
      for (int node = 0; node < nodes; node++) {
        boolean isTrusted = (doubtful & 1 << node) == 0;
        NodeReply reply = isTrusted ? replies.get(node) : null;
        inspected.add(isTrusted ? SEEN : inspected("in doubt"));
        bound += FREED.equals(reply) || MISSING.equals(reply) ? 1 : 0;
        others += OTHER.equals(reply) ? 1 : 0;
      }
      FreeRound round = FreeRound.begin(Quorum.of(nodes), inspected, 0);
      Decision decision = with(round, replies.toArray(NodeReply[]::new)).decide();
      boolean isFree = decision == Decision.FREED || decision == Decision.NOT_HELD;
      assertEquals(2 * bound > nodes, isFree, replies::toString);
      boolean isOthers = !isFree && others > 0 && 2 * (bound + others) > nodes;
      assertTrue(isFree || isOthers == (decision == Decision.OTHER_HOLDER), replies::toString);
    }
  }
}
