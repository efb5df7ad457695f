package io.redlock.spi;

/**
 * One node's answer to one request: yes, no, or unknown, with what the node told about it.
 *
 * @param kind what the answer means
 * @param fence the node's counter for {@link Kind#TAKEN} and {@link Kind#STALE}; else 0
 * @param remainingMillis how long the present holder's key (for {@link Kind#TAKEN}), the first
 *     ticket in the queue (for {@link Kind#WAIT}) or the node's abstention (for {@link
 *     Kind#ABSTAIN}) lasts, in milliseconds; −1 where there is no bound
 * @param detail what to tell a person, without secrets; empty where the kind says it all
 */
public record NodeReply(Kind kind, long fence, long remainingMillis, String detail) {

  /** The lock was granted. */
  public static final NodeReply GRANTED = of(Kind.GRANTED, "");

  /** The lease was lengthened. */
  public static final NodeReply EXTENDED = of(Kind.EXTENDED, "");

  /** The node did not hold the lease and does now. */
  public static final NodeReply JOINED = of(Kind.JOINED, "");

  /** The owner's keys were deleted. */
  public static final NodeReply RELEASED = of(Kind.RELEASED, "");

  /** The owner's keys were not there. */
  public static final NodeReply NOT_HELD = of(Kind.NOT_HELD, "");

  /** What an answer means. */
  public enum Kind {
    /** Yes: the keys are this owner's, at this token. */
    GRANTED,
    /** Yes: the keys were this owner's and live longer now. */
    EXTENDED,
    /** Yes: a key was missing and is this owner's again. */
    JOINED,
    /** Done: the owner's keys are deleted, its token is buried. */
    RELEASED,
    /** No: somebody else holds a name. */
    TAKEN,
    /** No: the names are free, but somebody else is first in the queue. */
    WAIT,
    /** No: the node has seen a token as high as this one; a higher one may succeed. */
    STALE,
    /** No: the node lost its past too recently to vote. */
    ABSTAIN,
    /**
     * No: the token does not fit the node's clock. A release found nothing to delete, and buries
     * the token only when it is repeated later: until then a grant on its way might still be in
     * time.
     */
    CLOCK,
    /** The owner does not hold the names, and nothing was written for it but its tombstone. */
    NOT_HELD,
    /**
     * The server is out of memory: nothing was granted; a release found nothing to delete and left
     * no tombstone. (One that deletes makes room to go on, and leaves its tombstone.)
     */
    OUT_OF_MEMORY,
    /** Nobody knows whether it was executed. */
    UNKNOWN,
    /** Certainly not executed: the node could not be reached, or cannot serve anybody just now. */
    UNREACHABLE,
    /** Certainly not executed: the node must not take part until an operator has fixed it. */
    MISCONFIGURED,
    /**
     * Nobody knows how much of it was executed: the server denied the script a command. An operator
     * must fix the node.
     */
    DENIED
  }

  /**
   * An answer that carries nothing but its meaning.
   *
   * @param kind what it means
   * @param detail what to tell a person; may be empty
   * @return the answer
   */
  public static NodeReply of(Kind kind, String detail) {
    return new NodeReply(kind, 0, -1, detail);
  }

  /**
   * Somebody else holds a name.
   *
   * @param remainingMillis the remaining life of the holder's key; −1 if it has no bound
   * @param fence the node's counter
   * @return the answer
   */
  public static NodeReply taken(long remainingMillis, long fence) {
    return new NodeReply(Kind.TAKEN, fence, remainingMillis, "");
  }

  /**
   * The name is free, and somebody else is first in its queue.
   *
   * @param remainingMillis how long the first ticket is good unless it is asked for again
   * @return the answer
   */
  public static NodeReply waiting(long remainingMillis) {
    return new NodeReply(Kind.WAIT, 0, remainingMillis, "");
  }

  /**
   * The token is not above the node's counter.
   *
   * @param fence the node's counter
   * @return the answer
   */
  public static NodeReply stale(long fence) {
    return new NodeReply(Kind.STALE, fence, -1, "");
  }

  /**
   * The node lost its past and abstains.
   *
   * @param remainingMillis for how much longer; −1 if unknown
   * @param detail why
   * @return the answer
   */
  public static NodeReply abstain(long remainingMillis, String detail) {
    return new NodeReply(Kind.ABSTAIN, 0, remainingMillis, detail);
  }

  /**
   * Nobody knows whether the request was executed.
   *
   * @param detail what happened
   * @return the answer
   */
  public static NodeReply unknown(String detail) {
    return of(Kind.UNKNOWN, detail);
  }

  /**
   * The request was certainly not executed.
   *
   * @param detail why
   * @return the answer
   */
  public static NodeReply unreachable(String detail) {
    return of(Kind.UNREACHABLE, detail);
  }

  /**
   * The node must be fixed before it can take part.
   *
   * @param detail the reason and, where it can be told, the fix
   * @return the answer
   */
  public static NodeReply misconfigured(String detail) {
    return of(Kind.MISCONFIGURED, detail);
  }
}
