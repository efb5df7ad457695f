package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.LibraryThread;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads that run user code. */
@Timeout(300)
class ThreadsTest {

  private final List<Thread> started = new CopyOnWriteArrayList<>();
  private final List<Throwable> uncaught = new CopyOnWriteArrayList<>();
  private final CountDownLatch never = new CountDownLatch(1);
  private volatile boolean outOfMemory;

  private SystemSources.Threads threads = new SystemSources.Threads(this::newThread);

  private Thread newThread(Runnable task) {
    if (outOfMemory) {
      throw new OutOfMemoryError("unable to create native thread");
    }
    Thread thread = LibraryThread.named("test").newThread(task);
    thread.setUncaughtExceptionHandler((which, failure) -> uncaught.add(failure));
    started.add(thread);
    return thread;
  }

  @AfterEach
  void end() throws InterruptedException {
    never.countDown();
    threads.close();
    for (Thread thread : started) {
      thread.join(60_000);
      assertFalse(thread.isAlive(), "closed, and nothing to do");
    }
  }

  private void block() {
    try {
      never.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static <T> T soon(CompletableFuture<T> future) throws Exception {
    return future.get(60, TimeUnit.SECONDS);
  }

  private Thread runOne() throws Exception {
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    threads.execute(() -> ran.complete(Thread.currentThread()));
    return soon(ran);
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
      threads.execute(
          () -> {
            runs.complete(null);
            block();
          });
    }
    for (int task = 0; task < SystemSources.Threads.MOST; task++) {
      soon(running.get(task));
    }
    assertEquals(4, started.size());
    assertFalse(running.get(4).isDone());
    never.countDown();
    for (CompletableFuture<Void> each : running) {
      soon(each);
    }
    assertEquals(4, started.size());
  }

  @Test
  void tasksForOneIdleThreadThatComeTogetherGetASecondThread() throws Exception {
    idleThread();
    CompletableFuture<Void> second = new CompletableFuture<>();
    threads.execute(this::block);
    threads.execute(() -> second.complete(null));
    soon(second);
  }

  @Test
  void idleThreadsEnd() throws Exception {
    Thread first = runOne();
    first.join(60_000);
    assertFalse(first.isAlive());
    runOne();
    assertEquals(2, started.size());
  }

  @Test
  void threadThatFindsNoTaskStaysForTheNext() throws Exception {
    long startNanos = System.nanoTime();
    for (int round = 0; round < 2_000; round++) {
      CountDownLatch ran = new CountDownLatch(3);
      for (int task = 0; task < 3; task++) { // a thread that is done takes what wakes another
        threads.execute(ran::countDown);
      }
      assertTrue(ran.await(60, TimeUnit.SECONDS));
    }
    long idleSeconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNanos);
    long most = SystemSources.Threads.MOST * (1 + idleSeconds);
    assertTrue(started.size() <= most, started.size() + " threads were started");
  }

  @Test
  void closingEndsIdleThreadsAtOnceAndTasksAreTakenAllTheSame() throws Exception {
    long tookNanos;
    do { // anew, if the machine stood still
      threads = new SystemSources.Threads(this::newThread);
      Thread first = idleThread();
      long before = System.nanoTime();
      threads.close();
      first.join(60_000);
      tookNanos = System.nanoTime() - before;
    } while (tookNanos > 900_000_000); // it waits for a second if nobody wakes it
    Thread second = runOne();
    second.join(60_000);
    assertFalse(second.isAlive());
  }

  @Test
  void tasksThatThrowDoNotUseUpTheThreads() throws Exception {
    Error failure = new OutOfMemoryError("in the log");
    for (int task = 1; task <= 2 * SystemSources.Threads.MOST; task++) {
      threads.execute(
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
      threads.execute(this::block); // so that one thread runs the other tasks in turn
    }
    threads.execute(
        () -> {
          try {
            queued.await();
          } catch (InterruptedException e) {
            interrupted.completeExceptionally(e);
          }
          Thread.currentThread().interrupt();
        });
    threads.execute(() -> interrupted.complete(Thread.currentThread().isInterrupted()));
    queued.countDown();
    assertFalse(soon(interrupted));
  }

  @Test
  void interruptOfAnIdleThreadLosesNoTask() throws Exception {
    Thread first = idleThread();
    first.interrupt();
    first.join(60_000);
    assertTrue(runOne() != first);
  }

  @Test
  void taskWhoseThreadCannotBeStartedIsRefusedAndForgotten() throws Exception {
    outOfMemory = true;
    List<String> ran = new CopyOnWriteArrayList<>();
    for (int attempt = 0; attempt < 2 * SystemSources.Threads.MOST; attempt++) {
      assertThrows(OutOfMemoryError.class, () -> threads.execute(() -> ran.add("refused")));
    }
    outOfMemory = false;
    runOne();
    assertEquals(List.of(), ran);
  }
}
