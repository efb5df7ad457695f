package io.redlock.chaos;

import static java.util.stream.Collectors.toCollection;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/** The schedules of the default build, and those that a seed makes up. */
final class Schedules {

  /**
   * Name, masters, clients, callers of each, milliseconds between faults, seconds, whether faults
   * of masters strike a minority or any number at a time, what callers do, and the faults.
   */
  private static final String ALL =
      """
      no-fault            3 3 4  400  4.5 minority work
      minority-killed     5 3 2  400  4.5 minority work  NODE_KILL
      majority-killed     3 2 2  700  4.5 any      work  NODE_KILL
      old-dumps           3 3 2  600  4.5 minority work  NODE_OLD_DUMP
      nodes-stopped       5 3 2  400  4.5 minority work  NODE_PAUSE
      flushed-and-demoted 5 2 2  400  4.5 minority work  NODE_FLUSH NODE_DEMOTION
      out-of-memory       3 3 2  400  4.5 minority work  NODE_OOM NODE_SCRIPT_FLUSH
      evicting            3 3 2  500 10.0 any      work  NODE_EVICTION
      failed-saves        3 3 2  300  4.5 minority work  NODE_FAILED_SAVE
      denied              3 3 2  300  4.5 any      work  NODE_RIGHT_LOST NODE_PASSWORD
      busy-and-crowded    3 3 2  200  4.5 minority work  NODE_BUSY NODE_CROWDED
      loading             5 2 2  400  4.5 minority work  NODE_LOADING
      clients-stopped     3 3 2  250  4.5 minority work  CLIENT_PAUSE
      clients-killed      3 3 2  400  4.5 minority work  CLIENT_KILL
      set-free            3 3 2   80  4.5 minority work  CLIENT_SETS_FREE CLIENT_PAUSE LINK_CUT
      connections-cut     3 3 2   40  4.5 minority work  LINK_CUT
      one-way-loss        3 3 2  200  4.5 minority work  LINK_LOSES_REPLIES LINK_LOSES_REQUESTS
      held-back           3 3 2  200  4.5 minority work  LINK_HOLDS_REQUESTS LINK_HOLDS_REPLIES
      slow-and-twice      5 2 2  100  4.5 minority work  LINK_SLOW LINK_DUPLICATES
      narrow              3 3 2  150  4.5 minority work  LINK_NARROW
      packets-lost        3 3 2  150  4.5 minority work  LINK_LOSES_PACKETS
      leaders             5 3 1  200  4.5 minority lead  CLIENT_KILL CLIENT_PAUSE LINK_CUT \
          LINK_LOSES_REPLIES NODE_KILL
      permits             5 3 2  200  4.5 minority share CLIENT_KILL CLIENT_PAUSE LINK_CUT \
          NODE_KILL
      readers             5 3 4  150  4.5 minority read  CLIENT_KILL CLIENT_PAUSE LINK_CUT \
          LINK_HOLDS_REQUESTS LINK_DUPLICATES NODE_KILL NODE_FLUSH NODE_PAUSE
      hot                 3 2 6  200  4.5 minority queue CLIENT_KILL CLIENT_PAUSE LINK_CUT NODE_KILL \
          NODE_FLUSH CLIENT_SETS_FREE
      masters-change      3 2 2 1300  9.0 minority work  NODE_KILL NODE_PAUSE CLIENT_KILL \
          CLIENT_PAUSE
      clocks-set          3 3 2  400  4.5 any      work  NODE_CLOCK CLIENT_PAUSE
      cut-and-restarted   7 2 2  200  4.5 minority work  NODE_KILL LINK_CUT CLIENT_PAUSE
      """;

  private Schedules() {}

  static List<Schedule> all() {
    return ALL.lines().map(Schedules::schedule).toList();
  }

  static Schedule named(String name) {
    return all().stream().filter(each -> each.name().equals(name)).findAny().orElseThrow();
  }

  private static Schedule schedule(String row) {
    List<String> words = List.of(row.split(" +"));
    ChaosTerms terms = ChaosTerms.of(number(words.get(1)), number(words.get(2)));
    boolean changes = words.get(0).equals("masters-change");
    return new Schedule(
        words.get(0),
        changes ? terms.nodeTimeout(Duration.ofMillis(200)) : terms,
        number(words.get(3)),
        Duration.ofMillis((long) (1_000 * Double.parseDouble(words.get(5)))),
        words.stream().skip(8).map(ChaosFault::valueOf).collect(toCollection(Schedules::none)),
        number(words.get(4)),
        words.get(6).equals("minority"),
        words.get(7),
        changes);
  }

  private static int number(String word) {
    return Integer.parseInt(word);
  }

  private static EnumSet<ChaosFault> none() {
    return EnumSet.noneOf(ChaosFault.class);
  }

  /** A random mix. */
  static Schedule mix(long seed, Duration length) {
    SplittableRandom random = new SplittableRandom(seed);
    Set<ChaosFault> faults = none();
    int share = new int[] {15, 30, 60}[random.nextInt(3)];
    for (ChaosFault fault : ChaosFault.values()) {
      if (random.nextInt(100) < (fault == ChaosFault.NODE_CLOCK ? 5 : share)) {
        faults.add(fault);
      }
    }
    int masters = new int[] {3, 3, 5, 5, 7}[random.nextInt(5)];
    ChaosTerms terms = ChaosTerms.of(masters, 2 + random.nextInt(3));
    int callers = 1 + random.nextInt(4);
    int gapMillis = new int[] {60, 150, 300, 600}[random.nextInt(4)];
    boolean minority = random.nextInt(3) > 0;
    return new Schedule("mix", terms, callers, length, faults, gapMillis, minority, "work", false);
  }
}
