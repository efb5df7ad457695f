package io.redlock.spring.boot;

import java.util.Locale;
import org.springframework.boot.actuate.endpoint.SanitizingFunction;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

/** Hides addresses with passwords from the actuator's endpoints that show properties. */
@AutoConfiguration
@ConditionalOnClass(name = "org.springframework.boot.actuate.endpoint.SanitizingFunction")
public class RedlockSanitizingAutoConfiguration {

  RedlockSanitizingAutoConfiguration() {}

  /** Sanitizes {@code redlock.nodes} and {@code redlock.moving-to}, in any spelling. */
  @Bean
  SanitizingFunction redlockSanitizingFunction() {
    return data -> {
      String key = data.getKey().replaceAll("[-_.]", "").toLowerCase(Locale.ROOT);
      boolean isAddress = key.startsWith("redlocknodes") || key.startsWith("redlockmovingto");
      boolean mayHavePassword = String.valueOf(data.getValue()).contains("@");
      return isAddress && mayHavePassword ? data.withSanitizedValue() : data;
    };
  }
}
