package io.redlock.explorer;

import java.util.ArrayList;
import java.util.List;

/** The search through the marks of some masters. */
final class MarkExplorer extends Search<MarkWorld> {

  private final MarkScope scope;
  private final MarkRules rules;
  private final WayOut wayOut;
  private final List<List<Integer>> alike;
  private final Interner<MarkWorld> worlds = new Interner<>("states", 26);

  private MarkExplorer(MarkScope scope) {
    super(scope.name);
    this.scope = scope;
    rules = new MarkRules(scope);
    wayOut = new WayOut(scope, rules);
    alike = rules.alike();
  }

  static Result search(MarkScope scope, int mostStates) {
    return new MarkExplorer(scope).run(mostStates);
  }

  @Override
  List<MarkWorld> first() {
    List<MarkWorld> first = new ArrayList<>();
    scope.starts.forEach(marks -> first.add(MarkWorld.first(scope, marks)));
    return first;
  }

  @Override
  void pack(MarkWorld world) {
    low = worlds.of(rules.leasing(world.sorted(alike)));
  }

  @Override
  MarkWorld unpack(long packedLow, long packedHigh) {
    return worlds.get((int) packedLow);
  }

  @Override
  int known() {
    return worlds.size();
  }

  @Override
  void successors(MarkWorld world, Sink<MarkWorld> sink) {
    rules.check(world);
    wayOut.check(world);
    world.successors(scope, rules, sink);
  }

  @Override
  void check(MarkWorld from, MarkWorld next) {
    rules.checkAbstention(from, next);
  }

  @Override
  MarkWorld kept(MarkWorld found) {
    return rules.leasing(found);
  }

  @Override
  String described(MarkWorld first) {
    return ": " + first.nodes();
  }

  @Override
  String tried(MarkWorld before, String lastFound) {
    return before.nodes() + " " + before.known() + "\n" + lastFound;
  }
}
