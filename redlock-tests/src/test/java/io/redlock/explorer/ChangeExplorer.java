package io.redlock.explorer;

import io.redlock.explorer.ChangeWorld.Attempt;
import io.redlock.explorer.ChangeWorld.Node;
import io.redlock.explorer.ChangeWorld.Operator;
import io.redlock.explorer.Explorer.Result;
import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.testkit.NodeModel;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The search through a change of masters: every state, nearest first. */
final class ChangeExplorer {

  private static final int REST_BITS = 26;

  private final ChangeScope scope;
  private final NodeModel model;
  private final StateStore store = new StateStore();
  private final Interner<Node> nodes;
  private final Interner<Rest> rests = new Interner<>("clients and operators", REST_BITS);
  private final int nodeBits;

  private record Rest(int now, List<Operator> operators, int commands, List<Attempt> attempts) {}

  private ChangeExplorer(ChangeScope scope) {
    this.scope = scope;
    this.model = scope.nodeModel();
    nodeBits = Math.min(20, (2 * Long.SIZE - REST_BITS - 2) / scope.nodes());
    nodes = new Interner<>("node states", nodeBits);
  }

  static Result search(ChangeScope scope, int mostStates) {
    return new ChangeExplorer(scope).run(mostStates);
  }

  private Result run(int mostStates) {
    long startNanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    note(ChangeWorld.first(scope));
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
      try {
        world(expanding)
            .successors(
                scope,
                model,
                (event, next) -> {
                  next.check(scope);
                  note(next);
                });
      } catch (Violated violated) {
        return result(depth + 1, false, startNanos, violated.invariant, trace(expanding, violated));
      }
      store.addNoted(expanding);
    }
    return result(depth, true, startNanos, null, "");
  }

  private void note(ChangeWorld world) {
    long low = 0;
    long high =
        rests.of(new Rest(world.now(), world.operators(), world.commands(), world.attempts()));
    int at = 0;
    int perLow = Long.SIZE / nodeBits;
    for (int number : world.sorted(scope, nodes)) {
      if (at < perLow) {
        low |= (long) number << at * nodeBits;
      } else {
        high |= (long) number << REST_BITS + (at - perLow) * nodeBits;
      }
      at++;
    }
    store.note(low, high);
  }

  private ChangeWorld world(int state) {
    Rest rest = rests.get((int) (store.high(state) & (1L << REST_BITS) - 1));
    List<Node> found = new ArrayList<>();
    int perLow = Long.SIZE / nodeBits;
    for (int at = 0; at < scope.nodes(); at++) {
      long number =
          at < perLow
              ? store.low(state) >>> at * nodeBits
              : store.high(state) >>> REST_BITS + (at - perLow) * nodeBits;
      found.add(nodes.get((int) (number & (1L << nodeBits) - 1)));
    }
    return new ChangeWorld(
        rest.now, rest.operators, rest.commands, rest.attempts, List.copyOf(found));
  }

  /** Returns the way to a bad state: one event a line; like nodes may have changed their places. */
  private String trace(int last, Violated violated) {
    List<Integer> path = new ArrayList<>();
    for (int state = last; state >= 0; state = store.parent(state)) {
      path.add(0, state);
    }
    StringBuilder text = new StringBuilder(scope.name).append('\n');
    for (int i = 0; i + 1 < path.size(); i++) {
      int to = path.get(i + 1);
      ChangeWorld from = world(path.get(i));
      List<String> events = new ArrayList<>();
      from.successors(
          scope,
          model,
          (event, next) -> {
            if (isState(next, to)) {
              events.add(event.get());
            }
          });
      text.append(from.now()).append("  ").append(events.get(0)).append('\n');
    }
    String[] bad = {""};
    try {
      world(last)
          .successors(
              scope,
              model,
              (event, next) -> {
                bad[0] = event.get();
                next.check(scope);
                bad[0] = "what comes after " + event.get();
              });
    } catch (Violated again) {
      text.append(world(last).now()).append("  ").append(bad[0]).append('\n');
    }
    return text.append(violated.getMessage()).append('\n').toString();
  }

  private boolean isState(ChangeWorld next, int state) {
    ChangeWorld known = world(state);
    return known.now() == next.now()
        && known.operators().equals(next.operators())
        && known.commands() == next.commands()
        && known.attempts().equals(next.attempts())
        && known.sorted(scope, nodes).equals(next.sorted(scope, nodes));
  }

  private Result result(
      int depth,
      boolean exhausted,
      long startNanos,
      @Nullable ExplorerInvariant violated,
      String trace) {
    long nanos = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - startNanos;
    return new Result(scope.name, store.size(), depth, exhausted, nanos, violated, trace);
  }
}
