package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** A column of a table: its head, and how its figure is made of the runs of a row. */
record Column<T>(String head, Function<List<T>, String> figure) {

  static final Column<Run> PER_SECOND = median("cycles/s", Run::perSecond);
  static final Column<Run> P50 = median("p50 (us)", Run::p50);
  static final Column<Run> P99 = median("p99 (us)", Run::p99);
  static final Column<Run> CLIENT = perCycle("client CPU (us)", used -> used.clientNanos() / 1_000);
  static final Column<Run> SERVERS =
      perCycle("servers CPU (us)", used -> used.serverNanos() / 1_000);

  static <T> Column<T> median(String head, ToDoubleFunction<T> figure) {
    return new Column<>(head, runs -> Report.number(Ratio.median(runs, figure)));
  }

  static Column<Run> perCycle(String head, ToDoubleFunction<Counters> counter) {
    return median(head, run -> run.perCycle(counter));
  }

  /** The ratio to other runs, of the same rounds. */
  static Column<Run> over(String head, List<Run> under, ToDoubleFunction<Run> figure) {
    return new Column<>(head, runs -> Ratio.of(runs, under, figure).toString());
  }
}
