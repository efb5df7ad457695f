package io.redlock.spi;

import io.redlock.text.Brief;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The state of one name on a node: the answer to a {@link NodeRequest.Inspect}.
 *
 * @param owner the value of the lock key, which names the holder's token ({@link
 *     HolderLabel#token}), or its digest if it is long or not printable; null if there is no key
 * @param remainingMillis the remaining life of the lock key, in milliseconds; −1 if it has no end
 *     or there is no key
 * @param counter the counter; 0 if there is none
 * @param waiting the number of tickets that have not expired, at most {@link #MOST_COUNTED}
 * @param waiters the first of them in the order of the queue, each a {@link
 *     NodeRequest.Ticket#waiter()}, at most {@link #MOST_WAITERS}
 * @param doubt the reason why the node may have lost a key that it had; empty if it has not
 * @param reading the number of readers, at most {@link #MOST_COUNTED}; 0 if the name is not shared
 * @param readers those of them that may read longest, the longest first, at most {@link
 *     #MOST_READERS}
 */
public record NodeReport(
    @Nullable String owner,
    long remainingMillis,
    long counter,
    int waiting,
    List<String> waiters,
    String doubt,
    int reading,
    List<Reader> readers) {

  /**
   * A reader.
   *
   * @param owner its owner id, or the id's digest if it is long or not printable
   * @param remainingMillis how long its entry lives, in milliseconds
   */
  public record Reader(String owner, long remainingMillis) {

    /** Names no owner id. */
    @Override
    public String toString() {
      return remainingMillis + " ms" + HolderLabel.by(owner);
    }
  }

  /** The largest number of tickets, and of readers, that are counted. */
  public static final int MOST_COUNTED = 1_000;

  /** The largest number of waiters that are listed. */
  public static final int MOST_WAITERS = 20;

  /** The largest number of readers that are listed. */
  public static final int MOST_READERS = 20;

  /** Copies the lists, and makes the reason a {@linkplain NodeReply#detail detail}. */
  public NodeReport {
    waiters = List.copyOf(waiters);
    doubt = Brief.text(doubt);
    readers = List.copyOf(readers);
  }

  /** Names no owner id, with which anybody could release the lock. */
  @Override
  public String toString() {
    return (owner == null ? "free" : "held" + HolderLabel.by(owner))
        + ", remainingMillis="
        + remainingMillis
        + ", counter="
        + counter
        + ", waiting="
        + waiting
        + (reading == 0 ? "" : ", reading=" + reading + " " + readers)
        + (doubt.isEmpty() ? "" : ", in doubt: " + doubt);
  }

  /** Returns the same state in doubt, for this reason. */
  public NodeReport doubted(String reason) {
    return new NodeReport(
        owner, remainingMillis, counter, waiting, waiters, reason, reading, readers);
  }
}
