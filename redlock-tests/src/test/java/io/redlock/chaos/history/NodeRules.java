package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What nodes have executed and what was seen on them: I5, I8. */
final class NodeRules {

  private record Place(String node, int life, String resource) {}

  private record Span(long fromNanos, long toNanos) {}

  /**
   * Clients ask a node once a second what it is, unless it is silent just then; the rest is for a
   * busy machine, on which nodes are silent now and then.
   */
  private static final long FOUND_OUT_NANOS = 4_000 * RunSettings.MILLI;

  private final History history;
  private final RunSettings settings;
  private final List<Exchange> exchanges;
  private final List<Finding> findings = new ArrayList<>();

  private NodeRules(History history, List<Exchange> exchanges) {
    this.history = history;
    this.settings = RunSettings.of(history);
    this.exchanges = exchanges;
  }

  static List<Finding> check(History history, List<Exchange> exchanges) {
    NodeRules rules = new NodeRules(history, exchanges);
    rules.order();
    rules.counters();
    rules.unfit();
    rules.leftOver();
    if (rules.settings.guarded()) {
      rules.abstention();
    }
    return rules.findings;
  }

  /**
   * Of two requests at one node, the later one locks only with a higher token; a reader's with one
   * above those of writers that were granted. A release that finds a higher counter, which a reader
   * may have raised, buries nothing.
   */
  private void order() {
    Map<Place, List<Exchange>> places = new HashMap<>();
    for (Exchange exchange : exchanges) {
      boolean buries = exchange.releases() && isBuried(exchange); // a reader under its id alone
      if (exchange.life() >= 0 && (exchange.locks() || buries)) {
        for (String resource : exchange.resources()) {
          Place place = new Place(exchange.node(), exchange.life(), resource);
          places.computeIfAbsent(place, p -> new ArrayList<>()).add(exchange);
        }
      }
    }
    places.values().forEach(this::orderAtOnePlace);
  }

  /** A token from the future is not buried: it would lock everybody out until then. */
  private boolean isBuried(Exchange release) {
    return settings.isCredible(release.token(), release.forwardedNanos());
  }

  private void orderAtOnePlace(List<Exchange> answered) {
    List<Exchange> forwarded = new ArrayList<>(answered);
    forwarded.sort(Comparator.comparingLong(Exchange::forwardedNanos));
    answered.sort(Comparator.comparingLong(Exchange::answeredNanos));
    int done = 0;
    // Of what was certainly executed before the next one.
    Exchange highest = null;
    Exchange highestExclusive = null;
    Map<String, Exchange> released = new HashMap<>(); // by owner, likewise
    for (Exchange next : forwarded) {
      while (done < answered.size() && answered.get(done).before(next)) {
        Exchange earlier = answered.get(done++);
        if (earlier.locks() || !earlier.isShared()) {
          highest = higher(highest, earlier);
        }
        if (earlier.locks() && !earlier.isShared()) {
          highestExclusive = higher(highestExclusive, earlier);
        }
        if (earlier.releases()) {
          released.put(earlier.owner(), earlier);
        }
      }
      Exchange before = next.isShared() ? highestExclusive : highest;
      if (!next.locks()) {
        continue;
      }
      if (released.containsKey(next.owner())) {
        found(SimInvariant.I5, next, released.get(next.owner()));
      } else if (before != null
          && (next.token() < before.token()
              || next.token() == before.token() && !next.owner().equals(before.owner()))) {
        found(SimInvariant.I8, next, before);
      }
    }
  }

  private static Exchange higher(@Nullable Exchange highest, Exchange next) {
    return highest == null || next.token() >= highest.token() ? next : highest;
  }

  private void found(SimInvariant invariant, Exchange later, Exchange earlier) {
    String what = later + ", executed after " + earlier;
    findings.add(new Finding(invariant, later.answeredNanos(), what));
  }

  /** Counters that were looked at directly do not fall while the data is the same. */
  private void counters() {
    NodeLives lives = new NodeLives(history);
    Map<Place, Long> last = new HashMap<>();
    for (HistoryEvent seen : history.of("seen").toList()) {
      int life = lives.at(seen.actor(), seen.number("from"), seen.atNanos());
      if (life < 0) {
        continue;
      }
      long counter = seen.number("counter");
      Long before = last.put(new Place(seen.actor(), life, seen.text("resource")), counter);
      if (before != null && counter < before) {
        String what = seen.actor() + ": the counter fell from " + before + " to " + counter;
        findings.add(new Finding(SimInvariant.I8, seen.atNanos(), what));
      }
    }
  }

  /** What lost its data does not vote for as long as a lease from before can last. */
  private void abstention() {
    NodeLives lives = new NodeLives(history);
    Majorities majorities = new Majorities(history);
    Set<String> stepped = new HashSet<>();
    history.of("clock").forEach(event -> stepped.add(event.actor()));
    Map<String, List<Exchange>> locking = new TreeMap<>();
    for (Exchange exchange : exchanges) {
      if (exchange.locks() && !stepped.contains(exchange.node())) {
        locking.computeIfAbsent(exchange.node(), node -> new ArrayList<>()).add(exchange);
      }
    }
    locking.forEach(
        (node, votes) -> {
          long knownNanos = majorities.knownNanos(node);
          for (NodeLives.Loss loss : lives.of(node)) {
            for (Exchange vote : votes) {
              if (loss.toNanos() > knownNanos // before, it had no past to lose
                  && vote.forwardedNanos() > loss.toNanos()
                  && vote.answeredNanos() < loss.fromNanos() + settings.abstentionNanos()) {
                String what = vote + ", though it had lost its data";
                findings.add(new Finding(SimInvariant.I8, vote.answeredNanos(), what));
              }
            }
          }
        });
  }

  /** What is not fit to hold locks does not vote for longer than it takes to be found out. */
  private void unfit() {
    Map<String, Long> since = new HashMap<>();
    List<HistoryEvent> events = history.of("unfit", "fit").toList();
    List<Span> disturbed = disturbed();
    for (Exchange vote : exchanges) {
      HistoryEvent last = null;
      for (HistoryEvent event : events) {
        if (event.actor().equals(vote.node()) && event.atNanos() < vote.answeredNanos()) {
          last = event;
        }
      }
      if (last != null
          && last.is("unfit")
          && vote.locks()
          && vote.arrivedNanos() > last.atNanos() + FOUND_OUT_NANOS
          && disturbed.stream()
              .noneMatch(
                  span ->
                      span.fromNanos < vote.arrivedNanos()
                          && span.toNanos > vote.arrivedNanos() - FOUND_OUT_NANOS)) {
        String what = vote + ", though it is not fit to";
        findings.add(new Finding(SimInvariant.I8, vote.answeredNanos(), what));
      }
    }
  }

  /** When clients may have been kept from asking. */
  private List<Span> disturbed() {
    List<Span> spans = new ArrayList<>();
    Map<String, Long> began = new HashMap<>();
    for (HistoryEvent event : history.of("fault", "healed", "stalled").toList()) {
      if (event.is("stalled")) {
        spans.add(new Span(event.number("from"), event.atNanos()));
      } else if (event.text("target").startsWith("c")) {
        String which = event.text("fault") + event.text("target");
        if (event.is("fault")) {
          began.put(which, event.atNanos());
        } else {
          spans.add(new Span(began.remove(which), event.atNanos()));
        }
      }
    }
    began.values().forEach(from -> spans.add(new Span(from, Long.MAX_VALUE)));
    return spans;
  }

  /** Keys that were still there when everybody had ended and been given time to clean up. */
  private void leftOver() {
    for (HistoryEvent left : history.of("left").toList()) {
      String what =
          left.actor() + " still holds " + left.text("resource") + " for " + left.text("owner");
      findings.add(new Finding(SimInvariant.I5, left.atNanos(), what));
    }
  }
}
