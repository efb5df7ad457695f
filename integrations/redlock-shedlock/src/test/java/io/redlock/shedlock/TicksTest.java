package io.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.Test;

/** A scheduled job that takes no time, on two instances whose clocks differ by a little. */
@RequiresRedis
class TicksTest {

  private static final int TICKS = 1_000;
  private static final Duration AT_LEAST = Duration.ofMillis(8);
  private static final long LARGEST_SKEW_NANOS = AT_LEAST.toNanos() / 2;

  /**
   * One run of the job.
   *
   * @param calledNanos when its instance asked for the lock
   * @param ranNanos when the job ran
   */
  private record Run(int instance, int tick, long calledNanos, long ranNanos) {}

  /**
   * Whatever the machine delays: a run comes no sooner than a minimum hold after another one's
   * call.
   */
  @Test
  void jobOfNoTimeRunsOnceInEachOfAThousandTicksOnTwoInstances() throws Exception {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    List<Run> runs = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(2);
    try (RedisServers servers = RedisServers.start(3);
        Redlock one = servers.patientClient().build();
        Redlock two = servers.patientClient().build()) {
      List<LockingTaskExecutor> instances = List.of(executor(one), executor(two));
      for (int tick = 0; tick < TICKS; ) {
        List<Run> ran = tick(tick, instances, threads, random);
        runs.addAll(ran);
        tick += ran.isEmpty() ? 0 : 1; // the hold of the tick before was not over
      }
    } finally {
      threads.shutdownNow();
    }
    runs.sort(Comparator.comparingLong(Run::ranNanos));
    assertEquals(List.of(), tooEarly(runs), "seed " + seed);
    for (int instance = 0; instance < 2; instance++) {
      int number = instance;
      assertTrue(runs.stream().anyMatch(run -> run.instance == number), "both instances run it");
    }
  }

  private static LockingTaskExecutor executor(Redlock redlock) {
    return new DefaultLockingTaskExecutor(new RedlockLockProvider(redlock));
  }

  private static List<Run> tick(
      int tick,
      List<LockingTaskExecutor> instances,
      ExecutorService threads,
      SplittableRandom random)
      throws InterruptedException, ExecutionException {
    Queue<Run> runs = new ConcurrentLinkedQueue<>();
    long startNanos = System.nanoTime();
    List<Future<?>> calls = new ArrayList<>();
    for (int instance = 0; instance < instances.size(); instance++) {
      int number = instance;
      long dueNanos = startNanos + random.nextLong(LARGEST_SKEW_NANOS);
      calls.add(
          threads.submit(
              () -> {
                LockSupport.parkNanos(dueNanos - System.nanoTime());
                long calledNanos = System.nanoTime();
                Runnable job =
                    () -> runs.add(new Run(number, tick, calledNanos, System.nanoTime()));
                try {
                  instances
                      .get(number)
                      .executeWithLock(
                          job,
                          new LockConfiguration(
                              ClockProvider.now(), "report", Duration.ofMinutes(5), AT_LEAST));
                } catch (LockException noDecisionOnASlowMachine) {
                  return;
                }
              }));
    }
    for (Future<?> call : calls) {
      call.get();
    }
    return List.copyOf(runs);
  }

  /** Returns each run that came within the minimum hold of the run before, with that run. */
  private static List<List<Run>> tooEarly(List<Run> runs) {
    List<List<Run>> tooEarly = new ArrayList<>();
    for (int index = 1; index < runs.size(); index++) {
      List<Run> pair = runs.subList(index - 1, index + 1);
      if (pair.get(1).ranNanos - pair.get(0).calledNanos < AT_LEAST.toNanos()) {
        tooEarly.add(pair);
      }
    }
    return tooEarly;
  }
}
