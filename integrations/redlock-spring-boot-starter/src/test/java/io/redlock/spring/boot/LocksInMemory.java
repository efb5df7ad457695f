package io.redlock.spring.boot;

import io.redlock.Redlock;
import io.redlock.testing.InMemoryMasters;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;

// readme:start spring-test
@TestConfiguration(proxyBeanMethods = false)
public class LocksInMemory {

  @Bean(destroyMethod = "close")
  InMemoryMasters masters() {
    return InMemoryMasters.inRealTime(3);
  }

  @Bean
  Redlock redlock(InMemoryMasters masters) {
    return masters.connect();
  }
}
// readme:end
