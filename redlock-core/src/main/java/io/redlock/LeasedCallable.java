package io.redlock;

/**
 * What to do under a lease.
 *
 * @param <T> what comes of it
 */
@FunctionalInterface
public interface LeasedCallable<T> {

  /**
   * Does the work.
   *
   * @param lease the lease it is done under: check it before, and send its token with, every write
   * @return what came of it
   * @throws Exception whatever went wrong; the caller gets it as it is
   */
  T call(Lease lease) throws Exception;
}
