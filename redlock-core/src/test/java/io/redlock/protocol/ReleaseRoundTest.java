package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.ReleaseResult;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReleaseRoundTest {

  private static final Kind[] TELLING = {
    Kind.RELEASED, Kind.NOT_HELD, Kind.OUT_OF_MEMORY, Kind.UNREACHABLE, Kind.UNKNOWN
  };

  private final Map<List<List<Kind>>, ReleaseRound> reached = new HashMap<>();

  private static boolean isAcknowledged(List<Kind> history) {
    return history.contains(Kind.RELEASED) || history.contains(Kind.NOT_HELD);
  }

  /** Returns the result: a node's "not held" counts only if it is its first answer. */
  private static ReleaseResult expected(List<List<Kind>> histories) {
    int deleted = 0;
    int notHeld = 0;
    for (List<Kind> history : histories) {
      deleted += history.contains(Kind.RELEASED) ? 1 : 0;
      notHeld += history.equals(List.of(Kind.NOT_HELD)) ? 1 : 0;
    }
    if (2 * deleted > histories.size()) {
      return ReleaseResult.RELEASED;
    }
    boolean noneCould = 2 * (histories.size() - notHeld) <= histories.size();
    return noneCould ? ReleaseResult.NOT_HELD : ReleaseResult.UNCONFIRMED;
  }

  private void explore(ReleaseRound round, List<List<Kind>> histories, int targets) {
    List<List<Kind>> state = histories.stream().map(List::copyOf).toList();
    ReleaseRound before = reached.putIfAbsent(state, round);
    if (before != null) {
      assertEquals(before, round, "the order of the answers leaves no trace");
      return;
    }
    int complete = 0;
    int heard = 0;
    for (int node = 0; node < histories.size(); node++) {
      List<Kind> history = histories.get(node);
      boolean target = (targets & 1 << node) != 0;
      boolean acknowledged = isAcknowledged(history);
      assertEquals(target && !acknowledged, round.owes(node));
      complete += acknowledged ? 1 : 0;
      heard += history.isEmpty() ? 0 : 1;
      if (target && !acknowledged && history.size() < 2) {
        for (Kind kind : TELLING) {
          history.add(kind);
          explore(round.answered(node, NodeReply.of(kind, "")), histories, targets);
          history.remove(history.size() - 1);
        }
      }
    }
    ReleaseResult expected = expected(histories);
    assertEquals(expected, round.known(), histories::toString);
    assertEquals(complete == histories.size(), round.isComplete(), histories::toString);
    assertEquals(
        expected != ReleaseResult.UNCONFIRMED || heard == histories.size(),
        round.isSettled(),
        histories::toString);
    assertEquals(expected, round.timedOut().known(), "the timeout adds no knowledge");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void everyAnswerInEveryOrderAndTwicePerNodeGivesTheResultOfTheProtocol(int nodes) {
    for (int targets = 1; targets < 1 << nodes; targets++) {
      reached.clear();
      List<List<Kind>> histories = new ArrayList<>();
      for (int node = 0; node < nodes; node++) {
        boolean target = (targets & 1 << node) != 0;
        histories.add(new ArrayList<>(target ? List.of() : List.of(Kind.NOT_HELD)));
      }
      explore(ReleaseRound.begin(Quorum.of(nodes), targets), histories, targets);
    }
  }
}
