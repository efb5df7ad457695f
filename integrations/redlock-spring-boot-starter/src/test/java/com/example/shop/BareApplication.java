package com.example.shop;

import io.redlock.Redlock;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/** An application without an actuator, meters and a web server. */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class BareApplication {

  /** Starts it, says which masters it has, and ends. */
  public static void main(String[] arguments) {
    try (ConfigurableApplicationContext context =
        SpringApplication.run(BareApplication.class, arguments)) {
      System.out.println("masters: " + context.getBean(Redlock.class).operations().nodes().size());
    }
  }
}
