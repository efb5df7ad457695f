package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.FakeTime;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.LibraryThread;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The threads that run user code. */
@Timeout(300)
class CallbackWorkersTest {

  private final AtomicInteger started = new AtomicInteger();
  private final Set<Thread> ran = ConcurrentHashMap.newKeySet();
  private final List<Throwable> uncaught = new CopyOnWriteArrayList<>();
  @RegisterExtension private final KeptLog log = new KeptLog();

  private final CountDownLatch never = new CountDownLatch(1);

  private final FakeTime time = new FakeTime();
  private final CallbackThreads threads =
      Bed.callbackThreads(this::newThread, 1_000, new Agenda(time, time));

  private void execute(Runnable code) {
    threads.add(
        new CallbackThreads.Task() {
          private static final long serialVersionUID = 1;

          @Override
          public void run() {
            code.run();
          }
        });
  }

  private Thread newThread(Runnable task) {
    Thread thread = LibraryThread.named("test").newThread(task);
    thread.setUncaughtExceptionHandler((which, failure) -> uncaught.add(failure));
    started.incrementAndGet();
    return thread;
  }

  @AfterEach
  void end() throws InterruptedException {
    never.countDown();
    for (Thread thread : ran) {
      thread.join(60_000);
      assertFalse(thread.isAlive(), "nothing to do");
    }
  }

  private void block() {
    try {
      never.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Runs, without a wait, until {@link #never}. */
  private void compute() {
    while (never.getCount() > 0) {
      Thread.onSpinWait();
    }
  }

  private static <T> T soon(CompletableFuture<T> future) throws Exception {
    return future.get(60, TimeUnit.SECONDS);
  }

  private Thread runOne() throws Exception {
    CompletableFuture<Thread> runs = new CompletableFuture<>();
    execute(() -> runs.complete(Thread.currentThread()));
    ran.add(soon(runs));
    return runs.join();
  }

  /** Waits until a thread is idle; on a busy machine it may end before it is seen. */
  private Thread idleThread() throws Exception {
    while (true) {
      Thread thread = runOne();
      while (thread.isAlive()) {
        if (thread.getState() == Thread.State.TIMED_WAITING) {
          return thread;
        }
        Thread.sleep(1);
      }
    }
  }

  @Test
  void idleThreadTakesTheNextTask() throws Exception {
    Thread idle = idleThread();
    assertTrue(idle.isDaemon());
    assertEquals("test", idle.getName());
    while (runOne() != idle) { // it ended meanwhile
      idle = idleThread();
    }
  }

  @Test
  void oneMoreStartsWhileAllAreBusyAndNoMoreThanFour() throws Exception {
    List<CompletableFuture<Void>> running = new ArrayList<>();
    for (int task = 0; task < 10; task++) {
      CompletableFuture<Void> runs = new CompletableFuture<>();
      running.add(runs);
      execute(
          () -> {
            runs.complete(null);
            compute();
          });
    }
    for (int task = 0; task < CallbackThreads.MOST; task++) {
      soon(running.get(task));
    }
    time.passMillis(1_000);
    assertEquals(4, started.get());
    assertFalse(running.get(4).isDone());
    never.countDown();
    for (CompletableFuture<Void> each : running) {
      soon(each);
    }
    assertEquals(4, started.get());
  }

  @Test
  void tasksForOneIdleThreadThatComeTogetherGetASecondThread() throws Exception {
    idleThread();
    CompletableFuture<Void> second = new CompletableFuture<>();
    execute(this::block);
    execute(() -> second.complete(null));
    soon(second);
  }

  @Test
  void threadThatWaitsIsReplacedMeanwhile() throws Exception {
    List<CompletableFuture<Void>> waiting = new ArrayList<>();
    for (int task = 0; task <= 40; task++) {
      waiting.add(new CompletableFuture<>());
    }
    for (int task = 0; task < 40; task++) {
      CompletableFuture<Void> awaited = waiting.get(task + 1);
      CompletableFuture<Void> done = waiting.get(task);
      execute(
          () -> {
            awaited.thenApply(it -> it).join();
            done.complete(null);
          });
    }
    execute(() -> waiting.get(40).complete(null));
    while (!waiting.get(0).isDone()) {
      Thread.sleep(1);
      time.passMillis(1);
    }
    assertEquals(41, started.get());
  }

  @Test
  void taskThatRunsForTooLongIsToldOnce() throws Exception {
    CompletableFuture<Void> runs = new CompletableFuture<>();
    threads.expect(Duration.ofHours(1).toNanos());
    execute(
        () -> {
          runs.complete(null);
          block();
        });
    soon(runs);
    time.pass(Duration.ofHours(2)); // the thread runs in real time
    assertEquals(List.of(), log.newWarnings());
    threads.expect(1);
    Thread.sleep(1);
    time.pass(Duration.ofHours(2));
    assertEquals(0, time.tasks());
    List<String> told = log.newWarnings();
    assertEquals(1, told.size());
    assertTrue(told.get(0).startsWith("A callback on test runs for longer than a ttl"));
  }

  @Test
  void idleThreadsEnd() throws Exception {
    Thread first = runOne();
    first.join(60_000);
    assertFalse(first.isAlive());
    runOne();
    assertEquals(2, started.get());
  }

  @Test
  void threadThatFindsNoTaskStaysForTheNext() throws Exception {
    long startNanos = System.nanoTime();
    for (int round = 0; round < 2_000; round++) {
      CountDownLatch ran = new CountDownLatch(3);
      for (int task = 0; task < 3; task++) { // a thread that is done takes what wakes another
        execute(ran::countDown);
      }
      assertTrue(ran.await(60, TimeUnit.SECONDS));
    }
    long idleSeconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNanos);
    long most = CallbackThreads.MOST * (1 + idleSeconds);
    assertTrue(started.get() <= most, started.get() + " threads were started");
  }

  @Test
  void tasksThatThrowDoNotUseUpTheThreads() throws Exception {
    Error failure = new OutOfMemoryError("in the log");
    for (int task = 1; task <= 2 * CallbackThreads.MOST; task++) {
      execute(
          () -> {
            throw failure;
          });
      while (uncaught.size() < task) {
        Thread.sleep(1);
      }
    }
    runOne();
    assertSame(failure, uncaught.get(0));
  }

  @Test
  void interruptThatATaskLeavesBehindDoesNotMeetTheNext() throws Exception {
    CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
    CountDownLatch queued = new CountDownLatch(1);
    for (int task = 0; task < 3; task++) {
      execute(this::compute); // so that one thread runs the other tasks in turn
    }
    execute(
        () -> {
          try {
            queued.await();
          } catch (InterruptedException e) {
            interrupted.completeExceptionally(e);
          }
          Thread.currentThread().interrupt();
        });
    execute(() -> interrupted.complete(Thread.currentThread().isInterrupted()));
    queued.countDown();
    assertFalse(soon(interrupted));
  }
}
