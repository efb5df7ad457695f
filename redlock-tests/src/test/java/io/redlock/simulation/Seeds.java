package io.redlock.simulation;

import io.redlock.testkit.Budget;
import java.util.List;
import java.util.stream.LongStream;

/** Which seeds a campaign runs. */
final class Seeds {

  private Seeds() {}

  /**
   * The first for {@code verify}, the others for CI, unless {@code simulation.firstSeed} or the
   * property for their number says otherwise.
   */
  static List<Long> of(String property, int brief, int all) {
    List<Long> part = Budget.part(LongStream.rangeClosed(1, all).boxed().toList(), brief);
    return from(part.get(0), Long.getLong(property, part.size()));
  }

  /** So many, unless the property says otherwise. */
  static List<Long> of(String property, int count) {
    return from(1, Long.getLong(property, count));
  }

  private static List<Long> from(long usualFirst, long count) {
    long first = Long.getLong("simulation.firstSeed", usualFirst);
    return LongStream.range(first, first + count).boxed().toList();
  }
}
