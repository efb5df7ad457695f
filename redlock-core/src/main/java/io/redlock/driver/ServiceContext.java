package io.redlock.driver;

import io.redlock.LeaseEnd;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.Votes;
import io.redlock.protocol.Ballot;
import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** What every operation of one lock service shares: the nodes, the clocks, the settings. */
final class ServiceContext {

  final List<LockNode> nodes;
  final Settings settings;
  final Ticker ticker;
  final Scheduler scheduler;
  final RandomGenerator random;
  final Supplier<String> ownerIds;
  final RetryStrategy retryStrategy;
  final MedianClock clock;
  final FencingTokens tokens;
  final Timeouts timeouts;
  final LocalQueues lines = new LocalQueues();
  final FairWaiters fairWaiters;
  final LiveLeases liveLeases;
  final Votes noVotes; // of a round in which no node was asked
  final Callbacks callbacks;
  private final @Nullable RedlockListener listener;

  ServiceContext(
      List<LockNode> nodes,
      Settings settings,
      Ticker ticker,
      Scheduler scheduler,
      RandomGenerator random,
      Supplier<String> ownerIds,
      RetryStrategy retryStrategy,
      Callbacks callbacks,
      @Nullable RedlockListener listener) {
    this.nodes = nodes;
    this.settings = settings;
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.random = random;
    this.ownerIds = new OwnerIds(ownerIds);
    this.retryStrategy = retryStrategy;
    this.callbacks = callbacks;
    this.listener = listener;
    clock = new MedianClock(nodes, ticker);
    tokens = new FencingTokens(clock, settings.skewMicros());
    timeouts = new Timeouts(scheduler, ticker, settings.nodeTimeoutNanos());
    liveLeases = new LiveLeases(scheduler, ticker);
    noVotes = new Votes(List.of(), Ballot.quorum(nodes.size()));
    fairWaiters = new FairWaiters(this.ownerIds);
  }

  /** Tells the listener, where user code belongs. */
  void tell(Consumer<RedlockListener> event) {
    if (listener != null) {
      callBack(() -> event.accept(listener));
    }
  }

  /** Hands a result to a user's future, whose dependents may run then and there. */
  <T> void complete(CompletableFuture<T> future, T value) {
    callBack(() -> future.complete(value));
  }

  /** Runs user code where it can hold up nothing but other user code; contains what it throws. */
  void callBack(Runnable userCode) {
    callbacks.other(userCode);
  }

  /**
   * Tells of the end of a lease those who have asked for it; of a loss ahead of everything else.
   */
  void announce(
      LeaseEnd how,
      @Nullable CompletableFuture<LeaseEnd> awaited,
      Consumer<RedlockListener> event) {
    Consumer<Runnable> way = how.lost() ? callbacks::ofLoss : callbacks::other;
    if (awaited != null) {
      way.accept(() -> awaited.complete(how));
    }
    if (listener != null) {
      way.accept(() -> event.accept(listener));
    }
  }
}
