package io.redlock;

import java.time.Duration;
import java.util.Set;

/**
 * The state of a held lease at one moment. It does not refer to the lease. Implemented by this
 * project only: methods may be added.
 */
public interface LeaseStatus {

  /** Returns the resources, in alphabetical order. */
  Set<String> resources();

  /** Returns the fencing token. */
  long fencingToken();

  /**
   * Returns the token that the masters have, and an inspection shows: higher than {@link
   * #fencingToken} if the lease was passed on to this holder, or may be to the next.
   */
  long mastersToken();

  /** Returns the time since the lease was acquired. */
  Duration heldFor();

  /** Returns the time for which it is still valid unless it is extended. */
  Duration remaining();

  /** Returns true if others may hold {@linkplain LeaseRequest#shared shared} leases beside it. */
  boolean shared();

  /** Returns true if it is being renewed. */
  boolean renewed();

  /**
   * Returns the number of unlocks that release it: more than one if a {@link LeaseLock} was locked
   * again by its thread.
   */
  int holds();
}
