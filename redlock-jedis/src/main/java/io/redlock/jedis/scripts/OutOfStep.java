package io.redlock.jedis.scripts;

import java.io.IOException;

/** Thrown when a server sends what is no reply, or announces a size that no reply has. */
public final class OutOfStep extends IOException {

  private static final long serialVersionUID = 1;

  /**
   * @param what the part of the reply that is wrong
   * @param replies the replies of the connection before it
   */
  public OutOfStep(String what, long replies) {
    super("out of step: " + what + " after " + replies + " replies of this connection");
  }
}
