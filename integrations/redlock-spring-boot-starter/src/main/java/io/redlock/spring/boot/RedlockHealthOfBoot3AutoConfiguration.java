package io.redlock.spring.boot;

import io.redlock.Redlock;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The health component {@code redlock} on Spring Boot 3, if the actuator is present. */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
@ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
@ConditionalOnSingleCandidate(Redlock.class)
@ConditionalOnEnabledHealthIndicator("redlock")
public class RedlockHealthOfBoot3AutoConfiguration {

  RedlockHealthOfBoot3AutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean(name = "redlockHealthIndicator")
  HealthIndicator redlockHealthIndicator(Redlock redlock) {
    return () -> {
      NodesHealth health = NodesHealth.of(redlock);
      return (health.isUp() ? Health.up() : Health.down()).withDetails(health.details()).build();
    };
  }
}
