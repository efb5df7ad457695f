package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What is to be said of a history of which nothing is known but what callers saw: I1, I4 to I7 and
 * I12, as far as the library can be judged by them. Doubt counts in its favour.
 *
 * @param longestGapNanos the longest time in which nobody acquired anything while enough servers
 *     were well; −1 if a process got no processor for a twentieth of the time
 */
public record PeerVerdict(
    List<Finding> findings,
    long operations,
    long leases,
    long unfencedLosses,
    long longestGapNanos) {

  /** Clocks are read one after the other: what is shorter is no overlap. */
  private static final long UNCERTAIN_NANOS = 2 * RunSettings.MILLI;

  /**
   * Judges a history.
   *
   * @param judged what the library can be judged by
   * @param tolerates how many of its servers may fail
   */
  public static PeerVerdict of(History history, Set<SimInvariant> judged, int tolerates) {
    Leases leases = new Leases(history);
    Findings findings = new Findings();
    long lost = StoreRules.check(history, findings);
    Map<String, Long> killed = new HashMap<>();
    history.of("killed").forEach(event -> killed.put(event.actor(), event.atNanos()));
    leases.byResource().forEach(holds -> overlaps(holds, killed, findings));
    CallRules.check(history, findings);
    for (HistoryEvent left : history.of("left").toList()) {
      String what = left.actor() + " still has the key " + left.text("resource");
      findings.add(SimInvariant.I5, left, what);
    }
    return new PeerVerdict(
        findings.inOrder().stream()
            .filter(finding -> judged.contains(finding.invariant()))
            .filter(finding -> !isOfAStarvedProcess(history, finding))
            .toList(),
        history.of("acquire", "release").count(),
        leases.all.size(),
        lost,
        longestGap(history, tolerates));
  }

  /** Each lock counts once, however many others it overlaps with. */
  private static void overlaps(
      List<ObservedHold> holds, Map<String, Long> killed, Findings findings) {
    List<ObservedHold> byLook = new ArrayList<>(holds);
    byLook.removeIf(hold -> certainUntil(hold, killed) - hold.firstLookNanos() <= UNCERTAIN_NANOS);
    byLook.sort(Comparator.comparingLong(ObservedHold::firstLookNanos));
    for (int i = 0; i < byLook.size(); i++) {
      ObservedHold earlier = byLook.get(i);
      List<ObservedHold> later = byLook.subList(i + 1, byLook.size());
      long untilNanos = certainUntil(earlier, killed);
      later.stream()
          .filter(other -> untilNanos - other.firstLookNanos() > UNCERTAIN_NANOS)
          .findFirst()
          .ifPresent(
              other -> {
                String what = other + " begins within " + earlier;
                long bothNanos = other.firstLookNanos() + UNCERTAIN_NANOS;
                long atNanos = Math.max(earlier.toldNanos(bothNanos), other.toldNanos(bothNanos));
                findings.add(SimInvariant.I1, Math.max(other.firstLookNanos(), atNanos), what);
              });
      later.stream()
          .filter(other -> !other.actor.equals(earlier.actor))
          .findFirst()
          .ifPresent(other -> claimed(earlier, other, findings));
    }
  }

  /** Who is dead works no more, whatever its lock still says. */
  private static long certainUntil(ObservedHold hold, Map<String, Long> killed) {
    return Math.min(hold.certainUntilNanos(), killed.getOrDefault(hold.process, Long.MAX_VALUE));
  }

  /** Said to be good, by a call that began when another had long been seen to have it. */
  private static void claimed(ObservedHold earlier, ObservedHold later, Findings findings) {
    for (ObservedHold.Look look : earlier.looks) {
      if (look.good()
          && look.fromNanos() > later.looks.get(0).atNanos() + UNCERTAIN_NANOS
          && look.fromNanos() < earlier.releasedNanos) {
        String what = earlier + " was said to be good after " + later + " had begun";
        long heldNanos = later.toldNanos(later.firstLookNanos() + UNCERTAIN_NANOS);
        findings.add(SimInvariant.I6, Math.max(look.atNanos(), heldNanos), what);
        return;
      }
    }
  }

  /** Who got no processor for a tenth of the time may be late, or without a lock, for that. */
  private static boolean isOfAStarvedProcess(History history, Finding finding) {
    HistoryEvent call = null;
    Map<String, HistoryEvent> open = new HashMap<>();
    for (HistoryEvent event : history.events()) {
      if (event.is("acquire") || event.is("release")) {
        open.put(event.actor(), event);
      } else if (event.atNanos() == finding.atNanos() && open.containsKey(event.actor())) {
        call = open.get(event.actor());
      }
    }
    if (finding.invariant() != SimInvariant.I7 || call == null) {
      return false;
    }
    long from = call.atNanos();
    long still = history.stoodStillNanos(call.process(), from, finding.atNanos());
    return still * 10 > finding.atNanos() - from;
  }

  /** Between two acquires during the schedule, while a resource was free and servers were well. */
  private static long longestGap(History history, int tolerates) {
    if (isStarved(history)) {
      return -1;
    }
    long resources = history.of("acquire").map(call -> call.text("resources")).distinct().count();
    Map<String, String> struck = new HashMap<>(); // server by fault; empty if it is not of a server
    Map<String, String> holders = new HashMap<>(); // by resource; until it is released or acquired
    long longest = 0;
    long gap = 0;
    boolean begun = false;
    long fromNanos = 0;
    for (HistoryEvent event : history.events()) {
      if (event.is("worked")) {
        break;
      }
      boolean sound = Set.copyOf(struck.values()).size() <= tolerates && !struck.containsValue("");
      if (begun && sound && holders.size() < resources) {
        gap += event.atNanos() - fromNanos;
        longest = Math.max(longest, gap);
      }
      switch (event.kind()) {
        case "fault" -> struck.put(fault(event), server(event.text("target")));
        case "healed" -> struck.remove(fault(event));
        case "held" -> {
          holders.put(event.text("resources"), event.actor());
          gap = 0;
        }
        case "released" -> holders.values().removeIf(event.actor()::equals);
        default -> {}
      }
      begun |= event.is("acquire");
      fromNanos = event.atNanos();
    }
    return longest;
  }

  private static boolean isStarved(History history) {
    Map<String, Long> stalled = new HashMap<>();
    for (HistoryEvent event : history.of("stalled").toList()) {
      stalled.merge(event.process(), event.atNanos() - event.number("from"), Long::sum);
    }
    long first = history.events().get(0).atNanos();
    return stalled.values().stream().anyMatch(nanos -> nanos * 20 > history.endNanos() - first);
  }

  private static String fault(HistoryEvent event) {
    return event.text("fault") + " " + event.text("target");
  }

  /** A fault of a client or of its ways may keep that client from everything. */
  private static String server(String target) {
    return target.startsWith("n") ? target : "";
  }
}
