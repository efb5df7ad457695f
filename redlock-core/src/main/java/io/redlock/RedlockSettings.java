package io.redlock;

import java.time.Duration;
import java.util.concurrent.Executor;

/**
 * The settings that every lock service has, however it reaches its masters. Each has a default. Not
 * thread-safe. Implemented by the builders of this project only: methods may be added.
 */
public interface RedlockSettings {

  /**
   * Sets how long a round waits for its nodes. The answer of a slower node does not count; what the
   * node granted is released. A node that answers nothing for that long is not asked again until it
   * answers.
   *
   * @param nodeTimeout from 1 ms, below half of any ttl; default 50 ms
   * @return this
   */
  RedlockSettings nodeTimeout(Duration nodeTimeout);

  /**
   * Sets the upper bound of every ttl. It must be the same for all clients of a deployment: a
   * master that lost its data abstains for the longest. Use renewal to hold a lock for longer.
   *
   * @param maxTtl from 10 ms to an hour; default 30 s
   * @return this
   */
  RedlockSettings maxTtl(Duration maxTtl);

  /**
   * Sets the drift allowance: how much a node's clock may gain on this machine's in each second of
   * a lease.
   *
   * @param driftPerSecond from zero to 499 ms; default 10 ms, which is 1 %
   * @return this
   */
  RedlockSettings driftPerSecond(Duration driftPerSecond);

  /**
   * Sets the largest difference between node clocks. It must be the same for all clients of a
   * deployment.
   *
   * @param clockSkew from 1 ms to 10 min; default 2 s
   * @return this
   */
  RedlockSettings clockSkew(Duration clockSkew);

  /**
   * Sets how long before its deadline a lease is declared lost, so that its holder can stop in
   * time.
   *
   * @param lossMargin not negative; with the drift allowance and {@link #minValidity} less than
   *     every ttl; default a tenth of the lease's ttl
   * @return this
   */
  RedlockSettings lossMargin(Duration lossMargin);

  /**
   * Sets the shortest validity of a lease when it is acquired or extended. With less time left, the
   * acquire was too slow, and the result of the extension is {@link ExtendResult.Outcome#UNKNOWN}.
   *
   * @param minValidity not negative; with the drift allowance and {@link #lossMargin} less than
   *     every ttl; default zero
   * @return this
   */
  RedlockSettings minValidity(Duration minValidity);

  /**
   * Sets the prefix of every key, for example {@code "myapp:lock:"}. It must be the same for all
   * clients of a deployment.
   *
   * @param keyPrefix anything that does not begin with {@code redlock:}; with the name of a
   *     resource at most 512 bytes in UTF-8; default empty
   * @return this
   */
  RedlockSettings keyPrefix(String keyPrefix);

  /**
   * Sets the label of this client, which names it to operators and to the callers that it keeps
   * waiting: in refusals, on the nodes, and in inspections. Choose one for each process, for
   * example {@code billing@pod-7:4211}. It is no secret.
   *
   * @param holder 1 to 64 printable ASCII characters, neither blanks nor slashes, not {@code freed}
   *     or {@code shared}; default the host and the process id over Redis, a number over masters in
   *     memory
   * @return this
   */
  RedlockSettings holder(String holder);

  /**
   * Sets how long waiting calls pause between two attempts.
   *
   * @param retryStrategy default {@link RetryStrategy#jitteredBackoff()}
   * @return this
   */
  RedlockSettings retryStrategy(RetryStrategy retryStrategy);

  /**
   * Adds a listener for lease and node events.
   *
   * @param listener called on the callback executor, except for {@link RedlockListener#onStart} and
   *     {@link RedlockListener#onCall}, which run on the calling thread
   * @return this
   */
  RedlockSettings listener(RedlockListener listener);

  /**
   * Sets the executor of user code: dependents of futures, {@link Lease#ended()}, the listener.
   *
   * <p>By default each lock service has daemon threads for it, which start when they are needed and
   * end when they are idle. Losses, that is {@link Lease#ended()} and {@link RedlockListener#onEnd}
   * of a lost lease, have up to four threads of their own; everything else has up to four, and each
   * listener one more, so that no result waits for a listener. One that waits for 10 ms (for a
   * future, a lock, or a time) is replaced meanwhile, up to 256. User code that blocks therefore
   * delays no lease and no timer. It delays the report of a loss only if it keeps the threads of
   * losses busy. What runs for longer than a ttl is named in the log.
   *
   * <p>With an executor, the same threads hand it the tasks, so it may block, or run them on the
   * calling thread. A task that it refuses runs on the thread that handed it over. An executor
   * whose threads are all busy delays every callback, the report of a loss too.
   *
   * @param callbackExecutor default the threads of the lock service
   * @return this
   */
  RedlockSettings callbackExecutor(Executor callbackExecutor);
}
