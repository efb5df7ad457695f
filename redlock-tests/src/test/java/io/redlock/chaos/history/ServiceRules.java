package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.Text;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * I23: a client whose majorities are well acquires and extends all the time.
 *
 * <p>After every pause it acquires and extends a lease that nobody else wants. No two seconds and a
 * node timeout go by without that. An attempt may fail because it reports that a master has a new
 * mark, but the next one succeeds; the simulator is stricter.
 *
 * <p>Time in which the client or too many masters were struck does not count, until the next
 * attempt. Nor does the time around any stall: where one process gets no processor, others that a
 * request needs get it late, which adds up to more than a node timeout.
 */
final class ServiceRules {

  private static final long LONGEST_NANOS = 2_000 * RunSettings.MILLI;

  /** After so long every client has connected to, and audited, a master that is back. */
  private static final long RECOVERY_NANOS = 3_000 * RunSettings.MILLI;

  /** What one caller did for leases that nobody else wanted. */
  private static final class Pulse {
    final String process;
    final long pauseNanos;
    final long timeoutNanos;
    final List<Long> served = new ArrayList<>();
    long lastNanos;

    Pulse(HistoryEvent first) {
      process = first.process();
      pauseNanos = first.number("pause") * RunSettings.MILLI;
      timeoutNanos = first.number("within") * RunSettings.MILLI;
      served.add(first.atNanos());
    }
  }

  private final History history;
  private final RunSettings settings;
  private final Majorities majorities;
  private final Findings findings;
  private long longestNanos;
  private long countedNanos;

  private ServiceRules(History history, Findings findings) {
    this.findings = findings;
    this.history = history;
    this.settings = RunSettings.of(history);
    this.majorities = new Majorities(history);
  }

  /**
   * How long clients were not served.
   *
   * @param longestGapNanos the longest time without a lease
   * @param countedNanos all time that counts
   */
  record Result(long longestGapNanos, long countedNanos) {}

  static Result check(History history, Findings findings) {
    ServiceRules rules = new ServiceRules(history, findings);
    Map<String, Pulse> pulses = new TreeMap<>();
    for (HistoryEvent event : history.events()) {
      if (event.is("acquire") && event.details().containsKey("pause")) {
        pulses.computeIfAbsent(event.actor(), actor -> new Pulse(event));
      }
      Pulse pulse = pulses.get(event.actor());
      if (pulse != null) {
        pulse.lastNanos = event.atNanos();
        if (event.is("extended")) {
          pulse.served.add(event.atNanos());
        }
      }
    }
    if (!pulses.isEmpty()) {
      Map<String, List<Span>> out = rules.nodesOut();
      pulses.forEach((actor, pulse) -> rules.judge(actor, pulse, out));
    }
    return new Result(rules.longestNanos, rules.countedNanos);
  }

  private void judge(String actor, Pulse pulse, Map<String, List<Span>> out) {
    List<Span> excused = excused(pulse, out);
    pulse.served.add(pulse.lastNanos);
    for (int i = 1; i < pulse.served.size(); i++) {
      Span gap = new Span(pulse.served.get(i - 1), pulse.served.get(i));
      long nanos = gap.nanos() - common(excused, gap);
      longestNanos = Math.max(longestNanos, nanos);
      countedNanos += nanos;
      if (nanos > LONGEST_NANOS + pulse.timeoutNanos) {
        String what =
            Text.of(
                "%s acquired and extended nothing for %s ms, although its majorities were well",
                actor, nanos / RunSettings.MILLI);
        findings.add(SimInvariant.I23, gap.toNanos(), what);
      }
    }
  }

  /** When it cannot be asked of the process to be served, in order. */
  private List<Span> excused(Pulse pulse, Map<String, List<Span>> out) {
    long attemptNanos = pulse.pauseNanos + pulse.timeoutNanos;
    List<Span> struck = new ArrayList<>(tooManyOut(pulse.process, out));
    struck.addAll(Span.stopped(history, pulse.process));
    List<Span> spans = new ArrayList<>();
    for (Span span : struck) {
      spans.add(new Span(span.fromNanos(), span.toNanos() + attemptNanos));
    }
    for (HistoryEvent event : history.of("stalled", "slow").toList()) {
      spans.add(new Span(event.number("from") - attemptNanos, event.atNanos() + attemptNanos));
    }
    spans.sort(Comparator.comparingLong(Span::fromNanos));
    return spans;
  }

  /** How much of the gap the spans cover, which are in order and may overlap. */
  private static long common(List<Span> spans, Span gap) {
    long common = 0;
    long done = gap.fromNanos();
    for (Span span : spans) {
      long from = Math.max(done, span.fromNanos());
      long to = Math.min(gap.toNanos(), span.toNanos());
      if (to > from) {
        common += to - from;
        done = to;
      }
    }
    return common;
  }

  private List<Span> tooManyOut(String process, Map<String, List<Span>> out) {
    TreeSet<Long> changes = new TreeSet<>();
    for (List<Span> spans : out.values()) {
      for (Span span : spans) {
        changes.add(span.fromNanos());
        changes.add(span.toNanos());
      }
    }
    List<Span> lame = new ArrayList<>();
    for (long from : changes) {
      Long to = changes.higher(from);
      Set<String> well = new HashSet<>(majorities.allNodes);
      well.removeIf(
          node -> out.getOrDefault(node, List.of()).stream().anyMatch(span -> span.contains(from)));
      if (to != null && !majorities.areReached(process, well)) {
        lame.add(new Span(from, to));
      }
    }
    return lame;
  }

  /** When each node was stopped, dead, abstaining, or not marked again yet. */
  private Map<String, List<Span>> nodesOut() {
    Map<String, List<Span>> out = new HashMap<>();
    Map<String, Long> since = new HashMap<>();
    for (HistoryEvent event : history.of("losing", "up", "pause", "resume").toList()) {
      String node = event.details().getOrDefault("target", event.actor());
      switch (event.kind()) {
        case "losing", "pause" -> since.putIfAbsent(node, event.atNanos());
        default -> {
          Long from = since.remove(node);
          if (from != null) {
            long back = event.is("up") ? markedNanos(event.atNanos()) : event.atNanos();
            add(out, node, from, back + RECOVERY_NANOS);
          }
        }
      }
    }
    since.forEach((node, from) -> add(out, node, from, Long.MAX_VALUE));
    return out;
  }

  private static void add(Map<String, List<Span>> out, String node, long from, long to) {
    out.computeIfAbsent(node, n -> new ArrayList<>()).add(new Span(from, to));
  }

  /** When a node that came back empty abstains no longer, if the operator had to mark it. */
  private long markedNanos(long upNanos) {
    long marked =
        history
            .of("resize")
            .filter(run -> run.number("from") > upNanos && run.text("done").equals("true"))
            .mapToLong(HistoryEvent::atNanos)
            .findFirst()
            .orElse(upNanos);
    return marked + settings.abstentionNanos();
  }
}
