package io.redlock.spi;

import io.redlock.text.Brief;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A request to one node, which executes it once, atomically, in one round trip. The names are
 * complete key names: at least one, distinct, the same list in every request of one owner. With
 * several names the node does all or nothing.
 */
public sealed interface NodeRequest {

  /** Returns the request without the owner id, with which anybody could release the lock. */
  private static String text(NodeRequest request) {
    return request.getClass().getSimpleName()
        + " "
        + Brief.names(request.names())
        + ", token "
        + request.token()
        + HolderLabel.by(request.owner());
  }

  /** Returns the lock keys: prefix and resource, joined. */
  List<String> names();

  /** Returns the random value that signs one attempt; empty if the request holds nothing. */
  default String owner() {
    return "";
  }

  /** Returns the fencing token: microseconds since the epoch, or slightly ahead of them. */
  long token();

  /**
   * Returns true if it is for a shared lease, for reading: then it has exactly one name, and
   * readers do not refuse each other.
   */
  default boolean shared() {
    return false;
  }

  /** Returns the life that its keys are to have, in milliseconds; 0 if it sets none. */
  default long ttlMillis() {
    return 0;
  }

  /** Returns the highest counter that a node has reported to this owner, 0 for none. */
  default long reported() {
    return 0;
  }

  /** Returns the time of sending by the nodes' median clock; 0 if it does not matter. */
  default long sentMicros() {
    return 0;
  }

  /** Returns the caller's ticket; null if it has none. */
  default @Nullable Ticket ticket() {
    return null;
  }

  /**
   * A waiter's place in the queue of a name: first come, first served.
   *
   * @param client the id to wake when the waiter comes first: the same in all requests of one lock
   *     service, and used by no other
   * @param number the number of the waiter among those of the client; it keeps it over all attempts
   * @param micros the time at which it came: the token of its first attempt, in microseconds since
   *     the epoch
   * @param lifeMillis how long the node keeps the ticket unless the waiter asks again; zero to
   *     respect the queue without joining it
   * @param shared true if it waits to read: then it waits for writers only
   */
  record Ticket(String client, long number, long micros, long lifeMillis, boolean shared) {

    /** Returns the id of the waiter, unique among all clients: {@code client:07} if it reads. */
    public String waiter() {
      return client + (shared ? ":0" : ":") + number; // S7
    }

    /**
     * Returns true if this waiter waits to read.
     *
     * @param waiter a {@link #waiter()}
     */
    public static boolean reads(String waiter) {
      int digits = waiter.lastIndexOf(':') + 1;
      return digits + 1 < waiter.length() && waiter.charAt(digits) == '0';
    }
  }

  /**
   * Locks the names for this owner if they are free and their counters are below the token, or if
   * this owner already holds them at this token or a lower one.
   *
   * @param names the lock keys; with a ticket exactly one
   * @param owner the owner
   * @param token the fencing token proposed
   * @param reported the highest counter that a node has reported to this owner, 0 for none; a token
   *     of one more is accepted, however far ahead of the clocks
   * @param ttlMillis the life of the keys, in milliseconds
   * @param ticket if given, the node grants the name only to the lowest ticket that has not
   *     expired. It keeps the ticket when it grants, and when it refuses because the name is held
   *     or others are first. Null bypasses the queue; a reader waits for writers' tickets even so
   * @param sentMicros of a reader: the time of sending, as of an {@link Extend}; 0 for an exclusive
   *     lease. The token of a reader must be above those of writers only
   */
  record Grant(
      List<String> names,
      String owner,
      long token,
      long reported,
      long ttlMillis,
      @Nullable Ticket ticket,
      long sentMicros)
      implements NodeRequest {

    /**
     * Creates an exclusive grant that bypasses the queue, at a token that comes from the clock, not
     * from a reported counter.
     */
    public Grant(List<String> names, String owner, long token, long ttlMillis) {
      this(names, owner, token, 0, ttlMillis, null, 0);
    }

    @Override
    public boolean shared() {
      return sentMicros > 0;
    }

    /** Names no owner id. */
    @Override
    public String toString() {
      return text(this);
    }
  }

  /**
   * Extends the keys of this owner. Joins where a name is free and its counter is below the token:
   * then nobody has locked it since.
   *
   * @param names the lock keys
   * @param owner the owner
   * @param token the lease's fencing token, which a quorum has granted
   * @param ttlMillis the life of the keys from now, in milliseconds; never shortens
   * @param sentMicros the time of sending by the nodes' median clock, in microseconds since the
   *     epoch: a request much older than its ttl does not join
   * @param shared true for a reader, which joins unless a writer has come since
   */
  record Extend(
      List<String> names, String owner, long token, long ttlMillis, long sentMicros, boolean shared)
      implements NodeRequest {

    /** Names no owner id. */
    @Override
    public String toString() {
      return text(this);
    }
  }

  /**
   * Deletes the keys of this owner and sets a tombstone: the node raises its counter to the token,
   * so that it refuses a delayed grant or extend of the same owner. The tombstone of a reader
   * concerns its owner id only, and leaves the counter as it is. Wakes the first waiter in the
   * queue of a name that has become free, unless that is the caller, who goes on anyway.
   *
   * @param names the lock keys
   * @param owner the owner whose keys to delete
   * @param token the highest token this owner has used
   * @param reported the highest counter that a node has reported to this owner, 0 for none
   * @param last true if no request of the caller follows: then the ticket is removed
   * @param ticket the caller's ticket; null if it has none
   * @param sharedTtlMillis of a reader: the longest ttl that it has asked for, in milliseconds; 0
   *     for an exclusive lease
   */
  record Release(
      List<String> names,
      String owner,
      long token,
      long reported,
      boolean last,
      @Nullable Ticket ticket,
      long sharedTtlMillis)
      implements NodeRequest {

    @Override
    public boolean shared() {
      return sharedTtlMillis > 0;
    }

    @Override
    public long ttlMillis() {
      return sharedTtlMillis;
    }

    /** Names no owner id. */
    @Override
    public String toString() {
      return text(this);
    }
  }

  /**
   * Sets a name free, for an operator: replaces the holder's value by a reserved one, and keeps the
   * life of the key. The holder can extend nothing more there, and nobody is granted the name
   * earlier than without this request. However late it is executed, it does not hit a later holder.
   *
   * @param names the lock key, exactly one
   * @param owner the reserved value: {@link HolderLabel#freed}
   * @param token a number that the answer repeats
   * @param buried a counter that a node has reported: the node raises its own to it, so that a
   *     holder with that token or a lower one cannot join; 0 for none
   * @param seen the values that may be replaced, as nodes {@linkplain NodeReport#owner() reported}
   *     them
   */
  record Free(List<String> names, String owner, long token, long buried, List<String> seen)
      implements NodeRequest {

    /** Copies the list. */
    public Free {
      seen = List.copyOf(seen);
    }

    /** Names no owner id. */
    @Override
    public String toString() {
      return text(this);
    }
  }

  /**
   * Removes a ticket where there is nothing to release. If the name is free, the node wakes the
   * waiter that is then first in the queue.
   *
   * @param names the lock key
   * @param ticket the ticket to remove
   */
  record RemoveTicket(List<String> names, Ticket ticket) implements NodeRequest {

    /** Returns the waiter, which holds nothing under this name. */
    @Override
    public String owner() {
      return ticket.waiter();
    }

    /** Returns zero, which is below every token. */
    @Override
    public long token() {
      return 0;
    }
  }

  /**
   * Asks which of several names are held. Changes nothing, so requests that are sent later may
   * overtake it.
   *
   * @param names the lock keys, at most {@link #MOST_NAMES}
   * @param token a number that the answer repeats
   */
  record Look(List<String> names, long token) implements NodeRequest {

    /** The largest number of names: a node answers nothing else meanwhile. */
    public static final int MOST_NAMES = 100;
  }

  /**
   * Asks for the state of a name. Changes nothing, so requests that are sent later may overtake it.
   *
   * @param names the lock key: exactly one
   * @param token a number that the answer repeats
   */
  record Inspect(List<String> names, long token) implements NodeRequest {}
}
