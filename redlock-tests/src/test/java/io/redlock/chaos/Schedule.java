package io.redlock.chaos;

import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * A kind of run: who takes part, how long it goes, what may go wrong and how often.
 *
 * @param gapMillis the time between two faults on average
 * @param minority whether faults of nodes strike at most a minority at a time
 * @param task what the callers do: {@code work}, {@code lead}, {@code share}, {@code read} or
 *     {@code read-fair}
 * @param changes whether the masters change meanwhile; how is drawn from the seed
 */
record Schedule(
    String name,
    ChaosTerms terms,
    int callers,
    Duration length,
    Set<ChaosFault> faults,
    int gapMillis,
    boolean minority,
    String task,
    boolean changes) {

  private static final Duration SHORT = Duration.ofMillis(4_500);

  static Schedule of(String name, int nodes, int clients, ChaosFault... faults) {
    EnumSet<ChaosFault> kinds = EnumSet.noneOf(ChaosFault.class);
    kinds.addAll(List.of(faults));
    return new Schedule(
        name, ChaosTerms.of(nodes, clients), 2, SHORT, kinds, 400, true, "work", false);
  }

  Schedule everyMillis(int millis) {
    return new Schedule(name, terms, callers, length, faults, millis, minority, task, changes);
  }

  /** Faults may strike any number of nodes at a time. */
  Schedule anyNumber() {
    return new Schedule(name, terms, callers, length, faults, gapMillis, false, task, changes);
  }

  Schedule callers(int each) {
    return new Schedule(name, terms, each, length, faults, gapMillis, minority, task, changes);
  }

  Schedule nodes(int count) {
    return terms(terms.masters(ChaosMasters.of(count)));
  }

  Schedule nodeTimeout(Duration timeout) {
    return terms(terms.nodeTimeout(timeout));
  }

  private Schedule terms(ChaosTerms others) {
    return new Schedule(name, others, callers, length, faults, gapMillis, minority, task, changes);
  }

  Schedule lasting(Duration time) {
    return new Schedule(name, terms, callers, time, faults, gapMillis, minority, task, changes);
  }

  /** Every client is a candidate for one leadership, instead of what it does else. */
  Schedule electing() {
    return new Schedule(name, terms, 1, length, faults, gapMillis, minority, "lead", changes);
  }

  /** Every caller asks for any one of the resources, instead of what it does else. */
  Schedule sharing() {
    return task("share");
  }

  /** Every caller mostly reads. */
  Schedule reading() {
    return task("read");
  }

  private Schedule task(String what) {
    return new Schedule(name, terms, callers, length, faults, gapMillis, minority, what, changes);
  }

  /** An operator changes the masters until all clients know only the future ones. */
  Schedule changing() {
    return new Schedule(name, terms, callers, length, faults, gapMillis, minority, task, true);
  }

  /** The same with what a seed draws. */
  Schedule drawn(long seed) {
    if (changes) {
      return terms(terms.masters(ChaosMasters.changing(seed)));
    }
    return task.equals("read") && seed % 2 == 0 ? task("read-fair") : this;
  }

  /** Why it cannot be run here as it is; empty if it can. */
  String obstacle() {
    return faults.stream()
        .map(ChaosFault::obstacle)
        .filter(obstacle -> !obstacle.isEmpty())
        .findFirst()
        .orElse("");
  }

  /** The same without what cannot be had here. */
  Schedule asFarAsPossible() {
    Set<ChaosFault> possible = EnumSet.copyOf(faults);
    possible.removeIf(fault -> !fault.obstacle().isEmpty());
    return new Schedule(name, terms, callers, length, possible, gapMillis, minority, task, changes);
  }

  /** Whether nothing happens that leases assume not to happen. */
  boolean keepsTime() {
    return !faults.contains(ChaosFault.NODE_CLOCK);
  }
}
