package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/** What holders were told, against what nodes have executed: I2, I9. */
final class QuorumRules {

  /** How far the token of a lease that may be passed on lies below its owner's, at most. */
  private static final long TOKENS_TO_PASS = 4_095;

  private record Round(String owner, long token) {}

  private final Majorities majorities;
  private final NavigableMap<Long, List<Exchange>> byToken = new TreeMap<>();
  private final Findings findings;

  private QuorumRules(History history, List<Exchange> exchanges, Findings findings) {
    this.findings = findings;
    majorities = new Majorities(history);
    for (Exchange exchange : exchanges) {
      byToken.computeIfAbsent(exchange.token(), token -> new ArrayList<>()).add(exchange);
    }
  }

  /** Returns how many leases were passed on: no node knows their tokens. */
  static long check(History history, Leases leases, List<Exchange> exchanges, Findings findings) {
    QuorumRules rules = new QuorumRules(history, exchanges, findings);
    leases.all.forEach(rules::check);
    return leases.all.stream().filter(hold -> !rules.byToken.containsKey(hold.token)).count();
  }

  private void check(ObservedHold hold) {
    Set<String> most = Set.of();
    Map<Round, Set<String>> granted = new HashMap<>();
    for (Exchange exchange : exchanges(hold)) {
      if (exchange.verdict().equals("GRANT")
          && exchange.resources().equals(hold.resources)
          && exchange.answeredNanos() <= hold.heldNanos) {
        Round round = new Round(exchange.owner(), exchange.token());
        Set<String> nodes = granted.computeIfAbsent(round, r -> new HashSet<>());
        nodes.add(exchange.node());
        most = nodes.size() > most.size() ? nodes : most;
      }
    }
    granted.values().removeIf(nodes -> !majorities.areReached(hold.process, nodes));
    if (granted.isEmpty()) {
      String what = hold + " rests on " + most + " of " + majorities.sets(hold.process);
      findings.add(SimInvariant.I9, hold.heldNanos, what);
      return;
    }
    // A token below its owner's belongs to the lease that was granted next. Readers may have equal
    // tokens: which round was this one's, nobody wrote down.
    long least = granted.keySet().stream().mapToLong(Round::token).min().orElseThrow();
    granted.keySet().removeIf(round -> round.token > least);
    List<Finding> late = new ArrayList<>();
    granted.keySet().forEach(round -> deadline(hold, round).ifPresent(late::add));
    if (late.size() == granted.size()) {
      findings.add(SimInvariant.I2, late.get(0).atNanos(), late.get(0).what());
    }
  }

  /**
   * The library itself extends a lease when a node has lost its past, by what it has left: of a ttl
   * that it rounds up, by no more than the allowance for drift and a millisecond.
   */
  private static long rounded(ObservedHold hold) {
    return hold.ttlMillis * RunSettings.MILLI / 100 + RunSettings.MILLI;
  }

  /** What may have given the lease its token, by token. */
  private List<Exchange> exchanges(ObservedHold hold) {
    long most = hold.isShared ? hold.token : hold.token + TOKENS_TO_PASS;
    return byToken.subMap(hold.token, true, most, true).values().stream()
        .flatMap(List::stream)
        .toList();
  }

  /** A request begins before it arrives anywhere: so much is certain of when a round began. */
  private Optional<Finding> deadline(ObservedHold hold, Round round) {
    long first = Long.MAX_VALUE;
    List<Long> extends_ = new ArrayList<>();
    for (Exchange exchange : byToken.get(round.token)) {
      if (exchange.owner().equals(round.owner) && exchange.operation().equals("grant")) {
        first = Math.min(first, exchange.arrivedNanos());
      } else if (exchange.owner().equals(round.owner) && exchange.operation().equals("extend")) {
        extends_.add(exchange.arrivedNanos());
      }
    }
    for (ObservedHold.Look look : hold.looks) {
      long began = first;
      for (long arrived : extends_) {
        began = arrived <= look.atNanos() ? Math.max(began, arrived) : began;
      }
      long good =
          began + RunSettings.goodNanos(hold.ttlMillis) + (began == first ? 0 : rounded(hold));
      if (look.good() && look.untilNanos() > good) {
        long over = (look.untilNanos() - good) / 1_000;
        String what = hold + " claims to be good " + over + " us longer than its round allows";
        return Optional.of(new Finding(SimInvariant.I2, look.atNanos(), what));
      }
    }
    return Optional.empty();
  }
}
