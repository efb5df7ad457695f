package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.KeptLog;
import io.redlock.spi.LibraryThread;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RunnableScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class SystemSourcesTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  @AutoClose private final Scheduler scheduler = SystemSources.scheduler();

  private static final List<Throwable> FAILURES =
      List.of(
          new IllegalStateException("a defect"),
          new AssertionError("a defect"),
          new OutOfMemoryError("a passing one"),
          new Exception("not declared"));

  @Test
  void ownerIdsAreSixteenRandomBytesInHexadecimal() {
    Supplier<String> ownerIds = SystemSources.ownerIds();
    Set<String> seen = new HashSet<>();
    for (int draw = 0; draw < 10_000; draw++) {
      String id = ownerIds.get();
      assertTrue(id.matches("[0-9a-f]{32}"), id);
      assertTrue(seen.add(id), id);
    }
  }

  @Test
  void clocksAreTheMachines() {
    Ticker ticker = Ticker.system();
    long wallMillis = Instant.now().toEpochMilli();
    assertTrue(Math.abs(ticker.wallMicros() / 1_000 - wallMillis) < 60_000);
    long before = ticker.monotonicNanos();
    assertTrue(ticker.monotonicNanos() - before >= 0);
  }

  @Test
  void tasksDueTogetherRunInTheOrderInWhichTheyWereScheduled() throws InterruptedException {
    List<Integer> ran = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch last = new CountDownLatch(1);
    for (int task = 0; task < 100; task++) {
      int number = task;
      scheduler.schedule(() -> ran.add(number), number % 2 == 0 ? 0 : -5);
    }
    scheduler.schedule(last::countDown, Duration.ofMillis(20).toNanos());
    assertTrue(last.await(60, TimeUnit.SECONDS));
    assertEquals(100, ran.size());
    List<Integer> even = ran.stream().filter(number -> number % 2 == 0).toList();
    assertEquals(even.stream().sorted().toList(), even);
  }

  @Test
  void threadOfTheSchedulerThatEndsIsReplacedThoughMemoryStaysShort() throws InterruptedException {
    AtomicInteger refusals = new AtomicInteger();
    try (SystemSources.SingleThread single =
        new SystemSources.SingleThread(
            worker -> {
              if (refusals.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                throw new OutOfMemoryError("unable to create native thread");
              }
              return LibraryThread.named("redlock-scheduler").newThread(worker);
            })) {
      CountDownLatch checks = new CountDownLatch(1);
      CountDownLatch ran = new CountDownLatch(1);
      single.watch(checks::countDown);
      single.schedule(ran::countDown, Duration.ofMillis(300).toNanos());
      refusals.set(5);
      single.executor.getQueue().add(new Deadly());
      assertTrue(ran.await(60, TimeUnit.SECONDS), "nobody schedules anything meanwhile");
      assertTrue(checks.await(60, TimeUnit.SECONDS));
      assertEquals(0, refusals.get());
      while (log.errors().isEmpty()) { // last, because even a line takes memory
        Thread.sleep(1);
      }
      assertEquals(List.of("A step of the scheduler failed: memory is short"), log.errors());
    }
  }

  @Test
  void checksComeThoughOneThrowsOrTheirTaskIsLost() throws InterruptedException {
    try (SystemSources.SingleThread single =
        new SystemSources.SingleThread(LibraryThread.named("redlock-scheduler"))) {
      CountDownLatch three = new CountDownLatch(3);
      single.watch(() -> sneak(new OutOfMemoryError("a passing one")));
      single.watch(three::countDown);
      assertTrue(three.await(60, TimeUnit.SECONDS));
      assertEquals(
          Set.of("A step of the scheduler failed: memory is short"), Set.copyOf(log.errors()));
      single.executor.getQueue().clear(); // as if it could not be queued again
      CountDownLatch again = new CountDownLatch(1);
      single.watch(again::countDown);
      single.executor.getQueue().add(new Deadly());
      single.executor.prestartCoreThread();
      assertTrue(again.await(60, TimeUnit.SECONDS));
    }
  }

  /** A task that ends the thread of an executor, as want of memory in the executor's code does. */
  private static final class Deadly extends FutureTask<Void>
      implements RunnableScheduledFuture<Void> {
    Deadly() {
      super(() -> null);
    }

    @Override
    public void run() {
      throw new OutOfMemoryError("Java heap space");
    }

    @Override
    public boolean isPeriodic() {
      return false;
    }

    @Override
    public long getDelay(TimeUnit unit) {
      return 0;
    }

    @Override
    public int compareTo(Delayed other) {
      return -1;
    }
  }

  @Test
  void taskThatThrowsDoesNotStopThoseBehindIt() throws InterruptedException {
    CountDownLatch ran = new CountDownLatch(1);
    for (Throwable failure : FAILURES) {
      scheduler.schedule(() -> sneak(failure), 0);
    }
    scheduler.schedule(ran::countDown, 1);
    assertTrue(ran.await(60, TimeUnit.SECONDS));
  }

  @Test
  void cancelledTaskDoesNotRun() throws InterruptedException {
    CountDownLatch cancelled = new CountDownLatch(1);
    CountDownLatch ran = new CountDownLatch(1);
    List<String> tasks = Collections.synchronizedList(new ArrayList<>());
    scheduler.schedule(() -> assertDoesNotThrow(() -> cancelled.await()), 0); // keeps it busy
    scheduler.schedule(() -> tasks.add("cancelled"), 1).cancel();
    scheduler.schedule(ran::countDown, 2);
    cancelled.countDown();
    assertTrue(ran.await(60, TimeUnit.SECONDS));
    assertEquals(List.of(), tasks);
  }

  @Test
  void schedulerRunsOnOneDaemonOfItsOwn() throws Exception {
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    scheduler.schedule(() -> ran.complete(Thread.currentThread()), 0);
    Thread thread = ran.get(60, TimeUnit.SECONDS);
    assertEquals("redlock-scheduler", thread.getName());
    assertTrue(thread.isDaemon());
    scheduler.close();
    thread.join(60_000);
    assertFalse(thread.isAlive());
    assertEquals(List.of(), log.errors());
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void sneak(Throwable failure) throws T {
    throw (T) failure;
  }

  @Test
  void closedSchedulerDropsTasksWithoutAWord() {
    scheduler.close();
    scheduler.schedule(() -> {}, 0).cancel();
    scheduler.close();
  }

  @Test
  void randomnessIsSpread() {
    RandomGenerator random = SystemSources.random();
    assertNotEquals(random.nextLong(), random.nextLong());
    long sum = 0;
    for (int draw = 0; draw < 10_000; draw++) {
      sum += random.nextLong(1_000);
    }
    assertEquals(500, sum / 10_000.0, 25);
  }
}
