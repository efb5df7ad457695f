package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What holders were told, against what other holders were told: I1, I3, I6, I11. */
record HoldRules(History history, RunSettings settings, Leases leases, Findings findings) {

  /** Told later than this after the deadline, while the process ran, is late. */
  private static final long LATE_NANOS = 3_000 * RunSettings.MILLI;

  static void check(History history, Leases leases, Findings findings) {
    HoldRules rules = new HoldRules(history, RunSettings.of(history), leases, findings);
    for (List<ObservedHold> holds : leases.byResource()) {
      rules.tokens(holds);
      if (rules.settings.keepsTime()) {
        rules.overlaps(holds);
        rules.continuity(holds);
      }
    }
    rules.ends();
  }

  private void overlaps(List<ObservedHold> holds) {
    List<ObservedHold> byLook = new ArrayList<>(holds);
    byLook.removeIf(hold -> !hold.looks.get(0).good());
    byLook.sort(Comparator.comparingLong(ObservedHold::firstLookNanos));
    ObservedHold longest = null;
    ObservedHold longestExclusive = null;
    for (ObservedHold hold : byLook) {
      ObservedHold rival = hold.isShared ? longestExclusive : longest;
      if (rival != null && hold.firstLookNanos() < rival.certainUntilNanos()) {
        findings.add(SimInvariant.I1, hold.heldNanos, hold + " begins within " + rival);
      }
      longest = longer(longest, hold);
      longestExclusive = hold.isShared ? longestExclusive : longer(longestExclusive, hold);
    }
  }

  private static ObservedHold longer(@Nullable ObservedHold longest, ObservedHold hold) {
    return longest == null || hold.certainUntilNanos() > longest.certainUntilNanos()
        ? hold
        : longest;
  }

  private void tokens(List<ObservedHold> holds) {
    Map<Long, ObservedHold> byToken = new HashMap<>();
    List<ObservedHold> byAsked = new ArrayList<>(holds);
    byAsked.sort(Comparator.comparingLong(hold -> hold.askedNanos));
    int done = 0;
    // Of those that had been acquired before the next one was asked for.
    ObservedHold highest = null;
    ObservedHold highestExclusive = null;
    for (ObservedHold hold : byAsked) {
      ObservedHold same = byToken.put(hold.token, hold);
      if (same != null && hold.excludes(same)) {
        findings.add(SimInvariant.I3, hold.heldNanos, hold + " has the token of " + same);
      }
      while (done < holds.size() && holds.get(done).heldNanos < hold.askedNanos) {
        ObservedHold earlier = holds.get(done++);
        highest = higher(highest, earlier);
        highestExclusive = earlier.isShared ? highestExclusive : higher(highestExclusive, earlier);
      }
      ObservedHold before = hold.isShared ? highestExclusive : highest;
      if (before != null && before.token >= hold.token && before != same) {
        findings.add(SimInvariant.I3, hold.heldNanos, hold + " comes after " + before);
      }
    }
  }

  private static ObservedHold higher(@Nullable ObservedHold highest, ObservedHold hold) {
    return highest == null || hold.token > highest.token ? hold : highest;
  }

  /**
   * Whoever extends a lease has held it all the time. In the order of the first looks: what was
   * good when it was looked at may have run out before its holder could write that down.
   */
  private void continuity(List<ObservedHold> holds) {
    List<ObservedHold> byLook = new ArrayList<>(holds);
    byLook.sort(Comparator.comparingLong(ObservedHold::firstLookNanos));
    for (int i = 0; i < byLook.size(); i++) {
      ObservedHold hold = byLook.get(i);
      long until = hold.firstLookNanos();
      for (ObservedHold.Look look : hold.looks) {
        until = look.good() ? Math.max(until, look.fromNanos()) : until;
      }
      for (int j = i + 1; j < byLook.size() && byLook.get(j).firstLookNanos() < until; j++) {
        ObservedHold other = byLook.get(j);
        if (hold.excludes(other) && isLater(other, hold, until)) {
          findings.add(
              SimInvariant.I6, until, hold + " was still good after " + other + " had begun");
        }
      }
    }
  }

  /** What its holder learnt of later may have been over by then, and older than the other. */
  private static boolean isLater(ObservedHold hold, ObservedHold other, long until) {
    return hold.looks.get(0).good() || hold.askedNanos > other.heldNanos && hold.heldNanos < until;
  }

  private void ends() {
    Map<String, HistoryEvent> stopped = new HashMap<>();
    history.of("stopped").forEach(event -> stopped.put(event.process(), event));
    for (ObservedHold hold : leases.all) {
      if (hold.ends.size() > 1) {
        findings.add(SimInvariant.I11, hold.ends.get(1).atNanos(), hold + " ends twice");
      } else if (hold.ends.isEmpty() && stopped.containsKey(hold.process)) {
        findings.add(SimInvariant.I11, stopped.get(hold.process).atNanos(), hold + " never ends");
      } else if (hold.ends.size() == 1 && hold.ends.get(0).text("cause").equals("EXPIRED")) {
        late(hold, hold.ends.get(0));
      }
    }
  }

  private void late(ObservedHold hold, HistoryEvent end) {
    long deadline = hold.looks.get(hold.looks.size() - 1).untilNanos();
    long late = end.atNanos() - deadline;
    if (late > LATE_NANOS + history.stoodStillNanos(hold.process, deadline, end.atNanos())
        && end.number("renewed") == 0) {
      String how = hold + " is told lost " + late / RunSettings.MILLI + " ms after its deadline";
      findings.add(SimInvariant.I11, end.atNanos(), how);
    }
  }
}
