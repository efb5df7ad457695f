package io.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Instances that ask at the same moment, with the default settings. Each tick has a lock of its
 * own, as if the minimum hold of the tick before were over.
 */
@RequiresRedis
class SameMomentTest {

  private static final Duration AT_LEAST = Duration.ofSeconds(20);

  /**
   * Ticks that went wrong.
   *
   * @param missed those without a run
   * @param silent those of them in which every instance took the lock for held
   * @param twice those with several runs
   */
  private record Wrong(int missed, int silent, int twice) {}

  /** On a machine that is so slow that no call decides in two seconds, one says so. */
  @Test
  void noTickIsMissedBecauseEachOfFiveInstancesTookTheLockForHeld() throws Exception {
    Wrong wrong = ticks(200, 5, 3, 0, 0);
    assertEquals(new Wrong(wrong.missed, 0, 0), wrong);
  }

  @Tag("long")
  @ParameterizedTest(name = "{0} instances, {1} masters, {2} dead, {3} busy threads")
  @CsvSource({
    "2, 3, 0, 0",
    "3, 3, 0, 0",
    "5, 3, 0, 0",
    "2, 3, 1, 0",
    "2, 5, 1, 0",
    "3, 5, 1, 0",
    "5, 5, 1, 0",
    "2, 3, 0, 8",
    "3, 3, 0, 8",
    "5, 3, 0, 8",
    "5, 5, 1, 8"
  })
  void jobRunsOnceInEachOfAThousandTicks(int instances, int masters, int dead, int busy)
      throws Exception {
    assertEquals(new Wrong(0, 0, 0), ticks(1_000, instances, masters, dead, busy));
  }

  private static Wrong ticks(int ticks, int instances, int masters, int dead, int busy)
      throws Exception {
    List<Redlock> services = new ArrayList<>();
    ExecutorService threads = Executors.newCachedThreadPool();
    int missed = 0;
    int silent = 0;
    int twice = 0;
    long longestNanos = 0;
    long startNanos = System.nanoTime();
    try (RedisServers servers = RedisServers.start(masters)) {
      for (int i = 0; i < instances; i++) {
        services.add(JedisRedlock.connect(servers.addresses()));
      }
      for (int i = 0; i < dead; i++) {
        servers.get(i).kill();
      }
      for (int i = 0; i < busy; i++) {
        threads.execute(SameMomentTest::burn);
      }
      List<LockingTaskExecutor> executors =
          services.stream().map(SameMomentTest::executor).toList();
      for (int tick = 0; tick < ticks; tick++) {
        long tickNanos = System.nanoTime();
        AtomicInteger failed = new AtomicInteger();
        int ran = tick(tick, executors, threads, failed);
        missed += ran == 0 ? 1 : 0;
        silent += ran == 0 && failed.get() == 0 ? 1 : 0;
        twice += ran > 1 ? 1 : 0;
        longestNanos = Math.max(longestNanos, System.nanoTime() - tickNanos);
      }
    } finally {
      threads.shutdownNow();
      services.forEach(Redlock::close);
    }
    Wrong wrong = new Wrong(missed, silent, twice);
    System.out.printf(
        Locale.ROOT,
        "%d instances, %d masters, %d dead, %d busy threads: %d ticks of %.1f ms, longest %.0f ms, %s%n",
        instances,
        masters,
        dead,
        busy,
        ticks,
        (System.nanoTime() - startNanos) / 1e6 / ticks,
        longestNanos / 1e6,
        wrong);
    return wrong;
  }

  private static LockingTaskExecutor executor(Redlock service) {
    return new DefaultLockingTaskExecutor(new RedlockLockProvider(service));
  }

  private static void burn() {
    long value = 1;
    while (!Thread.currentThread().isInterrupted()) {
      value = value * 31 + System.nanoTime();
    }
    if (value == 0) {
      throw new IllegalStateException("never, but it uses the value");
    }
  }

  private static int tick(
      int tick, List<LockingTaskExecutor> instances, ExecutorService threads, AtomicInteger failed)
      throws Exception {
    AtomicInteger ran = new AtomicInteger();
    CyclicBarrier together = new CyclicBarrier(instances.size());
    LockConfiguration job =
        new LockConfiguration(ClockProvider.now(), "job-" + tick, Duration.ofMinutes(5), AT_LEAST);
    List<Future<?>> calls = new ArrayList<>();
    for (LockingTaskExecutor instance : instances) {
      calls.add(
          threads.submit(
              () -> {
                together.await();
                try {
                  instance.executeWithLock((Runnable) ran::incrementAndGet, job);
                } catch (RuntimeException noDecision) {
                  failed.incrementAndGet();
                }
                return null;
              }));
    }
    for (Future<?> call : calls) {
      call.get();
    }
    return ran.get();
  }
}
