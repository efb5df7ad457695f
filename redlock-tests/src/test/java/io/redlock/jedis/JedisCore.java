package io.redlock.jedis;

import io.redlock.driver.RedlockBuilder;
import java.util.function.Consumer;

/** What tests of whole lock services need to know of this package. */
public final class JedisCore {

  private JedisCore() {}

  /** Sets what only the core's builder knows. */
  public static JedisRedlock.Builder with(
      JedisRedlock.Builder builder, Consumer<RedlockBuilder> setting) {
    return builder.core(setting);
  }
}
