package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The search: every state of a scope, nearest first, until all are seen or one is bad. */
final class Explorer {

  /**
   * What a search has found.
   *
   * @param states how many different states were found
   * @param depth how many events the farthest of them are from the beginning
   * @param isExhausted whether there are no others
   * @param violated what was broken, and the way there as {@link ExplorerTrace} tells it; null if
   *     nothing
   */
  record Result(
      String scope,
      int states,
      int depth,
      boolean isExhausted,
      long cpuNanos,
      @Nullable ExplorerInvariant violated,
      String trace) {

    /** For example {@code 2 attempts: 1,234,567 states, depth 40, 3.1 s, 398,247/s, exhausted}. */
    @Override
    public String toString() {
      double seconds = cpuNanos / 1e9;
      String how = isExhausted ? "exhausted" : "bounded";
      return String.format(
          Locale.ROOT,
          "explorer: %s: %,d states, depth %d, %.1f s, %,.0f states/s, %s",
          scope,
          states,
          depth,
          seconds,
          states / Math.max(seconds, 1e-9),
          violated == null ? how : violated + " violated");
    }
  }

  private static final ThreadMXBean THREAD = ManagementFactory.getThreadMXBean();

  private final Scope scope;
  private final Catalog catalog;
  private final Successors successors;
  private final StateStore store = new StateStore();
  private final ExplorerWorld world;

  private Explorer(Scope scope) {
    this.scope = scope;
    catalog = new Catalog(scope);
    successors = new Successors(scope, catalog);
    world = new ExplorerWorld(scope.attempts);
  }

  /** Looks at every state. */
  interface Visitor {
    void visit(ExplorerWorld world, Catalog catalog, Scope scope);
  }

  /** Searches until so many states are found, or all. */
  static Result search(Scope scope, int mostStates) {
    return search(scope, mostStates, (world, catalog, of) -> {});
  }

  static Result search(Scope scope, int mostStates, Visitor visitor) {
    return new Explorer(scope).run(mostStates, visitor);
  }

  private Result run(int mostStates, Visitor visitor) {
    long startNanos = THREAD.getCurrentThreadCpuTime();
    System.arraycopy(catalog.firstNodes, 0, world.nodes, 0, Scope.NODES);
    note(world);
    store.addNoted(-1);
    int depth = -1;
    int levelEnd = 0;
    for (int expanding = 0; expanding < store.size(); expanding++) {
      if (expanding == levelEnd) {
        levelEnd = store.size();
        depth++;
      }
      if (store.size() >= mostStates) {
        return result(depth, false, startNanos, null, "");
      }
      catalog.unpack(store.low(expanding), store.high(expanding), world);
      visitor.visit(world, catalog, scope);
      try {
        successors.of(world, (event, next) -> note(next));
      } catch (Violated violated) {
        String trace = new ExplorerTrace(scope, catalog, successors).of(path(expanding));
        return result(depth + 1, false, startNanos, violated.invariant, trace);
      }
      store.addNoted(expanding);
    }
    return result(depth, true, startNanos, null, "");
  }

  private void note(ExplorerWorld found) {
    catalog.pack(found);
    store.note(catalog.low(), catalog.high());
  }

  private Deque<long[]> path(int last) {
    Deque<long[]> path = new ArrayDeque<>();
    for (int state = last; state >= 0; state = store.parent(state)) {
      path.addFirst(new long[] {store.low(state), store.high(state)});
    }
    return path;
  }

  private Result result(
      int depth,
      boolean exhausted,
      long startNanos,
      @Nullable ExplorerInvariant violated,
      String trace) {
    long nanos = THREAD.getCurrentThreadCpuTime() - startNanos;
    return new Result(scope.name, store.size(), depth, exhausted, nanos, violated, trace);
  }
}
