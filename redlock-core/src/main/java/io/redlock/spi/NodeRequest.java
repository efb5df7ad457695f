package io.redlock.spi;

import java.util.List;

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
   * Lock the names for this owner if they are free and their counters are below the token, or if
   * this owner holds them already at this token or a lower one.
   *
   * @param names the lock keys
   * @param owner who asks
   * @param token the fencing token proposed
   * @param ttlMillis how long the keys shall live, in milliseconds
   */
  record Grant(List<String> names, String owner, long token, long ttlMillis)
      implements NodeRequest {}

  /**
   * Lengthen what this owner holds; where a name is free and was untouched by anybody later, take
   * part in the lease again.
   *
   * @param names the lock keys
   * @param owner who asks
   * @param token the lease's fencing token
   * @param ttlMillis how long the keys shall live from now, in milliseconds; never shortens
   * @param sentMicros when the request was sent, by the median clock of the nodes, in microseconds
   *     since the epoch: a request much older than its ttl does not join
   */
  record Extend(List<String> names, String owner, long token, long ttlMillis, long sentMicros)
      implements NodeRequest {}

  /**
   * Delete what this owner holds and bury its token, so that a grant or extend of the same owner
   * that is executed later is refused.
   *
   * @param names the lock keys
   * @param owner whose keys to delete
   * @param token the highest token this owner has used
   */
  record Release(List<String> names, String owner, long token) implements NodeRequest {}
}
