package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.KeptLog;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Scheduler.Timer;
import io.redlock.spi.Ticker;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
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

  private Timer in(long delayNanos, Runnable task) {
    Timer timer = scheduler.timer(task);
    timer.set(System.nanoTime() + delayNanos);
    return timer;
  }

  @Test
  void tasksRunInTheOrderOfTheirTimes() throws InterruptedException {
    List<Integer> ran = Collections.synchronizedList(new ArrayList<>());
    CountDownLatch last = new CountDownLatch(1);
    CountDownLatch isBusy = new CountDownLatch(1);
    CountDownLatch set = new CountDownLatch(1);
    in(
        0,
        () -> {
          isBusy.countDown();
          assertDoesNotThrow(() -> set.await());
        });
    assertTrue(isBusy.await(60, TimeUnit.SECONDS));
    long startNanos = System.nanoTime();
    for (int task = 0; task < 100; task++) {
      int place = task * 37 % 100;
      scheduler.timer(() -> ran.add(place)).set(startNanos + place);
    }
    in(0, last::countDown);
    set.countDown();
    assertTrue(last.await(60, TimeUnit.SECONDS));
    assertEquals(IntStream.range(0, 100).boxed().toList(), ran);
  }

  /** Threads set and cancel timers of their own; each time that stays comes, and none early. */
  @Test
  void noTimeIsLostOrEarlyWhileManyThreadsSetAndCancelTimers() throws Exception {
    long seed = Long.getLong("redlock.seed", System.nanoTime());
    System.out.println("timers: -Dredlock.seed=" + seed);
    SplittableRandom random = new SplittableRandom(seed);
    List<Setter> setters = new ArrayList<>();
    for (int thread = 0; thread < 8; thread++) {
      setters.add(new Setter(random.split()));
    }
    setters.forEach(Thread::start);
    for (Setter each : setters) {
      each.join();
      assertNull(each.failure);
    }
    assertEquals(List.of(), log.errors());
  }

  private final class Setter extends Thread {
    private final SplittableRandom random;
    private final Semaphore isPlayed = new Semaphore(0);
    private final Timer timer = scheduler.timer(this::runs);
    private volatile long earliestNanos;
    private volatile long ranNanos = System.nanoTime();
    private volatile @Nullable Throwable failure;

    Setter(SplittableRandom random) {
      this.random = random;
    }

    private void runs() {
      ranNanos = System.nanoTime();
      assertTrue(ranNanos - earliestNanos >= 0, "early");
      isPlayed.release();
    }

    @Override
    public void run() {
      try {
        for (int round = 0; round < 500; round++) {
          play();
        }
      } catch (Throwable e) {
        failure = e;
      }
    }

    private void play() throws InterruptedException {
      long nowNanos = System.nanoTime();
      earliestNanos = nowNanos + 100_000;
      for (int times = random.nextInt(4); times > 0; times--) {
        timer.set(earliestNanos + random.nextLong(500_000));
        if (random.nextBoolean()) {
          timer.cancel();
        }
      }
      long lastNanos = earliestNanos + random.nextLong(1_000_000);
      timer.set(lastNanos);
      while (ranNanos - lastNanos < 0) { // an earlier time may have come before it was set anew
        assertTrue(isPlayed.tryAcquire(60, TimeUnit.SECONDS), "lost");
      }
    }
  }

  @Test
  void taskThatThrowsRunsAgainAndDoesNotStopThoseBehindIt() throws InterruptedException {
    CountDownLatch ran = new CountDownLatch(1);
    List<CountDownLatch> repeated = new ArrayList<>();
    for (Throwable failure : FAILURES) {
      CountDownLatch again = new CountDownLatch(1);
      in(
          0,
          () -> {
            if (ran.getCount() > 0) {
              sneak(failure);
            }
            again.countDown();
          });
      repeated.add(again);
    }
    in(0, ran::countDown);
    assertTrue(ran.await(60, TimeUnit.SECONDS));
    for (CountDownLatch again : repeated) {
      assertTrue(again.await(60, TimeUnit.SECONDS));
    }
  }

  @Test
  void interruptThatATaskLeavesDoesNotKeepTheThreadAwake() throws Exception {
    CompletableFuture<Boolean> isInterrupted = new CompletableFuture<>();
    in(0, () -> Thread.currentThread().interrupt());
    in(1, () -> isInterrupted.complete(Thread.currentThread().isInterrupted()));
    assertFalse(isInterrupted.get(60, TimeUnit.SECONDS));
  }

  @Test
  void cancelledTaskDoesNotRun() throws InterruptedException {
    CountDownLatch cancelled = new CountDownLatch(1);
    CountDownLatch ran = new CountDownLatch(1);
    List<String> tasks = Collections.synchronizedList(new ArrayList<>());
    in(0, () -> assertDoesNotThrow(() -> cancelled.await())); // keeps it busy
    in(1, () -> tasks.add("cancelled")).cancel();
    in(2, ran::countDown);
    cancelled.countDown();
    assertTrue(ran.await(60, TimeUnit.SECONDS));
    assertEquals(List.of(), tasks);
  }

  @Test
  void schedulerRunsOnOneDaemonOfItsOwn() throws Exception {
    CompletableFuture<Thread> ran = new CompletableFuture<>();
    in(0, () -> ran.complete(Thread.currentThread()));
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
    in(0, () -> {}).cancel();
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
