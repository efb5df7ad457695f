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
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * One client's ordered connection to an {@link InMemoryServer}. The server executes each request at
 * once, and the answer arrives on the calling thread.
 *
 * <p>Thread-safe. Handlers are called outside the lock.
 */
public final class InMemoryNode implements LockNode {

  /** A request that somebody waits for. */
  private record Call(NodeRequest request, int slot, ReplyHandler handler) {}

  private final String name;
  private final InMemoryServer server;

  // Guarded by this, as are all fields below.
  private final Deque<Call> unsent = new ArrayDeque<>(); // releases, while it is down
  private final Deque<Runnable> answers = new ArrayDeque<>();

  private @Nullable Ticker ticker;
  private @Nullable Observer observer;
  private State state = State.CONNECTING;
  private String reason = "";
  private long sinceNanos;
  private boolean wasUp;
  private String client = ""; // whose wake-ups it listens to; empty before the first refusal

  /** Creates a connection that is up as soon as it is started. */
  public InMemoryNode(String name, InMemoryServer server) {
    this.name = name;
    this.server = server;
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
      this.observer = observer;
      enter(state == State.CONNECTING ? State.UP : state, reason);
    }
    server.listen(this::wake);
    tellAnswers();
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
    Call call = new Call(request, slot, handler);
    synchronized (this) {
      if (ticker != null && state == State.UP) {
        execute(call);
      } else if (ticker != null && state == State.DOWN && request instanceof NodeRequest.Release) {
        unsent.add(call);
      } else {
        refuse(call);
      }
    }
    tellAnswers();
    return () -> withdraw(call);
  }

  @Override
  public synchronized OptionalLong clockOffsetMicros() {
    return ticker == null || !wasUp
        ? OptionalLong.empty()
        : OptionalLong.of(server.nowMicros() - Math.floorDiv(ticker.monotonicNanos(), 1_000L));
  }

  @Override
  public synchronized NodeStatus status() {
    long agoNanos = ticker == null ? 0 : ticker.monotonicNanos() - sinceNanos;
    return new StatusOfNode(name, state, Duration.ofNanos(agoNanos), reason);
  }

  @Override
  public void close() {
    synchronized (this) {
      if (state == State.CLOSED) {
        return;
      }
      enter(State.CLOSED, "closed");
      while (!unsent.isEmpty()) {
        refuse(unsent.remove());
      }
    }
    tellAnswers();
  }

  /** Breaks the connection; there is none until {@link #up}. */
  public void down(String why) {
    synchronized (this) {
      enter(State.DOWN, why);
    }
    tellAnswers();
  }

  /** Connects again; the releases that waited for it are sent first. */
  public void up() {
    synchronized (this) {
      enter(State.UP, "");
      while (ticker != null && !unsent.isEmpty()) {
        execute(unsent.remove());
      }
    }
    tellAnswers();
  }

  private synchronized boolean withdraw(Call call) {
    return unsent.remove(call);
  }

  private void execute(Call call) {
    NodeReply reply = server.execute(call.request, answers::add);
    answer(call, reply);
    boolean refused = reply.kind() == Kind.HELD || reply.kind() == Kind.WAIT;
    if (refused
        && call.request instanceof NodeRequest.Grant grant
        && grant.ticket() != null
        && client.isEmpty()) {
      client = grant.ticket().client();
      Observer notified = observer;
      if (notified != null) {
        answers.add(notified::onListening);
      }
    }
  }

  private void refuse(Call call) {
    String why = reason.isEmpty() ? state.name().toLowerCase(Locale.ROOT) : reason;
    answer(call, NodeReply.unreachable(why));
  }

  private void answer(Call call, NodeReply reply) {
    answers.add(() -> call.handler.onReply(call.slot, reply));
  }

  private void enter(State next, String why) {
    state = next;
    reason = why;
    wasUp |= next == State.UP;
    Observer notified = observer;
    if (ticker != null && notified != null) {
      sinceNanos = ticker.monotonicNanos();
      NodeStatus status = status();
      answers.add(() -> notified.onStateChange(status));
    }
  }

  private void tellAnswers() {
    List<Runnable> due;
    synchronized (this) {
      due = List.copyOf(answers);
      answers.clear();
    }
    due.forEach(Runnable::run);
  }
}
