package io.redlock.jedis.trust;

import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;

/**
 * A change of the terms on which all clients of a set agreed, as a pure function from the terms of
 * all masters to the next step. A command reads all masters, performs the step, and begins again,
 * so it may be interrupted anywhere and repeated.
 *
 * <p>A master that loses its data abstains for as long as its mark says, or the marks that it is
 * marked from. So before any lease may last longer, all masters get the longer abstention; and they
 * get a shorter one when the last lease under the old terms has ended.
 *
 * @param wanted the new terms
 */
public record TermsChange(Agreement wanted) {

  /** An audit counts for so long at most. */
  private static final long AUDIT_MILLIS = 3_000;

  /**
   * A master as it was read.
   *
   * @param isSettled true if it need not abstain
   */
  public record Master(Agreement terms, boolean isSettled) {}

  /** The next step of the command. */
  public sealed interface Step {

    /** Nothing is left to do. */
    record Done() implements Step {}

    /**
     * Let all leases under the old terms end.
     *
     * @param longestMillis the longest abstention of any master, which they do not outlast
     */
    record Wait(long longestMillis) implements Step {

      /**
       * Returns for how long: a lease may be extended once more by a client that was paused since
       * its last audit.
       */
      public Duration time() {
        return Duration.ofMillis(2 * longestMillis + AUDIT_MILLIS);
      }
    }

    /**
     * Let a master have these terms, if it still has those that were read.
     *
     * @param isLast true if it was waited for; after any other write the command has to wait anew
     */
    record Write(int master, Agreement terms, boolean isLast) implements Step {}

    /** The command cannot go on. */
    record Refuse(int master, String reason) implements Step {}
  }

  /**
   * Returns the next step.
   *
   * @param masters all masters that are not gone for good
   * @param waitedMillis the abstention for which this run of the command has waited since any write
   *     but a last one; 0 if it has not
   */
  public Step next(List<Master> masters, long waitedMillis) {
    long longestMillis = wanted.abstentionMillis();
    for (Master each : masters) {
      longestMillis = Math.max(longestMillis, each.terms.abstentionMillis());
    }
    boolean hasWaited = longestMillis <= waitedMillis;
    long leastMillis = hasWaited ? wanted.abstentionMillis() : longestMillis;
    int shorter = first(masters, each -> each.abstentionMillis() < leastMillis);
    if (shorter >= 0) {
      return new Step.Write(shorter, masters.get(shorter).terms.abstainingFor(leastMillis), false);
    }
    int other = first(masters, each -> !isWanted(each));
    if (other >= 0) {
      Master master = masters.get(other);
      return master.terms.guarded() && !wanted.guarded() && !master.isSettled
          ? new Step.Refuse(other, "it abstains: run the command again when it votes")
          : new Step.Write(
              other, wanted.abstainingFor(longestMillis).of(master.terms.sets()), false);
    }
    int longer = first(masters, each -> each.abstentionMillis() > wanted.abstentionMillis());
    if (longer < 0) {
      return new Step.Done();
    }
    return hasWaited
        ? new Step.Write(longer, wanted.of(masters.get(longer).terms.sets()), true)
        : new Step.Wait(longestMillis);
  }

  private boolean isWanted(Agreement terms) {
    return terms.guarded() == wanted.guarded() && terms.maxTtlMillis() == wanted.maxTtlMillis();
  }

  private static int first(List<Master> masters, Predicate<Agreement> condition) {
    for (int i = 0; i < masters.size(); i++) {
      if (condition.test(masters.get(i).terms)) {
        return i;
      }
    }
    return -1;
  }
}
