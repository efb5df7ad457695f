package io.redlock.jedis.lane;

import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;

/** The durations of the last round trips. A part of the {@link LaneHealth}, guarded like it. */
final class RoundTrips {

  private static final int KEPT = 256;

  private final int[] micros = new int[KEPT];
  private int count;
  private int next;

  void add(long nanos) {
    micros[next] = (int) Math.max(1, Math.min(Integer.MAX_VALUE, nanos / 1_000));
    next = (next + 1) % KEPT;
    count = Math.max(count, next == 0 ? KEPT : next);
  }

  /** Returns this percentile of the last durations; empty if there are none. */
  Optional<Duration> percentile(int percent) {
    int[] sorted = Arrays.copyOf(micros, count);
    Arrays.sort(sorted);
    return count == 0
        ? Optional.empty()
        : Optional.of(Duration.ofNanos(1_000L * sorted[(count * percent + 99) / 100 - 1]));
  }
}
