package io.redlock.jedis.lane;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** How long the last answers took. One thread adds, any thread looks. */
final class RoundTrips {

  private static final int KEPT = 256;

  private final AtomicIntegerArray micros = new AtomicIntegerArray(KEPT); // 0: none yet
  private int next; // of the thread that adds

  void add(long nanos) {
    int value = (int) Math.max(1, Math.min(Integer.MAX_VALUE, nanos / 1_000));
    micros.lazySet(next, value);
    next = (next + 1) % KEPT;
  }

  /** What so many percent of the last answers did not exceed; zero if there was none. */
  Duration percentile(int percent) {
    int[] sorted = new int[KEPT];
    int known = 0;
    for (int i = 0; i < KEPT; i++) {
      int value = micros.get(i);
      if (value > 0) {
        sorted[known++] = value;
      }
    }
    if (known == 0) {
      return Duration.ZERO;
    }
    Arrays.sort(sorted, 0, known);
    return Duration.ofNanos(1_000L * sorted[(known * percent + 99) / 100 - 1]);
  }
}
