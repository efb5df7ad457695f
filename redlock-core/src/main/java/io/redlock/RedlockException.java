package io.redlock;

/** A failure of a lock that a correct program has to expect. */
public class RedlockException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates an exception with a message.
   *
   * @param message what went wrong
   */
  protected RedlockException(String message) {
    super(message);
  }
}
