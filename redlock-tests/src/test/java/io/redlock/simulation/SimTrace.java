package io.redlock.simulation;

import io.redlock.testbed.Text;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * What happened in a run: always a fingerprint of it, and on request lines to read. Times are
 * seconds since the beginning.
 */
final class SimTrace {

  private final boolean readable;
  private final List<String> lines = new ArrayList<>();
  private long fingerprint = 1;

  SimTrace(boolean readable) {
    this.readable = readable;
  }

  /** Something happened that is told apart by a number. */
  void note(long atNanos, long number, Supplier<String> what) {
    fingerprint = SimRandom.mix(fingerprint * 31 + atNanos * 0x9e3779b97f4a7c15L + number);
    if (readable) {
      lines.add(seconds(atNanos) + "  " + what.get());
    }
  }

  String fingerprint() {
    return Text.of("%016x", fingerprint);
  }

  List<String> lines() {
    return lines;
  }

  static String seconds(long nanos) {
    return Text.of("%4d.%06d", nanos / 1_000_000_000, nanos / 1_000 % 1_000_000);
  }
}
