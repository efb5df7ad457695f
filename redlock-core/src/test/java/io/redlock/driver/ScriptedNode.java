package io.redlock.driver;

import io.redlock.NodeStatus;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.StatusOfNode;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A node whose answers the test decides: at once, by a script, or later, one by one. */
final class ScriptedNode implements LockNode {

  /** A request that was sent to this node. */
  final class Call implements Pending {
    final NodeRequest request;
    private final int slot;
    private final ReplyHandler handler;
    private final boolean sent;
    private boolean over;
    private boolean withdrawn;
    private @Nullable NodeReply reply;

    private Call(NodeRequest request, int slot, ReplyHandler handler, boolean sent) {
      this.request = request;
      this.slot = slot;
      this.handler = handler;
      this.sent = sent;
    }

    void answer(NodeReply reply) {
      if (over) {
        throw new AssertionError("answered twice: " + request);
      }
      over = true;
      this.reply = reply;
      handler.onReply(slot, reply);
    }

    /** Returns true if it may have left a key: the answer was yes or unknown, or is missing. */
    boolean mayHaveLeftAKey() {
      return (request instanceof NodeRequest.Grant || request instanceof NodeRequest.Extend)
          && !withdrawn
          && (reply == null
              || switch (reply.kind()) {
                case GRANTED, EXTENDED, JOINED, UNKNOWN -> true;
                default -> false;
              });
    }

    boolean isOpen() {
      return !over;
    }

    boolean wasWithdrawn() {
      return withdrawn;
    }

    @Override
    public boolean awaitsItsTurn() {
      return isBusy && !over;
    }

    @Override
    public boolean withdraw() {
      if (sent || over) {
        return false;
      }
      over = true;
      withdrawn = true;
      return true;
    }
  }

  private static final int NO_TEST_ASKS_SO_OFTEN = 2_000;

  private final String name;
  private final List<String> journal;
  private final List<Call> calls = new CopyOnWriteArrayList<>();
  private Function<NodeRequest, @Nullable NodeReply> script = request -> null;
  private Consumer<NodeRequest> before = request -> {};
  private boolean holdsSends;

  /** True if it answers other requests before those that are open. */
  boolean isBusy;

  private boolean stopped;
  private boolean closed;
  private Runnable whenClosed = () -> {};
  private boolean owesAnswers;
  private @Nullable Error nextFailure;
  private OptionalLong offsetMicros = OptionalLong.empty();
  private Observer observer = status -> {};
  private NodeStatus status;

  /**
   * @param journal receives every request, with those of the other nodes
   */
  ScriptedNode(String name, List<String> journal) {
    this.name = name;
    this.journal = journal;
    this.status = new StatusOfNode(name, NodeStatus.State.UP, Duration.ZERO, "");
  }

  /** Sets how to answer at once; null keeps a request open. */
  void script(Function<NodeRequest, @Nullable NodeReply> answers) {
    script = answers;
  }

  /** Runs an action whenever it has received a request, before it answers. */
  void before(Consumer<NodeRequest> action) {
    before = action;
  }

  /** Keeps requests in the client from now on, where they can be withdrawn. */
  void holdSends() {
    holdsSends = true;
  }

  void clockOffsetMicros(long offset) {
    offsetMicros = OptionalLong.of(offset);
  }

  /** Returns true if this thread is handling an answer to any request so far. */
  boolean isBooking() {
    return calls.stream()
        .anyMatch(
            call -> call.handler instanceof Asker.Round round && Thread.holdsLock(round.owner));
  }

  /** Reports this state; with a reason, a node that is up grants nothing. */
  void becomes(NodeStatus.State state, String reason) {
    status = new StatusOfNode(name, state, Duration.ZERO, reason);
    observer.onStateChange(status);
  }

  void isReset() {
    observer.onReset("restarted");
  }

  void wakes(long waiter) {
    observer.onWake(waiter);
  }

  void listens() {
    observer.onListening();
  }

  boolean isClosed() {
    return closed;
  }

  List<Call> calls() {
    return calls;
  }

  /** Forgets all requests, for tests with very many of them. */
  void forget() {
    calls.clear();
    journal.clear();
  }

  /** Breaks the contract: throws at the next request. */
  void failsNext(Error error) {
    nextFailure = error;
  }

  /** Returns the requests of this type, in the order in which they came. */
  <T extends NodeRequest> List<T> asked(Class<T> type) {
    return calls.stream()
        .map(call -> call.request)
        .filter(type::isInstance)
        .map(type::cast)
        .toList();
  }

  int releases() {
    return asked(NodeRequest.Release.class).size();
  }

  /** Answers the oldest request of this type that is still open. */
  void answer(Class<? extends NodeRequest> type, NodeReply reply) {
    calls.stream()
        .filter(call -> call.isOpen() && type.isInstance(call.request))
        .findFirst()
        .orElseThrow(() -> new AssertionError(name + " has no open " + type.getSimpleName()))
        .answer(reply);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    this.observer = observer;
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    if (calls.size() > NO_TEST_ASKS_SO_OFTEN) {
      throw new AssertionError("somebody asks again and again: " + request);
    }
    Error failure = nextFailure;
    if (failure != null) {
      nextFailure = null;
      throw failure;
    }
    Call call = new Call(request, slot, handler, !holdsSends);
    calls.add(call);
    journal.add(name + " " + request.getClass().getSimpleName());
    before.accept(request);
    NodeReply reply =
        closed && !owesAnswers ? NodeReply.unreachable("closed") : script.apply(request);
    if (reply != null) {
      call.answer(reply);
    }
    return call;
  }

  @Override
  public OptionalLong clockOffsetMicros() {
    return offsetMicros;
  }

  @Override
  public NodeStatus status() {
    return status;
  }

  /** Breaks the contract: leaves open requests unanswered when it is closed. */
  void owesAnswersWhenClosed() {
    owesAnswers = true;
  }

  boolean isStopped() {
    return stopped;
  }

  void whenClosed(Runnable whenClosed) {
    this.whenClosed = whenClosed;
  }

  @Override
  public void stop() {
    stopped = true;
  }

  @Override
  public void close() {
    whenClosed.run();
    closed = true;
    if (owesAnswers) {
      return;
    }
    for (Call call : List.copyOf(calls)) {
      if (call.isOpen()) {
        call.answer(call.sent ? NodeReply.unknown("closed") : NodeReply.unreachable("closed"));
      }
    }
  }
}
