package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The part of a history that shows a finding, and no more. */
public final class Excerpt {

  private static final Set<String> FAULTS =
      Set.of("fault", "healed", "pause", "resume", "killed", "losing", "lost", "down", "up");

  private static final Set<String> LOCKS =
      Set.of("acquire", "held", "refused", "look", "release", "released");

  private static final Pattern LOCK =
      Pattern.compile("(c\\d+\\.\\d+/\\d+)'s (?:shared )?lease on \\[.*?] with token (\\d+)");

  /** What went wrong just before may be why. */
  private static final long BEFORE_NANOS = 1_500 * RunSettings.MILLI;

  private Excerpt() {}

  /** The locks that the finding names, from when they were asked for, and the faults until then. */
  public static History of(History history, Finding finding) {
    Map<String, Long> from = new HashMap<>(); // by caller
    Matcher locks = LOCK.matcher(finding.what());
    while (locks.find()) {
      askedFor(history, locks.group(1), locks.group(2), from);
    }
    if (finding.invariant() == SimInvariant.I7) {
      lateCall(history, finding.atNanos(), from);
    }
    long beginNanos =
        from.values().stream().mapToLong(Long::longValue).min().orElse(finding.atNanos())
            - BEFORE_NANOS;
    List<HistoryEvent> events = new ArrayList<>();
    for (HistoryEvent event : history.events()) {
      boolean ofLock =
          LOCKS.contains(event.kind())
              && event.atNanos() >= from.getOrDefault(event.actor(), Long.MAX_VALUE);
      boolean fault = FAULTS.contains(event.kind()) && event.atNanos() >= beginNanos;
      boolean itself =
          finding.invariant() != SimInvariant.I1
              && event.atNanos() == finding.atNanos()
              && !LOCKS.contains(event.kind());
      if (event.atNanos() <= until(finding) && (ofLock || fault || itself)) {
        events.add(event);
      }
    }
    return new History(events);
  }

  /** A lock is written down a little after it was looked at. */
  private static long until(Finding finding) {
    return finding.atNanos() + 20 * RunSettings.MILLI;
  }

  /** The caller whose call returned at that time, from when it asked for its lock. */
  private static void lateCall(History history, long atNanos, Map<String, Long> from) {
    Map<String, Long> asked = new HashMap<>();
    for (HistoryEvent event : history.events()) {
      if (event.is("acquire")) {
        asked.put(event.actor(), event.atNanos());
      } else if (event.atNanos() == atNanos && asked.containsKey(event.actor())) {
        from.put(event.actor(), asked.get(event.actor()));
      }
    }
  }

  private static void askedFor(
      History history, String actor, String token, Map<String, Long> from) {
    long asked = Long.MIN_VALUE;
    for (HistoryEvent event : history.events()) {
      if (event.actor().equals(actor) && event.is("acquire")) {
        asked = event.atNanos();
      } else if (event.actor().equals(actor)
          && event.is("held")
          && event.text("token").equals(token)) {
        from.merge(actor, asked, Math::min);
        return;
      }
    }
  }
}
