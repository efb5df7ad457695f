package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * I4 for readers: where tokens are checked, nobody sees an update of a pair in part, unless its
 * writer never finished it. The store wrote down each request that reached it, in order; here they
 * are done once more.
 */
final class PairRules {

  private static final class Copy {
    long written;
    long readBy;
    final long[] fenced = new long[2];
    final Set<Long> finished = new HashSet<>();
    final Set<Long> finishedUnfenced = new HashSet<>();
    final long[] unfenced = new long[2];
  }

  private final Map<String, Copy> copies = new HashMap<>();
  private final Findings findings;
  private long unfencedLosses;

  private PairRules(Findings findings) {
    this.findings = findings;
  }

  /** Returns how many pairs were seen half written where the store does not check. */
  static long check(History history, Findings findings) {
    PairRules rules = new PairRules(findings);
    history.of("begin-pair", "write-pair", "read-pair").forEach(rules::again);
    history.of("saw").forEach(rules::saw); // now that it is known what was finished
    return rules.unfencedLosses;
  }

  private Copy copy(HistoryEvent event) {
    return copies.computeIfAbsent(event.text("resource"), resource -> new Copy());
  }

  private void again(HistoryEvent event) {
    Copy copy = copy(event);
    long token = event.number("token");
    if (event.is("begin-pair")) {
      copy.written = Math.max(copy.written, token);
      return;
    }
    boolean writes = event.is("write-pair");
    boolean due = token >= copy.written && (!writes || token >= copy.readBy);
    boolean accepted = event.text("fenced").equals("accepted");
    if (due != accepted) {
      found(event, "the store is wrong: " + event);
    }
    if (writes) {
      write(copy, event, accepted);
    } else if (accepted) {
      copy.readBy = Math.max(copy.readBy, token);
    }
  }

  private void write(Copy copy, HistoryEvent write, boolean accepted) {
    int half = (int) write.number("half");
    if (accepted) {
      long value = write.number("value");
      long due = half == 0 ? Math.max(copy.fenced[0], copy.fenced[1]) + 1 : copy.fenced[0];
      if (value != due) {
        found(write, "an update is undone: " + write);
      }
      copy.written = write.number("token");
      copy.fenced[half] = value;
      if (copy.fenced[0] == copy.fenced[1]) {
        copy.finished.add(value);
      }
    }
    copy.unfenced[half] = write.number("unfenced");
    if (copy.unfenced[0] == copy.unfenced[1]) {
      copy.finishedUnfenced.add(copy.unfenced[half]);
    }
  }

  private void saw(HistoryEvent event) {
    Copy copy = copy(event);
    if (Boolean.parseBoolean(event.text("accepted"))
        && isTorn(event.text("fenced"), copy.finished)) {
      found(event, "an update is seen in part: " + event);
    }
    unfencedLosses += isTorn(event.text("unfenced"), copy.finishedUnfenced) ? 1 : 0;
  }

  private static boolean isTorn(String pair, Set<Long> finished) {
    String[] halves = pair.split(",");
    long first = Long.parseLong(halves[0]);
    long second = Long.parseLong(halves[1]);
    return first != second && finished.contains(Math.max(first, second));
  }

  private void found(HistoryEvent event, String what) {
    findings.add(SimInvariant.I4, event, what);
  }
}
