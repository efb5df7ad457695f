package io.redlock.jedis.scripts;

import redis.clients.jedis.exceptions.JedisException;

/** Thrown for a connection that works but must not be used until an operator fixes it. */
public final class UnfitConnection extends JedisException {

  private static final long serialVersionUID = 1;

  /**
   * @param reason the fault, and the fix
   */
  public UnfitConnection(String reason) {
    super(reason);
  }
}
