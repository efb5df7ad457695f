package io.redlock.explorer;

import java.util.List;

/** The search through what clients and nodes do. */
final class Explorer extends Search<ExplorerWorld> {

  /** Looks at every state. */
  interface Visitor {
    void visit(ExplorerWorld world, Catalog catalog, Scope scope);
  }

  private final Scope scope;
  private final Visitor visitor;
  private final Catalog catalog;
  private final Successors successors;
  private final ExplorerWorld world;

  private Explorer(Scope scope, Visitor visitor) {
    super(scope.name);
    this.scope = scope;
    this.visitor = visitor;
    catalog = new Catalog(scope);
    successors = new Successors(scope, catalog);
    world = new ExplorerWorld(scope.attempts);
  }

  static Result search(Scope scope, int mostStates) {
    return search(scope, mostStates, (world, catalog, of) -> {});
  }

  static Result search(Scope scope, int mostStates, Visitor visitor) {
    return new Explorer(scope, visitor).run(mostStates);
  }

  @Override
  List<ExplorerWorld> first() {
    System.arraycopy(catalog.firstNodes, 0, world.nodes, 0, Scope.NODES);
    return List.of(world);
  }

  @Override
  void pack(ExplorerWorld state) {
    catalog.pack(state);
    low = catalog.low;
    high = catalog.high;
  }

  @Override
  ExplorerWorld unpack(long packedLow, long packedHigh) {
    catalog.unpack(packedLow, packedHigh, world);
    return world;
  }

  @Override
  void successors(ExplorerWorld from, Sink<ExplorerWorld> sink) {
    visitor.visit(from, catalog, scope);
    successors.of(from, sink);
  }

  @Override
  ExplorerWorld kept(ExplorerWorld found) {
    return new ExplorerWorld(scope.attempts).set(found);
  }

  @Override
  String tried(ExplorerWorld before, String lastFound) {
    return successors.line();
  }
}
