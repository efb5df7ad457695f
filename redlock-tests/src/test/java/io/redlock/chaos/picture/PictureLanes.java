package io.redlock.chaos.picture;

import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryEvent;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/** Turns a history into rows: faults, nodes, callers. */
final class PictureLanes {

  private final List<Lane> faults = new ArrayList<>();
  private final Map<String, Long> faultsBegan = new LinkedHashMap<>(); // by what and whom
  private final List<Long> faultRowsEnd = new ArrayList<>();
  private final Map<String, Lane> nodes = new TreeMap<>();
  private final Map<String, CallerLane> callers = new TreeMap<>();
  private final Map<String, String> nodeOf = new HashMap<>(); // by process and address
  private final Map<String, Set<String>> abstaining = new HashMap<>(); // by node: who says so

  /** All rows, from top to bottom. */
  static List<Lane> of(History history) {
    PictureLanes lanes = new PictureLanes();
    history.events().forEach(lanes::take);
    long endNanos = history.endNanos();
    lanes.faultsBegan.forEach((fault, began) -> lanes.fault(fault, began, endNanos));
    List<Lane> all = new ArrayList<>(lanes.faults);
    all.addAll(lanes.nodes.values());
    lanes.callers.values().forEach(caller -> all.add(caller.finish(endNanos)));
    all.forEach(lane -> lane.endAll(endNanos));
    return all;
  }

  private void take(HistoryEvent event) {
    long at = event.atNanos();
    switch (event.kind()) {
      case "fault" -> faultsBegan.put(faultKey(event), at);
      case "healed" -> {
        Long began = faultsBegan.remove(faultKey(event));
        fault(faultKey(event), began == null ? at : began, at);
      }
      case "up" -> {
        node(event.actor()).end(Kind.DEAD, at);
        node(event.actor()).begin(Kind.UP, at, "up");
      }
      case "down" -> {
        node(event.actor()).end(Kind.UP, at);
        node(event.actor()).begin(Kind.DEAD, at, "dead");
      }
      case "pause" ->
          of(event.text("target"))
              .forEach(lane -> lane.begin(Kind.PAUSED, at, "stopped by SIGSTOP"));
      case "resume" -> of(event.text("target")).forEach(lane -> lane.end(Kind.PAUSED, at));
      case "way" -> nodeOf.put(event.actor() + event.text("address"), event.text("node"));
      case "node" -> state(event);
      case "exchange" -> exchange(event);
      case "killed", "stopped" -> ended(event);
      default -> {
        if (event.actor().contains("/") || event.is("ended")) {
          caller(event).take(event);
        }
      }
    }
  }

  private static String faultKey(HistoryEvent event) {
    String what = event.text("fault").toLowerCase(Locale.ROOT).replace('_', ' ');
    return event.text("target") + ": " + what;
  }

  /** Faults that overlap go to different rows; those that strike every client show at the node. */
  private void fault(String what, long fromNanos, long toNanos) {
    int row = 0;
    while (row < faultRowsEnd.size() && faultRowsEnd.get(row) > fromNanos) {
      row++;
    }
    if (row == faultRowsEnd.size()) {
      faultRowsEnd.add(0L);
      faults.add(new Lane(row == 0 ? "faults" : "", "faults"));
    }
    faultRowsEnd.set(row, toNanos);
    faults.get(row).add(Kind.FAULT, fromNanos, toNanos, what);
    if (what.startsWith("c*-n") && toNanos > fromNanos) {
      of(what.substring(3, what.indexOf(':')))
          .forEach(lane -> lane.add(Kind.CUT, fromNanos, toNanos, what));
    }
  }

  private Lane node(String name) {
    return nodes.computeIfAbsent(name, n -> new Lane(n, "nodes"));
  }

  private CallerLane caller(HistoryEvent event) {
    return callers.computeIfAbsent(event.actor(), actor -> new CallerLane(actor, event.process()));
  }

  /** The row of a node, or those of a process's callers. */
  private Stream<Lane> of(String target) {
    return Stream.concat(
        nodes.values().stream().filter(lane -> lane.name.equals(target)),
        callers.values().stream()
            .filter(caller -> caller.process.equals(target))
            .map(caller -> caller.lane));
  }

  /** A node abstains as long as any client says so. */
  private void state(HistoryEvent event) {
    String node = nodeOf.getOrDefault(event.process() + event.text("name"), event.text("name"));
    Set<String> saying = abstaining.computeIfAbsent(node, n -> new HashSet<>());
    if (event.text("state").equals("ABSTAINING")) {
      saying.add(event.process());
      node(node).begin(Kind.ABSTAINING, event.atNanos(), event.text("why"));
    } else if (saying.remove(event.process()) && saying.isEmpty()) {
      node(node).end(Kind.ABSTAINING, event.atNanos());
    }
  }

  private void exchange(HistoryEvent event) {
    String verdict = event.text("verdict");
    boolean yes =
        Set.of("GRANT", "EXTENDED", "JOINED", "RELEASED").contains(verdict)
            || event.text("op").equals("release");
    String text =
        String.format(
            Locale.ROOT,
            "%s %s with token %s: %s",
            event.text("op"),
            event.text("resources"),
            event.text("token"),
            verdict);
    node(event.actor()).moment(yes ? Kind.YES : Kind.NO, event.atNanos(), text);
  }

  private void ended(HistoryEvent event) {
    for (Set<String> saying : abstaining.values()) {
      saying.remove(event.process());
    }
    for (CallerLane caller : callers.values()) {
      if (caller.process.equals(event.process())) {
        caller.processEnded(event);
      }
    }
  }
}
