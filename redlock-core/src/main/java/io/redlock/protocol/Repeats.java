package io.redlock.protocol;

/**
 * When a release is sent again to the nodes that did not acknowledge it, and when no key can be
 * left. An immutable value.
 *
 * @param counts the number of repeats to each node, saturating, four bits each
 * @param waiting the nodes that get it again, as bits
 * @param dueNanos when they get it, on the monotonic clock; 0 if none does
 * @param giveUpNanos when no key can be left, on the monotonic clock
 */
public record Repeats(long counts, int waiting, long dueNanos, long giveUpNanos) {

  private static final int COUNT_BITS = 4;
  private static final int MAX_DOUBLINGS = 7;

  static final Repeats NONE = new Repeats(0, 0, 0, 0);

  /** Returns the value after an answer that is no acknowledgement. */
  Repeats owed(int node, long nowNanos, TenureRules rules) {
    int count = (int) (counts >>> COUNT_BITS * node) & (1 << COUNT_BITS) - 1;
    long nodeNanos = nowNanos + rules.repeatNanos(count); // R7
    boolean isSooner = waiting == 0 || nodeNanos - dueNanos < 0;
    return new Repeats(
        count < MAX_DOUBLINGS ? counts + (1L << COUNT_BITS * node) : counts,
        waiting | 1 << node,
        isSooner ? nodeNanos : dueNanos,
        giveUpNanos);
  }

  Repeats acknowledged(int node) {
    int left = waiting & ~(1 << node);
    return new Repeats(counts, left, left == 0 ? 0 : dueNanos, giveUpNanos);
  }

  Repeats dueAt(long nanos) {
    return waiting == 0 ? this : new Repeats(counts, waiting, nanos, giveUpNanos);
  }

  Repeats sent() {
    return new Repeats(counts, 0, 0, giveUpNanos);
  }
}
