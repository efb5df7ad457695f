package io.redlock.testkit;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Ticker;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Reading;
import io.redlock.testkit.NodeModel.Standing;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * One master in memory: its data, its clock, and its standing. Each client reaches it through an
 * {@link InMemoryNode} of its own. Its clock runs with the ticker's monotonic clock, since a server
 * does not share the clients' wall clocks. Thread-safe.
 */
public final class InMemoryServer {

  /** The rules with the default settings: skew 2 s, retention 10 min. */
  public static final NodeModel DEFAULT_MODEL = new NodeModel(2_000_000, 600_000);

  private final NodeModel model;
  private final Ticker ticker;
  private final Map<String, Cell> cells = new HashMap<>(); // guarded by this
  private final List<Consumer<String>> listeners = new ArrayList<>(); // guarded by this
  private final long clockAheadMicros; // of the monotonic clock
  private Standing standing = Standing.VOTING; // guarded by this

  /** Creates an empty server. */
  public InMemoryServer(NodeModel model, Ticker ticker) {
    this.model = model;
    this.ticker = ticker;
    this.clockAheadMicros = ticker.wallMicros() - monotonicMicros();
  }

  /** Creates an empty server with the default rules. */
  public InMemoryServer(Ticker ticker) {
    this(DEFAULT_MODEL, ticker);
  }

  /** Adds a listener, which receives the {@link Ticket#waiter()} of every wake-up. */
  public synchronized void listen(Consumer<String> listener) {
    listeners.add(listener);
  }

  /** Executes a request, atomically, and reports the wake-ups to the listeners. */
  public NodeReply execute(NodeRequest request) {
    List<Runnable> later = new ArrayList<>();
    NodeReply reply = execute(request, later::add);
    later.forEach(Runnable::run);
    return reply;
  }

  /**
   * Executes a request, atomically.
   *
   * @param later receives the tasks that call the listeners, to be run when the caller holds no
   *     lock: listeners have locks of their own
   */
  synchronized NodeReply execute(NodeRequest request, Consumer<Runnable> later) {
    List<String> names = request.names();
    List<Cell> before = names.stream().map(name -> cells.getOrDefault(name, Cell.EMPTY)).toList();
    Outcome outcome = model.execute(before, request, standing, nowMicros());
    for (int i = 0; i < names.size(); i++) {
      put(names.get(i), outcome.cells().get(i));
    }
    List<Consumer<String>> all = List.copyOf(listeners);
    for (String waiter : outcome.woken()) {
      later.accept(() -> all.forEach(listener -> listener.accept(waiter)));
    }
    return outcome.reply();
  }

  /** Returns the server's time, in microseconds since the epoch. */
  public long nowMicros() {
    return monotonicMicros() + clockAheadMicros;
  }

  /** Sets whether the server votes, abstains, or is out of memory. */
  public synchronized void setStanding(Standing standing) {
    this.standing = standing;
  }

  /** Deletes all data, counters too. */
  public synchronized void loseData() {
    cells.clear();
  }

  /** Sets a plain key, as another application does; with a negative ttl it never expires. */
  public synchronized void set(String name, String value, long ttlMillis) {
    long untilMillis = ttlMillis < 0 ? Long.MAX_VALUE : nowMillis() + ttlMillis;
    String owner = HolderLabel.owner(value);
    put(name, cell(name).locked(owner, HolderLabel.token(value), untilMillis));
  }

  /** Deletes a lock key; the counter stays, and readers must be above it. */
  public synchronized void delete(String name) {
    put(name, cell(name).locked("", 0).read(Reading.NONE));
  }

  /** Sets a key that is not a string, as another application does. */
  public synchronized void setWrongType(String name) {
    put(name, cell(name).lockedByWrongType());
  }

  /** Sets the counter of a name. */
  public synchronized void setCounter(String name, long fence, long ttlMillis) {
    Cell cell = cell(name);
    put(name, cell.counting(fence, nowMillis() + ttlMillis));
  }

  /** Returns the data under the name, as of now. */
  public synchronized Cell cell(String name) {
    return cells.getOrDefault(name, Cell.EMPTY).at(nowMillis());
  }

  /** Returns the owner of the name; empty if it is free. */
  public Optional<String> owner(String name) {
    return Optional.of(cell(name).owner()).filter(owner -> !owner.isEmpty());
  }

  /** Returns the names that are held, in order, with their owners. */
  public synchronized Map<String, String> locks() {
    Map<String, String> locks = new TreeMap<>();
    cells.forEach((name, cell) -> owner(name).ifPresent(owner -> locks.put(name, owner)));
    return locks;
  }

  private void put(String name, Cell cell) {
    if (cell.equals(Cell.EMPTY)) {
      cells.remove(name);
    } else {
      cells.put(name, cell);
    }
  }

  private long nowMillis() {
    return Math.floorDiv(nowMicros(), 1_000L);
  }

  private long monotonicMicros() {
    return Math.floorDiv(ticker.monotonicNanos(), 1_000L);
  }
}
