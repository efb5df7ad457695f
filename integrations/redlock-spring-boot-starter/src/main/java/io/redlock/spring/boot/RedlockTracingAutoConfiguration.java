package io.redlock.spring.boot;

import io.micrometer.observation.ObservationRegistry;
import io.redlock.micrometer.RedlockObservations;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/**
 * Observations of the lock service, if Micrometer Tracing is present. Without it they would only
 * repeat the meters.
 */
@AutoConfiguration
@ConditionalOnClass(name = "io.micrometer.tracing.Tracer")
public class RedlockTracingAutoConfiguration {

  RedlockTracingAutoConfiguration() {}

  @Bean
  @ConditionalOnMissingBean
  RedlockObservations redlockObservations(ObjectProvider<ObservationRegistry> registry) {
    return RedlockObservations.of(registry.getIfUnique(() -> ObservationRegistry.NOOP));
  }
}
