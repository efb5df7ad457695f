package com.example.locks;

// readme:start spring-bean
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration(proxyBeanMethods = false)
@EnableConfigurationProperties(LocksProperties.class)
public class LocksConfiguration {

  @Bean(destroyMethod = "close")
  Redlock redlock(LocksProperties locks) {
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .nodeTimeout(locks.nodeTimeout())
            .maxTtl(locks.maxTtl())
            .keyPrefix(locks.keyPrefix());
    locks.nodes().forEach(builder::node);
    return builder.build();
  }
}
// readme:end
