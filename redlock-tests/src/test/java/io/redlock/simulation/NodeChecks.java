package io.redlock.simulation;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Reader;
import io.redlock.testkit.ReaderChecks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/** What each node did: I5, I8, and the grants that I9 counts. */
final class NodeChecks {

  private static final NodeModel SOUND = new NodeModel(0, 0);

  private record Grant(String owner, long token) {}

  private final SimWorld world;
  private final SimPlan plan;
  private final List<Set<String>> released = new ArrayList<>();
  private final long[] lostDataNanos;
  private final Set<Integer> steppedClocks = new HashSet<>();
  private final Set<String> written = new HashSet<>(); // names with their nodes, by writers
  private final Map<Grant, Integer> grants = new HashMap<>(); // the nodes, as bits

  NodeChecks(SimWorld world) {
    this.world = world;
    this.plan = world.plan;
    lostDataNanos = new long[plan.nodes];
    for (int node = 0; node < plan.nodes; node++) {
      released.add(new HashSet<>());
      lostDataNanos[node] = Long.MIN_VALUE / 2;
    }
  }

  /** A node has other data than before. */
  void lostData(int node) {
    released.get(node).clear();
    lostDataNanos[node] = world.nowNanos();
  }

  /** A node's clock was set, by more than leases allow for. */
  void steppedClock(int node) {
    steppedClocks.add(node);
  }

  /**
   * Whether tokens are in order whatever happens: they are by the counters, and where counters were
   * lost by the clocks, of which a quorum has at least one right one unless so many were set.
   */
  boolean keepsTokensInOrder() {
    boolean lost = Arrays.stream(lostDataNanos).anyMatch(nanos -> nanos >= 0);
    return !lost || !quorumOfClocksWasSet();
  }

  /** Whether every node has kept what it stored, for as long as it should. */
  boolean keepData() {
    return steppedClocks.isEmpty()
        && !plan.has(SimFault.NODE_EVICT)
        && Arrays.stream(lostDataNanos).noneMatch(nanos -> nanos >= 0);
  }

  private boolean quorumOfClocksWasSet() {
    return steppedClocks.size() >= plan.quorum();
  }

  /** Whether a node has had other data for less than so long. */
  boolean lostDataWithin(int node, long nanos) {
    return world.nowNanos() - lostDataNanos[node] < nanos;
  }

  /** A node has executed a request at that time of its clock. */
  void executed(
      int node,
      long nowMillis,
      NodeRequest request,
      List<Cell> before,
      List<Cell> after,
      NodeReply reply) {
    for (int i = 0; i < before.size(); i++) {
      checkCell(node, nowMillis, request, before.get(i), after.get(i));
      checkReaders(node, nowMillis, request, before.get(i), after.get(i));
    }
    Kind kind = reply.kind();
    checkRefusal(node, request, before.get(0), kind);
    if (kind == Kind.GRANTED) {
      checkCounters(node, request, after);
      grants.merge(
          new Grant(request.owner(), request.token()), 1 << node, (former, now) -> former | now);
    }
    boolean ran = kind == Kind.RELEASED || kind == Kind.NOT_HELD;
    if (ran && request instanceof NodeRequest.Release) {
      released.get(node).add(request.owner());
    }
  }

  private void checkCell(int node, long nowMillis, NodeRequest request, Cell before, Cell after) {
    boolean isFar =
        after.counter() > before.counter() && SOUND.isFar(after.counter(), nowMillis * 1_000);
    if (isFar) {
      violated(SimInvariant.I20, node, request, () -> "takes the counter of " + after);
    }
    if (after.counter() < before.counter()) {
      violated(SimInvariant.I8, node, request, () -> "lowers the counter from " + before);
    }
    boolean sameOwner =
        !before.isFree() && !before.isShared() && before.owner().equals(after.owner());
    if (sameOwner && after.lockUntilMillis() < before.lockUntilMillis()) {
      violated(SimInvariant.I8, node, request, () -> "shortens " + before);
    }
    // A clock that is set back may refuse the token of a key that was there: it is not buried.
    if (!after.isFree()
        && !plan.has(SimFault.NODE_CLOCK_STEP)
        && isStored(released.get(node), after)) {
      violated(SimInvariant.I5, node, request, () -> "stores an owner that was released here");
    }
  }

  private static boolean isStored(Set<String> owners, Cell cell) {
    return cell.isShared()
        ? cell.readers().stream().map(Reader::owner).anyMatch(owners::contains)
        : owners.contains(cell.owner());
  }

  private void checkReaders(
      int node, long nowMillis, NodeRequest request, Cell before, Cell after) {
    if (!after.isShared()) {
      return;
    }
    String shortened = ReaderChecks.shortened(before, after, request.owner());
    if (!shortened.isEmpty()) {
      world.violated(SimInvariant.I8, () -> "n" + node + ": " + shortened);
    }
    String outlived = ReaderChecks.outlived(before, after, request, nowMillis);
    if (!outlived.isEmpty()) {
      world.violated(SimInvariant.I29, () -> "n" + node + ": " + outlived);
    }
  }

  /** Notes who writes; where nobody has, a reader is let in unless it was released. */
  private void checkRefusal(int node, NodeRequest request, Cell before, Kind kind) {
    if (!request.shared()) {
      boolean asks = request instanceof NodeRequest.Inspect || request instanceof NodeRequest.Look;
      if (!asks) {
        request.names().forEach(name -> written.add(node + " " + name));
      }
      return;
    }
    boolean isRefused = kind == Kind.HELD || kind == Kind.STALE || kind == Kind.WAIT;
    if (isRefused
        && !before.isBuried(request.owner())
        && !written.contains(node + " " + request.names().get(0))) {
      violated(SimInvariant.I28, node, request, () -> "is refused: " + kind);
    }
  }

  private void checkCounters(int node, NodeRequest request, List<Cell> after) {
    for (Cell cell : after) {
      if (request.shared() ? cell.counter() < request.token() : cell.counter() != request.token()) {
        violated(SimInvariant.I8, node, request, () -> "is granted and leaves " + cell);
      }
    }
  }

  /**
   * A node has granted what somebody awaits. Over a connection that its client has given up, data
   * that was put back with its old mark may grant what waited there: nobody counts that vote.
   */
  void votes(int node, NodeRequest request) {
    if (plan.agrees) {
      request.names().forEach(name -> checkHasNotForgotten(node, request, name));
      return;
    }
    long agoNanos = world.nowNanos() - lostDataNanos[node];
    if (agoNanos < plan.maxTtlNanos() && !plan.has(SimFault.NODE_CLOCK_STEP)) {
      violated(
          SimInvariant.I8,
          node,
          request,
          () -> "is granted " + agoNanos / SimPlan.MILLI + " ms after the node lost its past");
    }
  }

  /** Terms differ: what counts is the lease that is valid, and rests on what was before. */
  private void checkHasNotForgotten(int node, NodeRequest request, String name) {
    SimHold hold = world.checker.holds.valid(name);
    if (hold != null
        && !hold.owner.equals(request.owner())
        && world.checker.holds.lastAskedNanos(hold.owner) < lostDataNanos[node]) {
      violated(SimInvariant.I27, node, request, () -> "is granted, and has forgotten " + hold);
    }
  }

  private void violated(
      SimInvariant invariant, int node, NodeRequest request, Supplier<String> what) {
    world.violated(invariant, () -> "n" + node + ": " + Names.of(request) + " " + what.get());
  }

  /** The nodes that have granted that token to that owner, as bits. */
  int grants(String owner, long token) {
    return grants.getOrDefault(new Grant(owner, token), 0);
  }
}
