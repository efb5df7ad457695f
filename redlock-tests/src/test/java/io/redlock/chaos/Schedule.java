package io.redlock.chaos;

import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;

/**
 * A kind of run: who takes part, how long it goes, what may go wrong and how often.
 *
 * @param gapMillis the time between two faults on average
 * @param minority whether faults of nodes strike at most a minority at a time
 * @param task what the callers do: {@code work}, {@code queue}, {@code lead}, {@code share}, {@code
 *     read} or {@code read-fair}
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

  Schedule nodes(int count) {
    return with(terms.masters(ChaosMasters.of(count)), faults, task);
  }

  private Schedule with(ChaosTerms others, Set<ChaosFault> kinds, String what) {
    return new Schedule(name, others, callers, length, kinds, gapMillis, minority, what, changes);
  }

  /** The same with what a seed draws. */
  Schedule drawn(long seed) {
    if (changes) {
      return with(terms.masters(ChaosMasters.changing(seed)), faults, task);
    }
    return task.equals("read") && seed % 2 == 0 ? with(terms, faults, "read-fair") : this;
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
    return with(terms, possible, task);
  }

  /** Whether nothing happens that leases assume not to happen. */
  boolean keepsTime() {
    return !faults.contains(ChaosFault.NODE_CLOCK);
  }
}
