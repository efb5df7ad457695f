package io.redlock.bench;

import io.redlock.bench.Peer.Cycle;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.ToDoubleFunction;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;

/**
 * Callers that lock and unlock without a pause, each in a thread of its own. A cycle that fails
 * ends the benchmark.
 *
 * @param masters process ids, for the counters
 */
record ClosedLoop(List<Cycle> cycles, ThreadFactory threads, List<Long> masters)
    implements Rounds.Measured<ClosedLoop.Run> {

  /** What came of one stretch of time. */
  record Run(long cycles, double seconds, Histogram micros, Counters used) {

    double perSecond() {
      return cycles / seconds;
    }

    double perCycle(ToDoubleFunction<Counters> counter) {
      return counter.applyAsDouble(used) / Math.max(1, cycles);
    }

    double p50() {
      return micros.getValueAtPercentile(50);
    }

    double p99() {
      return micros.getValueAtPercentile(99);
    }

    double max() {
      return micros.getMaxValue();
    }
  }

  private static final long LONGEST_MICROS = 60_000_000;

  @Override
  public Run run(Duration time) throws Exception {
    Stretch stretch = new Stretch(cycles.size());
    List<Thread> callers = cycles.stream().map(cycle -> stretch.caller(cycle, threads)).toList();
    Counters before = Counters.read(masters);
    long startNanos = System.nanoTime();
    stretch.start.countDown();
    Thread.sleep(time.toMillis());
    stretch.over = true;
    stretch.done.await();
    double seconds = (System.nanoTime() - startNanos) / 1e9;
    Counters used = Counters.read(masters).since(before);
    stretch.counted.countDown();
    for (Thread caller : callers) {
      caller.join();
    }
    if (!stretch.failures.isEmpty()) {
      throw new IllegalStateException("a cycle failed", stretch.failures.peek());
    }
    return new Run(stretch.sum.sum(), seconds, stretch.micros, used);
  }

  /** What the callers of one stretch of time share. */
  private static final class Stretch {
    final CountDownLatch start = new CountDownLatch(1);
    final CountDownLatch done;
    final CountDownLatch counted = new CountDownLatch(1);
    final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    final Histogram micros = new ConcurrentHistogram(LONGEST_MICROS, 3);
    final LongAdder sum = new LongAdder();
    volatile boolean over;

    Stretch(int callers) {
      done = new CountDownLatch(callers);
    }

    Thread caller(Cycle cycle, ThreadFactory threads) {
      Thread caller = threads.newThread(() -> run(cycle));
      caller.start();
      return caller;
    }

    private void run(Cycle cycle) {
      try {
        start.await();
        while (!over) {
          long before = System.nanoTime();
          sum.add(cycle.run());
          micros.recordValue(Math.min(LONGEST_MICROS, (System.nanoTime() - before) / 1_000));
        }
      } catch (Throwable e) {
        failures.add(e);
      } finally {
        done.countDown();
      }
      try {
        counted.await(); // threads that are gone are not counted
      } catch (InterruptedException e) {
        failures.add(e);
      }
    }
  }
}
