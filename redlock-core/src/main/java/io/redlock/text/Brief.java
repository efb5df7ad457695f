package io.redlock.text;

import java.time.Duration;
import java.util.Set;

/** Short forms for messages. */
public final class Brief {

  private static final Duration MILLISECOND = Duration.ofMillis(1);
  private static final int TENTH_OF_A_SECOND_NANOS = 100_000_000;

  private Brief() {}

  /** Returns three digits at most and a unit: 340µs, 12ms, 4.1s, 90s. */
  public static String duration(Duration duration) {
    long seconds = duration.toSeconds();
    if (seconds >= 10) {
      return seconds + "s";
    }
    if (seconds >= 1) {
      return seconds + "." + duration.getNano() / TENTH_OF_A_SECOND_NANOS + "s";
    }
    return duration.compareTo(MILLISECOND) < 0
        ? duration.toNanos() / 1_000 + "µs"
        : duration.toMillis() + "ms";
  }

  /** Returns the names of a request's resources: {@code orders/42 + stock/7}. */
  public static String names(Set<String> resources) {
    return String.join(" + ", resources);
  }
}
