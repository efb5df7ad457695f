package io.redlock.explorer;

import io.redlock.explorer.ChangeWorld.Attempt;
import io.redlock.explorer.ChangeWorld.Node;
import io.redlock.explorer.ChangeWorld.Operator;
import io.redlock.testkit.NodeModel;
import java.util.ArrayList;
import java.util.List;

/** The search through a change of masters. */
final class ChangeExplorer extends Search<ChangeWorld> {

  private static final int REST_BITS = 26;

  private final ChangeScope scope;
  private final NodeModel model;
  private final Interner<Node> nodes;
  private final Interner<Rest> rests = new Interner<>("clients and operators", REST_BITS);
  private final int nodeBits;
  private final int perLow;

  private record Rest(int now, List<Operator> operators, int commands, List<Attempt> attempts) {}

  private ChangeExplorer(ChangeScope scope) {
    super(scope.name);
    this.scope = scope;
    model = scope.nodeModel();
    nodeBits = Math.min(20, (2 * Long.SIZE - REST_BITS - 2) / scope.nodes());
    perLow = Long.SIZE / nodeBits;
    nodes = new Interner<>("node states", nodeBits);
  }

  static Result search(ChangeScope scope, int mostStates) {
    return new ChangeExplorer(scope).run(mostStates);
  }

  @Override
  List<ChangeWorld> first() {
    return List.of(ChangeWorld.first(scope));
  }

  @Override
  void pack(ChangeWorld world) {
    low = 0;
    high = rests.of(new Rest(world.now(), world.operators(), world.commands(), world.attempts()));
    int at = 0;
    for (int number : world.sorted(scope, nodes)) {
      if (at < perLow) {
        low |= (long) number << at * nodeBits;
      } else {
        high |= (long) number << REST_BITS + (at - perLow) * nodeBits;
      }
      at++;
    }
  }

  @Override
  ChangeWorld unpack(long packedLow, long packedHigh) {
    Rest rest = rests.get((int) (packedHigh & (1L << REST_BITS) - 1));
    List<Node> found = new ArrayList<>();
    for (int at = 0; at < scope.nodes(); at++) {
      long number =
          at < perLow
              ? packedLow >>> at * nodeBits
              : packedHigh >>> REST_BITS + (at - perLow) * nodeBits;
      found.add(nodes.get((int) (number & (1L << nodeBits) - 1)));
    }
    return new ChangeWorld(
        rest.now, rest.operators, rest.commands, rest.attempts, List.copyOf(found));
  }

  @Override
  void successors(ChangeWorld world, Sink<ChangeWorld> sink) {
    world.successors(
        scope, model, (event, next) -> sink.found(() -> world.now() + "  " + event.get(), next));
  }

  @Override
  void check(ChangeWorld from, ChangeWorld next) {
    next.check(scope);
  }
}
