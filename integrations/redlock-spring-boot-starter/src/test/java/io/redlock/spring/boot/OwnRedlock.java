package io.redlock.spring.boot;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.jedis.JedisRedlock;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

// readme:start spring-own
@Configuration(proxyBeanMethods = false)
public class OwnRedlock {

  @Bean(destroyMethod = "close")
  Redlock redlock(
      @Value("${redlock.nodes}") String masters, ObjectProvider<RedlockListener> listeners) {
    JedisRedlock.Builder builder = JedisRedlock.builder().node(masters);
    listeners.orderedStream().forEach(builder::listener);
    return builder.build();
  }
}
// readme:end
