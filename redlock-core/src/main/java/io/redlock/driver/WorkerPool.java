package io.redlock.driver;

import io.redlock.spi.Ticker;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A few threads for code that may block; one that waits in a future is replaced meanwhile. A thread
 * starts when all others are busy, and ends when it is idle, about a second later.
 */
class WorkerPool implements Executor {

  static final int MOST = 4;

  private static final int MOST_WAITING = 256;
  private static final long MAKING_NANOS = 50_000;
  private static final Ticker TICKER = SystemSources.ticker();

  private final ThreadFactory factory;
  private int most = MOST; // set before the first task
  private Runnable whenBroken = () -> {}; // set before the first task
  private final Set<Worker> workers = ConcurrentHashMap.newKeySet();
  private volatile @Nullable ForkJoinPool pool; // null until it is used

  /**
   * @param factory makes threads that inherit nothing from the caller; each makes one of the pool
   *     which is like it
   */
  WorkerPool(ThreadFactory factory) {
    this.factory = factory;
  }

  /** Allows so many more threads, before the first task. */
  void add(int more) {
    most += more;
  }

  /** Sets what is run when a thread failed: tasks that have not begun are perhaps lost. */
  void whenBroken(Runnable action) {
    whenBroken = action;
  }

  /**
   * Runs the task later. Throws if it needs a thread and none can be started; perhaps the task runs
   * all the same.
   */
  @Override
  public void execute(Runnable task) {
    ForkJoinPool used = pool;
    if (used == null) {
      used =
          new ForkJoinPool(
              most,
              this::worker,
              null,
              true,
              most,
              most + MOST_WAITING,
              most,
              full -> true,
              1,
              TimeUnit.SECONDS);
      pool = used;
    }
    try {
      used.execute(() -> ((Worker) Thread.currentThread()).run(task));
    } catch (Throwable e) {
      drop(used);
      throw e;
    }
  }

  /**
   * On JDK 17 a pool forgets no thread that could not be made, so it starts none in its place; and
   * a thread that ends because it could start no other one loses the task that it had taken.
   */
  private void drop(@Nullable ForkJoinPool broken) {
    if (pool == broken) {
      pool = null;
    }
    whenBroken.run();
  }

  private ForkJoinWorkerThread worker(ForkJoinPool of) {
    AtomicReference<@Nullable Worker> made = new AtomicReference<>();
    Thread maker = factory.newThread(() -> made.set(new Worker(of)));
    maker.start();
    while (maker.isAlive()) { // a pool's thread that waits in a future would ask for another one
      LockSupport.parkNanos(MAKING_NANOS);
    }
    Worker worker = made.get();
    if (worker == null) {
      throw new OutOfMemoryError("no thread could be made for callbacks");
    }
    return worker;
  }

  /** Warns of each task that has run for so long, once. Called about once a second. */
  void check(long longNanos) {
    workers.forEach(worker -> worker.check(longNanos));
  }

  private final class Worker extends ForkJoinWorkerThread {
    private volatile @Nullable Runnable task;
    private volatile long sinceNanos;
    private @Nullable Runnable told; // used by the checks only

    Worker(ForkJoinPool of) {
      super(of);
      Thread maker = Thread.currentThread();
      setName(maker.getName());
      setContextClassLoader(maker.getContextClassLoader());
      setUncaughtExceptionHandler(maker.getUncaughtExceptionHandler());
      workers.add(this);
    }

    void run(Runnable next) {
      sinceNanos = TICKER.monotonicNanos();
      task = next;
      try {
        next.run();
      } finally { // if it throws, which it does not, this thread ends
        task = null;
        Thread.interrupted(); // an interrupt that user code left must not reach other user code
      }
    }

    void check(long longNanos) {
      Runnable running = task;
      if (running != null && running != told && TICKER.monotonicNanos() - sinceNanos > longNanos) {
        told = running;
        Log.LOG.warn(
            "A callback on {} runs for longer than a ttl, and delays others: {}",
            getName(),
            List.of(getStackTrace()));
      }
    }

    @Override
    protected void onTermination(@Nullable Throwable why) {
      workers.remove(this);
      if (why != null) {
        drop(getPool());
      }
    }
  }
}
