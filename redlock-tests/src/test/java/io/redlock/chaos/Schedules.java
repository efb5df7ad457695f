package io.redlock.chaos;

import static io.redlock.chaos.ChaosFault.CLIENT_KILL;
import static io.redlock.chaos.ChaosFault.CLIENT_PAUSE;
import static io.redlock.chaos.ChaosFault.CLIENT_SETS_FREE;
import static io.redlock.chaos.ChaosFault.LINK_CUT;
import static io.redlock.chaos.ChaosFault.LINK_DUPLICATES;
import static io.redlock.chaos.ChaosFault.LINK_HOLDS_REPLIES;
import static io.redlock.chaos.ChaosFault.LINK_HOLDS_REQUESTS;
import static io.redlock.chaos.ChaosFault.LINK_LOSES_PACKETS;
import static io.redlock.chaos.ChaosFault.LINK_LOSES_REPLIES;
import static io.redlock.chaos.ChaosFault.LINK_LOSES_REQUESTS;
import static io.redlock.chaos.ChaosFault.LINK_NARROW;
import static io.redlock.chaos.ChaosFault.LINK_SLOW;
import static io.redlock.chaos.ChaosFault.NODE_BUSY;
import static io.redlock.chaos.ChaosFault.NODE_CLOCK;
import static io.redlock.chaos.ChaosFault.NODE_CROWDED;
import static io.redlock.chaos.ChaosFault.NODE_DEMOTION;
import static io.redlock.chaos.ChaosFault.NODE_EVICTION;
import static io.redlock.chaos.ChaosFault.NODE_FAILED_SAVE;
import static io.redlock.chaos.ChaosFault.NODE_FLUSH;
import static io.redlock.chaos.ChaosFault.NODE_KILL;
import static io.redlock.chaos.ChaosFault.NODE_LOADING;
import static io.redlock.chaos.ChaosFault.NODE_OLD_DUMP;
import static io.redlock.chaos.ChaosFault.NODE_OOM;
import static io.redlock.chaos.ChaosFault.NODE_PASSWORD;
import static io.redlock.chaos.ChaosFault.NODE_PAUSE;
import static io.redlock.chaos.ChaosFault.NODE_RIGHT_LOST;
import static io.redlock.chaos.ChaosFault.NODE_SCRIPT_FLUSH;

import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/** The schedules of the default build, and those that a seed makes up. */
final class Schedules {

  private Schedules() {}

  static List<Schedule> all() {
    return List.of(
        Schedule.of("no-fault", 3, 3).callers(4),
        Schedule.of("minority-killed", 5, 3, NODE_KILL),
        Schedule.of("majority-killed", 3, 2, NODE_KILL).anyNumber().everyMillis(700),
        Schedule.of("old-dumps", 3, 3, NODE_OLD_DUMP).everyMillis(600),
        Schedule.of("nodes-stopped", 5, 3, NODE_PAUSE),
        Schedule.of("flushed-and-demoted", 5, 2, NODE_FLUSH, NODE_DEMOTION),
        Schedule.of("out-of-memory", 3, 3, NODE_OOM, NODE_SCRIPT_FLUSH),
        Schedule.of("evicting", 3, 3, NODE_EVICTION)
            .anyNumber()
            .everyMillis(500)
            .lasting(Duration.ofSeconds(10)),
        Schedule.of("failed-saves", 3, 3, NODE_FAILED_SAVE).everyMillis(300),
        Schedule.of("denied", 3, 3, NODE_RIGHT_LOST, NODE_PASSWORD).anyNumber().everyMillis(300),
        Schedule.of("busy-and-crowded", 3, 3, NODE_BUSY, NODE_CROWDED).everyMillis(200),
        Schedule.of("loading", 5, 2, NODE_LOADING),
        Schedule.of("clients-stopped", 3, 3, CLIENT_PAUSE).everyMillis(250),
        Schedule.of("clients-killed", 3, 3, CLIENT_KILL),
        Schedule.of("set-free", 3, 3, CLIENT_SETS_FREE, CLIENT_PAUSE, LINK_CUT).everyMillis(80),
        Schedule.of("connections-cut", 3, 3, LINK_CUT).everyMillis(40),
        Schedule.of("one-way-loss", 3, 3, LINK_LOSES_REPLIES, LINK_LOSES_REQUESTS).everyMillis(200),
        Schedule.of("held-back", 3, 3, LINK_HOLDS_REQUESTS, LINK_HOLDS_REPLIES).everyMillis(200),
        Schedule.of("slow-and-twice", 5, 2, LINK_SLOW, LINK_DUPLICATES).everyMillis(100),
        Schedule.of("narrow", 3, 3, LINK_NARROW).everyMillis(150),
        Schedule.of("packets-lost", 3, 3, LINK_LOSES_PACKETS).everyMillis(150),
        Schedule.of(
                "leaders", 5, 3, CLIENT_KILL, CLIENT_PAUSE, LINK_CUT, LINK_LOSES_REPLIES, NODE_KILL)
            .everyMillis(200)
            .electing(),
        Schedule.of("permits", 5, 3, CLIENT_KILL, CLIENT_PAUSE, LINK_CUT, NODE_KILL)
            .everyMillis(200)
            .sharing(),
        Schedule.of(
                "readers",
                5,
                3,
                CLIENT_KILL,
                CLIENT_PAUSE,
                LINK_CUT,
                LINK_HOLDS_REQUESTS,
                LINK_DUPLICATES,
                NODE_KILL,
                NODE_FLUSH,
                NODE_PAUSE)
            .callers(4)
            .everyMillis(150)
            .reading(),
        Schedule.of("masters-change", 3, 2, NODE_KILL, NODE_PAUSE, CLIENT_KILL, CLIENT_PAUSE)
            .nodeTimeout(Duration.ofMillis(200))
            .everyMillis(1_300)
            .lasting(Duration.ofSeconds(9))
            .changing(),
        Schedule.of("clocks-set", 3, 3, NODE_CLOCK, CLIENT_PAUSE).anyNumber(),
        Schedule.of("cut-and-restarted", 7, 2, NODE_KILL, LINK_CUT, CLIENT_PAUSE).everyMillis(200));
  }

  /** A random mix. */
  static Schedule mix(long seed, Duration length) {
    SplittableRandom random = new SplittableRandom(seed);
    Set<ChaosFault> faults = EnumSet.noneOf(ChaosFault.class);
    int share = new int[] {15, 30, 60}[random.nextInt(3)];
    for (ChaosFault fault : ChaosFault.values()) {
      boolean clock = fault == NODE_CLOCK;
      if (random.nextInt(100) < (clock ? 5 : share)) {
        faults.add(fault);
      }
    }
    int nodes = new int[] {3, 3, 5, 5, 7}[random.nextInt(5)];
    List<ChaosFault> kinds = new ArrayList<>(faults);
    Schedule schedule =
        Schedule.of("mix", nodes, 2 + random.nextInt(3), kinds.toArray(ChaosFault[]::new))
            .callers(1 + random.nextInt(4))
            .lasting(length)
            .everyMillis(new int[] {60, 150, 300, 600}[random.nextInt(4)]);
    return random.nextInt(3) == 0 ? schedule.anyNumber() : schedule;
  }
}
