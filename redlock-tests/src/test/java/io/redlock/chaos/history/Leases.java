package io.redlock.chaos.history;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** All leases of a run, put together from what their holders wrote. */
final class Leases {

  final List<ObservedHold> all = new ArrayList<>();
  private final List<HistoryEvent> orphanEnds = new ArrayList<>();

  Leases(History history) {
    Map<String, HistoryEvent> asked = new HashMap<>(); // by caller: each makes one call at a time
    Map<String, ObservedHold> held =
        new HashMap<>(); // by caller: the lease that he holds or held last
    Map<String, ObservedHold> known = new HashMap<>(); // by process, token and resources
    for (HistoryEvent event : history.events()) {
      switch (event.kind()) {
        case "acquire" -> asked.put(event.actor(), event);
        case "held" -> {
          ObservedHold hold = new ObservedHold(asked.get(event.actor()), event);
          all.add(hold);
          held.put(event.actor(), hold);
          known.put(key(event), hold);
        }
        case "look", "extended" -> held.get(event.actor()).look(event);
        case "release", "yields" -> {
          ObservedHold hold = held.get(event.actor());
          hold.releasedNanos = Math.min(hold.releasedNanos, event.atNanos());
        }
        case "ended" -> {
          ObservedHold hold = known.get(key(event));
          if (hold == null) {
            orphanEnds.add(event); // told before its caller could write that he has it
          } else {
            hold.ends.add(event);
          }
        }
        default -> {}
      }
    }
    for (HistoryEvent end : orphanEnds) {
      ObservedHold hold = known.get(key(end));
      if (hold != null) {
        hold.ends.add(0, end);
      }
    }
  }

  /** The leases on each resource. */
  Collection<List<ObservedHold>> byResource() {
    Map<String, List<ObservedHold>> holds = new TreeMap<>();
    for (ObservedHold hold : all) {
      hold.resources.forEach(name -> holds.computeIfAbsent(name, r -> new ArrayList<>()).add(hold));
    }
    return holds.values();
  }

  /** Leases of one process on different resources may have the same token. */
  private static String key(HistoryEvent event) {
    return event.process() + ' ' + event.text("token") + ' ' + event.text("resources");
  }
}
