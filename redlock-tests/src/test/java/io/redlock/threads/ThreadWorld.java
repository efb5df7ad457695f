package io.redlock.threads;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.driver.RedlockBuilder;
import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.ForwardingNode;
import io.redlock.testkit.InMemoryNode;
import io.redlock.testkit.InMemoryServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Threads that use two services, and what must be true whatever they do to each other. The one
 * master is in memory and answers on the caller's thread: more would lengthen each schedule. Time
 * is virtual and passes on a thread of its own. Callbacks of the first service run on the threads
 * that cause them, those of the second on a thread of its user.
 */
final class ThreadWorld {

  static final Duration TTL = Duration.ofSeconds(10);
  private static final long SOON_NANOS = 20_000_000; // what is due later waits for pass()

  interface Body {
    void run() throws Exception;
  }

  private final FakeTicker ticker = new FakeTicker();
  private final Time time = new Time();
  private final LinkedBlockingQueue<Runnable> callbacks = new LinkedBlockingQueue<>();
  private final Thread user = new Thread(this::callBack, "user");
  private final List<Thread> threads = new ArrayList<>();
  private final InMemoryServer server = new InMemoryServer(ticker);
  private final AtomicInteger ids = new AtomicInteger();
  private final List<LockNode.Observer> observers = new ArrayList<>(); // of both services
  private final List<Redlock> services = new ArrayList<>();
  private volatile boolean isClosed;
  private Body end = () -> {};

  private final List<Future<?>> futures = new ArrayList<>(); // guarded by this, as all that follows
  private final Map<String, Set<Lease>> holders = new HashMap<>();
  private final Map<Lease, Integer> acquired = new HashMap<>();
  private final Map<Lease, Integer> ended = new HashMap<>();
  private @Nullable Throwable failure;

  ThreadWorld() {
    for (int service = 0; service < 2; service++) {
      services.add(connect(service));
    }
  }

  private Redlock connect(int service) {
    LockNode node =
        new ForwardingNode(new InMemoryNode("master", server)) {
          @Override
          public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
            observers.add(observer);
            super.start(ticker, scheduler, observer);
          }
        };
    return new RedlockBuilder()
        .over(List.of(node))
        .callbackExecutor(service == 0 ? Runnable::run : callbacks::add)
        .ticker(ticker)
        .scheduler(time)
        .random(new SplittableRandom(service))
        .ownerIds(() -> service + "/" + ids.incrementAndGet())
        .listener(new Reports())
        .build();
  }

  Redlock service(int number) {
    return services.get(number);
  }

  /** Adds a thread; all start together. */
  void thread(Body body) {
    threads.add(new Thread(() -> attempt(body), "thread-" + threads.size()));
  }

  private void attempt(Body body) {
    try {
      body.run();
    } catch (InterruptedException e) {
      return; // nothing is locked then
    } catch (IllegalStateException e) {
      failUnless(isClosed, e);
    } catch (Throwable e) {
      failUnless(false, e);
    }
  }

  void interrupt(int thread) {
    threads.get(thread).interrupt();
  }

  /** A service is closed with all that it holds; keys stay until their end. */
  void close(int service) {
    isClosed = true;
    services.get(service).close();
  }

  private synchronized void failUnless(boolean expected, Throwable why) {
    failure = expected || failure != null ? failure : why;
  }

  void check(boolean isTrue, String rule) {
    failUnless(isTrue, new AssertionError(rule));
  }

  synchronized <T extends Future<?>> T completes(T future) {
    futures.add(future);
    return future;
  }

  /** Holds the lease for a moment. */
  void hold(Lease lease, SplittableRandom random) {
    enter(lease);
    pause(random);
    synchronized (this) {
      holders.get(lease.resource()).remove(lease);
    }
  }

  /** Asks under a lock that callbacks take too, as a user may: a callback under ours would hang. */
  synchronized void ask(Lease lease) {
    services.forEach(service -> service.operations().leases());
    lease.ended();
  }

  private synchronized void enter(Lease lease) {
    isLocked(lease);
    Set<Lease> all = holders.computeIfAbsent(lease.resource(), name -> new HashSet<>());
    for (Lease other : all) {
      boolean together = lease.isShared() && other.isShared();
      check(together || !other.isValid() || !lease.isValid(), lease + " beside " + other);
    }
    all.add(lease);
  }

  /** Checks that the master has the key of a lease that is valid, which nobody else could take. */
  void isLocked(Lease lease) {
    boolean isLocked = server.owner(lease.resource()).isPresent();
    check(isLocked || !lease.isValid(), lease + " has no key");
  }

  static void pause(SplittableRandom random) {
    for (int times = random.nextInt(4); times > 0; times--) {
      Thread.yield();
    }
  }

  /** Lets time pass that no thread waits for: leases are renewed, or expire. */
  void pass(Duration span) {
    time.pass(span);
  }

  /** The master loses all data, and each service notices. */
  void reset() {
    server.loseData();
    observers.forEach(observer -> observer.onReset("lost its data"));
  }

  /** Waits until nothing is due soon, and the user was told of all that has happened. */
  void settle() {
    time.settle();
    CompletableFuture.runAsync(() -> {}, callbacks::add).join();
    time.settle();
  }

  /** Returns true on the thread on which callbacks of this service run, if it has one. */
  boolean runsCallbacks(int service) {
    return service == 0 || Thread.currentThread() == user;
  }

  /** Sets what is done when all threads have ended. */
  void atTheEnd(Body body) {
    end = body;
  }

  /** Runs the threads, then the end, then checks what is left. */
  void run() throws InterruptedException {
    user.start();
    time.start();
    threads.forEach(Thread::start);
    for (Thread thread : threads) {
      thread.join();
    }
    attempt(end);
    settle();
    synchronized (this) {
      futures.forEach(future -> check(future.isDone(), "a future does not complete"));
      check(services.stream().allMatch(s -> s.operations().waits().isEmpty()), "a call waits");
      List<Object> left = new ArrayList<>(server.locks().values());
      services.forEach(service -> left.addAll(service.operations().leases()));
      check(isClosed || left.isEmpty(), "left: " + left);
    }
    time.pass(Duration.ofHours(1));
    time.settle();
    check(isClosed || time.isEmpty(), "a timer is left");
    services.forEach(Redlock::close);
    synchronized (this) {
      while (!acquired.equals(ended)) { // each report is a callback of its own
        wait();
      }
    }
    time.end();
    user.interrupt();
    user.join();
    time.join();
    synchronized (this) {
      if (failure != null) {
        throw new AssertionError(failure);
      }
    }
  }

  private void callBack() {
    try {
      while (true) {
        callbacks.take().run();
      }
    } catch (InterruptedException e) {
      callbacks.forEach(Runnable::run);
    }
  }

  private synchronized void count(Map<Lease, Integer> reports, Lease lease) {
    reports.merge(lease, 1, Integer::sum);
    notifyAll();
  }

  private final class Reports implements RedlockListener {
    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      result.lease().ifPresent(lease -> count(acquired, lease));
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      count(ended, lease);
    }
  }

  private record Task(Runnable body, long dueNanos, long number) {}

  /** Runs what is due soon; each task takes as long as it is until then. */
  private final class Time extends Thread implements Scheduler {
    private final TreeSet<Task> tasks = // guarded by this, as all that follows
        new TreeSet<>(Comparator.comparingLong(Task::dueNanos).thenComparingLong(Task::number));
    private long numbers;
    private boolean isIdle;
    private boolean isOver;

    @Override
    public Timer timer(Runnable body) {
      return new Timer() {
        private Task last = new Task(body, 0, 0); // guarded by the time

        @Override
        public void set(long atNanos) {
          last = replace(last, atNanos);
        }

        @Override
        public void cancel() {
          remove(last);
        }
      };
    }

    private synchronized Task replace(Task before, long atNanos) {
      tasks.remove(before);
      Task task = new Task(before.body, atNanos, ++numbers);
      tasks.add(task);
      isIdle = false;
      notifyAll();
      return task;
    }

    private synchronized void remove(Task task) {
      tasks.remove(task);
    }

    @Override
    public void run() {
      for (Task task = next(); task != null; task = next()) {
        attempt(task.body::run);
      }
    }

    private synchronized @Nullable Task next() {
      while (!isOver) {
        long nowNanos = ticker.monotonicNanos();
        if (!tasks.isEmpty() && tasks.first().dueNanos - nowNanos <= SOON_NANOS) {
          Task next = tasks.pollFirst();
          ticker.advance(Duration.ofNanos(Math.max(0, next.dueNanos - nowNanos)));
          return next;
        }
        isIdle = true;
        notifyAll();
        await();
      }
      return null;
    }

    private void await() {
      Unchecked.call(() -> wait());
    }

    /** Lets time pass up to each task in turn, so that none is late. */
    void pass(Duration span) {
      long endNanos = ticker.monotonicNanos() + span.toNanos();
      while (step(endNanos)) {
        settle();
      }
    }

    private synchronized boolean step(long endNanos) {
      long nowNanos = ticker.monotonicNanos();
      long nextNanos = tasks.isEmpty() ? endNanos : Math.min(endNanos, tasks.first().dueNanos);
      ticker.advance(Duration.ofNanos(Math.max(0, nextNanos - nowNanos)));
      isIdle = false;
      notifyAll();
      return nextNanos < endNanos;
    }

    /** Waits until nothing is due soon. */
    synchronized void settle() {
      while (!isIdle) {
        await();
      }
    }

    synchronized boolean isEmpty() {
      return tasks.isEmpty();
    }

    synchronized void end() {
      isOver = true;
      notifyAll();
    }

    @Override
    public void close() {} // it outlives the services
  }
}
