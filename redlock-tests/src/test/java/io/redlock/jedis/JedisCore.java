package io.redlock.jedis;

import io.redlock.driver.RedlockBuilder;

/** What tests of whole lock services need to know of this package. */
public final class JedisCore {

  private JedisCore() {}

  /** Returns the builder of the core, which has settings that users have not. */
  public static RedlockBuilder of(JedisRedlock.Builder builder) {
    return builder.core();
  }
}
