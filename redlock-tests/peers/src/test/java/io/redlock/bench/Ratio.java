package io.redlock.bench;

import io.redlock.testbed.Text;
import java.util.Arrays;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/** Ratios of measurements that were taken in turn, one per round: median, least and greatest. */
record Ratio(double median, double least, double greatest) {

  static <T> Ratio of(List<T> over, List<T> under, ToDoubleFunction<T> figure) {
    return of(over, figure, under, figure);
  }

  static <T> Ratio of(
      List<T> over, ToDoubleFunction<T> mine, List<T> under, ToDoubleFunction<T> theirs) {
    return of(
        IntStream.range(0, over.size())
            .mapToDouble(i -> mine.applyAsDouble(over.get(i)) / theirs.applyAsDouble(under.get(i)))
            .toArray());
  }

  static Ratio of(double... values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    double median =
        sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return new Ratio(median, sorted[0], sorted[sorted.length - 1]);
  }

  static <T> double median(List<T> runs, ToDoubleFunction<T> figure) {
    return of(runs.stream().mapToDouble(figure).toArray()).median;
  }

  /** For example {@code 1.32 (1.20 to 1.41)}. */
  @Override
  public String toString() {
    String digits = median < 10 ? "%.2f (%.2f to %.2f)" : "%.1f (%.1f to %.1f)";
    return Text.of(digits, median, least, greatest);
  }
}
