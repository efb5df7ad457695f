package io.redlock.chaos.history;

import io.redlock.simulation.Invariant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What holders were told, against what other holders were told: I1, I3, I6, I11. */
final class HoldRules {

  /** Told later than this after the deadline, while the process ran, is late. */
  private static final long LATE_NANOS = 3_000 * Settings.MILLI;

  private final History history;
  private final Settings settings;
  private final Leases leases;
  private final List<Finding> findings = new ArrayList<>();

  private HoldRules(History history, Leases leases) {
    this.history = history;
    this.settings = Settings.of(history);
    this.leases = leases;
  }

  static List<Finding> check(History history, Leases leases) {
    HoldRules rules = new HoldRules(history, leases);
    Map<String, List<Hold>> byResource = new TreeMap<>();
    for (Hold hold : leases.all) {
      for (String resource : hold.resources) {
        byResource.computeIfAbsent(resource, r -> new ArrayList<>()).add(hold);
      }
    }
    for (List<Hold> holds : byResource.values()) {
      rules.tokens(holds);
      if (rules.settings.keepsTime()) {
        rules.overlaps(holds);
        rules.continuity(holds);
      }
    }
    rules.ends();
    return rules.findings;
  }

  private void overlaps(List<Hold> holds) {
    List<Hold> byLook = new ArrayList<>(holds);
    byLook.removeIf(hold -> !hold.looks.get(0).good());
    byLook.sort(Comparator.comparingLong(Hold::firstLookNanos));
    Hold longest = null;
    for (Hold hold : byLook) {
      if (longest != null && hold.firstLookNanos() < longest.certainUntilNanos()) {
        found(Invariant.I1, hold.heldNanos, hold + " begins within " + longest);
      }
      if (longest == null || hold.certainUntilNanos() > longest.certainUntilNanos()) {
        longest = hold;
      }
    }
  }

  private void tokens(List<Hold> holds) {
    Map<Long, Hold> byToken = new HashMap<>();
    List<Hold> byAsked = new ArrayList<>(holds);
    byAsked.sort(Comparator.comparingLong(hold -> hold.askedNanos));
    int done = 0;
    Hold highest = null; // of those that had been acquired before the next one was asked for
    for (Hold hold : byAsked) {
      Hold same = byToken.put(hold.token, hold);
      if (same != null) {
        found(Invariant.I3, hold.heldNanos, hold + " has the token of " + same);
      }
      while (done < holds.size() && holds.get(done).heldNanos < hold.askedNanos) {
        Hold earlier = holds.get(done++);
        highest = highest == null || earlier.token > highest.token ? earlier : highest;
      }
      if (highest != null && highest.token >= hold.token && highest != same) {
        found(Invariant.I3, hold.heldNanos, hold + " comes after " + highest);
      }
    }
  }

  /**
   * Whoever extends a lease has held it all the time. In the order of the first looks: what was
   * good when it was looked at may have run out before its holder could write that down.
   */
  private void continuity(List<Hold> holds) {
    List<Hold> byLook = new ArrayList<>(holds);
    byLook.sort(Comparator.comparingLong(Hold::firstLookNanos));
    for (int i = 0; i < byLook.size(); i++) {
      Hold hold = byLook.get(i);
      long until = hold.firstLookNanos();
      for (Hold.Look look : hold.looks) {
        until = look.good() ? Math.max(until, look.fromNanos()) : until;
      }
      for (int j = i + 1; j < byLook.size() && byLook.get(j).firstLookNanos() < until; j++) {
        Hold other = byLook.get(j);
        if (isLater(other, hold, until)) {
          found(Invariant.I6, until, hold + " was still good after " + other + " had begun");
        }
      }
    }
  }

  /** What its holder learnt of later may have been over by then, and older than the other. */
  private static boolean isLater(Hold hold, Hold other, long until) {
    return hold.looks.get(0).good() || hold.askedNanos > other.heldNanos && hold.heldNanos < until;
  }

  private void ends() {
    Map<String, Event> stopped = new HashMap<>();
    history.of("stopped").forEach(event -> stopped.put(event.process(), event));
    for (Hold hold : leases.all) {
      if (hold.ends.size() > 1) {
        found(Invariant.I11, hold.ends.get(1).atNanos(), hold + " ends twice");
      } else if (hold.ends.isEmpty() && stopped.containsKey(hold.process)) {
        found(Invariant.I11, stopped.get(hold.process).atNanos(), hold + " never ends");
      } else if (hold.ends.size() == 1 && hold.ends.get(0).text("cause").equals("EXPIRED")) {
        late(hold, hold.ends.get(0));
      }
    }
  }

  private void late(Hold hold, Event end) {
    long deadline = hold.looks.get(hold.looks.size() - 1).untilNanos();
    long late = end.atNanos() - deadline;
    if (late > LATE_NANOS + history.stoodStillNanos(hold.process, deadline, end.atNanos())
        && end.number("renewed") == 0) {
      String how = hold + " is told lost " + late / Settings.MILLI + " ms after its deadline";
      found(Invariant.I11, end.atNanos(), how);
    }
  }

  private void found(Invariant invariant, long atNanos, String what) {
    findings.add(new Finding(invariant, atNanos, what));
  }
}
