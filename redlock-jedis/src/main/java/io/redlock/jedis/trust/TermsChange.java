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
 * marked from. So before any lease may last longer, all masters get the longer abstention, on disk;
 * and they get a shorter one when the last lease under the old terms has ended.
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
   * @param isSaved true if its mark is on disk
   */
  public record Master(Agreement terms, boolean isSettled, boolean isSaved) {}

  /** The next step of the command. */
  public sealed interface Step {

    /** Nothing is left to do. */
    record Done() implements Step {}

    /**
     * Let all leases under the old terms end: none outlasts the longest abstention of any master,
     * and a client that was paused since its last audit may extend one once more.
     */
    record Wait(Duration time) implements Step {}

    /**
     * Let a master have these terms, if it still has those that were read.
     *
     * @param isLast true if it was waited for; after any other write the command has to wait anew
     * @param isSaved true if it follows that all are on disk, and need not be saved itself
     */
    record Write(int master, Agreement terms, boolean isLast, boolean isSaved) implements Step {}

    /** Let a master have its mark on disk. */
    record Save(int master) implements Step {}

    /** The command cannot go on. */
    record Refuse(int master, String reason) implements Step {}
  }

  /**
   * Returns the next step.
   *
   * @param masters all masters that are not gone for good
   * @param hasWaited true if this run of the command has waited, and nobody has written a mark
   *     since it began to wait, except for its own last writes
   */
  public Step next(List<Master> masters, boolean hasWaited) {
    int longer = first(masters, each -> each.terms.abstentionMillis() > wanted.abstentionMillis());
    if (hasWaited && longer >= 0) {
      return new Step.Write(longer, wanted.of(masters.get(longer).terms.sets()), true, false);
    }
    long longestMillis =
        masters.stream()
            .mapToLong(each -> each.terms.abstentionMillis())
            .reduce(wanted.abstentionMillis(), Math::max);
    int shorter = first(masters, each -> each.terms.abstentionMillis() < longestMillis);
    if (shorter >= 0) {
      return new Step.Write(
          shorter, masters.get(shorter).terms.abstainingFor(longestMillis), false, false);
    }
    int other = first(masters, each -> !isWanted(each.terms));
    if (other >= 0) {
      Master master = masters.get(other);
      if (master.terms.guarded() && !wanted.guarded() && !master.isSettled) {
        return new Step.Refuse(other, "it abstains: run the command again when it votes");
      }
      boolean isLonger = master.terms.maxTtlMillis() < wanted.maxTtlMillis();
      int unsaved = isLonger ? first(masters, each -> !each.isSaved) : -1; // M6
      Agreement terms = wanted.abstainingFor(longestMillis).of(master.terms.sets());
      return unsaved >= 0 ? new Step.Save(unsaved) : new Step.Write(other, terms, false, isLonger);
    }
    return longer < 0
        ? new Step.Done()
        : new Step.Wait(Duration.ofMillis(2 * longestMillis + AUDIT_MILLIS));
  }

  private boolean isWanted(Agreement terms) {
    return terms.guarded() == wanted.guarded() && terms.maxTtlMillis() == wanted.maxTtlMillis();
  }

  private static int first(List<Master> masters, Predicate<Master> condition) {
    for (int i = 0; i < masters.size(); i++) {
      if (condition.test(masters.get(i))) {
        return i;
      }
    }
    return -1;
  }
}
