package io.redlock.spring.boot;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.jedis.JedisRedlock;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import redis.clients.jedis.JedisClientConfig;

/**
 * The lock service, unless the application has one of its own. Spring closes it after the beans
 * that use it, after the web server, and after scheduled tasks.
 */
@AutoConfiguration
@ConditionalOnMissingBean(Redlock.class)
@EnableConfigurationProperties(RedlockProperties.class)
public class RedlockAutoConfiguration {

  RedlockAutoConfiguration() {}

  @Bean(destroyMethod = "close")
  Redlock redlock(
      RedlockProperties properties,
      ConfigurableEnvironment environment,
      ObjectProvider<JedisClientConfig> clientConfig,
      ObjectProvider<RetryStrategy> retryStrategy,
      ObjectProvider<RedlockListener> listeners,
      ObjectProvider<RedlockBuilderCustomizer> customizers) {
    JedisRedlock.Builder builder = JedisRedlock.builder();
    Map<String, String> settings = properties.settings();
    unknown(environment).forEach(name -> settings.put(name, ""));
    builder.configure(settings); // refuses the unknown ones
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

  /**
   * Returns the properties {@code redlock.*} that are no setting. Left alone are environment
   * variables, and system properties with one more dot: they may belong to other programs.
   */
  private static List<String> unknown(ConfigurableEnvironment environment) {
    return environment.getPropertySources().stream()
        .filter(source -> !(source instanceof SystemEnvironmentPropertySource))
        .filter(EnumerablePropertySource.class::isInstance)
        .flatMap(
            source ->
                Arrays.stream(((EnumerablePropertySource<?>) source).getPropertyNames())
                    .filter(name -> name.startsWith(RedlockProperties.PREFIX))
                    .filter(name -> !RedlockProperties.isKnown(name))
                    .filter(name -> !(isOfTheSystem(source) && hasAnotherDot(name))))
        .distinct()
        .toList();
  }

  private static boolean isOfTheSystem(PropertySource<?> source) {
    return source.getName().equals(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME);
  }

  private static boolean hasAnotherDot(String name) {
    return name.indexOf('.', RedlockProperties.PREFIX.length()) >= 0;
  }
}
