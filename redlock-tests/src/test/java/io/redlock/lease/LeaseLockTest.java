package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The Lock view, used as a ReentrantLock is. */
@Execution(ExecutionMode.CONCURRENT)
class LeaseLockTest {

  private static final Duration TTL = Duration.ofSeconds(9);
  private static final Duration HOLD = Duration.ofMinutes(10);

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  private Redlock redlock;

  @BeforeEach
  void connect() {
    redlock = masters.connect();
  }

  private LeaseLock lock(String resource) {
    return redlock.asLock(LeaseRequest.of(resource, TTL).renewFor(HOLD));
  }

  @Test
  void twoHundredThreadsCountRight() throws Exception {
    countRight(Executors.newFixedThreadPool(200));
  }

  @Test
  void twoHundredVirtualThreadsCountRight() throws Exception {
    assumeTrue(Runtime.version().feature() >= 21, "virtual threads need Java 21");
    countRight(
        (ExecutorService)
            Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null));
  }

  private void countRight(ExecutorService threads) throws Exception {
    LeaseLock lock = lock("counter");
    int[] counter = {0}; // plain: only the lock orders it
    int rounds = 3;
    List<Future<?>> all = new ArrayList<>();
    try {
      for (int thread = 0; thread < 200; thread++) {
        all.add(
            threads.submit(
                () -> {
                  for (int round = 0; round < rounds; round++) {
                    lock.lock();
                    try {
                      counter[0]++;
                    } finally {
                      lock.unlock();
                    }
                  }
                }));
      }
      for (Future<?> each : all) {
        each.get(2, TimeUnit.MINUTES);
      }
    } finally {
      threads.shutdownNow();
    }
    assertEquals(200 * rounds, counter[0]);
    masters.awaitHolders(0, "counter");
  }
}
