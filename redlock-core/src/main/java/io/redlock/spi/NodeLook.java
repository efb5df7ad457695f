package io.redlock.spi;

import io.redlock.text.Brief;
import java.util.List;

/**
 * Which of several names are held on a node: the answer to a {@link NodeRequest.Look}.
 *
 * @param remainingMillis the remaining life of each lock key, in milliseconds, in the order of the
 *     request; {@link #ENDLESS} if it has no end, {@link #FREE} if there is none
 * @param doubt the reason why the node may have lost a key that it had; empty if it has not
 */
public record NodeLook(List<Long> remainingMillis, String doubt) {

  /** The remaining life of a key that has no end. */
  public static final long ENDLESS = -1;

  /** The remaining life of a key that does not exist: nobody holds the name. */
  public static final long FREE = -2;

  /** Copies the list, and makes the reason a {@linkplain NodeReply#detail detail}. */
  public NodeLook {
    remainingMillis = List.copyOf(remainingMillis);
    doubt = Brief.text(doubt);
  }

  /** Returns the same keys in doubt, for this reason. */
  public NodeLook doubted(String reason) {
    return new NodeLook(remainingMillis, reason);
  }
}
