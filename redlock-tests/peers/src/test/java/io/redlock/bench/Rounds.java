package io.redlock.bench;

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

  /** What is compared, for so long. */
  interface Measured<T> {
    T run(Duration time) throws Exception;
  }

  <T> Map<String, List<T>> run(Map<String, ? extends Measured<T>> compared) throws Exception {
    for (Measured<T> one : compared.values()) {
      one.run(warmUp);
    }
    Map<String, List<T>> runs = new LinkedHashMap<>();
    for (int round = 0; round < count; round++) {
      for (Map.Entry<String, ? extends Measured<T>> one : compared.entrySet()) {
        runs.computeIfAbsent(one.getKey(), name -> new ArrayList<>()).add(one.getValue().run(each));
      }
    }
    return runs;
  }
}
