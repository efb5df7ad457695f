package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs what is compared in turn, a short while each, again and again: a drift of the machine hits
 * all alike, and every round yields a ratio.
 */
record Rounds(int count, Duration each, Duration warmUp) {

  /** What the benchmark as a whole spends on one comparison. */
  static Rounds ofMillis(int count, long eachMillis, long warmUpMillis) {
    double scale = Double.parseDouble(System.getProperty("bench.scale", "1"));
    return new Rounds(
        (int) Math.max(1, Math.round(count * Math.min(1, scale * 2))),
        Duration.ofMillis((long) (eachMillis * scale)),
        Duration.ofMillis((long) (warmUpMillis * scale)));
  }

  Map<String, List<Run>> run(Map<String, ClosedLoop> compared) throws Exception {
    for (ClosedLoop loop : compared.values()) {
      loop.run(warmUp);
    }
    Map<String, List<Run>> runs = new LinkedHashMap<>();
    for (int round = 0; round < count; round++) {
      for (Map.Entry<String, ClosedLoop> each : compared.entrySet()) {
        runs.computeIfAbsent(each.getKey(), name -> new ArrayList<>())
            .add(each.getValue().run(this.each));
      }
    }
    return runs;
  }
}
