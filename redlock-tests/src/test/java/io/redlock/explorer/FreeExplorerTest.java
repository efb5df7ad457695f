package io.redlock.explorer;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.FreeResult;
import io.redlock.protocol.FreeRound;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Standing;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every state in which an operator may set one holder free by its token: what the node has, and
 * whether it answers. A has its lease at 20 after a round at 10; an attempt at 15 and one at 30
 * left a key, one at 25 was buried; B has its lease at 40, when that of A is over.
 */
@Tag("search")
class FreeExplorerTest {

  private static final String A = "a/" + "0".repeat(32);
  private static final String B = "b/" + "1".repeat(32);
  private static final String C = "c/" + "2".repeat(32);
  private static final List<String> NAMES = List.of("r");
  private static final long NOW_MICROS = 1_000_000;
  private static final long FAR_MILLIS = 1L << 40;
  private static final NodeModel MODEL = new NodeModel(1_000_000, FAR_MILLIS);

  /** What a node may have: owner, token of the key, counter. */
  private enum Has {
    NOTHING("", 0, 0),
    A_AT_FIRST(A, 10, 10),
    A_AT_FIRST_THEN_BURIED(A, 10, 25),
    A_HELD(A, 20, 20),
    A_HELD_THEN_BURIED(A, 20, 25),
    A_EXPIRED("", 0, 20),
    A_EXPIRED_THEN_BURIED("", 0, 25),
    EARLIER(C, 15, 15),
    LATER(C, 30, 30),
    B_HELD(B, 40, 40),
    B_EXPIRED("", 0, 40);

    private final Cell cell;

    Has(String owner, long token, long counter) {
      cell =
          Cell.EMPTY
              .counting(counter, FAR_MILLIS)
              .locked(owner, token, owner.isEmpty() ? 0 : FAR_MILLIS);
    }

    /** Returns true if A's lease may rest on this node. A buried counter says nothing of that. */
    boolean backsA() {
      return switch (this) {
        case A_HELD, A_HELD_THEN_BURIED, A_EXPIRED, A_EXPIRED_THEN_BURIED -> true;
        default -> false;
      };
    }

    boolean backsB() {
      return this == B_HELD || this == B_EXPIRED;
    }
  }

  private record Node(Has has, boolean answers) {}

  private int worlds;
  private int freed;
  private int spared;

  @ParameterizedTest
  @ValueSource(ints = {3, 5})
  void nobodyExtendsAfterItIsSetFreeAndNoLaterHolderIsHit(int nodes) {
    every(new ArrayList<>(), 0, nodes);
    System.out.println(worlds + " worlds, " + freed + " set free, " + spared + " spare a holder");
    assertTrue(freed > worlds / 50 && spared > 0, "too little was tried");
  }

  /** Nodes are alike, so their order does not matter. */
  private void every(List<Node> world, int from, int nodes) {
    if (world.size() < nodes) {
      for (int next = from; next < 2 * Has.values().length; next++) {
        world.add(new Node(Has.values()[next / 2], next % 2 == 0));
        every(world, next, nodes);
        world.remove(world.size() - 1);
      }
      return;
    }
    Quorum quorum = Quorum.of(nodes);
    boolean isAs = quorum.isReachedBy(those(world, Has::backsA));
    boolean isBs = quorum.isReachedBy(those(world, Has::backsB));
    if (isAs || isBs) {
      tryWith(quorum, world, 10, isBs);
      tryWith(quorum, world, 20, isBs);
    }
  }

  private static int those(List<Node> world, Predicate<Has> condition) {
    int those = 0;
    for (int node = 0; node < world.size(); node++) {
      those |= condition.test(world.get(node).has) ? 1 << node : 0;
    }
    return those;
  }

  private void tryWith(Quorum quorum, List<Node> world, long token, boolean isBs) {
    worlds++;
    List<@Nullable NodeReply> reports = new ArrayList<>();
    for (Node node : world) {
      NodeRequest inspect = new NodeRequest.Inspect(NAMES, 1);
      reports.add(node.answers ? execute(node.has.cell, inspect).reply() : null);
    }
    FreeRound round = FreeRound.begin(quorum, reports, token);
    NodeRequest free =
        new NodeRequest.Free(NAMES, HolderLabel.freed("ops"), 1, round.buried(), round.seen());
    List<Cell> after = new ArrayList<>();
    for (int node = 0; node < world.size(); node++) {
      Cell cell = world.get(node).has.cell;
      if (world.get(node).answers) {
        NodeModel.Outcome outcome = execute(cell, free);
        round = round.answered(node, outcome.reply());
        cell = outcome.cells().get(0);
      }
      after.add(cell);
    }
    String what = world + " by " + token;
    if (isBs) {
      laterHolderIsNotHit(world, after, what);
    } else if (round.decide() == FreeResult.Outcome.FREED) {
      freed++;
      int extended = 0;
      for (int node = 0; node < after.size(); node++) {
        extended |= isExtended(after.get(node), A, 20) ? 1 << node : 0;
      }
      assertTrue(!quorum.isReachedBy(extended), () -> what + ": A is extended again");
    }
  }

  private void laterHolderIsNotHit(List<Node> world, List<Cell> after, String what) {
    if (world.stream().noneMatch(node -> node.answers && node.has == Has.B_HELD)) {
      return; // the operator cannot know of it
    }
    for (int node = 0; node < after.size(); node++) {
      boolean before = isExtended(world.get(node).has.cell, B, 40);
      spared += before && world.get(node).has.cell != after.get(node) ? 1 : 0;
      assertTrue(!before || isExtended(after.get(node), B, 40), () -> what + ": B is hit");
    }
  }

  /** Returns true if the node says yes to this owner once the keys of all others have expired. */
  private static boolean isExtended(Cell cell, String owner, long token) {
    Cell alone = cell.owner().equals(owner) ? cell : cell.locked("", 0);
    NodeRequest extend = new NodeRequest.Extend(NAMES, owner, token, 1, NOW_MICROS, false);
    Kind kind = execute(alone, extend).reply().kind();
    return kind == Kind.EXTENDED || kind == Kind.JOINED;
  }

  private static NodeModel.Outcome execute(Cell cell, NodeRequest request) {
    return MODEL.execute(List.of(cell), request, Standing.VOTING, NOW_MICROS);
  }
}
