package io.redlock.chaos;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;

/**
 * What the nemesis will do, and when: a function of the schedule and a seed. A target is struck by
 * one fault at a time.
 */
record ChaosPlan(List<Strike> strikes) {

  /**
   * One fault.
   *
   * @param node which node or link end, −1 for every one
   * @param client which client or link end, −1 for every one
   * @param amount from 0 to 99, what it means is the fault's
   */
  record Strike(
      ChaosFault fault, int node, int client, int amount, long beginMillis, long endMillis) {

    /** For example {@code n2}, {@code c0}, {@code c1-n2}. */
    String target() {
      return switch (fault.target) {
        case NODE -> "n" + node;
        case CLIENT -> "c" + client;
        case LINK -> "c" + (client < 0 ? "*" : client) + "-n" + (node < 0 ? "*" : node);
      };
    }

    /** Whether both strike the same thing. */
    boolean meets(Strike other) {
      boolean sameNode = node == other.node || node < 0 || other.node < 0;
      boolean sameClient = client == other.client || client < 0 || other.client < 0;
      return fault.target == other.fault.target
          && switch (fault.target) {
            case NODE -> sameNode;
            case CLIENT -> sameClient;
            case LINK -> sameNode && sameClient;
          };
    }
  }

  /** Between the end of a fault and the next one at the same target. */
  private static final int REST_MILLIS = 400;

  static ChaosPlan of(Schedule undrawn, long seed) {
    Schedule schedule = undrawn.drawn(seed);
    SplittableRandom random = new SplittableRandom(seed);
    List<ChaosFault> faults = new ArrayList<>(schedule.faults());
    Collections.sort(faults);
    List<Strike> strikes = new ArrayList<>();
    long lengthMillis = schedule.length().toMillis();
    if (faults.isEmpty()) {
      return new ChaosPlan(strikes);
    }
    for (long at = 300;
        at < lengthMillis - 500;
        at += 1 + random.nextInt(2 * schedule.gapMillis())) {
      Strike strike = draw(faults.get(random.nextInt(faults.size())), schedule, at, random);
      if (fits(strike, strikes, schedule)) {
        strikes.add(strike);
      }
    }
    strikes.sort(Comparator.comparingLong(Strike::beginMillis));
    return new ChaosPlan(List.copyOf(strikes));
  }

  private static Strike draw(
      ChaosFault fault, Schedule schedule, long at, SplittableRandom random) {
    int node = random.nextInt(schedule.terms().nodes());
    int client = random.nextInt(schedule.terms().clients());
    int scope = random.nextInt(4);
    if (fault.target == ChaosFault.Target.LINK) {
      node = scope == 0 ? -1 : node;
      client = scope == 1 ? -1 : client;
    }
    long lasts = fault.leastMillis + random.nextInt(fault.mostMillis - fault.leastMillis + 1);
    long end = Math.min(at + lasts, schedule.length().toMillis());
    return new Strike(fault, node, client, random.nextInt(100), at, end);
  }

  private static boolean fits(Strike strike, List<Strike> others, Schedule schedule) {
    int nodesDown = 1;
    for (Strike other : others) {
      boolean over = other.endMillis + REST_MILLIS <= strike.beginMillis;
      boolean clashes =
          strike.fault.mostMillis > 0
              ? other.fault.mostMillis > 0
              : strike.fault.target != ChaosFault.Target.LINK;
      if (clashes && !over && strike.meets(other)) {
        return false;
      }
      long silent = other.fault.silencesAfterwards ? 2 * schedule.terms().maxTtl().toMillis() : 0;
      if (other.fault.target == ChaosFault.Target.NODE
          && other.endMillis + silent > strike.beginMillis
          && other.node != strike.node) {
        nodesDown++;
      }
    }
    boolean few = nodesDown <= schedule.terms().masters().tolerated();
    return few || !schedule.minority() || strike.fault.target != ChaosFault.Target.NODE;
  }
}
