package io.redlock;

/** A lease has ended, or does not last as long as was asked. */
public final class LeaseLostException extends RedlockException {

  private static final long serialVersionUID = 1L;

  /**
   * An exception with a message.
   *
   * @param message which lease, and why
   */
  public LeaseLostException(String message) {
    super(message);
  }
}
