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
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The rules of one node, as a pure function from the data under the requested names, the request
 * and the node's time to the answer and the new data. No clock, no state, no I/O: the same rules as
 * the scripts, in a form that can be run over millions of states.
 *
 * <p>Keys expire as in Redis, by whole milliseconds of the node's clock: a key that is set at
 * millisecond t to live p milliseconds is still there at t + p, with 0 ms to live, and gone at t +
 * p + 1. Redis 8 may delete it at t + p already, in the background; no rule depends on that
 * millisecond, which the drift allowance covers.
 *
 * <p>Not final, so that a test can break one rule and show that the explorer notices.
 */
public class NodeModel {

  /** A counter so far above its clock a node neither takes nor follows: 407 days. */
  private static final long FAR_MICROS = 1L << 45;

  /**
   * A ticket that ends later was left before the clock was set back. A server forgets it at the
   * next fair grant, so without one it counts again at its end.
   */
  private static final long MOST_TICKET_MILLIS = 20_000;

  private static final String FAR = "a counter is more than a year ahead of the clock";
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

    private boolean isOf(@Nullable Ticket ticket) {
      return ticket != null && waiter.equals(ticket.waiter());
    }

    private boolean isOver(long nowMillis) {
      return nowMillis > untilMillis || untilMillis - nowMillis > MOST_TICKET_MILLIS; // Q5
    }
  }

  /**
   * The entry of one reader at a node.
   *
   * @param owner the owner
   * @param untilMillis the last millisecond of the node's clock at which it counts
   * @param released true for a tombstone: the owner was released, and comes back no more
   */
  public record Reader(String owner, long untilMillis, boolean released) {}

  /**
   * The entries of the readers of one name at a node.
   *
   * @param all the readers, by their owners
   * @param floored the counter for which the floor holds; 0 if there is no floor
   * @param floor the token that a reader must be above, while the counter is that one
   * @param floorUntilMillis the floor's end
   */
  public record Reading(List<Reader> all, long floored, long floor, long floorUntilMillis) {

    /** No data. */
    public static final Reading NONE = new Reading(List.of(), 0, 0, 0);

    private Reading with(Reader reader) {
      List<Reader> readers = new ArrayList<>(kept(it -> !it.owner.equals(reader.owner)).all);
      readers.add(reader);
      readers.sort(Comparator.comparing(Reader::owner));
      return new Reading(List.copyOf(readers), floored, floor, floorUntilMillis);
    }

    private Reading kept(Predicate<Reader> condition) {
      return all.stream().allMatch(condition)
          ? this
          : new Reading(all.stream().filter(condition).toList(), floored, floor, floorUntilMillis);
    }

    private Reading floored(long counter, long floor, long untilMillis) {
      return new Reading(all, counter, floor, untilMillis);
    }

    /** Returns the same readers without a floor: then the counter is the floor. */
    public Reading withoutFloor() {
      return floored(0, 0, 0);
    }

    private Reading at(long nowMillis) {
      Reading live = kept(reader -> nowMillis <= reader.untilMillis);
      return floored != 0 && nowMillis > floorUntilMillis ? live.withoutFloor() : live;
    }

    /** Returns it without what counts nothing under such a lock key and counter. */
    private Reading under(boolean shared, long counter) {
      Reading counts = kept(reader -> shared || reader.released); // S2
      return floored == 0 || floored == counter ? counts : counts.withoutFloor(); // S3
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
   * @param reading what it stores for readers, as far as it counts
   */
  public record Cell(
      String owner,
      long token,
      long lockUntilMillis,
      long counter,
      long counterUntilMillis,
      List<Place> queue,
      Reading reading) {

    /** No data. */
    public static final Cell EMPTY = new Cell(NOBODY, 0, 0, 0);

    /** Forgets of readers what counts nothing. */
    public Cell {
      if (!reading.equals(Reading.NONE)) {
        reading = reading.under(HolderLabel.isShared(owner), counter);
      }
    }

    /** Creates the data of a name without waiters and readers, whose lock key names no token. */
    public Cell(String owner, long lockUntilMillis, long counter, long counterUntilMillis) {
      this(owner, 0, lockUntilMillis, counter, counterUntilMillis, List.of(), Reading.NONE);
    }

    /** Returns the same counter and queue with a lock key that names no token. */
    public Cell locked(String byOwner, long untilMillis) {
      return locked(byOwner, 0, untilMillis);
    }

    /** Returns the same counter and queue with another lock key. */
    public Cell locked(String byOwner, long atToken, long untilMillis) {
      return new Cell(byOwner, atToken, untilMillis, counter, counterUntilMillis, queue, reading);
    }

    /** Returns the value of the lock key. */
    public String value() {
      return token == 0 ? owner : HolderLabel.value(owner, token);
    }

    /** Returns the same lock key and queue with another counter. */
    public Cell counting(long counter, long untilMillis) {
      return new Cell(owner, token, lockUntilMillis, counter, untilMillis, queue, reading);
    }

    /** Returns the same lock key and counter with another queue. */
    public Cell queued(List<Place> places) {
      return new Cell(owner, token, lockUntilMillis, counter, counterUntilMillis, places, reading);
    }

    /** Returns the same lock key, counter and queue with other readers. */
    public Cell read(Reading by) {
      return new Cell(owner, token, lockUntilMillis, counter, counterUntilMillis, queue, by);
    }

    /** Returns true if readers hold the name. */
    public boolean isShared() {
      return HolderLabel.isShared(owner); // S1
    }

    /** Returns the bound that the token of a reader must be above. */
    public long floor() {
      return reading.floored == 0 ? counter : reading.floor; // S3
    }

    /** Returns the entries of the readers, the longest first. */
    public List<Reader> readers() {
      return reading.all.stream()
          .filter(reader -> !reader.released)
          .sorted(
              Comparator.comparingLong(Reader::untilMillis).thenComparing(Reader::owner).reversed())
          .toList();
    }

    private @Nullable Reader reader(String somebody, boolean released) {
      return reading.all.stream()
          .filter(reader -> reader.released == released && reader.owner.equals(somebody))
          .findFirst()
          .orElse(null);
    }

    /** Returns true if this owner reads the name. */
    public boolean isReadBy(String somebody) {
      return reader(somebody, false) != null;
    }

    /** Returns true if this reader was released. */
    public boolean isBuried(String somebody) {
      return reader(somebody, true) != null;
    }

    private Cell joined(Ticket ticket, long untilMillis) {
      List<Place> places = new ArrayList<>(left(ticket).queue);
      places.add(new Place(ticket.waiter(), ticket.micros(), untilMillis));
      places.sort(Place.ORDER);
      return queued(List.copyOf(places));
    }

    private Cell left(Ticket ticket) {
      return having(place -> !place.isOf(ticket));
    }

    private Cell having(Predicate<Place> condition) {
      List<Place> places = queue.stream().filter(condition).toList();
      return places.size() == queue.size() ? this : queued(places);
    }

    /** Returns the same counter and queue with a key that is not a string. */
    public Cell lockedByWrongType() {
      return locked(NOT_A_STRING, Long.MAX_VALUE);
    }

    /** Returns the data at that time, without expired keys. */
    public Cell at(long nowMillis) {
      Cell live = isFree() || nowMillis <= lockUntilMillis ? this : released();
      live = counter == 0 || nowMillis <= counterUntilMillis ? live : live.counting(0, 0);
      live = live.having(place -> !place.isOver(nowMillis));
      Reading readingThen = live.reading.at(nowMillis);
      return readingThen == live.reading ? live : live.read(readingThen);
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

    private boolean mayWake(Cell after) {
      return !owner.equals(after.owner) || queue.size() > after.queue.size();
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
    long nowMillis = millis(nowMicros);
    List<Cell> live = map(cells, cell -> cell.at(nowMillis));
    if (request instanceof NodeRequest.Grant grant) {
      return grant(live, grant, standing, nowMicros);
    }
    if (request instanceof NodeRequest.Extend extend) {
      return extend(live, extend, standing, nowMicros);
    }
    if (request instanceof NodeRequest.Look) {
      return new Outcome(live, NodeReply.looked(look(live, standing, nowMillis)));
    }
    if (any(live, Cell::isWrongType)) {
      return new Outcome(live, NodeReply.misconfigured(""));
    }
    if (request instanceof NodeRequest.Release release) {
      return release(live, release, standing, nowMicros);
    }
    if (request instanceof NodeRequest.Free free) {
      return free(live, free, standing, nowMicros);
    }
    return request instanceof NodeRequest.Inspect
        ? new Outcome(live, NodeReply.inspected(report(live.get(0), standing, nowMicros)))
        : left(live, live, ((NodeRequest.RemoveTicket) request).ticket(), NodeReply.NOT_HELD);
  }

  private NodeReport report(Cell cell, Standing standing, long nowMicros) {
    long nowMillis = millis(nowMicros);
    return new NodeReport( // X1
        cell.isFree() ? null : cell.value(),
        cell.isFree() ? -1 : cell.remainingMillis(nowMillis),
        cell.counter(),
        Math.min(cell.queue().size(), NodeReport.MOST_COUNTED),
        cell.queue().stream().limit(NodeReport.MOST_WAITERS).map(Place::waiter).toList(),
        isFar(cell.counter(), nowMicros) ? FAR : doubt(standing),
        Math.min(cell.readers().size(), NodeReport.MOST_COUNTED),
        cell.readers().stream()
            .limit(NodeReport.MOST_READERS)
            .map(it -> new NodeReport.Reader(it.owner, it.untilMillis - nowMillis))
            .toList());
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
        || isBehind(token, request.ttlMillis(), nowMicros)
        || request.shared()
            && !fitsTheClock(request.sentMicros(), request.ttlMillis(), nowMicros)) {
      return new Outcome(cells, NodeReply.of(Kind.CLOCK, ""));
    }
    if (any(cells, Cell::isWrongType)) {
      return new Outcome(cells, NodeReply.misconfigured(""));
    }
    if (any(cells, cell -> isFar(cell.counter(), nowMicros))) { // G6
      return new Outcome(cells, NodeReply.misconfigured(FAR));
    }
    Ticket ticket = request.ticket();
    long nowMillis = millis(nowMicros);
    List<Cell> queued =
        ticket == null || ticket.lifeMillis() == 0 || standing == Standing.OUT_OF_MEMORY
            ? cells
            : map(cells, cell -> cell.joined(ticket, nowMillis + ticket.lifeMillis())); // Q1
    String owner = request.owner();
    String holder = request.shared() ? HolderLabel.SHARED : owner;
    if (any(cells, cell -> isTaken(cell, holder))) { // G2, S4
      return new Outcome(queued, taken(cells, holder, nowMicros));
    }
    Predicate<Cell> mayHave = // G5, S4
        cell -> request.shared() ? mayRead(cell, owner, token) : mayLock(cell, owner, token);
    if (any(cells, mayHave.negate())) {
      return new Outcome(cells, NodeReply.stale(highestCounter(cells)));
    }
    Place before = before(queued, request);
    if (before != null) {
      return new Outcome(queued, NodeReply.waiting(before.untilMillis - nowMillis));
    }
    if (standing == Standing.OUT_OF_MEMORY) {
      return new Outcome(cells, NodeReply.of(Kind.OUT_OF_MEMORY, ""));
    }
    return new Outcome(
        map(queued, cell -> granted(cell, request, nowMicros)),
        ticket == null && !request.shared()
            ? NodeReply.granted(highestCounter(cells)) // P2
            : NodeReply.GRANTED,
        ticket == null || !request.shared() ? List.of() : readerAfter(queued.get(0), ticket));
  }

  /** Returns the first waiter that the request must not pass; null if there is none. */
  private @Nullable Place before(List<Cell> cells, NodeRequest.Grant request) {
    Ticket ticket = request.ticket();
    if (request.shared()) {
      return writerBefore(cells.get(0), ticket);
    }
    boolean waits = // Q2
        ticket != null && any(cells, cell -> cell.isFree() && !isFirst(cell, ticket));
    return waits ? cells.get(0).queue.get(0) : null;
  }

  private Cell granted(Cell cell, NodeRequest.Grant request, long nowMicros) {
    Cell mine = held(cell, request, request.ttlMillis(), nowMicros);
    Reader reader = mine.reader(request.owner(), false);
    long untilMillis = reader == null ? mine.lockUntilMillis : reader.untilMillis;
    Ticket ticket = request.ticket(); // of a holder it expires with its key or entry at the latest
    return ticket != null && millis(nowMicros) + ticket.lifeMillis() > untilMillis
        ? mine.joined(ticket, untilMillis)
        : mine;
  }

  /** Returns the first writer that this reader must not pass; null if there is none. */
  protected @Nullable Place writerBefore(Cell cell, @Nullable Ticket ticket) {
    return cell.queue().stream() // S7
        .takeWhile(place -> !place.isOf(ticket))
        .filter(place -> !Ticket.reads(place.waiter))
        .findFirst()
        .orElse(null);
  }

  /** Returns the waiter after this one if it is a reader, too. */
  protected List<String> readerAfter(Cell cell, Ticket ticket) {
    return cell.queue().stream() // S7
        .dropWhile(place -> !place.isOf(ticket))
        .skip(1)
        .limit(1)
        .map(Place::waiter)
        .filter(Ticket::reads)
        .toList();
  }

  /** Returns true if a reader may come: it was not released, and is above all writers. */
  protected boolean mayRead(Cell cell, String owner, long token) {
    return !cell.isBuried(owner) && token > cell.floor(); // S4, S5
  }

  /** Returns the name with the reader's entry, never shorter than before, and the token. */
  protected Cell read(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
    long floor = cell.floor();
    Cell entered = enter(cell, owner, ttlMillis, nowMicros);
    if (token <= cell.counter()) {
      return kept(entered, nowMicros);
    }
    Cell counted = raised(entered, token, nowMicros);
    return counted.read(counted.reading.floored(token, floor, counted.counterUntilMillis())); // S3
  }

  /** Returns the name with the reader's entry and a lock key that ends with the longest. */
  protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
    long untilMillis = millis(nowMicros) + ttlMillis;
    Reader now = cell.reader(owner, false);
    long entryMillis = now == null ? untilMillis : Math.max(untilMillis, now.untilMillis);
    long lockMillis = cell.isShared() ? Math.max(untilMillis, cell.lockUntilMillis()) : untilMillis;
    Cell shared = cell.locked(HolderLabel.SHARED, lockMillis); // S2
    return shared.read(shared.reading.with(new Reader(owner, entryMillis, false)));
  }

  /** Sets the tombstone of a reader in place of its entry. */
  protected Cell buryReader(Cell cell, NodeRequest.Release request, long nowMicros) {
    long keptMillis = request.sharedTtlMillis() + -millis(-2 * skewMicros);
    long untilMillis = millis(nowMicros) + keptMillis;
    return cell.read(cell.reading.with(new Reader(request.owner(), untilMillis, true)));
  }

  /** Returns the name with a lock key that ends with the longest entry; without any it is free. */
  protected Cell endWithLongest(Cell cell, long nowMicros) {
    List<Reader> readers = cell.readers();
    long earliestMillis = millis(nowMicros) + 1; // the shortest life of a key
    return readers.isEmpty()
        ? cell.released()
        : cell.locked(HolderLabel.SHARED, Math.max(earliestMillis, readers.get(0).untilMillis));
  }

  /** Extends the keys of the owner, or joins. */
  protected Outcome extend(
      List<Cell> cells, NodeRequest.Extend request, Standing standing, long nowMicros) {
    boolean joins = false;
    for (Cell cell : cells) {
      if (cell.isWrongType()) {
        return new Outcome(cells, NodeReply.misconfigured(""));
      }
      if (!isHeldBy(request, cell)) {
        if (!mayJoin(cell, request)) {
          String freed = HolderLabel.isFreed(cell.owner()) ? HolderLabel.of(cell.owner()) : "";
          return new Outcome(cells, NodeReply.of(Kind.NOT_HELD, freed)); // E3, S5
        }
        joins = true;
      }
    }
    if (standing == Standing.UNSERVING) {
      return new Outcome(cells, joins ? NodeReply.NOT_HELD : NodeReply.abstain(-1, ""));
    }
    boolean mayJoin =
        standing != Standing.ABSTAINING
            && !isFar(request.token(), nowMicros)
            && fitsTheClock(request.sentMicros(), request.ttlMillis(), nowMicros);
    if (joins && !mayJoin) {
      return new Outcome(cells, NodeReply.NOT_HELD);
    }
    if (standing == Standing.OUT_OF_MEMORY && joins) {
      return new Outcome(cells, NodeReply.of(Kind.OUT_OF_MEMORY, ""));
    }
    return new Outcome(
        map(cells, cell -> extend(cell, request, nowMicros)),
        joins ? NodeReply.JOINED : NodeReply.EXTENDED);
  }

  private static boolean isHeldBy(NodeRequest request, Cell cell) {
    String owner = request.owner();
    return request.shared() ? cell.isReadBy(owner) : cell.isHeldBy(owner);
  }

  private boolean mayJoin(Cell cell, NodeRequest.Extend request) {
    return request.shared()
        ? !isTaken(cell, HolderLabel.SHARED) && mayRead(cell, request.owner(), request.token())
        : mayJoin(cell, request.token());
  }

  private Cell extend(Cell cell, NodeRequest.Extend request, long nowMicros) {
    long ttlMillis = request.ttlMillis();
    if (!isHeldBy(request, cell)) {
      return held(cell, request, ttlMillis, nowMicros);
    }
    return request.shared()
        ? kept(enter(cell, request.owner(), ttlMillis, nowMicros), nowMicros)
        : lengthen(cell, ttlMillis, nowMicros);
  }

  private Cell held(Cell cell, NodeRequest request, long ttlMillis, long nowMicros) {
    return request.shared()
        ? read(cell, request.owner(), request.token(), ttlMillis, nowMicros)
        : lock(cell, request.owner(), request.token(), ttlMillis, nowMicros);
  }

  /** Deletes the keys of the owner, or the entry of the reader, and sets a tombstone. */
  protected Outcome release(
      List<Cell> cells, NodeRequest.Release request, Standing standing, long nowMicros) {
    boolean held = any(cells, cell -> isHeldBy(request, cell));
    boolean unburied = // S6: the tombstone of a reader is set all the same
        isAhead(request.token(), request.reported(), nowMicros)
            && (request.shared() || any(cells, cell -> cell.counter < request.token()));
    List<Cell> after = map(cells, cell -> released(cell, request, unburied, nowMicros));
    // R1
    NodeReply reply = NodeReply.NOT_HELD;
    if (held) {
      reply = NodeReply.RELEASED;
    } else if (standing == Standing.OUT_OF_MEMORY
        && (request.shared() ? !cells.get(0).isBuried(request.owner()) : !after.equals(cells))) {
      after = cells;
      reply = NodeReply.of(Kind.OUT_OF_MEMORY, "");
    } else if (unburied) {
      reply = NodeReply.of(Kind.CLOCK, "");
    }
    Ticket ticket = request.ticket();
    return ticket != null && request.last()
        ? left(cells, after, ticket, reply)
        : new Outcome(after, reply, woken(cells, after, ticket));
  }

  private Cell released(Cell cell, NodeRequest.Release request, boolean unburied, long nowMicros) {
    boolean held = isHeldBy(request, cell);
    if (request.shared()) {
      Cell buried = buryReader(cell, request, nowMicros); // S6
      return held ? endWithLongest(buried, nowMicros) : buried;
    }
    Cell deleted = held ? cell.released() : cell;
    return unburied ? deleted : bury(deleted, request.token(), nowMicros);
  }

  /** Replaces the holder's value by a reserved one that nobody owns, and keeps its life. */
  protected Outcome free(
      List<Cell> cells, NodeRequest.Free request, Standing standing, long nowMicros) {
    Cell cell = cells.get(0);
    boolean isHeld = !cell.isFree() && !HolderLabel.isFreed(cell.owner());
    long remainingMillis = cell.isFree() ? 0 : cell.remainingMillis(millis(nowMicros));
    String holder = HolderLabel.of(cell.owner());
    // F1, F2
    if (isHeld && (!request.seen().contains(cell.value()) || remainingMillis < 0)) {
      return new Outcome(cells, NodeReply.held(remainingMillis, cell.token(), holder));
    }
    if (isFar(request.buried(), nowMicros) && request.buried() > cell.counter()) {
      return new Outcome(cells, NodeReply.of(Kind.CLOCK, ""));
    }
    Cell buried = forgetFloor(bury(cell, request.buried(), nowMicros));
    // F4
    Cell freed = isHeld ? buried.locked(request.owner(), cell.lockUntilMillis()) : buried;
    boolean needsMemory = cell.reading.floored == 0 || buried.counter() != cell.counter();
    if (standing == Standing.OUT_OF_MEMORY && needsMemory && !freed.equals(cell)) {
      return new Outcome(cells, NodeReply.of(Kind.OUT_OF_MEMORY, ""));
    }
    return new Outcome(
        List.of(freed),
        cell.isFree()
            ? NodeReply.NOT_HELD
            : NodeReply.freed(remainingMillis, cell.token(), holder));
  }

  /** Forgets the floor: a reader must then be above the counter. */
  protected Cell forgetFloor(Cell cell) {
    return cell.read(cell.reading.withoutFloor()); // F3
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
    return IntStream.range(0, after.size())
        .filter(name -> after.get(name).isFree() && before.get(name).mayWake(after.get(name)))
        .mapToObj(name -> after.get(name).queue())
        .flatMap(queue -> queue.stream().limit(1)) // Q6
        .filter(first -> !first.isOf(ticket))
        .map(Place::waiter)
        .toList();
  }

  /** Returns true if this waiter is first in the queue of a free name, or the queue is empty. */
  protected boolean isFirst(Cell cell, Ticket ticket) {
    return cell.queue().isEmpty() || cell.queue().get(0).isOf(ticket);
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
    long nowMillis = millis(nowMicros);
    long remainingMillis = cell.isFree() ? 0 : cell.remainingMillis(nowMillis);
    long untilMillis = nowMillis + Math.max(ttlMillis, remainingMillis);
    return raised(cell.locked(owner, token, untilMillis), token, nowMicros);
  }

  /**
   * Returns the end of a counter. A counter ahead of the clock lives longer by its lead, so that it
   * expires only when tokens from the clock are higher.
   */
  protected long counterUntilMillis(long token, long nowMicros) {
    long leadMillis = Math.max(0, -millis(nowMicros - token));
    return millis(nowMicros) + retentionMillis + leadMillis;
  }

  /** Returns the name with the owner's key extended, never shortened, and its counter kept. */
  protected Cell lengthen(Cell cell, long ttlMillis, long nowMicros) {
    long nowMillis = millis(nowMicros);
    // E1
    long untilMillis = nowMillis + Math.max(ttlMillis, cell.remainingMillis(nowMillis));
    return kept(cell.locked(cell.owner(), cell.token(), untilMillis), nowMicros);
  }

  /** Returns the name with its counter kept for the retention at least. */
  private Cell kept(Cell cell, long nowMicros) {
    return cell.counter() == 0
        ? cell
        : cell.counted(cell.counter(), millis(nowMicros) + retentionMillis);
  }

  /** Sets a tombstone: raises the counter to the token. */
  protected Cell bury(Cell cell, long token, long nowMicros) {
    return token <= cell.counter() ? cell : raised(cell, token, nowMicros); // R2, R3, F3
  }

  private Cell raised(Cell cell, long token, long nowMicros) {
    return cell.counted(token, counterUntilMillis(token, nowMicros));
  }

  /** Returns true if no node can have granted the token: neither clock nor counter explains it. */
  protected boolean isAhead(long token, long reported, long nowMicros) {
    return token > nowMicros + skewMicros && token > reported + 1 || isFar(token, nowMicros);
  }

  /** Returns true if a counter is so far ahead of the clock that no node grants or follows it. */
  public boolean isFar(long counter, long nowMicros) {
    return counter - nowMicros > FAR_MICROS;
  }

  /** Returns true if a request that was sent then is neither too old nor from the future. */
  protected boolean fitsTheClock(long sentMicros, long ttlMillis, long nowMicros) {
    return sentMicros <= nowMicros + skewMicros
        && !isBehind(sentMicros, ttlMillis, nowMicros); // E2
  }

  private boolean isBehind(long micros, long ttlMillis, long nowMicros) {
    return micros < nowMicros - ttlMillis * 1_000 - skewMicros;
  }

  private static boolean isTaken(Cell cell, String owner) {
    return !cell.isFree() && !cell.isHeldBy(owner);
  }

  private static NodeReply taken(List<Cell> cells, String owner, long nowMicros) {
    Cell longest = Cell.EMPTY;
    for (Cell cell : cells) {
      boolean isLonger =
          cell.lockUntilMillis > longest.lockUntilMillis || cell.lockUntilMillis == Long.MAX_VALUE;
      longest = isTaken(cell, owner) && isLonger ? cell : longest;
    }
    long remainingMillis = longest.remainingMillis(millis(nowMicros));
    return NodeReply.heldBy(remainingMillis, highestCounter(cells), longest.owner());
  }

  private static long highestCounter(List<Cell> cells) {
    return cells.stream().mapToLong(Cell::counter).max().orElse(0);
  }

  private static long millis(long micros) {
    return Math.floorDiv(micros, 1_000L);
  }

  private static boolean any(List<Cell> cells, Predicate<Cell> condition) {
    return cells.stream().anyMatch(condition);
  }

  private static List<Cell> map(List<Cell> cells, UnaryOperator<Cell> change) {
    return cells.stream().map(change).toList();
  }
}
