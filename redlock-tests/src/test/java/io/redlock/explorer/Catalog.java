package io.redlock.explorer;

import io.redlock.ClientModel.Client;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel.Cell;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The values that states are made of, each with its number, and the packing of a state into 128
 * bits. Nodes are alike, so a state keeps them sorted.
 */
final class Catalog {

  /**
   * What a node is.
   *
   * @param birth how often it has lost its data
   * @param bornMillis when, by its clock, it was first seen since; {@link #UNBORN} or {@link #OLD}
   * @param gained whether its clock has run fast
   * @param holder which owner its key is of; {@link #NOBODY} if there is none
   */
  record Node(Cell cell, int birth, long bornMillis, boolean gained, int holder) {
    static final long UNBORN = -1;
    static final long OLD = -2;
    static final int NOBODY = -1;
    static final Node NEW = of(Cell.EMPTY, 0, OLD, false);

    static Node of(Cell cell, int birth, long bornMillis, boolean gained) {
      int holder = cell.isFree() ? NOBODY : OWNERS.indexOf(cell.owner());
      return new Node(cell, birth, bornMillis, gained, holder);
    }

    Node with(Cell stored) {
      return of(stored, birth, bornMillis, gained);
    }

    boolean isFree() {
      return holder == NOBODY;
    }
  }

  /**
   * What is known of an owner besides its nodes.
   *
   * @param lag by how many ticks its monotonic clock is behind
   * @param setBack by how many ticks its wall clock was set back
   * @param floor the highest token of all leases acquired before the round under way began
   * @param held the token of the lease it acquired, 0 if none
   * @param overtaken whether somebody else has acquired since
   * @param offeredNanos until when the round under way could entitle it to hold, by a true clock
   * @param entitledNanos until when it is entitled to hold
   */
  record Header(
      Client client,
      int lag,
      int setBack,
      long floor,
      long held,
      boolean overtaken,
      long offeredNanos,
      long entitledNanos) {
    static final Header NEW = new Header(Client.IDLE, 0, 0, 0, 0, false, 0, 0);
  }

  /**
   * A request on its way.
   *
   * @param request what is asked, by whichever owner it is that asks
   * @param birth the birth of the node that the sender knows; −1 if none
   */
  record Message(int tag, NodeRequest request, int birth) {}

  /** An answer on its way. */
  record Answer(int tag, NodeReply reply) {}

  static final List<String> OWNERS = List.of("A", "B", "C", "D");

  private static final int NODE_BITS = 14;
  private static final int HIGH_BITS = 21;
  private static final int NOW_BITS = 5;
  private static final int COUNT_BITS = 2;
  private static final int GLOBAL_BITS = NOW_BITS + 6 * COUNT_BITS;

  final Interner<Node> nodes = new Interner<>("node states", NODE_BITS);
  final Interner<Header> headers;
  final Interner<Message> messages = new Interner<>("requests", 16);
  final Interner<Answer> answers = new Interner<>("answers", 16);
  final Interner<Link> links;
  private final LongMap columnNumbers = new LongMap();
  private long[] columns = new long[1 << 10];
  private int columnCount;

  private final int attempts;
  private final int headerBits;
  private final int linkBits;
  private final int columnLowBits;

  private final List<int[]> orders = new ArrayList<>(); // of the owners, that as they come first
  private final List<int[]> renamed = new ArrayList<>(); // by order: node + 1 by node, 0 if unknown
  private final int[] unsorted = new int[Scope.NODES];
  private final int[] sorted = new int[Scope.NODES];
  private long low;
  private long high;

  /**
   * @param attempts how many owners there are
   * @param alike whether one can stand for the other
   */
  Catalog(int attempts, boolean alike) {
    this.attempts = attempts;
    addOrders(new int[attempts], 0, alike);
    int free = Long.SIZE - GLOBAL_BITS;
    headerBits = attempts <= 2 ? 18 : free / attempts - 1;
    columnLowBits = (free - attempts * headerBits) / Scope.NODES;
    linkBits = (Long.SIZE - 1 - NODE_BITS) / attempts;
    headers = new Interner<>("clients", headerBits);
    links = new Interner<>("links", linkBits);
    nodes.of(Node.NEW);
    headers.of(Header.NEW);
    links.of(Link.NONE);
    messages.of(new Message(0, new NodeRequest.Release(List.of(), "", 0), 0));
    answers.of(new Answer(0, NodeReply.unknown("")));
  }

  private void addOrders(int[] order, int length, boolean alike) {
    if (length == attempts) {
      orders.add(order.clone());
      renamed.add(new int[1 << NODE_BITS]);
      return;
    }
    for (int attempt = 0; attempt < attempts; attempt++) {
      int candidate = attempt;
      boolean isFree = Arrays.stream(order, 0, length).noneMatch(taken -> taken == candidate);
      if (isFree && (alike || attempt == length)) {
        order[length] = attempt;
        addOrders(order, length + 1, alike);
      }
    }
  }

  /** The half of the state packed last that holds the time, what is used up, and the owners. */
  long low() {
    return low;
  }

  /** The half of the state packed last that holds the nodes. */
  long high() {
    return high;
  }

  /**
   * Packs a state. Owners are sorted by what is known of them, nodes by what they are then; where
   * that leaves a choice, the least result is taken.
   */
  void pack(World world) {
    boolean found = false;
    for (int i = 0; i < orders.size(); i++) {
      int[] order = orders.get(i);
      if (!isSorted(world, order)) {
        continue;
      }
      sortColumns(world, order, renamed.get(i));
      long lowHere = packLow(world, order);
      long highHere = packHigh();
      if (!found || lowHere < low || lowHere == low && highHere < high) {
        low = lowHere;
        high = highHere;
      }
      found = true;
    }
  }

  private boolean isSorted(World world, int[] order) {
    if (orders.size() == 1) {
      return true;
    }
    for (int i = 1; i < order.length; i++) {
      if (world.headers[order[i - 1]] > world.headers[order[i]]) {
        return false;
      }
    }
    return true;
  }

  private long packLow(World world, int[] order) {
    long packed = world.now;
    int at = NOW_BITS;
    packed |= (long) world.cuts << at;
    packed |= (long) world.copies << (at += COUNT_BITS);
    packed |= (long) world.withdrawals << (at += COUNT_BITS);
    packed |= (long) world.losses << (at += COUNT_BITS);
    packed |= (long) world.shortages << (at += COUNT_BITS);
    packed |= (long) world.clockFaults << (at += COUNT_BITS);
    at += COUNT_BITS;
    for (int attempt : order) {
      packed |= (long) world.headers[attempt] << at;
      at += headerBits;
    }
    for (int column : sorted) {
      packed |= (long) (column >>> HIGH_BITS) << at;
      at += columnLowBits;
    }
    return packed;
  }

  private long packHigh() {
    return sorted[0] & mask(HIGH_BITS)
        | (sorted[1] & mask(HIGH_BITS)) << HIGH_BITS
        | (sorted[2] & mask(HIGH_BITS)) << 2 * HIGH_BITS;
  }

  private void sortColumns(World world, int[] order, int[] names) {
    for (int node = 0; node < Scope.NODES; node++) {
      unsorted[node] = column(world, node, order, names);
    }
    int less = Math.min(unsorted[0], unsorted[1]);
    int more = Math.max(unsorted[0], unsorted[1]);
    sorted[0] = Math.min(less, unsorted[2]);
    sorted[1] = Math.max(less, Math.min(more, unsorted[2]));
    sorted[2] = Math.max(more, unsorted[2]);
  }

  /** The node as it is when its owners are named in this order. */
  private int renamed(int node, int[] order, int[] names) {
    if (names[node] == 0) {
      Node old = nodes.get(node);
      Cell cell = old.cell();
      for (int i = 0; i < attempts && !old.isFree(); i++) {
        if (order[i] == old.holder()) {
          cell = cell.locked(OWNERS.get(i), cell.lockUntilMillis());
        }
      }
      names[node] = nodes.of(old.with(cell)) + 1;
    }
    return names[node] - 1;
  }

  private int column(World world, int node, int[] order, int[] names) {
    long column = orders.size() == 1 ? world.nodes[node] : renamed(world.nodes[node], order, names);
    for (int attempt : order) {
      column = column << linkBits | world.links[node][attempt];
    }
    long known = columnNumbers.get(column);
    if (known != LongMap.NONE) {
      return (int) known;
    }
    if (columnCount == 1L << HIGH_BITS + columnLowBits) {
      throw new IllegalStateException("more than " + columnCount + " columns: narrow the scope");
    }
    if (columnCount == columns.length) {
      columns = Arrays.copyOf(columns, 2 * columnCount);
    }
    columns[columnCount] = column;
    columnNumbers.put(column, columnCount);
    return columnCount++;
  }

  /** Takes a state apart. */
  void unpack(long packedLow, long packedHigh, World world) {
    world.now = (int) (packedLow & mask(NOW_BITS));
    int at = NOW_BITS;
    world.cuts = count(packedLow, at);
    world.copies = count(packedLow, at += COUNT_BITS);
    world.withdrawals = count(packedLow, at += COUNT_BITS);
    world.losses = count(packedLow, at += COUNT_BITS);
    world.shortages = count(packedLow, at += COUNT_BITS);
    world.clockFaults = count(packedLow, at += COUNT_BITS);
    at += COUNT_BITS;
    for (int attempt = 0; attempt < attempts; attempt++) {
      world.headers[attempt] = (int) (packedLow >>> at & mask(headerBits));
      at += headerBits;
    }
    for (int node = 0; node < Scope.NODES; node++) {
      int above = (int) (packedLow >>> at & mask(columnLowBits));
      at += columnLowBits;
      int below = (int) (packedHigh >>> node * HIGH_BITS & mask(HIGH_BITS));
      unpackColumn(columns[above << HIGH_BITS | below], world, node);
    }
  }

  private void unpackColumn(long column, World world, int node) {
    long rest = column;
    for (int attempt = attempts - 1; attempt >= 0; attempt--) {
      world.links[node][attempt] = (int) (rest & mask(linkBits));
      rest >>>= linkBits;
    }
    world.nodes[node] = (int) rest;
  }

  private static int count(long packedLow, int at) {
    return (int) (packedLow >>> at & mask(COUNT_BITS));
  }

  private static long mask(int bits) {
    return (1L << bits) - 1;
  }

  /** How many of each there are, for the curious. */
  @Override
  public String toString() {
    return nodes.size()
        + " nodes, "
        + headers.size()
        + " clients, "
        + links.size()
        + " links, "
        + columnCount
        + " columns, "
        + messages.size()
        + " requests";
  }
}
