package io.redlock.spi;

import io.redlock.text.Brief;
import org.jspecify.annotations.Nullable;

/**
 * One node's answer to one request: yes, no or unknown, and the details that the node reported.
 *
 * @param kind the meaning of the answer
 * @param counter the node's counter for {@link Kind#HELD} and {@link Kind#STALE}, and the one
 *     before the grant for {@link Kind#GRANTED}, 0 if that is not known; for {@link
 *     NodeRequest.Free} the token of the holder, if its value names one; else 0
 * @param remainingMillis the remaining life of the holder's key (for {@link Kind#HELD}, and {@link
 *     Kind#RELEASED} as the answer to {@link NodeRequest.Free}), of the first ticket in the queue
 *     (for {@link Kind#WAIT}) or of the node's abstention (for {@link Kind#ABSTAIN}), in
 *     milliseconds; −1 if there is no bound
 * @param detail the reason in words, for an operator, without secrets; empty if the kind says it
 *     all; for {@link Kind#HELD} and {@link NodeRequest.Free} the {@link HolderLabel} of the
 *     holder, empty if it has none; for {@link Kind#NOT_HELD} the label of the operator that set
 *     the name free, if one did
 * @param owner the owner id in the holder's key, for {@link Kind#HELD} as the answer to {@link
 *     NodeRequest.Grant}; empty if the node could not print it. Secret, and not in the text: it
 *     only tells holders apart
 * @param report the state of the name, for {@link NodeRequest.Inspect}; else null
 * @param look which names are held, for {@link NodeRequest.Look}; else null
 */
public record NodeReply(
    Kind kind,
    long counter,
    long remainingMillis,
    String detail,
    String owner,
    @Nullable NodeReport report,
    @Nullable NodeLook look) {

  /** Makes the detail printable: one line without control characters, of bounded length. */
  public NodeReply {
    detail = detail.isEmpty() ? detail : Brief.text(detail); // mostly there is none
  }

  /** The lock was granted. */
  public static final NodeReply GRANTED = of(Kind.GRANTED, "");

  /** The lease was extended. */
  public static final NodeReply EXTENDED = of(Kind.EXTENDED, "");

  /** The node did not hold the lease, and holds it now. */
  public static final NodeReply JOINED = of(Kind.JOINED, "");

  /** The owner's keys were deleted. */
  public static final NodeReply RELEASED = of(Kind.RELEASED, "");

  /** The owner had no keys. */
  public static final NodeReply NOT_HELD = of(Kind.NOT_HELD, "");

  /** The kinds of answers. */
  public enum Kind {
    /** Yes: this owner holds the names, at this token. */
    GRANTED,
    /** Yes: this owner held the names, and holds them for longer now. */
    EXTENDED,
    /** Yes: this owner did not hold all names on the node, and holds them now. */
    JOINED,
    /**
     * Yes: the owner's keys are deleted, and its tombstone is set. For {@link NodeRequest.Free}:
     * the name is set free, by this request or an earlier one.
     */
    RELEASED,
    /** No: another owner holds a name. */
    HELD,
    /** No: the names are free, but another waiter is first in the queue. */
    WAIT,
    /** No: the node has seen this token or a higher one; a still higher one may succeed. */
    STALE,
    /** No: the node was reset too recently to vote. */
    ABSTAIN,
    /**
     * No: the token does not fit the node's clock. A release with this answer found nothing to
     * delete and set no tombstone: repeat it, since a grant that is still on its way may succeed.
     */
    CLOCK,
    /**
     * No: the owner does not hold the names; only its tombstone may have been set. For {@link
     * NodeRequest.Free}: nobody holds the name.
     */
    NOT_HELD,
    /**
     * No: the server is out of memory. A release with this answer found nothing to delete and set
     * no tombstone. (A release that deletes a key makes room for its tombstone.)
     */
    OUT_OF_MEMORY,
    /** Unknown: it may or may not have been executed. */
    UNKNOWN,
    /** Not executed: the node could not be reached, or serves no client for now. */
    UNREACHABLE,
    /** Not executed: the node must not take part until an operator fixes it. */
    MISCONFIGURED,
    /**
     * Unknown: the server denied the script a command, and may have executed a part of it. An
     * operator must fix the node.
     */
    DENIED
  }

  /** Returns an answer without a counter or a remaining time; its detail may be empty. */
  public static NodeReply of(Kind kind, String detail) {
    return new NodeReply(kind, 0, -1, detail, "", null, null);
  }

  /** Returns the answer to an inspection: {@link Kind#HELD} or {@link Kind#NOT_HELD}. */
  public static NodeReply inspected(NodeReport report) {
    Kind kind = report.owner() == null ? Kind.NOT_HELD : Kind.HELD;
    return new NodeReply(kind, 0, -1, "", "", report, null);
  }

  /**
   * Returns the answer to a look: {@link Kind#NOT_HELD} if a name is free, else {@link Kind#HELD}.
   */
  public static NodeReply looked(NodeLook look) {
    Kind kind = look.remainingMillis().contains(NodeLook.FREE) ? Kind.NOT_HELD : Kind.HELD;
    return new NodeReply(kind, 0, -1, "", "", null, look);
  }

  /** Returns {@link Kind#GRANTED}, with the counter before it. */
  public static NodeReply granted(long counter) {
    return counter == 0 ? GRANTED : new NodeReply(Kind.GRANTED, counter, -1, "", "", null, null);
  }

  /** Returns {@link Kind#HELD} with the label of the holder. */
  public static NodeReply held(long remainingMillis, long counter, String holder) {
    return new NodeReply(Kind.HELD, counter, remainingMillis, holder, "", null, null);
  }

  /**
   * Returns {@link Kind#HELD}, as the answer to {@link NodeRequest.Grant}.
   *
   * @param value the value of the lock key; {@code -} if the node could not print it
   */
  public static NodeReply heldBy(long remainingMillis, long counter, String value) {
    String owner = value.equals("-") ? "" : HolderLabel.owner(value);
    return new NodeReply(
        Kind.HELD, counter, remainingMillis, HolderLabel.of(value), owner, null, null);
  }

  /** Returns {@link Kind#RELEASED}: the name is set free, and had this holder until now. */
  public static NodeReply freed(long remainingMillis, long token, String holder) {
    return new NodeReply(Kind.RELEASED, token, remainingMillis, holder, "", null, null);
  }

  /** Returns {@link Kind#WAIT}. */
  public static NodeReply waiting(long remainingMillis) {
    return new NodeReply(Kind.WAIT, 0, remainingMillis, "", "", null, null);
  }

  /** Returns {@link Kind#STALE}. */
  public static NodeReply stale(long counter) {
    return new NodeReply(Kind.STALE, counter, -1, "", "", null, null);
  }

  /** Returns {@link Kind#ABSTAIN}. */
  public static NodeReply abstain(long remainingMillis, String detail) {
    return new NodeReply(Kind.ABSTAIN, 0, remainingMillis, detail, "", null, null);
  }

  /** Returns {@link Kind#UNKNOWN}; the detail is what happened. */
  public static NodeReply unknown(String detail) {
    return of(Kind.UNKNOWN, detail);
  }

  /** Returns {@link Kind#UNREACHABLE}. */
  public static NodeReply unreachable(String detail) {
    return of(Kind.UNREACHABLE, detail);
  }

  /** Returns {@link Kind#MISCONFIGURED}; the detail has the fix, too, if that is known. */
  public static NodeReply misconfigured(String detail) {
    return of(Kind.MISCONFIGURED, detail);
  }

  /** Leaves the owner out: with it, anybody could release the lock. */
  @Override
  public String toString() {
    return kind
        + "["
        + counter
        + ", "
        + remainingMillis
        + " ms, "
        + detail
        + (report == null ? "" : ", " + report)
        + (look == null ? "" : ", " + look)
        + "]";
  }
}
