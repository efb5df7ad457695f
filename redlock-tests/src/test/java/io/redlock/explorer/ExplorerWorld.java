package io.redlock.explorer;

/** One state, taken apart: numbers of values that the {@link Catalog} knows. */
final class ExplorerWorld {

  int now;
  int cuts;
  int copies;
  int withdrawals;
  int losses;
  int shortages;
  int clockFaults;
  final int[] headers;
  final int[] nodes = new int[Scope.NODES];
  final int[][] links; // by node, then by attempt

  ExplorerWorld(int attempts) {
    headers = new int[attempts];
    links = new int[Scope.NODES][attempts];
  }

  ExplorerWorld set(ExplorerWorld other) {
    now = other.now;
    cuts = other.cuts;
    copies = other.copies;
    withdrawals = other.withdrawals;
    losses = other.losses;
    shortages = other.shortages;
    clockFaults = other.clockFaults;
    System.arraycopy(other.headers, 0, headers, 0, headers.length);
    System.arraycopy(other.nodes, 0, nodes, 0, nodes.length);
    for (int node = 0; node < nodes.length; node++) {
      System.arraycopy(other.links[node], 0, links[node], 0, headers.length);
    }
    return this;
  }
}
