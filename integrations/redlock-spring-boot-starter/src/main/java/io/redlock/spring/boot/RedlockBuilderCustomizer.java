package io.redlock.spring.boot;

import io.redlock.jedis.JedisRedlock;

/**
 * A bean that changes the builder of the lock service, after the properties: for what has no
 * property, such as an executor or a pool.
 */
@FunctionalInterface
public interface RedlockBuilderCustomizer {

  /**
   * Changes the builder.
   *
   * @param builder the builder of the {@code Redlock} bean
   */
  void customize(JedisRedlock.Builder builder);
}
