package io.redlock;

import io.redlock.text.Brief;
import java.time.Duration;
import java.util.Set;

/**
 * The calls of one {@link Redlock} that wait for the same resources.
 *
 * @param resources the resources, as {@link LeaseRequest#resources}
 * @param calls the number of calls, at least one
 * @param longest the longest time since the start of one of them
 */
public record WaitStatus(Set<String> resources, int calls, Duration longest) {

  /**
   * Returns this and other calls for the same resources together.
   *
   * @param other the other calls
   * @return the sum of the calls, and the longest wait
   */
  public WaitStatus and(WaitStatus other) {
    return new WaitStatus(
        resources,
        calls + other.calls,
        longest.compareTo(other.longest) > 0 ? longest : other.longest);
  }

  /** For example {@code orders/42, 17 calls, longest 3.2s}. */
  @Override
  public String toString() {
    return Brief.names(resources) + ", " + calls + " calls, longest " + Brief.duration(longest);
  }
}
