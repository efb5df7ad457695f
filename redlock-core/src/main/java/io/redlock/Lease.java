package io.redlock;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * A right to a resource, limited in time. A handle: any thread may use it and release it. It ends
 * exactly once, released or lost, and never comes back.
 *
 * <p>A lease is lost, and says so, a margin <i>before</i> the time at which nodes may grant the
 * resource to somebody else, so that a holder that listens has time to stop. {@link #isValid()},
 * {@link #remaining()} and {@link #ensureValid} are local arithmetic on both the monotonic and the
 * wall clock, right also in the first call after a long pause. They cannot tell what happens a
 * moment later: where an action must not come late, the resource checks {@link #fencingToken()}.
 */
public interface Lease extends AutoCloseable {

  /** What is locked. */
  Set<String> resources();

  /**
   * A number above that of every lease on the same resource that was acquired before this one was
   * begun. Send it with every write and let the resource refuse a write whose token is lower than
   * the highest it has seen, storing the highest in the same step.
   */
  long fencingToken();

  /**
   * How long the lease may still be relied upon unless it is extended: until it would be declared
   * lost. Zero once it has ended.
   */
  Duration remaining();

  /** Whether the lease has neither ended nor come within the loss margin of its deadline. */
  boolean isValid();

  /**
   * Returns if the lease may be relied upon for at least this long.
   *
   * @param atLeast zero, or less, for "now"
   * @throws LeaseLostException if it may not; the lease itself goes on unless it has ended
   */
  void ensureValid(Duration atLeast);

  /**
   * Asks the nodes to hold the lease for {@code ttl} from now. Nodes that had lost it, or never had
   * it, take part again unless somebody else has touched the resource there. Never shortens a
   * lease, never lengthens it on an uncertain answer, never revives a lost one.
   *
   * @param ttl from now; in the range of {@link LeaseRequest#of}
   * @return what came of it, after at most one node timeout
   * @throws InterruptedException if the thread was interrupted; the extension may still happen
   * @throws IllegalArgumentException if ttl is out of range; the lease is unchanged
   * @throws IllegalStateException if the lease was released
   */
  ExtendResult extend(Duration ttl) throws InterruptedException;

  /**
   * The same without a thread. Cancelling the future does not undo the extension.
   *
   * @param ttl from now; in the range of {@link LeaseRequest#of}
   * @return the result to come, completed on the callback executor
   * @throws IllegalArgumentException if ttl is out of range; the lease is unchanged
   * @throws IllegalStateException if the lease was released
   */
  CompletableFuture<ExtendResult> extendAsync(Duration ttl);

  /**
   * Ends the lease and deletes it on the nodes. From the call on it is not valid. Waits for a
   * majority at most one node timeout; nodes that did not acknowledge are told again in the
   * background until they do or the key has run out. Releasing a released lease only reports. A
   * lost lease is released by itself when its deadline has passed; releasing it says that its
   * holder has stopped, and frees the resource at once.
   *
   * @return whether a majority confirmed
   * @throws InterruptedException if the thread was interrupted while it waited; the release goes on
   */
  ReleaseResult release() throws InterruptedException;

  /**
   * The same without a thread. Cancelling the future does not stop the release.
   *
   * @return the result to come, completed on the callback executor
   */
  CompletableFuture<ReleaseResult> releaseAsync();

  /**
   * Completes when the lease has ended, exactly once, on the callback executor: with {@link
   * LeaseEnd.Cause#RELEASED} or with the reason why it was lost. By default a loss comes on a
   * thread that no other work can hold up. A dependent that throws or blocks delays only callbacks
   * queued behind it.
   */
  CompletionStage<LeaseEnd> ended();

  /** Releases in the background. Never throws, never waits. */
  @Override
  void close();
}
