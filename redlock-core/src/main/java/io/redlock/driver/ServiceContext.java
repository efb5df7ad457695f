package io.redlock.driver;

import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.Votes;
import io.redlock.protocol.Ballot;
import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;

/** The parts that all operations of one lock service share: nodes, clocks, settings. */
final class ServiceContext {

  final List<LockNode> nodes;
  final Settings settings;
  final Ticker ticker;
  final Scheduler scheduler;
  final RandomGenerator random;
  final OwnerIds ownerIds;
  final RetryStrategy retryStrategy;
  final MedianClock clock;
  final FencingTokens tokens;
  final Timeouts timeouts;
  final LocalQueues queues = new LocalQueues();
  final FairWaiters fairWaiters;
  final LiveLeases liveLeases;
  final Votes noVotes; // for a call that asked no node
  final Callbacks callbacks;
  final Listeners listeners;

  ServiceContext(
      List<LockNode> nodes,
      Settings settings,
      Ticker ticker,
      Scheduler scheduler,
      RandomGenerator random,
      OwnerIds ownerIds,
      RetryStrategy retryStrategy,
      Callbacks callbacks,
      List<RedlockListener> listeners) {
    this.nodes = nodes;
    this.settings = settings;
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.random = random;
    this.ownerIds = ownerIds;
    this.retryStrategy = retryStrategy;
    this.callbacks = callbacks;
    this.listeners = new Listeners(listeners, callbacks);
    clock = new MedianClock(nodes, ticker);
    tokens = new FencingTokens(clock, settings.skewMicros());
    timeouts = new Timeouts(scheduler, ticker, settings.nodeTimeoutNanos());
    liveLeases = new LiveLeases(scheduler, ticker);
    noVotes = new Votes(List.of(), Ballot.quorum(nodes.size()));
    fairWaiters = new FairWaiters(this.ownerIds);
  }

  /** Completes a user's future, on a callback thread, since its dependents may run there. */
  <T> void complete(CompletableFuture<T> future, T value) {
    callBack(() -> future.complete(value));
  }

  /** Runs user code where it delays only other user code; its exceptions are logged. */
  void callBack(Runnable userCode) {
    callbacks.other(userCode);
  }
}
