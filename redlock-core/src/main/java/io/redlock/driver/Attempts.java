package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.RetryStrategy.Cause;
import io.redlock.driver.CallState.Phase;
import io.redlock.protocol.LookRound;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler.Cancellable;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The attempts of one call, each with a new owner id, and the pauses between them. {@link
 * CallState} decides what to do; this class adds the monitor, the timer and the attempts.
 */
final class Attempts implements Attempt.Caller {

  /** The call that makes them. */
  interface Call {
    /** Ends because this library failed, for example for want of memory; ends the attempt. */
    void failed(Throwable why);

    /** Returns true if its result is this lease. */
    boolean hasTaken(Lease lease);

    /** Returns the rest of its wait. */
    long leftNanos();

    /** Returns its place in the nodes' queues; null if it has none. */
    @Nullable QueuePlace place();

    /** Returns true if it need not wait for other calls of this service. */
    boolean mayAsk();

    /** Takes the end of an attempt after which it pauses, or gives up. */
    void refused(AttemptEnd outcome);

    /** Ends with the last refusal. */
    void giveUp();

    /** Ends with this result. */
    void finish(AcquireResult end);
  }

  private static final int CAUSES = Cause.values().length;

  private final Call call;
  private final ServiceContext context;
  private final LeaseRequest request;
  private final Listeners listeners;
  private final List<String> names;
  private final @Nullable NameChoice choice; // guarded by this; null if it wants all names
  private int passPlan = -1; // guarded by this; the plan during the pass through the names
  private long passNanos; // guarded by this; when that pass began
  private final int[] failures = new int[CAUSES]; // guarded by this; of each cause
  private @Nullable AttemptEnd lastRefusal; // guarded by this
  private boolean isStrategyBusy; // guarded by this; asked, perhaps for an older plan

  private String owner = ""; // set before other threads know the call
  private CallState state; // guarded by this
  private @Nullable Owner running; // guarded by this; null between attempts
  private @Nullable Cancellable timer; // guarded by this; of the current plan
  private boolean isStarting; // guarded by this; a thread is in ask()
  private long started; // guarded by this; the number of attempts

  Attempts(
      Call call,
      ServiceContext context,
      LeaseRequest request,
      List<String> names,
      Listeners listeners) {
    this.call = call;
    this.context = context;
    this.request = request;
    this.listeners = listeners;
    this.names = names;
    this.choice =
        request.isAnyOf() ? new NameChoice(List.copyOf(request.resources()), names) : null;
    this.state =
        CallState.begin(
            new CallState.Rules(
                request.isFair(),
                request.isUnlessHeld(),
                context.quorum,
                Math.min(QueuePlace.LIFE_NANOS, Settings.saturatedNanos(request.ttl())),
                context.settings.nodeTimeoutNanos()));
  }

  /** Sets the owner id of the first attempt; later ones add a number. */
  void own(String ownerId) {
    owner = ownerId;
  }

  /** Begins with the first attempt, or waits for the call's turn. */
  void begin(boolean mayAsk) {
    long leftNanos = call.leftNanos();
    step(now -> now.joined(mayAsk, leftNanos));
  }

  /** Goes on as the head of the local queue, after a delay. */
  void moved(long delayNanos) {
    long leftNanos = call.leftNanos();
    step(now -> now.moved(delayNanos, leftNanos));
  }

  /** Goes on after the wake-up of a node. */
  void woken(int node) {
    QueuePlace place = call.place();
    boolean hasTickets = place != null && place.hasTickets();
    long leftNanos = call.leftNanos();
    step(now -> now.woken(node, hasTickets, leftNanos));
  }

  /** Stops. Returns the attempt under way; null if there is none. */
  synchronized @Nullable Owner end() {
    Owner unfinished = running;
    state = state.over();
    running = null;
    cancelTimer();
    return unfinished;
  }

  /** Returns the end of the last attempt; null if there was none. */
  synchronized @Nullable AttemptEnd lastRefusal() {
    return lastRefusal;
  }

  /** Applies the event. If that begins a new plan, sets the timer and carries the plan out. */
  private void step(UnaryOperator<CallState> event) {
    try {
      carryOut(event);
    } catch (RuntimeException | Error e) { // a plan without a timer would never end
      call.failed(e);
    }
  }

  private void carryOut(UnaryOperator<CallState> event) {
    CallState next;
    synchronized (this) {
      int plan = state.plan();
      next = event.apply(state);
      state = next;
      if (next.plan() == plan) {
        return;
      }
      cancelTimer();
      if (next.isTimed()) {
        int planned = next.plan();
        timer = context.scheduler.schedule(() -> due(planned), next.nanos());
      }
    }
    switch (next.phase()) {
      case ASKS -> ask();
      case PONDERS -> ponder(next);
      case OVER -> call.giveUp();
      default -> {}
    }
  }

  private void cancelTimer() {
    assert Thread.holdsLock(this);
    if (timer != null) {
      timer.cancel();
      timer = null;
    }
  }

  private void due(int plan) {
    try {
      comeDue(plan);
    } catch (RuntimeException | Error e) { // the timer is used up
      call.failed(e);
    }
  }

  private void comeDue(int plan) {
    boolean mayAsk = call.mayAsk();
    long leftNanos = call.leftNanos();
    step(
        now ->
            now.phase() == Phase.PONDERS && now.plan() == plan
                ? pausedByDefault(now, leftNanos) // the strategy takes too long
                : now.due(plan, mayAsk, leftNanos));
  }

  /**
   * Makes attempts while the plan is to ask; a plan made meanwhile is carried out by the same loop.
   */
  private void ask() {
    while (claimStart()) {
      try {
        askNext();
      } catch (RuntimeException | Error e) {
        call.failed(e);
      } finally {
        synchronized (this) {
          isStarting = false;
        }
      }
    }
  }

  private void askNext() {
    Set<String> resources = request.resources();
    List<String> keys = names;
    boolean looks = false;
    synchronized (this) {
      if (choice != null) {
        if (passPlan != state.plan()) {
          passPlan = state.plan();
          passNanos = context.ticker.monotonicNanos();
          choice.begin(context.random, context.queues::isLeased);
        }
        looks = choice.next() == NameChoice.Step.LOOK;
        resources = Collections.singleton(choice.current());
        keys = looks ? choice.keysToLookAt() : List.of(choice.currentKey());
        state = looks ? state.looks() : state;
      }
    }
    if (looks) {
      look(keys);
    } else {
      attempt(resources, keys);
    }
  }

  private void attempt(Set<String> resources, List<String> keys) {
    Owner next = new Owner(context, keys, nextOwner(), call.place(), listeners, request);
    if (claimRun(next)) {
      Attempt.start(next, request, resources, this);
    }
  }

  private void look(List<String> keys) {
    NodeRequest request = new NodeRequest.Look(keys, context.ticker.wallMicros());
    Poll.ask(context, request, replies -> look(keys, replies).isDecided())
        .thenAccept(
            answers -> {
              try {
                looked(look(keys, Poll.replies(answers)));
              } catch (RuntimeException | Error e) { // nobody else hears of it
                call.failed(e);
              }
            });
  }

  private LookRound look(List<String> keys, List<@Nullable NodeReply> replies) {
    return LookRound.of(context.quorum, keys.size(), replies);
  }

  private void looked(LookRound look) {
    AttemptEnd refusal = null;
    synchronized (this) {
      state = state.looked();
      NameChoice looking = Objects.requireNonNull(choice);
      looking.looked(look, context.ticker.monotonicNanos());
      if (isOver(looking)) {
        refusal = lastRefusal;
      }
    }
    if (refusal == null) {
      ask();
    } else {
      refused(refusal);
    }
  }

  private synchronized boolean claimStart() {
    boolean may =
        state.phase() == Phase.ASKS && running == null && !isStarting && !context.closed.get();
    isStarting |= may;
    return may;
  }

  /** Returns a unique owner id: that of the call, with a number from the second attempt on. */
  private synchronized String nextOwner() {
    started++;
    return started == 1 ? owner : owner + "-" + started;
  }

  private synchronized boolean claimRun(Owner next) {
    boolean asks = state.phase() == Phase.ASKS;
    running = asks ? next : running;
    return asks;
  }

  @Override
  public void failed(Throwable why) {
    call.failed(why);
  }

  @Override
  public boolean hasTaken(Lease lease) {
    return call.hasTaken(lease);
  }

  @Override
  public void attempted(AttemptEnd outcome) {
    if (outcome.lease() != null) {
      call.finish(outcome.result());
    } else if (ended(outcome)) {
      ask();
    } else {
      refused(outcome);
    }
  }

  /** Returns true if an attempt for another name follows. */
  private synchronized boolean ended(AttemptEnd outcome) {
    if (state.phase() != Phase.ASKS || choice == null || !outcome.isRefused()) {
      return false;
    }
    choice.refused(outcome.heldRemainingMillis(), context.ticker.monotonicNanos());
    if (isOver(choice)) {
      return false;
    }
    lastRefusal = outcome;
    running = null;
    return true;
  }

  /** A pass takes two node timeouts at most. */
  private boolean isOver(NameChoice pass) {
    assert Thread.holdsLock(this);
    return pass.next() == NameChoice.Step.OVER
        || context.ticker.monotonicNanos() - passNanos > 2 * context.settings.nodeTimeoutNanos();
  }

  private void refused(AttemptEnd failed) {
    AttemptEnd outcome;
    synchronized (this) {
      outcome =
          choice == null
              ? failed
              : failed.remaining(choice.remainingMillis(context.ticker.monotonicNanos()));
    }
    call.refused(outcome);
    long leftNanos = call.leftNanos();
    step(
        now -> {
          running = null;
          lastRefusal = outcome;
          failures[outcome.cause().ordinal()]++;
          CallState next = now.refused(outcome, leftNanos);
          if (next.clockLearned() && !now.clockLearned()) {
            restart(call.place());
          }
          return next.phase() != Phase.PONDERS || asksStrategy()
              ? next
              : pausedByDefault(next, leftNanos);
        });
  }

  private static void restart(@Nullable QueuePlace place) {
    if (place != null) {
      place.restart();
    }
  }

  /** Returns true if the call asks its strategy, which may block; else the default decides. */
  private boolean asksStrategy() {
    assert Thread.holdsLock(this);
    boolean asks = !isStrategyBusy && context.pauses.mayBlock();
    isStrategyBusy |= asks;
    return asks;
  }

  private CallState pausedByDefault(CallState now, long leftNanos) {
    assert Thread.holdsLock(this);
    Cause cause = Objects.requireNonNull(lastRefusal).cause();
    long nanos = context.pauses.byDefaultNanos(failures[cause.ordinal()], cause);
    return now.paused(now.plan(), nanos, leftNanos);
  }

  /** Asks the strategy on a callback thread, since it may block; the timer goes on. */
  private void ponder(CallState asked) {
    Cause cause;
    int count;
    synchronized (this) {
      cause = Objects.requireNonNull(lastRefusal).cause();
      count = failures[cause.ordinal()];
    }
    context.callbacks.other(
        () -> {
          long nanos = context.pauses.chosenNanos(count, cause);
          long leftNanos = call.leftNanos();
          step(
              now -> {
                isStrategyBusy = false;
                return now.paused(asked.plan(), nanos, leftNanos);
              });
        });
  }
}
