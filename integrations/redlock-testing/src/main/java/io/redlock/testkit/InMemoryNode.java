package io.redlock.testkit;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.StatusOfNode;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One client's ordered connection to an {@link InMemoryServer}. Answers arrive at once, on the
 * calling thread, unless the test interferes:
 *
 * <ul>
 *   <li>{@link #holdSends}: nothing is sent, so that every request can still be withdrawn;
 *   <li>{@link #holdRequests}, {@link #holdReplies}, {@link #delay}: messages stay on their way;
 *   <li>{@link #cut}, {@link #down}: every request on its way is answered as unknown; those that
 *       the server has not executed are lost, or executed later with {@link #deliverStrays};
 *   <li>{@link #duplicate}: every request is executed twice.
 * </ul>
 *
 * <p>Thread-safe. Handlers are called outside the lock.
 */
public final class InMemoryNode implements LockNode {

  private final String name;
  private final InMemoryServer server;

  // Guarded by this, as are all fields below.
  private final Deque<Flight> unsent = new ArrayDeque<>();
  private final Deque<Flight> requests = new ArrayDeque<>();
  private final Deque<Flight> replies = new ArrayDeque<>();
  private final Deque<Runnable> calls = new ArrayDeque<>();
  private final List<NodeRequest> strays = new ArrayList<>();

  private @Nullable Ticker ticker;
  private @Nullable Scheduler scheduler;
  private @Nullable Observer observer;
  private State state = State.CONNECTING;
  private String reason = "";
  private long sinceNanos;
  private boolean wasUp;

  private boolean holdsSends;
  private boolean holdsRequests;
  private boolean holdsReplies;
  private boolean duplicates;
  private String client = ""; // whose wake-ups it listens to; empty before the first refusal
  private LongSupplier requestNanos = () -> 0;
  private LongSupplier replyNanos = () -> 0;
  private Scheduler.Cancellable wake = () -> {};

  /** Creates a connection that is up as soon as it is started. */
  public InMemoryNode(String name, InMemoryServer server) {
    this.name = name;
    this.server = server;
  }

  /** Returns the server at its other end. */
  public InMemoryServer server() {
    return server;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    synchronized (this) {
      if (this.ticker != null) {
        throw new IllegalStateException("node " + name + " is already started");
      }
      this.ticker = ticker;
      this.scheduler = scheduler;
      this.observer = observer;
      enter(state == State.CONNECTING ? State.UP : state, reason);
    }
    server.listen(this::wake);
    pump();
  }

  /** Passes a wake-up on; it is lost without a connection, and before the first refusal. */
  private void wake(String waiter) {
    Observer notified;
    synchronized (this) {
      boolean mine = !client.isEmpty() && waiter.startsWith(client + ":");
      notified = mine && state == State.UP ? observer : null;
    }
    if (notified != null) {
      notified.onWake(Long.parseLong(waiter.substring(waiter.indexOf(':') + 1)));
    }
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    Flight flight = new Flight(request, slot, handler);
    synchronized (this) {
      boolean waitsForConnection = state == State.DOWN && request instanceof NodeRequest.Release;
      if (ticker != null && (state == State.UP || waitsForConnection)) {
        unsent.add(flight);
      } else {
        answer(flight, notSent());
      }
    }
    pump();
    return () -> withdraw(flight);
  }

  @Override
  public synchronized OptionalLong clockOffsetMicros() {
    return ticker == null || !wasUp
        ? OptionalLong.empty()
        : OptionalLong.of(server.nowMicros() - Math.floorDiv(ticker.monotonicNanos(), 1_000L));
  }

  @Override
  public synchronized NodeStatus status() {
    boolean abstains = state == State.UP && server.standing() == NodeModel.Standing.ABSTAINING;
    long agoNanos = ticker == null ? 0 : ticker.monotonicNanos() - sinceNanos;
    return new StatusOfNode(
        name, abstains ? State.ABSTAINING : state, Duration.ofNanos(agoNanos), reason);
  }

  @Override
  public void close() {
    synchronized (this) {
      if (state == State.CLOSED) {
        return;
      }
      move();
      loseConnection();
      enter(State.CLOSED, "closed");
      answerAll(unsent, notSent());
    }
    pump();
  }

  /** Keeps requests in the client, unsent, from now on. */
  public synchronized void holdSends() {
    holdsSends = true;
  }

  /** Keeps requests on their way to the server from now on. */
  public synchronized void holdRequests() {
    holdsRequests = true;
  }

  /** Keeps replies on their way to the client from now on. */
  public synchronized void holdReplies() {
    holdsReplies = true;
  }

  /** Ends all holds; the messages move on in their order. */
  public void letGo() {
    synchronized (this) {
      holdsSends = false;
      holdsRequests = false;
      holdsReplies = false;
    }
    pump();
  }

  /** Sets how long each request and each reply is on its way from now on; order is kept. */
  public synchronized void delay(LongSupplier requestNanos, LongSupplier replyNanos) {
    this.requestNanos = requestNanos;
    this.replyNanos = replyNanos;
  }

  /** Sets whether each request is executed twice from now on; the second reply is lost. */
  public synchronized void duplicate(boolean twice) {
    duplicates = twice;
  }

  /** Returns the number of requests on their way to the server. */
  public synchronized int requestsOnTheWay() {
    return requests.size();
  }

  /** Returns the number of replies on their way to the client. */
  public synchronized int repliesOnTheWay() {
    return replies.size();
  }

  /** Breaks the connection; a new one is up at once. */
  public void cut() {
    synchronized (this) {
      loseConnection();
    }
    pump();
  }

  /** Breaks the connection; there is none until {@link #up}. */
  public void down(String why) {
    synchronized (this) {
      loseConnection();
      enter(State.DOWN, why);
      Deque<Flight> waiting = new ArrayDeque<>(unsent);
      unsent.clear();
      for (Flight flight : waiting) {
        if (flight.request instanceof NodeRequest.Release) {
          unsent.add(flight);
        } else {
          answer(flight, notSent());
        }
      }
    }
    pump();
  }

  /** Connects again; the releases that waited for it are sent first. */
  public void up() {
    synchronized (this) {
      enter(State.UP, "");
    }
    pump();
  }

  /** Executes the requests that were on their way when their connection broke. */
  public void deliverStrays() {
    List<NodeRequest> late;
    synchronized (this) {
      late = List.copyOf(strays);
      strays.clear();
    }
    late.forEach(server::execute);
  }

  private synchronized boolean withdraw(Flight flight) {
    return unsent.remove(flight);
  }

  /** Moves every message as far as it may go, then calls the handlers outside the lock. */
  private void pump() {
    List<Runnable> due;
    synchronized (this) {
      move();
      due = List.copyOf(calls);
      calls.clear();
    }
    due.forEach(Runnable::run);
  }

  private void move() {
    if (state != State.UP || ticker == null) {
      return;
    }
    long nowNanos = ticker.monotonicNanos();
    while (!holdsSends && !unsent.isEmpty()) {
      requests.add(unsent.remove().dueAt(nowNanos + requestNanos.getAsLong()));
    }
    while (!holdsRequests && isDue(requests, nowNanos)) {
      Flight flight = requests.remove();
      flight.reply = server.execute(flight.request, calls::add);
      if (duplicates) {
        server.execute(flight.request, calls::add);
      }
      replies.add(flight.dueAt(nowNanos + replyNanos.getAsLong()));
      listenIfRefused(flight);
    }
    while (!holdsReplies && isDue(replies, nowNanos)) {
      hand(replies.remove());
    }
    scheduleWake(nowNanos);
  }

  private void listenIfRefused(Flight flight) {
    boolean refused = flight.reply.kind() == Kind.HELD || flight.reply.kind() == Kind.WAIT;
    if (refused
        && flight.request instanceof NodeRequest.Grant grant
        && grant.ticket() != null
        && client.isEmpty()) {
      client = grant.ticket().client();
      Observer notified = observer;
      if (notified != null) {
        calls.add(notified::onListening);
      }
    }
  }

  private void scheduleWake(long nowNanos) {
    long dueNanos = Long.MAX_VALUE;
    if (!holdsRequests && !requests.isEmpty()) {
      dueNanos = requests.element().dueNanos;
    }
    if (!holdsReplies && !replies.isEmpty()) {
      dueNanos = Math.min(dueNanos, replies.element().dueNanos);
    }
    wake.cancel();
    if (dueNanos != Long.MAX_VALUE && scheduler != null) {
      wake = scheduler.schedule(this::pump, dueNanos - nowNanos);
    }
  }

  private void loseConnection() {
    requests.forEach(flight -> strays.add(flight.request));
    answerAll(requests, NodeReply.unknown("connection lost"));
    answerAll(replies, NodeReply.unknown("connection lost"));
  }

  private void answerAll(Deque<Flight> flights, NodeReply reply) {
    while (!flights.isEmpty()) {
      answer(flights.remove(), reply);
    }
  }

  private void answer(Flight flight, NodeReply reply) {
    flight.reply = reply;
    hand(flight);
  }

  private void hand(Flight flight) {
    calls.add(() -> flight.handler.onReply(flight.slot, flight.reply));
  }

  private NodeReply notSent() {
    return NodeReply.unreachable(reason.isEmpty() ? state.name().toLowerCase(Locale.ROOT) : reason);
  }

  private void enter(State next, String why) {
    state = next;
    reason = why;
    wasUp |= next == State.UP;
    Observer notified = observer;
    if (ticker != null && notified != null) {
      sinceNanos = ticker.monotonicNanos();
      NodeStatus status = status();
      calls.add(() -> notified.onStateChange(status));
    }
  }

  private static boolean isDue(Deque<Flight> flights, long nowNanos) {
    return !flights.isEmpty() && flights.element().dueNanos - nowNanos <= 0;
  }

  /** A request, and then its reply, on the way. */
  private static final class Flight {
    final NodeRequest request;
    final int slot;
    final ReplyHandler handler;
    NodeReply reply = NodeReply.unknown("");
    long dueNanos;

    Flight(NodeRequest request, int slot, ReplyHandler handler) {
      this.request = request;
      this.slot = slot;
      this.handler = handler;
    }

    Flight dueAt(long nanos) {
      dueNanos = nanos;
      return this;
    }
  }
}
