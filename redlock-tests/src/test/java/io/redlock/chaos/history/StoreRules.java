package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.Text;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * I4: where the store checks tokens, it loses no update of a pair of numbers, and nobody sees one
 * in part, unless its writer never finished it. The store wrote down each request that reached it,
 * in order; here they are done once more.
 */
final class StoreRules {

  private static final class Pair {
    long written;
    long readBy;
    long confirmed;
    final long[] fenced = new long[2];
    final Set<Long> finished = new HashSet<>();
    final Set<Long> finishedUnfenced = new HashSet<>();
    final long[] unfenced = new long[2];
  }

  private final Map<String, Pair> pairs = new HashMap<>();
  private final Findings findings;
  private long unfencedLosses;

  private StoreRules(Findings findings) {
    this.findings = findings;
  }

  /** Returns how many updates were lost, or seen in part, where the store does not check. */
  static long check(History history, Findings findings) {
    StoreRules rules = new StoreRules(findings);
    for (HistoryEvent event : history.events()) {
      switch (event.kind()) {
        case "begin", "write", "read" -> rules.again(rules.pair(event), event);
        case "confirmed" -> rules.pair(event).confirmed++;
        default -> {}
      }
    }
    history.of("saw").forEach(rules::saw); // now that it is known what was finished
    rules.pairs.forEach((resource, pair) -> rules.confirmed(resource, pair, history));
    return rules.unfencedLosses;
  }

  private Pair pair(HistoryEvent event) {
    return pairs.computeIfAbsent(event.text("resource"), resource -> new Pair());
  }

  private void confirmed(String resource, Pair pair, History history) {
    long there = highest(pair.fenced);
    if (there < pair.confirmed) {
      String what = Text.of("%s: %s updates confirmed, %s there", resource, pair.confirmed, there);
      findings.add(SimInvariant.I4, history.endNanos(), what);
    }
  }

  /** Whether the store did what was asked of the copy that checks tokens, as it had to. */
  private boolean isAccepted(HistoryEvent event, boolean due) {
    boolean accepted = event.text("fenced").equals("accepted");
    if (due != accepted) {
      found(event, "the store is wrong: " + event);
    }
    return accepted;
  }

  private void again(Pair pair, HistoryEvent event) {
    long token = event.number("token");
    if (event.is("begin")) {
      pair.written = Math.max(pair.written, token);
      return;
    }
    boolean writes = event.is("write");
    boolean due = token >= pair.written && (!writes || token >= pair.readBy);
    boolean accepted = isAccepted(event, due);
    if (writes) {
      write(pair, event, accepted);
    } else if (accepted) {
      pair.readBy = Math.max(pair.readBy, token);
    }
  }

  private void write(Pair pair, HistoryEvent write, boolean accepted) {
    int half = (int) write.number("half");
    if (accepted) {
      long value = write.number("value");
      if (value != due(pair.fenced, half)) {
        found(write, "an update is undone: " + write);
      }
      pair.written = write.number("token");
      pair.fenced[half] = value;
      if (pair.fenced[0] == pair.fenced[1]) {
        pair.finished.add(value);
      }
    }
    unfencedLosses += write.number("unfenced") == due(pair.unfenced, half) ? 0 : 1;
    pair.unfenced[half] = write.number("unfenced");
    if (pair.unfenced[0] == pair.unfenced[1]) {
      pair.finishedUnfenced.add(pair.unfenced[half]);
    }
  }

  /** What is written next if nothing is lost. */
  private static long due(long[] copy, int half) {
    return half == 0 ? highest(copy) + 1 : copy[0];
  }

  private static long highest(long[] copy) {
    return Math.max(copy[0], copy[1]);
  }

  private void saw(HistoryEvent event) {
    Pair pair = pair(event);
    if (Boolean.parseBoolean(event.text("accepted"))
        && isTorn(event.text("fenced"), pair.finished)) {
      found(event, "an update is seen in part: " + event);
    }
    unfencedLosses += isTorn(event.text("unfenced"), pair.finishedUnfenced) ? 1 : 0;
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
