package io.redlock;

import java.util.Optional;

/**
 * A candidate for leadership: it campaigns until it is closed, and leads one term at a time. A term
 * is a {@link Lease} on one resource, renewed while it lasts. {@link Redlock#lead} starts the
 * candidate.
 *
 * <p><b>A term.</b> Once the lease is acquired, the work starts, on a daemon thread of its own. The
 * term ends when the work ends, or when it is asked to stop: because the lease is lost or the work
 * has released it, by {@link #resign}, or by {@link #close}. To ask, this object interrupts the
 * thread of the work. If the lease is lost, that happens a loss margin before the nodes may grant
 * it to somebody else. Unless the work itself releases the lease, it is released when the work has
 * ended, never before: work that ignores the interrupt keeps a lease that is not lost.
 *
 * <p><b>The next term.</b> A third of a ttl after a term, it campaigns again. Candidates queue: the
 * one that has waited longest leads next. All of them must use {@link Redlock#lead}, or {@link
 * LeaseRequest#fair}.
 *
 * <p><b>What is promised.</b> Terms of one resource do not overlap, under the assumptions of {@link
 * Redlock}, and each has a higher fencing token than the terms before it. Between two leaders
 * nobody leads: after a crash, for at most the ttl and what acquiring takes.
 *
 * <p><b>What is not promised.</b> A paused process learns late that its term is over. Work that
 * must not act late sends its {@linkplain Lease#fencingToken() token} with every write.
 *
 * <p>Thread-safe. No thread while it does not lead. Implemented by this project only: methods may
 * be added.
 */
public interface Leadership extends AutoCloseable {

  /** The work of a leader, which one thread runs in each term. */
  @FunctionalInterface
  interface Work {

    /**
     * Works until the term is over. Must end when its thread is interrupted.
     *
     * @param lease the lease of this term
     * @param leadership the candidate that leads: to resign, or to be no candidate any longer
     * @throws Exception ends the term as a return does, and is logged
     */
    void run(Lease lease, Leadership leadership) throws Exception;
  }

  /** Returns the name that is led. */
  String resource();

  /**
   * Returns true while its work runs under a valid lease and has not been asked to stop. A local
   * look: sends nothing.
   */
  boolean isLeader();

  /**
   * Returns the label of the client that leads, as far as this candidate knows: its own, or the one
   * that its last request was refused for. A local look: sends nothing.
   *
   * @return the label; {@code freed by} and the label of the operator if the lease was set free;
   *     empty if it knows of no leader, or if the leader has no label
   */
  Optional<String> leader();

  /**
   * Asks the work to stop, so that another candidate leads. Campaigns again when the work has
   * ended, behind the candidates that wait by then. Does nothing unless it leads. Does not wait.
   */
  void resign();

  /**
   * Ends the candidature. Asks the work to stop, and waits until it has ended and its lease is
   * released, at most a ttl and a node timeout, or until the {@link Redlock} is closed. An
   * interrupt ends that wait; it is set again on return. Called by the work itself, it does not
   * wait. Work that goes on regardless keeps its lease. Never throws. Repeated calls wait again.
   */
  @Override
  void close();
}
