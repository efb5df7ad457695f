package io.redlock.spring.boot;

import io.redlock.Redlock;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Bean;

/** The health component {@code redlock} on Spring Boot 4, if the actuator is present. */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
@ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
@ConditionalOnSingleCandidate(Redlock.class)
@ConditionalOnEnabledHealthIndicator("redlock")
public class RedlockHealthAutoConfiguration {

  RedlockHealthAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean(name = "redlockHealthIndicator")
  HealthIndicator redlockHealthIndicator(Redlock redlock) {
    return () -> {
      NodesHealth health = NodesHealth.of(redlock);
      return (health.isUp() ? Health.up() : Health.down()).withDetails(health.details()).build();
    };
  }
}
