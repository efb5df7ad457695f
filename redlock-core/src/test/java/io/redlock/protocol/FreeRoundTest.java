package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.protocol.FreeRound.Decision;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class FreeRoundTest {

  private static final long TOKEN = 17;
  private static final String VALUE = "billing/1@" + TOKEN;
  private static final NodeReply SEEN = inspected(VALUE, TOKEN, "");
  private static final NodeReply EMPTY = inspected(null, 0, "");
  private static final NodeReply DOUBTFUL = inspected(null, 0, "it was restarted");
  private static final NodeReply FREED = NodeReply.freed(900, TOKEN, "billing");
  private static final NodeReply FREED_BEFORE = NodeReply.freed(100, 0, "freed by ops");
  private static final NodeReply MISSING = NodeReply.NOT_HELD;
  private static final NodeReply OTHER = NodeReply.held(500, TOKEN, "billing");
  private static final NodeReply LOST = NodeReply.unknown("lost");

  private static NodeReply inspected(String value, long counter, String doubt) {
    return NodeReply.inspected(new NodeReport(value, 900, counter, 0, List.of(), doubt));
  }

  private static FreeRound begin(long token, NodeReply... inspected) {
    return FreeRound.begin(Quorum.of(inspected.length), Arrays.asList(inspected), token);
  }

  private static FreeRound with(FreeRound round, NodeReply... replies) {
    for (int node = 0; node < replies.length; node++) {
      round = replies[node] == null ? round : round.answered(node, replies[node]);
    }
    return round;
  }

  /** What follows if all nodes had the key before and can be trusted. */
  private static Decision decide(NodeReply... replies) {
    NodeReply[] all = Collections.nCopies(replies.length, SEEN).toArray(NodeReply[]::new);
    return with(begin(0, all), replies).decide();
  }

  @Test
  void quorumThatHoldsItForNobodyIsEnough() {
    assertEquals(Decision.FREED, decide(FREED, FREED, FREED));
    assertEquals(Decision.FREED, decide(FREED, LOST, FREED_BEFORE));
    assertEquals(Decision.FREED, decide(FREED, MISSING, null));
    assertEquals(Decision.NOT_HELD, decide(MISSING, MISSING, null));
    assertEquals(Decision.UNKNOWN, decide(FREED, LOST, null));
    assertEquals(Decision.UNKNOWN, decide(FREED, FREED, LOST, LOST, null));
  }

  @Test
  void otherHolderIsNotTouched() {
    assertEquals(Decision.OTHER_HOLDER, decide(OTHER, OTHER, OTHER));
    assertEquals(Decision.OTHER_HOLDER, decide(OTHER, OTHER, FREED));
    assertEquals(Decision.FREED, decide(OTHER, FREED, FREED));
    assertEquals(Decision.UNKNOWN, decide(OTHER, LOST, null));
  }

  @Test
  void highestCounterIsBuriedIfThereIsSomethingToSetFree() {
    NodeReply counted = inspected(null, TOKEN + 5, "");
    assertEquals(TOKEN + 5, begin(0, SEEN, counted, LOST).buried());
    assertEquals(TOKEN, begin(TOKEN, SEEN, EMPTY, DOUBTFUL).buried());
    assertEquals(0, begin(0, counted, EMPTY, null).buried(), "another could join no more");
    assertEquals(0, begin(TOKEN + 1, SEEN, SEEN, SEEN).buried());
  }

  @Test
  void onlyWhatWasSeenAndIsMeantMayBeSetFree() {
    NodeReply other = inspected("reports/1@5", 5, "");
    NodeReply freed = inspected("freed/ops@5", 5, "it was restarted");
    assertEquals(List.of(VALUE, "reports/1@5"), begin(0, SEEN, other, SEEN, EMPTY).seen());
    assertEquals(List.of("reports/1@5", "freed/ops@5"), begin(5, SEEN, other, freed).seen());
    assertEquals(List.of(), begin(18, SEEN, other, LOST).seen());
    NodeReply earlier = inspected("reports/1@4", 4, "");
    assertEquals(List.of("reports/1@4", "reports/1@5"), begin(5, earlier, other, other).seen());
    assertEquals(List.of(), begin(4, inspected("reports/1", 4, ""), SEEN).seen(), "no token");
  }

  /** The lease that is held on the second and the first node, which has lost its data. */
  @Test
  void nodeWhoseDataIsInDoubtProvesNothing() {
    FreeRound round = begin(0, DOUBTFUL, null, EMPTY);
    assertEquals(Decision.UNKNOWN, with(round, MISSING, LOST, MISSING).decide());
    assertEquals(Decision.UNKNOWN, with(round, MISSING, MISSING, MISSING).decide());
    NodeReply late = inspected(VALUE, TOKEN, "it was restarted");
    FreeRound seen = begin(0, late, EMPTY, EMPTY, EMPTY, late);
    assertEquals(Decision.UNKNOWN, with(seen, FREED, MISSING, MISSING, LOST, FREED).decide());
    assertEquals(Decision.NOT_HELD, with(seen, FREED, MISSING, MISSING, MISSING, LOST).decide());
  }

  /** Its holder could join where no counter is buried. */
  @Test
  void whatAnotherOperatorHasSetFreeMeanwhileProvesNothingIfNothingWasSeen() {
    FreeRound round = begin(0, EMPTY, EMPTY, null);
    assertEquals(Decision.UNKNOWN, with(round, MISSING, FREED_BEFORE, LOST).decide());
  }

  @Test
  void longestLifeOfAFreedKeyCounts() {
    FreeRound round = begin(0, SEEN, SEEN, SEEN);
    assertEquals(900, with(round, FREED_BEFORE, FREED, OTHER).longestMillis());
    assertEquals(0, with(round, MISSING, OTHER, LOST).longestMillis());
  }

  /** Nodes 0 to 2 are the present ones, nodes 2 to 4 the future ones. */
  @Test
  void bothMajoritiesHoldItForNobodyWhileClientsMove() {
    Quorum both = new Quorum(0b00111, 0b11100);
    FreeRound begun = FreeRound.begin(both, Collections.nCopies(5, SEEN), 0);
    FreeRound present = with(begun, FREED, FREED, FREED);
    assertEquals(Decision.UNKNOWN, present.decide());
    assertEquals(Decision.FREED, present.answered(4, FREED).decide());
    assertEquals(Decision.OTHER_HOLDER, present.answered(3, OTHER).answered(4, OTHER).decide());
  }

  @Test
  void firstAnswerOfANodeCounts() {
    FreeRound round = begin(0, SEEN, SEEN).answered(0, FREED).answered(0, LOST);
    assertEquals(Kind.RELEASED, round.ballot().kind(0));
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
        inspected.add(isTrusted ? SEEN : inspected(VALUE, TOKEN, "in doubt"));
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
