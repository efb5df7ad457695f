package io.redlock;

/**
 * Work that is done under a lease and returns nothing.
 *
 * @param <E> the checked exception that the work throws; {@link RuntimeException} if none
 */
@FunctionalInterface
public interface LeasedRunnable<E extends Exception> {

  /**
   * Does the work.
   *
   * @param lease the lease: check it before every write, and send its token with the write
   * @throws E passed on unchanged to the caller of {@link Redlock#runLeased}
   */
  void run(Lease lease) throws E;
}
