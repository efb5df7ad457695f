package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What nodes have executed and what was seen on them: I5, I8. */
record NodeRules(
    History history, RunSettings settings, List<Exchange> exchanges, Findings findings) {

  private record Place(String node, int life, String resource) {}

  /**
   * Clients ask a node once a second what it is, unless it is silent just then; the rest is for a
   * busy machine, on which nodes are silent now and then.
   */
  private static final long FOUND_OUT_NANOS = 4_000 * RunSettings.MILLI;

  static void check(History history, List<Exchange> exchanges, Findings findings) {
    NodeRules rules = new NodeRules(history, RunSettings.of(history), exchanges, findings);
    rules.order();
    rules.counters();
    rules.unfit();
    rules.leftOver();
    if (rules.settings.guarded()) {
      rules.abstention();
    }
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
    findings.add(invariant, later.answeredNanos(), later + ", executed after " + earlier);
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
        findings.add(SimInvariant.I8, seen, what);
      }
    }
  }

  /** What lost its data does not vote for as long as a lease from before can last. */
  private void abstention() {
    NodeLives lives = new NodeLives(history);
    Majorities majorities = new Majorities(history);
    Set<String> stepped = new HashSet<>();
    history.of("clock").forEach(event -> stepped.add(event.actor()));
    for (Exchange vote : exchanges) {
      String node = vote.node();
      for (Span loss : vote.locks() && !stepped.contains(node) ? lives.of(node) : List.<Span>of()) {
        if (loss.toNanos() > majorities.knownNanos(node) // before, it had no past to lose
            && vote.forwardedNanos() > loss.toNanos()
            && vote.answeredNanos() < loss.fromNanos() + settings.abstentionNanos()) {
          found(vote, "though it had lost its data");
        }
      }
    }
  }

  private void found(Exchange vote, String what) {
    findings.add(SimInvariant.I8, vote.answeredNanos(), vote + ", " + what);
  }

  /** What is not fit to hold locks does not vote for longer than it takes to be found out. */
  private void unfit() {
    Map<String, List<Span>> unfit = Span.between(history, "unfit", "fit", HistoryEvent::actor);
    List<Span> disturbed = disturbed();
    for (Exchange vote : exchanges) {
      Span before = new Span(vote.arrivedNanos() - FOUND_OUT_NANOS, vote.arrivedNanos());
      boolean isUnfit =
          unfit.getOrDefault(vote.node(), List.of()).stream()
              .anyMatch(
                  span ->
                      span.fromNanos() < before.fromNanos()
                          && span.toNanos() >= vote.answeredNanos());
      if (vote.locks()
          && isUnfit
          && disturbed.stream().noneMatch(span -> span.within(before) > 0)) {
        found(vote, "though it is not fit to");
      }
    }
  }

  /** When clients may have been kept from asking. */
  private List<Span> disturbed() {
    List<Span> spans = new ArrayList<>(history.of("stalled").map(Span::of).toList());
    Span.between(history, "fault", "healed", fault -> fault.text("target") + fault.text("fault"))
        .forEach((what, its) -> spans.addAll(what.startsWith("c") ? its : List.of()));
    return spans;
  }

  /** Keys that were still there when everybody had ended and been given time to clean up. */
  private void leftOver() {
    for (HistoryEvent left : history.of("left").toList()) {
      String what =
          left.actor() + " still holds " + left.text("resource") + " for " + left.text("owner");
      findings.add(SimInvariant.I5, left, what);
    }
  }
}
