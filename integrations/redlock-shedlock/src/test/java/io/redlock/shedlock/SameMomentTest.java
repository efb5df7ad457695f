package io.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import org.junit.jupiter.api.Test;

/**
 * Instances that ask at the same moment, with the default settings. Each tick has a lock of its
 * own, as if the minimum hold of the tick before were over.
 */
@RequiresRedis
class SameMomentTest {

  private static final int INSTANCES = 5;
  private static final Duration AT_LEAST = Duration.ofSeconds(20);

  /** On a machine that is so slow that no call decides in two seconds, one says so. */
  @Test
  void noTickIsMissedBecauseEachOfFiveInstancesTookTheLockForHeld() throws Exception {
    List<Redlock> services = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(INSTANCES);
    try (RedisServers servers = RedisServers.start(3)) {
      for (int i = 0; i < INSTANCES; i++) {
        services.add(JedisRedlock.connect(servers.addresses()));
      }
      List<LockingTaskExecutor> executors =
          services.stream().map(SameMomentTest::executor).toList();
      for (int tick = 0; tick < 200; tick++) {
        AtomicInteger failed = new AtomicInteger();
        int ran = tick(tick, executors, threads, failed);
        assertTrue(ran == 1 || ran == 0 && failed.get() > 0, ran + " runs in tick " + tick);
      }
    } finally {
      threads.shutdownNow();
      services.forEach(Redlock::close);
    }
  }

  private static LockingTaskExecutor executor(Redlock service) {
    return new DefaultLockingTaskExecutor(new RedlockLockProvider(service));
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
