package io.redlock.spring.boot;

import io.micrometer.core.instrument.MeterRegistry;
import io.redlock.micrometer.RedlockMetrics;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;

/** Meters of the lock service, if Micrometer is present. */
@AutoConfiguration
@ConditionalOnClass(name = "io.micrometer.core.instrument.MeterRegistry")
public class RedlockMetricsAutoConfiguration {

  RedlockMetricsAutoConfiguration() {}

  /** Returns meters that are bound at once: Spring Boot binds them after the first acquires. */
  @Bean
  @ConditionalOnMissingBean
  RedlockMetrics redlockMetrics(ObjectProvider<MeterRegistry> registry) {
    RedlockMetrics metrics = RedlockMetrics.create();
    registry.ifUnique(metrics::bindTo);
    return metrics;
  }
}
