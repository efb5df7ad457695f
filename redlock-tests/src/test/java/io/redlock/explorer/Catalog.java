package io.redlock.explorer;

import io.redlock.protocol.TenureState;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Reader;
import io.redlock.testkit.NodeModel.Reading;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The values that states are made of, each with its number, and the packing of a state into 128
 * bits. Nodes are alike, so a state keeps them sorted.
 */
final class Catalog {

  /**
   * What a node is.
   *
   * @param cells what it stores, by name
   * @param birth how often it has lost its data
   * @param bornMillis when, by its clock, it was first seen since; {@link #UNBORN} or {@link #OLD}
   * @param gained whether its clock has run fast
   * @param holders which owner each key is of plus 1, four bits each; 0 where there is no key
   * @param readers the owners that read each name, as bits
   */
  record Node(
      List<Cell> cells, int birth, long bornMillis, boolean gained, int holders, int readers) {
    static final long UNBORN = -1;
    static final long OLD = -2;

    private static final int HOLDER_BITS = 4;
    private static final int HOLDER = (1 << HOLDER_BITS) - 1;
    private static final int STRANGER = HOLDER - 1;
    private static final int READERS = HOLDER - 2;
    private static final int NOBODY = -1;

    static Node of(List<Cell> cells, int birth, long bornMillis, boolean gained) {
      int holders = 0;
      for (int name = 0; name < cells.size(); name++) {
        String owner = cells.get(name).owner();
        boolean isStrangers = owner.equals(STRANGERS) || owner.equals(FREED);
        int number = isStrangers ? STRANGER : OWNERS.indexOf(owner);
        number = cells.get(name).isShared() ? READERS : number;
        holders |= (number + 1) << HOLDER_BITS * name;
      }
      int readers = 0;
      for (int name = 0; name < cells.size(); name++) {
        for (Reader reader : cells.get(name).readers()) {
          readers |= readerBit(name, OWNERS.indexOf(reader.owner()));
        }
      }
      return new Node(cells, birth, bornMillis, gained, holders, readers);
    }

    Node with(List<Cell> stored) {
      return of(stored, birth, bornMillis, gained);
    }

    Node each(UnaryOperator<Cell> change) {
      return with(cells.stream().map(change).toList());
    }

    /** Whether it has no key. */
    boolean isFree() {
      return holders == 0;
    }

    /** Whether the name's key is this owner's, or this owner reads the name. */
    boolean isHeld(int name, int owner) {
      int holder = holder(name);
      return holder == READERS ? (readers & readerBit(name, owner)) != 0 : holder == owner;
    }

    private static int readerBit(int name, int owner) {
      return owner < OWNERS.size() ? 1 << OWNERS.size() * name + owner : 0;
    }

    /** Whether the owner reads any name. */
    boolean readsAny(int owner) {
      for (int name = 0; name < cells.size(); name++) {
        if ((readers & readerBit(name, owner)) != 0) {
          return true;
        }
      }
      return false;
    }

    /** Whether the keys of all these names are this owner's. */
    boolean holdsAll(int[] names, int owner) {
      for (int name : names) {
        if (!isHeld(name, owner)) {
          return false;
        }
      }
      return true;
    }

    /** Whether any key is this owner's. */
    boolean holdsAny(int owner) {
      for (int name = 0; name < cells.size(); name++) {
        if (isHeld(name, owner)) {
          return true;
        }
      }
      return false;
    }

    /** Whether the name has an owner's key, and none before it is of the same owner. */
    boolean isFirstOfItsOwner(int name) {
      int holder = holder(name);
      for (int before = 0; before < name; before++) {
        if (holder(before) == holder) {
          return false;
        }
      }
      return holder != NOBODY && holder != READERS;
    }

    private int holder(int name) {
      return (holders >>> HOLDER_BITS * name & HOLDER) - 1;
    }

    /** Whether any key is somebody's who does not take part. */
    boolean isHeldByStrangers() {
      return holdsAny(STRANGER);
    }
  }

  /**
   * A fair waiter's place in the queues, as it knows it.
   *
   * @param micros its ticket; 0 if it has none
   * @param stands whether tickets may be with nodes
   * @param behind the waiters it may not pass, as bits: when the round under way began they were in
   *     the queues of a quorum with lower tickets, and they wait still
   */
  record Place(long micros, boolean stands, int behind) {
    static final Place NONE = new Place(0, false, 0);

    Place behind(int waiters) {
      return behind == waiters ? this : new Place(micros, stands, waiters);
    }
  }

  /**
   * What an owner may claim.
   *
   * @param floor the highest token of all leases acquired before the round under way began
   * @param first the token of the lease it acquired, 0 if none
   * @param held the token of the lease to which that was passed on last; the first, if to none
   * @param overtaken whether somebody else has acquired since
   * @param offeredNanos until when the round under way could entitle it to hold, by a true clock
   * @param entitledNanos until when it is entitled to hold
   */
  record Claim(
      long floor, long first, long held, boolean overtaken, long offeredNanos, long entitledNanos) {
    static final Claim NONE = new Claim(0, 0, 0, false, 0, 0);

    /** A round is under way, or none if it offers nothing. */
    Claim asking(long newFloor, long newOfferedNanos) {
      return new Claim(newFloor, first, held, overtaken, newOfferedNanos, entitledNanos);
    }

    Claim acquired(long token) {
      return new Claim(0, token, token, false, 0, offeredNanos);
    }

    Claim passed(long token) {
      return new Claim(floor, first, token, overtaken, offeredNanos, entitledNanos);
    }

    Claim over(boolean wasOvertaken, long newOfferedNanos) {
      return new Claim(0, first, held, wasOvertaken, newOfferedNanos, 0);
    }

    Claim extended() {
      return new Claim(0, first, held, false, 0, Math.max(entitledNanos, offeredNanos));
    }

    Claim overtakenNow() {
      return new Claim(floor, first, held, true, offeredNanos, entitledNanos);
    }
  }

  /**
   * What is known of an owner besides its nodes.
   *
   * @param lag by how many ticks its monotonic clock is behind
   * @param setBack by how many ticks its wall clock was set back
   * @param place its place in the queues; {@link Place#NONE} if it does not ask fairly
   */
  record Header(TenureState client, int lag, int setBack, Claim claim, Place place) {
    static final Header NEW = new Header(TenureColumns.NEW, 0, 0, Claim.NONE, Place.NONE);

    Header with(Place other) {
      return new Header(client, lag, setBack, claim, other);
    }

    Header with(TenureState state, Claim other) {
      return new Header(state, lag, setBack, other, place);
    }

    /** The same at an owner whose clocks no longer matter. */
    Header timeless(TenureState state, Claim other) {
      return new Header(state, 0, 0, other, place);
    }
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

  /** Signs a key that none of the owners has set. */
  static final String STRANGERS = "X";

  /** The key of a name that an operator has set free. */
  static final String FREED = HolderLabel.freed("");

  /** Signs a request that is not really sent. */
  static final String TRIAL = "?";

  private static final int NODE_BITS = 14;
  private static final int HIGH_BITS = 21;
  private static final int NOW_BITS = 5;
  private static final int COUNTS = 6;
  private static final int COUNT_BITS = 2;

  final Interner<Node> nodes = new Interner<>("node states", NODE_BITS);
  final Interner<Header> headers;
  final Interner<Message> messages = new Interner<>("requests", 16);
  final Interner<Answer> answers = new Interner<>("answers", 16);
  final Interner<ExplorerLink> links;
  private final Interner<Long> columns;

  private final int attempts;
  private final int nowBits;
  private final int headerBits;
  private final int linkBits;
  private final int columnLowBits;

  private final List<int[]> orders = new ArrayList<>(); // of the owners, that as they come first
  private final List<int[]> renamed = new ArrayList<>(); // by order: node + 1 by node, 0 if unknown
  final int[] firstNodes = new int[Scope.NODES];

  private final int[] unsorted = new int[Scope.NODES];
  private final int[] sorted = new int[Scope.NODES];

  /** The half of the state packed last that holds the time, what is used up, and the owners. */
  long low;

  /** The half of the state packed last that holds the nodes. */
  long high;

  Catalog(Scope scope) {
    this.attempts = scope.attempts;
    addOrders(new int[attempts], 0, scope.ownersAreAlike());
    nowBits = scope.isTimed() ? NOW_BITS : 0;
    int free = Long.SIZE - nowBits - COUNTS * COUNT_BITS;
    headerBits = attempts <= 2 ? 18 : free / attempts - 1;
    columnLowBits = (free - attempts * headerBits) / Scope.NODES;
    linkBits = (Long.SIZE - 1 - NODE_BITS) / attempts;
    headers = new Interner<>("clients", headerBits);
    links = new Interner<>("links", linkBits);
    columns = new Interner<>("columns", HIGH_BITS + columnLowBits);
    for (int node = 0; node < firstNodes.length; node++) {
      firstNodes[node] = nodes.of(scope.firstNode(node));
    }
    headers.of(Header.NEW);
    links.of(ExplorerLink.NONE);
    messages.of(new Message(0, new NodeRequest.Release(List.of(), "", 0, 0, false, null, 0), 0));
    answers.of(new Answer(0, NodeReply.unknown("")));
  }

  Header header(ExplorerWorld world, int attempt) {
    return headers.get(world.headers[attempt]);
  }

  ExplorerLink link(ExplorerWorld world, int node, int attempt) {
    return links.get(world.links[node][attempt]);
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

  /**
   * Packs a state. Owners are sorted by what is known of them, nodes by what they are then; where
   * that leaves a choice, the least result is taken.
   */
  void pack(ExplorerWorld world) {
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

  private boolean isSorted(ExplorerWorld world, int[] order) {
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

  private long packLow(ExplorerWorld world, int[] order) {
    long packed = world.now;
    int at = nowBits;
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

  private void sortColumns(ExplorerWorld world, int[] order, int[] names) {
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
      names[node] = nodes.of(old.each(cell -> renamed(cell, order))) + 1;
    }
    return names[node] - 1;
  }

  private static Cell renamed(Cell cell, int[] order) {
    Cell read = cell.reading().all().isEmpty() ? cell : cell.read(renamed(cell.reading(), order));
    String name = renamed(cell.owner(), order);
    return name.equals(cell.owner()) ? read : read.locked(name, cell.lockUntilMillis());
  }

  private static Reading renamed(Reading reading, int[] order) {
    List<Reader> readers = new ArrayList<>();
    for (Reader reader : reading.all()) {
      readers.add(
          new Reader(renamed(reader.owner(), order), reader.untilMillis(), reader.released()));
    }
    readers.sort(Comparator.comparing(Reader::owner));
    return new Reading(
        List.copyOf(readers), reading.floored(), reading.floor(), reading.floorUntilMillis());
  }

  private static String renamed(String owner, int[] order) {
    for (int i = 0; i < order.length; i++) {
      if (owner.equals(OWNERS.get(order[i]))) {
        return OWNERS.get(i);
      }
    }
    return owner;
  }

  private int column(ExplorerWorld world, int node, int[] order, int[] names) {
    long column = orders.size() == 1 ? world.nodes[node] : renamed(world.nodes[node], order, names);
    for (int attempt : order) {
      column = column << linkBits | world.links[node][attempt];
    }
    return columns.of(column);
  }

  /** Takes a state apart. */
  void unpack(long packedLow, long packedHigh, ExplorerWorld world) {
    world.now = (int) (packedLow & mask(nowBits));
    int at = nowBits;
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
      unpackColumn(columns.get(above << HIGH_BITS | below), world, node);
    }
  }

  private void unpackColumn(long column, ExplorerWorld world, int node) {
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
}
