package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.testkit.Together;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The Lock view, used as a ReentrantLock is. */
@Execution(ExecutionMode.CONCURRENT)
class LeaseLockTest {

  private static final Duration TTL = Duration.ofSeconds(9);
  private static final Duration HOLD = Duration.ofMinutes(10);

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  /** Of the platform, and virtual ones from Java 21 on. */
  static Stream<ExecutorService> threads() throws Exception {
    return Runtime.version().feature() < 21
        ? Stream.of(Executors.newFixedThreadPool(200))
        : Stream.of(
            Executors.newFixedThreadPool(200),
            (ExecutorService)
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null));
  }

  @ParameterizedTest
  @MethodSource("threads")
  void twoHundredThreadsCountRight(ExecutorService threads) throws Exception {
    LeaseLock lock = masters.connect().asLock(LeaseRequest.of("counter", TTL).renewFor(HOLD));
    int[] counter = {0}; // plain: only the lock orders it
    int rounds = 3;
    Together.run(
        threads,
        200,
        number -> {
          for (int round = 0; round < rounds; round++) {
            lock.lock();
            try {
              counter[0]++;
            } finally {
              lock.unlock();
            }
          }
        });
    assertEquals(200 * rounds, counter[0]);
    masters.awaitHolders(0, "counter");
  }
}
