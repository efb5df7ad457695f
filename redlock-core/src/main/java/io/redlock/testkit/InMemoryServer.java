package io.redlock.testkit;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Ticker;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Standing;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * One master in memory: what it stores, its clock, and whether it votes. Clients reach it through
 * an {@link InMemoryNode} each. Its clock runs with the ticker's monotonic one, as a server's does
 * whatever happens to the clients' wall clocks, until it is stepped. Thread-safe.
 */
public final class InMemoryServer {

  /** The rules with the default settings of a deployment: skew 2 s, retention 10 min. */
  public static final NodeModel DEFAULT_MODEL = new NodeModel(2_000_000, 600_000);

  private final NodeModel model;
  private final Ticker ticker;
  private final Map<String, Cell> cells = new HashMap<>(); // guarded by this
  private final List<Consumer<String>> listeners = new ArrayList<>(); // guarded by this
  private long clockAheadMicros; // of the monotonic clock; guarded by this
  private Standing standing = Standing.VOTING; // guarded by this

  /** An empty server. */
  public InMemoryServer(NodeModel model, Ticker ticker) {
    this.model = model;
    this.ticker = ticker;
    this.clockAheadMicros = ticker.wallMicros() - monotonicMicros();
  }

  /** An empty server with the default rules. */
  public InMemoryServer(Ticker ticker) {
    this(DEFAULT_MODEL, ticker);
  }

  /** From now on the listener is told of everybody who is woken: {@link Ticket#waiter()}. */
  public synchronized void listen(Consumer<String> listener) {
    listeners.add(listener);
  }

  /** Executes a request, atomically, and tells of whoever is woken. */
  public NodeReply execute(NodeRequest request) {
    return execute(request, Runnable::run);
  }

  /**
   * Executes a request, atomically.
   *
   * @param later is given what tells of whoever is woken, to be run when the caller holds no lock:
   *     listeners have locks of their own
   */
  NodeReply execute(NodeRequest request, Consumer<Runnable> later) {
    Outcome outcome = executed(request);
    List<Consumer<String>> told;
    synchronized (this) {
      told = List.copyOf(listeners);
    }
    for (String waiter : outcome.woken()) {
      later.accept(() -> told.forEach(listener -> listener.accept(waiter)));
    }
    return outcome.reply();
  }

  private synchronized Outcome executed(NodeRequest request) {
    List<String> names = request.names();
    List<Cell> before = new ArrayList<>(names.size());
    for (String name : names) {
      before.add(cells.getOrDefault(name, Cell.EMPTY));
    }
    Outcome outcome = model.execute(before, request, standing, nowMicros());
    for (int i = 0; i < names.size(); i++) {
      put(names.get(i), outcome.cells().get(i));
    }
    return outcome;
  }

  /** The server's clock, in microseconds since the epoch. */
  public synchronized long nowMicros() {
    return monotonicMicros() + clockAheadMicros;
  }

  /** Somebody sets the server's clock. */
  public synchronized void stepClock(Duration by) {
    clockAheadMicros += by.toNanos() / 1_000;
  }

  /** From now on the server votes, abstains, or is short of memory. */
  public synchronized void setStanding(Standing standing) {
    this.standing = standing;
  }

  /** What the server may do, apart from what it stores. */
  public synchronized Standing standing() {
    return standing;
  }

  /** Everything stored is gone, counters too. */
  public synchronized void loseData() {
    cells.clear();
  }

  /** A client of another kind sets a plain key; a life of −1 ms means for ever. */
  public synchronized void set(String name, String value, long ttlMillis) {
    long untilMillis = ttlMillis < 0 ? Long.MAX_VALUE : nowMillis() + ttlMillis;
    put(name, cell(name).locked(value, untilMillis));
  }

  /** Somebody deletes a key; the counter stays. */
  public synchronized void delete(String name) {
    put(name, cell(name).locked("", 0));
  }

  /** A client of another kind sets a key that is not a string. */
  public synchronized void setWrongType(String name) {
    put(name, cell(name).lockedByWrongType());
  }

  /** Somebody sets the counter of a name. */
  public synchronized void setFence(String name, long fence, long ttlMillis) {
    Cell cell = cell(name);
    put(name, cell.counting(fence, nowMillis() + ttlMillis));
  }

  /** What is stored under the name now. */
  public synchronized Cell cell(String name) {
    return cells.getOrDefault(name, Cell.EMPTY).at(nowMillis());
  }

  /** Who holds the name. */
  public Optional<String> owner(String name) {
    return Optional.of(cell(name).owner()).filter(owner -> !owner.isEmpty());
  }

  /** The names that somebody holds, in order, with their owners. */
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
