package io.redlock.spi;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a node is asked to do, once, atomically, in one round trip. The names are complete key
 * names, at least one, distinct, the same list in every request of one owner; with more than one
 * the node does all or nothing.
 */
public sealed interface NodeRequest {

  /** The lock keys: prefix and resource, joined. */
  List<String> names();

  /** The random value that signs one attempt. */
  String owner();

  /** The fencing token, microseconds since the epoch or slightly ahead of them. */
  long token();

  /**
   * A waiter's place in the queue of a name: first come, first served.
   *
   * @param client who is woken when the waiter comes first: the same in all requests of one lock
   *     service, and nobody else's
   * @param number which waiter of this client; it keeps its number over all its attempts
   * @param micros when it came: the token of its first attempt, microseconds since the epoch
   * @param lifeMillis how long the node keeps the place unless it is asked for again; zero to
   *     respect the queue without joining it
   */
  record Ticket(String client, long number, long micros, long lifeMillis) {

    /** The waiter: unique among all clients. */
    public String waiter() {
      return client + ":" + number;
    }
  }

  /**
   * Lock the names for this owner if they are free and their counters are below the token, or if
   * this owner holds them already at this token or a lower one.
   *
   * @param names the lock keys; with a ticket exactly one
   * @param owner who asks
   * @param token the fencing token proposed
   * @param reported the highest counter that a node has reported to this owner, 0 for none: its
   *     successor is accepted however far the clocks are behind it
   * @param ttlMillis how long the keys shall live, in milliseconds
   * @param ticket with one, the name is only granted to whoever has the lowest ticket that has not
   *     run out, and the ticket stays with the node, whether it grants or says that the name is
   *     taken or others are first; null passes the queue by
   */
  record Grant(
      List<String> names,
      String owner,
      long token,
      long reported,
      long ttlMillis,
      @Nullable Ticket ticket)
      implements NodeRequest {

    /** A grant at a token that is told by the clock. */
    public Grant(
        List<String> names, String owner, long token, long ttlMillis, @Nullable Ticket ticket) {
      this(names, owner, token, 0, ttlMillis, ticket);
    }

    /** The same, which passes the queue by. */
    public Grant(List<String> names, String owner, long token, long ttlMillis) {
      this(names, owner, token, ttlMillis, null);
    }
  }

  /**
   * Lengthen what this owner holds; where a name is free and was untouched by anybody later, take
   * part in the lease again.
   *
   * @param names the lock keys
   * @param owner who asks
   * @param token the lease's fencing token, which a quorum has granted
   * @param ttlMillis how long the keys shall live from now, in milliseconds; never shortens
   * @param sentMicros when the request was sent, by the median clock of the nodes, in microseconds
   *     since the epoch: a request much older than its ttl does not join
   */
  record Extend(List<String> names, String owner, long token, long ttlMillis, long sentMicros)
      implements NodeRequest {}

  /**
   * Delete what this owner holds and bury its token, so that a grant or extend of the same owner
   * that is executed later is refused. Whoever is first in the queue of a name that has become free
   * is woken, unless it is the caller, who goes on by himself.
   *
   * @param names the lock keys
   * @param owner whose keys to delete
   * @param token the highest token this owner has used
   * @param reported the highest counter that a node has reported to this owner, 0 for none
   * @param last whether nothing follows: then the ticket is taken back
   * @param ticket the caller's ticket; null if it has none
   */
  record Release(
      List<String> names,
      String owner,
      long token,
      long reported,
      boolean last,
      @Nullable Ticket ticket)
      implements NodeRequest {

    /** The release of a token that was told by the clock. */
    public Release(
        List<String> names, String owner, long token, boolean last, @Nullable Ticket ticket) {
      this(names, owner, token, 0, last, ticket);
    }

    /** The release of a failed attempt whose caller has no ticket. */
    public Release(List<String> names, String owner, long token) {
      this(names, owner, token, false, null);
    }
  }

  /**
   * Take a ticket back where there is nothing to release; whoever is first in the queue then is
   * woken if the name is free.
   *
   * @param names the lock key
   * @param ticket whose place is given up
   */
  record Withdraw(List<String> names, Ticket ticket) implements NodeRequest {

    /** The waiter: it holds nothing under this name. */
    @Override
    public String owner() {
      return ticket.waiter();
    }

    /** Below every token. */
    @Override
    public long token() {
      return 0;
    }
  }
}
