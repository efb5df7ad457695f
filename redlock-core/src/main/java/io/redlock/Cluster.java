package io.redlock;

import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What every operation of one lock service shares: the nodes, the clocks, the settings. */
final class Cluster {

  static final Logger LOG = LoggerFactory.getLogger(Redlock.class);

  final List<LockNode> nodes;
  final Settings settings;
  final Ticker ticker;
  final Scheduler scheduler;
  final RandomGenerator random;
  final Supplier<String> ownerIds;
  final RetryStrategy retryStrategy;
  final MedianClock clock;
  final Tokens tokens;
  final Timeouts timeouts;
  final LocalLines lines = new LocalLines();
  final FairWaiters fairWaiters;
  final LiveLeases liveLeases;
  private final Executor callbackExecutor;
  private final RedlockListener listener;

  Cluster(
      List<LockNode> nodes,
      Settings settings,
      Ticker ticker,
      Scheduler scheduler,
      RandomGenerator random,
      Supplier<String> ownerIds,
      RetryStrategy retryStrategy,
      Executor callbackExecutor,
      RedlockListener listener) {
    this.nodes = nodes;
    this.settings = settings;
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.random = random;
    this.ownerIds = new OwnerIds(ownerIds);
    this.retryStrategy = retryStrategy;
    this.callbackExecutor = callbackExecutor;
    this.listener = listener;
    clock = new MedianClock(nodes, ticker);
    tokens = new Tokens(clock, settings.skewMicros());
    timeouts = new Timeouts(scheduler, ticker, settings.nodeTimeoutNanos());
    liveLeases = new LiveLeases(scheduler, ticker);
    fairWaiters = new FairWaiters(this.ownerIds);
  }

  /** Tells the listener, where user code belongs. */
  void tell(Consumer<RedlockListener> event) {
    if (listener != RedlockBuilder.SILENT) {
      callBack(() -> event.accept(listener));
    }
  }

  /** Hands a result to a user's future, whose dependents may run then and there. */
  <T> void complete(CompletableFuture<T> future, T value) {
    callBack(() -> future.complete(value));
  }

  /** Runs user code on the user's executor; contains what it throws. */
  void callBack(Runnable userCode) {
    Runnable contained =
        () -> {
          try {
            userCode.run();
          } catch (RuntimeException | Error e) {
            LOG.warn("A callback failed; the lock service is not affected", e);
          }
        };
    try {
      callbackExecutor.execute(contained);
    } catch (RuntimeException | Error e) { // the executor's; what user code throws is contained
      LOG.warn("The callback executor refused a callback; it runs on the default one", e);
      Defaults.callbackExecutor().execute(contained);
    }
  }
}
