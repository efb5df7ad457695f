package io.redlock.driver;

import io.redlock.LeaseEnd;
import io.redlock.spi.Scheduler;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs user code, which may throw, block, or take long. Threads that do nothing else hand it to the
 * user's executor, because an executor may run it at once. Losses have threads of their own, so
 * that no other user code delays them.
 */
final class Callbacks {

  private static final long RETRY_NANOS = 100_000_000;

  private final Defaults.Threads losses;
  private final Defaults.Threads others;
  private final Executor executor;
  private final boolean direct;
  private final Scheduler scheduler;

  /**
   * @param executor runs user code; {@code Runnable::run} for the threads of this object
   * @param direct true to call the executor at once, on the current thread; for simulations
   */
  Callbacks(
      Executor executor,
      boolean direct,
      Scheduler scheduler,
      Defaults.Threads losses,
      Defaults.Threads others) {
    this.losses = losses;
    this.others = others;
    this.executor = executor;
    this.direct = direct;
    this.scheduler = scheduler;
  }

  /** Runs user code that handles a loss. */
  void ofLoss(Runnable userCode) {
    deliver(losses, userCode);
  }

  /** Runs user code that handles the end of a lease. */
  void ofEnd(LeaseEnd how, Runnable userCode) {
    if (how.lost()) {
      ofLoss(userCode);
    } else {
      other(userCode);
    }
  }

  /** Runs any other user code. */
  void other(Runnable userCode) {
    deliver(others, userCode);
  }

  /**
   * Runs user code that a duty of this library needs, so that no other user code delays it: on a
   * thread of its own, or at once in a simulation.
   */
  void alone(ThreadFactory threads, Runnable userCode) {
    Callback callback = new Callback(userCode);
    if (!direct || !handOver(callback)) {
      start(task -> threads.newThread(task).start(), callback);
    }
  }

  private void deliver(Defaults.Threads threads, Runnable userCode) {
    Callback callback = new Callback(userCode);
    if (!direct) {
      start(threads::execute, () -> runOrHandOver(callback));
    } else if (!handOver(callback)) {
      start(threads::execute, callback);
    }
  }

  private void start(Executor threads, Runnable task) {
    try {
      threads.execute(task);
    } catch (Throwable e) { // no memory for a thread
      scheduler.schedule(() -> start(threads, task), RETRY_NANOS);
      Log.LOG.error("No thread could be started for a callback; this is tried again", e);
    }
  }

  private void runOrHandOver(Callback callback) {
    if (!handOver(callback)) {
      callback.run();
    }
  }

  private boolean handOver(Callback callback) {
    try {
      executor.execute(callback);
      return true;
    } catch (Throwable e) { // thrown by the executor: Callback catches what user code throws
      Log.LOG.warn("The callback executor refused a callback; a thread of the library runs it", e);
      return false;
    }
  }

  /** Lets the threads end as soon as they are idle. */
  void close() {
    losses.close();
    others.close();
  }

  /** User code that runs once, even if an executor accepts it and then throws. */
  private static final class Callback extends AtomicBoolean implements Runnable {
    private static final long serialVersionUID = 1;

    private final transient Runnable userCode;

    Callback(Runnable userCode) {
      this.userCode = userCode;
    }

    @Override
    public void run() {
      if (compareAndSet(false, true)) {
        try {
          userCode.run();
        } catch (Throwable e) {
          Log.LOG.warn("A callback failed; the lock service is not affected", e);
        }
      }
    }
  }
}
