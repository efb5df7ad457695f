package io.redlock;

/** What can go wrong with a lock although the program is right. */
public class RedlockException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * An exception with a message.
   *
   * @param message what went wrong
   */
  protected RedlockException(String message) {
    super(message);
  }
}
