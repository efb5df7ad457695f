package io.redlock;

import org.jspecify.annotations.Nullable;

/**
 * Work that is done under a lease and returns a result.
 *
 * @param <T> the type of the result
 * @param <E> the checked exception that the work throws; {@link RuntimeException} if none
 */
@FunctionalInterface
public interface LeasedCallable<T extends @Nullable Object, E extends Exception> {

  /**
   * Does the work.
   *
   * @param lease the lease: check it before every write, and send its token with the write
   * @return the result; null is passed on like any other
   * @throws E passed on unchanged to the caller of {@link Redlock#callLeased}
   */
  T call(Lease lease) throws E;
}
