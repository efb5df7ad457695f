package io.redlock.spring.boot;

import io.redlock.Redlock;
import org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.context.annotation.Bean;

/** The actuator endpoint, if the actuator is present and exposes it. */
@AutoConfiguration(after = RedlockAutoConfiguration.class)
@ConditionalOnClass(
    name =
        "org.springframework.boot.actuate.autoconfigure.endpoint.condition.ConditionalOnAvailableEndpoint")
@ConditionalOnSingleCandidate(Redlock.class)
@ConditionalOnAvailableEndpoint(endpoint = RedlockEndpoint.class)
public class RedlockEndpointAutoConfiguration {

  RedlockEndpointAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean
  RedlockEndpoint redlockEndpoint(Redlock redlock) {
    return new RedlockEndpoint(redlock);
  }
}
