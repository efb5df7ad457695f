package io.redlock.testkit;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The rules of one node, as a pure function from the data under the requested names, the request
 * and the node's time to the answer and the new data. No clock, no state, no I/O: the same rules as
 * the scripts, in a form that can be run over millions of states.
 *
 * <p>Keys expire as in Redis, by whole milliseconds of the node's clock: a key that is set at
 * millisecond t to live p milliseconds is still there at t + p, with 0 ms to live, and gone at t +
 * p + 1.
 *
 * <p>Not final, so that a test can break one rule and show that the explorer notices.
 */
public class NodeModel {

  /** The first integer that a Lua number cannot tell from its neighbour. */
  private static final long TOKEN_LIMIT = 1L << 53;

  private static final String NOBODY = "";
  private static final String NOT_A_STRING = "\0 not a string";

  /** The states of a node, apart from its data. */
  public enum Standing {
    /** It grants, joins, extends and releases. */
    VOTING,
    /** It was reset, or the sender knows another birth mark: it extends and releases. */
    ABSTAINING,
    /** It does not serve the sender: it only releases. */
    UNSERVING,
    /** It votes, but is out of memory: a request that would create a key fails. */
    OUT_OF_MEMORY
  }

  /**
   * A ticket in a queue.
   *
   * @param micros the time of the ticket: the lowest is first
   * @param untilMillis the last millisecond of the node's clock at which the ticket counts
   */
  public record Place(String waiter, long micros, long untilMillis) {

    static final Comparator<Place> ORDER =
        Comparator.comparingLong(Place::micros).thenComparing(Place::waiter);

    private boolean isOver(long nowMillis) {
      return nowMillis > untilMillis;
    }
  }

  /**
   * The data of a node under one name. Times are milliseconds of the node's clock: the last at
   * which the key is there.
   *
   * @param owner the owner in the lock key's value; empty if there is no key
   * @param token the token in the lock key's value; 0 if it names none
   * @param lockUntilMillis the lock key's end; {@link Long#MAX_VALUE} if it has none
   * @param counter the counter; 0 if there is none
   * @param counterUntilMillis the counter's end
   * @param queue the waiters, in the order of their tickets
   */
  public record Cell(
      String owner,
      long token,
      long lockUntilMillis,
      long counter,
      long counterUntilMillis,
      List<Place> queue) {

    /** No data. */
    public static final Cell EMPTY = new Cell(NOBODY, 0, 0, 0);

    /** Creates the data of a name without waiters, whose lock key names no token. */
    public Cell(String owner, long lockUntilMillis, long counter, long counterUntilMillis) {
      this(owner, 0, lockUntilMillis, counter, counterUntilMillis, List.of());
    }

    /** Returns the same counter and queue with a lock key that names no token. */
    public Cell locked(String byOwner, long untilMillis) {
      return locked(byOwner, 0, untilMillis);
    }

    /** Returns the same counter and queue with another lock key. */
    public Cell locked(String byOwner, long atToken, long untilMillis) {
      return new Cell(byOwner, atToken, untilMillis, counter, counterUntilMillis, queue);
    }

    /** Returns the value of the lock key. */
    public String value() {
      return token == 0 ? owner : HolderLabel.value(owner, token);
    }

    /** Returns the same lock key and queue with another counter. */
    public Cell counting(long counter, long untilMillis) {
      return new Cell(owner, token, lockUntilMillis, counter, untilMillis, queue);
    }

    /** Returns the same lock key and counter with another queue. */
    public Cell queued(List<Place> places) {
      return new Cell(owner, token, lockUntilMillis, counter, counterUntilMillis, places);
    }

    private Cell joined(Ticket ticket, long untilMillis) {
      List<Place> places = new ArrayList<>(left(ticket).queue);
      places.add(new Place(ticket.waiter(), ticket.micros(), untilMillis));
      places.sort(Place.ORDER);
      return queued(List.copyOf(places));
    }

    /** Lets the ticket of a new holder expire with its key at the latest. */
    private Cell withTicketUpToItsLock(@Nullable Ticket ticket, long nowMillis) {
      return ticket != null && nowMillis + ticket.lifeMillis() > lockUntilMillis
          ? joined(ticket, lockUntilMillis)
          : this;
    }

    private Cell left(Ticket ticket) {
      List<Place> others =
          queue.stream().filter(place -> !place.waiter.equals(ticket.waiter())).toList();
      return others.size() == queue.size() ? this : queued(others);
    }

    /** Returns the same counter and queue with a key that is not a string. */
    public Cell lockedByWrongType() {
      return locked(NOT_A_STRING, Long.MAX_VALUE);
    }

    /** Returns the data at that time, without expired keys. */
    public Cell at(long nowMillis) {
      boolean lockGone = !owner.isEmpty() && nowMillis > lockUntilMillis;
      boolean counterGone = counter != 0 && nowMillis > counterUntilMillis;
      boolean placeGone =
          !queue.isEmpty() && queue.stream().anyMatch(place -> place.isOver(nowMillis));
      if (!lockGone && !counterGone && !placeGone) {
        return this;
      }
      return new Cell(
          lockGone ? NOBODY : owner,
          lockGone ? 0 : token,
          lockGone ? 0 : lockUntilMillis,
          counterGone ? 0 : counter,
          counterGone ? 0 : counterUntilMillis,
          placeGone ? queue.stream().filter(place -> !place.isOver(nowMillis)).toList() : queue);
    }

    /** Returns the remaining life of the lock key, which must exist; −1 if it has no end. */
    public long remainingMillis(long nowMillis) {
      return lockUntilMillis == Long.MAX_VALUE ? -1 : lockUntilMillis - nowMillis;
    }

    /** Returns true if the name has no holder. */
    public boolean isFree() {
      return owner.isEmpty();
    }

    private boolean isHeldBy(String somebody) {
      return owner.equals(somebody);
    }

    private boolean isWrongType() {
      return owner.equals(NOT_A_STRING);
    }

    private Cell released() {
      return locked(NOBODY, 0);
    }

    private Cell counted(long token, long untilMillis) {
      return counting(token, Math.max(untilMillis, counterUntilMillis));
    }
  }

  /**
   * The result of a request.
   *
   * @param cells the new data under the request's names, in their order
   * @param reply the answer
   * @param woken the waiters to wake
   */
  public record Outcome(List<Cell> cells, NodeReply reply, List<String> woken) {

    /** Creates a result without wake-ups. */
    public Outcome(List<Cell> cells, NodeReply reply) {
      this(cells, reply, List.of());
    }
  }

  private final long skewMicros;
  private final long retentionMillis;

  /**
   * Creates the rules for these settings.
   *
   * @param skewMicros the largest difference of clocks
   * @param retentionMillis how long a counter outlives the last use of its name
   */
  public NodeModel(long skewMicros, long retentionMillis) {
    this.skewMicros = skewMicros;
    this.retentionMillis = retentionMillis;
  }

  /**
   * Executes one request.
   *
   * @param cells the data under the request's names, in their order
   * @param request the request
   * @param standing the state of the node
   * @param nowMicros the node's time
   */
  public final Outcome execute(
      List<Cell> cells, NodeRequest request, Standing standing, long nowMicros) {
    long nowMillis = Math.floorDiv(nowMicros, 1_000L);
    List<Cell> live = map(cells, cell -> cell.at(nowMillis));
    if (request instanceof NodeRequest.Grant grant) {
      return grant(live, grant, standing, nowMicros);
    }
    if (request instanceof NodeRequest.Extend extend) {
      return extend(live, extend, standing, nowMicros);
    }
    if (request instanceof NodeRequest.Release release) {
      return release(live, release, standing, nowMicros);
    }
    if (request instanceof NodeRequest.Free free) {
      return free(live, free, standing, nowMicros);
    }
    if (request instanceof NodeRequest.Look) {
      return new Outcome(live, NodeReply.looked(look(live, standing, nowMillis)));
    }
    if (any(live, Cell::isWrongType)) {
      return new Outcome(live, NodeReply.misconfigured(""));
    }
    return request instanceof NodeRequest.Inspect
        ? new Outcome(live, NodeReply.inspected(report(live.get(0), standing, nowMillis)))
        : left(live, live, ((NodeRequest.RemoveTicket) request).ticket(), NodeReply.NOT_HELD);
  }

  private static NodeReport report(Cell cell, Standing standing, long nowMillis) {
    List<String> waiters = cell.queue().stream().map(Place::waiter).toList();
    return new NodeReport( // X1
        cell.isFree() ? null : cell.value(),
        cell.isFree() ? -1 : cell.remainingMillis(nowMillis),
        cell.counter(),
        Math.min(waiters.size(), NodeReport.MOST_COUNTED),
        waiters.subList(0, Math.min(waiters.size(), NodeReport.MOST_WAITERS)),
        doubt(standing));
  }

  private static NodeLook look(List<Cell> cells, Standing standing, long nowMillis) {
    return new NodeLook( // X5
        cells.stream()
            .map(cell -> cell.isFree() ? NodeLook.FREE : cell.remainingMillis(nowMillis))
            .toList(),
        doubt(standing));
  }

  private static String doubt(Standing standing) {
    return standing == Standing.ABSTAINING ? "its data is too new" : "";
  }

  /** Locks the names, or refuses with a reason. */
  protected Outcome grant(
      List<Cell> cells, NodeRequest.Grant request, Standing standing, long nowMicros) {
    long token = request.token();
    if (standing == Standing.ABSTAINING || standing == Standing.UNSERVING) { // N2
      return new Outcome(cells, NodeReply.abstain(-1, ""));
    }
    // G1
    if (isAhead(token, request.reported(), nowMicros)
        || isBehind(token, request.ttlMillis(), nowMicros)) {
      return new Outcome(cells, NodeReply.of(Kind.CLOCK, ""));
    }
    if (any(cells, Cell::isWrongType)) {
      return new Outcome(cells, NodeReply.misconfigured(""));
    }
    Ticket ticket = request.ticket();
    long nowMillis = Math.floorDiv(nowMicros, 1_000L);
    List<Cell> queued =
        ticket == null || ticket.lifeMillis() == 0 || standing == Standing.OUT_OF_MEMORY
            ? cells
            : map(cells, cell -> cell.joined(ticket, nowMillis + ticket.lifeMillis())); // Q1
    if (any(cells, cell -> isTaken(cell, request.owner()))) { // G2
      return new Outcome(queued, taken(cells, request.owner(), nowMicros));
    }
    if (!all(cells, cell -> mayLock(cell, request.owner(), token))) {
      return new Outcome(cells, NodeReply.stale(highestCounter(cells))); // G5
    }
    // Q2
    if (ticket != null && any(queued, cell -> cell.isFree() && !isFirst(cell, ticket))) {
      long untilMillis = queued.get(0).queue().get(0).untilMillis();
      return new Outcome(queued, NodeReply.waiting(untilMillis - nowMillis));
    }
    if (standing == Standing.OUT_OF_MEMORY) {
      return new Outcome(cells, NodeReply.of(Kind.OUT_OF_MEMORY, ""));
    }
    return new Outcome(
        map(
            queued,
            cell ->
                lock(cell, request.owner(), token, request.ttlMillis(), nowMicros)
                    .withTicketUpToItsLock(ticket, nowMillis)),
        NodeReply.GRANTED);
  }

  /** Extends the keys of the owner, or joins. */
  protected Outcome extend(
      List<Cell> cells, NodeRequest.Extend request, Standing standing, long nowMicros) {
    boolean joins = false;
    for (Cell cell : cells) {
      if (cell.isWrongType()) {
        return new Outcome(cells, NodeReply.misconfigured(""));
      }
      if (!cell.isHeldBy(request.owner())) {
        if (!mayJoin(cell, request.token())) {
          String freed = HolderLabel.isFreed(cell.owner()) ? HolderLabel.of(cell.owner()) : "";
          return new Outcome(cells, NodeReply.of(Kind.NOT_HELD, freed)); // E3
        }
        joins = true;
      }
    }
    if (standing == Standing.UNSERVING) {
      return new Outcome(cells, joins ? NodeReply.NOT_HELD : NodeReply.abstain(-1, ""));
    }
    if (joins && (standing == Standing.ABSTAINING || !fitsTheClock(request, nowMicros))) {
      return new Outcome(cells, NodeReply.NOT_HELD);
    }
    List<Cell> extended = map(cells, cell -> extend(cell, request, nowMicros));
    if (standing == Standing.OUT_OF_MEMORY && joins) {
      return new Outcome(cells, NodeReply.of(Kind.OUT_OF_MEMORY, ""));
    }
    return new Outcome(extended, joins ? NodeReply.JOINED : NodeReply.EXTENDED);
  }

  /** Deletes the keys of the owner and sets a tombstone. */
  protected Outcome release(
      List<Cell> cells, NodeRequest.Release request, Standing standing, long nowMicros) {
    if (any(cells, Cell::isWrongType)) {
      return new Outcome(cells, NodeReply.misconfigured(""));
    }
    String owner = request.owner();
    List<Cell> deleted = map(cells, cell -> cell.isHeldBy(owner) ? cell.released() : cell);
    boolean held = any(cells, cell -> cell.isHeldBy(owner));
    boolean unburied =
        isAhead(request.token(), request.reported(), nowMicros)
            && any(cells, cell -> cell.counter() < request.token());
    List<Cell> after =
        unburied ? deleted : map(deleted, cell -> bury(cell, request.token(), nowMicros));
    // R1
    NodeReply reply = NodeReply.NOT_HELD;
    if (held) {
      reply = NodeReply.RELEASED;
    } else if (unburied) {
      reply = NodeReply.of(Kind.CLOCK, "");
    } else if (standing == Standing.OUT_OF_MEMORY && !after.equals(cells)) {
      after = cells;
      reply = NodeReply.of(Kind.OUT_OF_MEMORY, "");
    }
    Ticket ticket = request.ticket();
    return ticket != null && request.last()
        ? left(cells, after, ticket, reply)
        : new Outcome(after, reply, woken(cells, after, ticket));
  }

  /** Replaces the holder's value by a reserved one that nobody owns, and keeps its life. */
  protected Outcome free(
      List<Cell> cells, NodeRequest.Free request, Standing standing, long nowMicros) {
    Cell cell = cells.get(0);
    if (cell.isWrongType()) {
      return new Outcome(cells, NodeReply.misconfigured(""));
    }
    boolean isHeld = !cell.isFree() && !HolderLabel.isFreed(cell.owner());
    long remainingMillis =
        cell.isFree() ? 0 : cell.remainingMillis(Math.floorDiv(nowMicros, 1_000L));
    String holder = HolderLabel.of(cell.owner());
    // F1, F2
    if (isHeld && (!request.seen().contains(cell.value()) || remainingMillis < 0)) {
      return new Outcome(cells, NodeReply.held(remainingMillis, cell.token(), holder));
    }
    Cell buried = bury(cell, request.buried(), nowMicros);
    // F4
    Cell freed = isHeld ? buried.locked(request.owner(), cell.lockUntilMillis()) : buried;
    if (standing == Standing.OUT_OF_MEMORY && !freed.equals(cell)) {
      return new Outcome(cells, NodeReply.of(Kind.OUT_OF_MEMORY, ""));
    }
    return new Outcome(
        List.of(freed),
        cell.isFree()
            ? NodeReply.NOT_HELD
            : NodeReply.freed(remainingMillis, cell.token(), holder));
  }

  /** Removes the ticket. */
  private Outcome left(List<Cell> before, List<Cell> released, Ticket ticket, NodeReply reply) {
    List<Cell> after = map(released, cell -> cell.left(ticket));
    return new Outcome(after, reply, woken(before, after, ticket));
  }

  /**
   * Returns the first waiter of each free name whose holder or queue the request has changed,
   * except the waiter that sent the request: it goes on anyway.
   */
  protected List<String> woken(List<Cell> before, List<Cell> after, @Nullable Ticket ticket) {
    List<String> woken = new ArrayList<>();
    for (int i = 0; i < after.size(); i++) {
      Cell cell = after.get(i);
      boolean changed =
          !cell.owner().equals(before.get(i).owner())
              || cell.queue().size() < before.get(i).queue().size();
      if (changed && cell.isFree() && !cell.queue().isEmpty()) { // Q6
        String first = cell.queue().get(0).waiter();
        if (ticket == null || !first.equals(ticket.waiter())) {
          woken.add(first);
        }
      }
    }
    return woken;
  }

  /** Returns true if this waiter is first in the queue of a free name, or the queue is empty. */
  protected boolean isFirst(Cell cell, Ticket ticket) {
    return cell.queue().isEmpty() || cell.queue().get(0).waiter().equals(ticket.waiter());
  }

  /** Returns true if a grant may lock the name: it is free below the token, or the owner's own. */
  protected boolean mayLock(Cell cell, String owner, long token) {
    // G3, G4
    return cell.isHeldBy(owner) ? token >= cell.counter() : token > cell.counter();
  }

  /** Returns true if an extend may lock a name that its owner lost: it is free below the token. */
  protected boolean mayJoin(Cell cell, long token) {
    return cell.isFree() && token > cell.counter(); // E2
  }

  /** Returns the name with the owner's key, never shorter than before, and the token. */
  protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
    long nowMillis = Math.floorDiv(nowMicros, 1_000L);
    long remainingMillis = cell.isFree() ? 0 : cell.remainingMillis(nowMillis);
    return cell.locked(owner, token, nowMillis + Math.max(ttlMillis, remainingMillis))
        .counted(token, counterUntilMillis(token, nowMicros));
  }

  /**
   * Returns the end of a counter. A counter ahead of the clock lives longer by its lead, so that it
   * expires only when tokens from the clock are higher.
   */
  protected long counterUntilMillis(long token, long nowMicros) {
    long leadMillis = Math.max(0, -Math.floorDiv(nowMicros - token, 1_000L));
    return Math.floorDiv(nowMicros, 1_000L) + retentionMillis + leadMillis;
  }

  /** Returns the name with the owner's key extended, never shortened, and its counter kept. */
  protected Cell lengthen(Cell cell, long ttlMillis, long nowMicros) {
    long nowMillis = Math.floorDiv(nowMicros, 1_000L);
    // E1
    long untilMillis = nowMillis + Math.max(ttlMillis, cell.remainingMillis(nowMillis));
    Cell longer = cell.locked(cell.owner(), cell.token(), untilMillis);
    return cell.counter() == 0
        ? longer
        : longer.counted(cell.counter(), nowMillis + retentionMillis);
  }

  /** Sets a tombstone: raises the counter to the token. */
  protected Cell bury(Cell cell, long token, long nowMicros) {
    return token <= cell.counter() // R2, R3, F3
        ? cell
        : cell.counted(token, counterUntilMillis(token, nowMicros));
  }

  private Cell extend(Cell cell, NodeRequest.Extend request, long nowMicros) {
    return cell.isHeldBy(request.owner())
        ? lengthen(cell, request.ttlMillis(), nowMicros)
        : lock(cell, request.owner(), request.token(), request.ttlMillis(), nowMicros);
  }

  /** Returns true if no node can have granted the token: neither clock nor counter explains it. */
  protected boolean isAhead(long token, long reported, long nowMicros) {
    return token > nowMicros + skewMicros && token > reported + 1 || token >= TOKEN_LIMIT;
  }

  /** Returns true if an extend may join: it is neither too old nor from the future. */
  private boolean fitsTheClock(NodeRequest.Extend request, long nowMicros) {
    return request.token() < TOKEN_LIMIT
        && request.sentMicros() <= nowMicros + skewMicros
        && !isBehind(request.sentMicros(), request.ttlMillis(), nowMicros);
  }

  private boolean isBehind(long micros, long ttlMillis, long nowMicros) {
    return micros < nowMicros - ttlMillis * 1_000 - skewMicros;
  }

  private static boolean isTaken(Cell cell, String owner) {
    return !cell.isFree() && !cell.isHeldBy(owner);
  }

  private static NodeReply taken(List<Cell> cells, String owner, long nowMicros) {
    long nowMillis = Math.floorDiv(nowMicros, 1_000L);
    long remainingMillis = 0;
    String holder = "";
    for (Cell cell : cells) {
      if (isTaken(cell, owner)) {
        long of = cell.remainingMillis(nowMillis);
        if (holder.isEmpty() || of < 0 || (remainingMillis >= 0 && of > remainingMillis)) {
          remainingMillis = of < 0 ? -1 : of;
          holder = cell.owner();
        }
      }
    }
    return NodeReply.heldBy(remainingMillis, highestCounter(cells), holder);
  }

  private static long highestCounter(List<Cell> cells) {
    long highest = 0;
    for (Cell cell : cells) {
      highest = Math.max(highest, cell.counter());
    }
    return highest;
  }

  private static boolean any(List<Cell> cells, Predicate<Cell> condition) {
    for (Cell cell : cells) {
      if (condition.test(cell)) {
        return true;
      }
    }
    return false;
  }

  private static boolean all(List<Cell> cells, Predicate<Cell> condition) {
    return !any(cells, condition.negate());
  }

  private static List<Cell> map(List<Cell> cells, UnaryOperator<Cell> change) {
    if (cells.size() == 1) {
      return List.of(change.apply(cells.get(0)));
    }
    List<Cell> changed = new ArrayList<>(cells.size());
    for (Cell cell : cells) {
      changed.add(change.apply(cell));
    }
    return List.copyOf(changed);
  }
}
