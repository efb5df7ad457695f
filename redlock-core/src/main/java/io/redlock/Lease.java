package io.redlock;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A right to one or more resources, limited in time. A handle: any thread may use it and release
 * it. It ends exactly once, released or lost, and never becomes valid again. Thread-safe.
 * Implemented by this project only: methods may be added.
 *
 * <p>A lease is declared lost a margin <i>before</i> the nodes may grant the resource to somebody
 * else, so that a holder that listens has time to stop. {@link #isValid()}, {@link #remaining()}
 * and {@link #ensureValid} are local arithmetic on the monotonic and the wall clock. They are right
 * in the first call after a long pause, too. They cannot tell what happens a moment later: where an
 * action must not come late, the resource checks {@link #fencingToken()}.
 */
public interface Lease extends AutoCloseable {

  /** Returns the locked names, in alphabetical order. */
  Set<String> resources();

  /**
   * Returns the locked name: of a lease on one name, also on any one of several.
   *
   * @return the only element of {@link #resources()}
   * @throws IllegalStateException if the lease is on several names
   */
  default String resource() {
    if (resources().size() != 1) {
      throw new IllegalStateException(
          "this lease is on " + resources().size() + " names: call resources()");
    }
    return resources().iterator().next();
  }

  /** Returns true if others may hold {@linkplain LeaseRequest#shared shared} leases beside it. */
  boolean isShared();

  /**
   * Returns a number above that of every lease on the same resource that was acquired before this
   * one was requested; of a {@linkplain LeaseRequest#shared shared} lease, above those of exclusive
   * ones only. Unique in any case; of a lease that was passed on inside a process that order holds
   * while clocks and data can be trusted. Send it with every write. The resource stores the highest
   * token it has seen and, in the same step, refuses a write with a lower one.
   */
  long fencingToken();

  /**
   * Returns the time until the lease is declared lost unless it is extended. Zero once it has
   * ended.
   */
  Duration remaining();

  /** Returns true until the lease ends or comes within the loss margin of its deadline. */
  boolean isValid();

  /**
   * Returns if the lease is valid for at least this long, and throws otherwise.
   *
   * @param atLeast the time that the caller needs; zero or less for now
   * @throws LeaseLostException if the lease has ended or its time has come
   * @throws LeaseTooShortException if the lease is valid, but for less than {@code atLeast}
   * @throws NullPointerException if the argument is null
   */
  void ensureValid(Duration atLeast);

  /**
   * Asks the nodes to hold the lease for {@code ttl} from now. Nodes that lost it, or never had it,
   * join again unless somebody else has locked the resource there since. Never shortens a lease,
   * never lengthens it on an uncertain answer, never revives a lost one: returns {@link
   * ExtendResult.Outcome#LOST} without asking a node if the lease has been lost, also by {@link
   * Redlock#close}. Does not change the times of renewal.
   *
   * @param ttl the time from now; range as in {@link LeaseRequest#of}
   * @return the result, after at most one node timeout
   * @throws InterruptedException if the thread was interrupted; the extension may still happen
   * @throws NullPointerException if the ttl is null
   * @throws IllegalArgumentException if the ttl is out of range; the lease is unchanged
   * @throws IllegalStateException if the lease was released
   */
  ExtendResult extend(Duration ttl) throws InterruptedException;

  /**
   * Extends without a thread. Cancelling the future does not undo the extension.
   *
   * @param ttl the time from now; range as in {@link LeaseRequest#of}
   * @return the future result, completed on the callback executor
   * @throws NullPointerException if the ttl is null
   * @throws IllegalArgumentException if the ttl is out of range; the lease is unchanged
   * @throws IllegalStateException if the lease was released
   */
  CompletableFuture<ExtendResult> extendAsync(Duration ttl);

  /**
   * Ends the lease and deletes its keys on the nodes. The lease is invalid from the call on. Waits
   * for a majority, at most one node timeout, which begins anew while nodes answer earlier requests
   * of a burst, until no key can be left. Nodes that did not acknowledge are asked again in the
   * background until they do, or until the key has expired. Releasing a released lease returns the
   * same result again. A lost lease releases its keys by itself when its deadline has passed;
   * releasing it before says that its holder has stopped, frees the resource at once, and returns
   * the result for its keys. A lease that {@link Redlock#close} ended can no longer be released:
   * the result is {@link ReleaseResult#UNCONFIRMED}, and its keys expire.
   *
   * @return the answer of the nodes
   * @throws InterruptedException if the thread was interrupted while it waited; the release goes on
   */
  ReleaseResult release() throws InterruptedException;

  /**
   * Releases without a thread. Cancelling the future does not stop the release.
   *
   * @return the future result, completed on the callback executor
   */
  CompletableFuture<ReleaseResult> releaseAsync();

  /**
   * Returns a stage that completes on the callback executor when the lease has ended, exactly once:
   * with {@link LeaseEnd.Cause#RELEASED} or with the reason of the loss. By default a loss is
   * reported on a thread that no other work can hold up. A dependent that throws or blocks delays
   * only callbacks queued behind it.
   */
  CompletionStage<LeaseEnd> ended();

  /** Releases in the background. Never throws, never waits. */
  @Override
  void close();
}
