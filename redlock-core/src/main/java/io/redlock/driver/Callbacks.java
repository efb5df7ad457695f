package io.redlock.driver;

import io.redlock.LeaseEnd;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Runs user code, which may throw, block, or take long. Threads that do nothing else hand it to the
 * user's executor, because an executor may run it at once. Losses have threads of their own, so
 * that no other user code delays them.
 */
final class Callbacks {

  private final CallbackThreads losses;
  private final CallbackThreads others;
  private final Executor executor; // runs user code
  final AtomicLong failed = new AtomicLong(); // how often user code has thrown
  final boolean direct; // it is called at once, on the current thread; for simulations

  Callbacks(Executor executor, boolean direct, CallbackThreads losses, CallbackThreads others) {
    this.losses = losses;
    this.others = others;
    this.executor = executor;
    this.direct = direct;
  }

  /** Takes notice of a ttl: user code should not take as long. */
  void expect(long nanos) {
    losses.expect(nanos);
    others.expect(nanos);
  }

  void ofLoss(Runnable userCode) {
    deliver(losses, new Callback(userCode));
  }

  /** Runs any other user code, where it delays only its like; its exceptions are logged. */
  void other(Runnable userCode) {
    deliver(others, new Callback(userCode));
  }

  /** Passes the end of a future of this library to the returned one, as user code. */
  <T> CompletableFuture<T> pass(CompletableFuture<T> internal) {
    return pass(internal, UnaryOperator.identity());
  }

  /** Passes what this makes of the end of a future, when it completes the returned one. */
  <T> CompletableFuture<T> pass(CompletableFuture<T> internal, UnaryOperator<T> last) {
    Handover<T> handover = new Handover<>(last);
    internal.whenComplete(handover::pass);
    return handover.future;
  }

  private void deliver(CallbackThreads queue, Callback callback) {
    callback.queue = queue;
    if (direct) {
      callback.run();
    } else {
      queue.add(callback);
    }
  }

  /**
   * User code that runs once, even if an executor accepts it and then throws. Its first run hands
   * it to the executor, and the next run is that of the executor.
   */
  private class Callback extends CallbackThreads.Task {
    private static final long serialVersionUID = 1;

    static final int HANDED_OVER = 1;
    private static final int RUN = 2;

    private final transient Runnable userCode;
    private transient CallbackThreads queue = others;

    Callback(Runnable userCode) {
      this.userCode = userCode;
    }

    @Override
    public void run() {
      if (!compareAndSet(0, HANDED_OVER)) {
        runOnce();
        return;
      }
      try {
        executor.execute(this);
      } catch (Throwable e) { // thrown by the executor: the other catch has those of user code
        try {
          Log.LOG.warn(
              "The callback executor refused a callback; a thread of the library runs it", e);
        } finally { // even a line takes memory
          if (direct) {
            queue.add(this);
          } else {
            runOnce();
          }
        }
      }
    }

    private void runOnce() {
      if (compareAndSet(HANDED_OVER, RUN)) {
        try {
          userCode.run();
        } catch (Throwable e) {
          failed.incrementAndGet();
          Log.LOG.warn("A callback failed; the lock service is not affected", e);
        }
      }
    }
  }

  /**
   * A future of the user, and what completes it on a callback thread. Made when the future is asked
   * for, so that its end needs no memory.
   */
  private final class Handover<T> {
    final CompletableFuture<T> future = new CompletableFuture<>();
    private final Callback callback = new Callback(this::complete);
    private final UnaryOperator<T> last;
    private @Nullable T value; // set before the callback is delivered
    private @Nullable Throwable failure;

    private Handover(UnaryOperator<T> last) {
      this.last = last;
    }

    /** Completes the future with an end of an internal future. Called once. Never throws. */
    void pass(@Nullable T result, @Nullable Throwable thrown) {
      value = result;
      failure = thrown;
      deliver(result instanceof LeaseEnd how && how.lost() ? losses : others, callback);
    }

    private void complete() {
      if (failure != null) {
        future.completeExceptionally(failure);
        return;
      }
      try {
        future.complete(last.apply(value));
      } catch (RuntimeException | Error e) { // no memory
        future.completeExceptionally(e);
      }
    }
  }
}
