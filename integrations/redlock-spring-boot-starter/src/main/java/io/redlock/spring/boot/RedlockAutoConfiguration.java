package io.redlock.spring.boot;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.jedis.JedisRedlock;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import redis.clients.jedis.JedisClientConfig;

/**
 * The lock service, unless the application has one of its own. Spring closes it after the beans
 * that use it, after the web server, and after scheduled tasks.
 */
@AutoConfiguration
@ConditionalOnMissingBean(Redlock.class)
@EnableConfigurationProperties(RedlockProperties.class)
public class RedlockAutoConfiguration {

  /** Creates the configuration; called by Spring. */
  RedlockAutoConfiguration() {}

  @Bean(destroyMethod = "close")
  Redlock redlock(
      RedlockProperties properties,
      ObjectProvider<JedisClientConfig> clientConfig,
      ObjectProvider<RetryStrategy> retryStrategy,
      ObjectProvider<RedlockListener> listeners,
      ObjectProvider<RedlockBuilderCustomizer> customizers) {
    JedisRedlock.Builder builder = JedisRedlock.builder();
    properties.applyTo(builder);
    clientConfig.ifUnique(builder::clientConfig);
    retryStrategy.ifUnique(builder::retryStrategy);
    listeners.orderedStream().forEach(builder::listener);
    customizers.orderedStream().forEach(customizer -> customizer.customize(builder));
    try {
      return builder.build();
    } catch (IllegalArgumentException e) {
      throw new InvalidSettingsException(e);
    }
  }
}
