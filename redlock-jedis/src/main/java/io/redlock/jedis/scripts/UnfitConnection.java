package io.redlock.jedis.scripts;

import redis.clients.jedis.exceptions.JedisException;

/** A connection that works and must not be used: the operator has something to fix. */
public final class UnfitConnection extends JedisException {

  private static final long serialVersionUID = 1;

  /**
   * @param reason what is wrong, and the fix
   */
  public UnfitConnection(String reason) {
    super(reason);
  }
}
