package io.redlock.explorer;

import io.redlock.explorer.Explorer.Result;
import io.redlock.explorer.ExplorerInvariant.Violated;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The search through the marks of some masters: every state, nearest first. */
final class MarkExplorer {

  private static final int STATE_BITS = 26;

  private final MarkScope scope;
  private final MarkRules rules;
  private final WayOut wayOut;
  private final List<List<Integer>> alike;
  private final Interner<MarkWorld> worlds = new Interner<>("states", STATE_BITS);
  private int[] parents = new int[1 << 10];

  private MarkExplorer(MarkScope scope) {
    this.scope = scope;
    rules = new MarkRules(scope);
    wayOut = new WayOut(scope, rules);
    alike = rules.alike();
  }

  static Result search(MarkScope scope, int mostStates) {
    return new MarkExplorer(scope).run(mostStates);
  }

  private Result run(int mostStates) {
    long startNanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    for (List<MarkedNode> start : scope.starts) {
      note(MarkWorld.first(scope, start), -1);
    }
    int depth = -1;
    int levelEnd = 0;
    for (int expanding = 0; expanding < worlds.size(); expanding++) {
      if (expanding == levelEnd) {
        levelEnd = worlds.size();
        depth++;
      }
      if (worlds.size() >= mostStates) {
        return result(depth, false, startNanos, null, "");
      }
      int from = expanding;
      MarkWorld world = worlds.get(expanding);
      try {
        rules.check(world);
        wayOut.check(world);
        world.successors(
            scope,
            rules,
            (event, next) -> {
              rules.checkAbstention(world, next);
              note(next, from);
            });
      } catch (Violated violated) {
        return result(depth, false, startNanos, violated.invariant, trace(expanding, violated));
      }
    }
    return result(depth, true, startNanos, null, "");
  }

  private MarkWorld settled(MarkWorld world) {
    return rules.leasing(world.sorted(alike));
  }

  private void note(MarkWorld world, int parent) {
    int before = worlds.size();
    worlds.of(settled(world));
    if (worlds.size() > before) {
      if (before == parents.length) {
        parents = Arrays.copyOf(parents, 2 * before);
      }
      parents[before] = parent;
    }
  }

  /** Returns the way to a bad state, one event a line; like nodes may have changed their places. */
  private String trace(int last, Violated violated) {
    List<Integer> path = new ArrayList<>();
    for (int state = last; state >= 0; state = parents[state]) {
      path.add(0, state);
    }
    StringBuilder text = new StringBuilder(scope.name).append('\n');
    text.append(worlds.get(path.get(0)).nodes()).append('\n');
    for (int i = 0; i + 1 < path.size(); i++) {
      MarkWorld to = worlds.get(path.get(i + 1));
      List<String> events = new ArrayList<>();
      worlds
          .get(path.get(i))
          .successors(
              scope,
              rules,
              (event, next) -> {
                if (settled(next).equals(to)) {
                  events.add(event.get());
                }
              });
      text.append(events.get(0)).append('\n');
    }
    text.append(worlds.get(last).nodes()).append(worlds.get(last).known()).append('\n');
    return text.append(violated.getMessage()).append('\n').toString();
  }

  private Result result(
      int depth,
      boolean exhausted,
      long startNanos,
      @Nullable ExplorerInvariant violated,
      String trace) {
    long nanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - startNanos;
    return new Result(scope.name, worlds.size(), depth, exhausted, nanos, violated, trace);
  }
}
