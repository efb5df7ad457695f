package com.example.locks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Properties;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import redis.clients.jedis.Jedis;

/** The recipe in an application that runs, with the Jedis that Spring Boot brings. */
class SpringBootTest {

  private final HttpClient http = HttpClient.newHttpClient();
  private Masters masters;

  @BeforeEach
  void startMasters() throws IOException {
    masters = new Masters();
  }

  @AfterEach
  void stopMasters() throws IOException {
    masters.close();
  }

  @Test
  void leaseIsHadThroughTheBeanUntilTheApplicationStops() throws Exception {
    System.out.println("Spring Boot " + SpringBootVersion.getVersion() + ", Jedis " + jedis());
    ConfigurableApplicationContext application = run(masters.addresses());
    Redlock redlock = application.getBean(Redlock.class);
    try (Lease lease = redlock.acquire("report", Duration.ofSeconds(9), Duration.ofSeconds(5))) {
      assertTrue(lease.isValid());
      assertInstanceOf(AcquireResult.Contended.class, askedWithoutPrefix("app:report"));
      assertThrows(
          IllegalArgumentException.class,
          () -> redlock.tryAcquire("report", Duration.ofSeconds(11)),
          "the longest ttl is bound");
    }
    application.close();
    assertThrows(
        IllegalStateException.class, () -> redlock.tryAcquire("report", Duration.ofSeconds(9)));
  }

  @Test
  void healthFollowsTheMajority() throws Exception {
    try (ConfigurableApplicationContext application = run(masters.addresses())) {
      Masters.until("all masters are up", () -> count(health(application).body(), "\"UP ") == 3);
      assertEquals(200, health(application).statusCode());

      masters.kill(2);
      Masters.until("one is down", () -> health(application).body().contains("DOWN refused"));
      assertEquals(200, health(application).statusCode());

      masters.kill(1);
      Masters.until("the majority is gone", () -> health(application).statusCode() == 503);
    }
  }

  @Test
  void wrongConfigurationStopsTheStartAndSaysHowToMendIt() {
    Throwable failure = assertThrows(RuntimeException.class, () -> run("10.0.0.1,10.0.0.2:6379"));
    while (failure.getCause() != null) {
      failure = failure.getCause();
    }
    assertTrue(failure.getMessage().contains("add host and port"), failure.getMessage());
  }

  private AcquireResult askedWithoutPrefix(String resource) throws InterruptedException {
    JedisRedlock.Builder builder =
        JedisRedlock.builder().node(masters.addresses()).nodeTimeout(Duration.ofSeconds(2));
    try (Redlock other = builder.build()) {
      return other.tryAcquire(resource, Duration.ofSeconds(9));
    }
  }

  private static ConfigurableApplicationContext run(String nodes) {
    return new SpringApplicationBuilder(Application.class)
        .run(
            "--server.port=0",
            "--server.tomcat.basedir=target/tomcat",
            "--spring.main.banner-mode=off",
            "--logging.level.root=error",
            "--logging.level.org.springframework.boot.SpringApplication=off",
            "--management.endpoint.health.show-details=always",
            "--locks.nodes=" + nodes,
            "--locks.node-timeout=2s",
            "--locks.max-ttl=10s",
            "--locks.key-prefix=app:");
  }

  private HttpResponse<String> health(ConfigurableApplicationContext application) {
    String port = application.getEnvironment().getProperty("local.server.port");
    URI uri = URI.create("http://127.0.0.1:" + port + "/actuator/health");
    try {
      return http.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static int count(String text, String part) {
    return text.split(part, -1).length - 1;
  }

  private static String jedis() throws IOException {
    Properties pom = new Properties();
    try (InputStream in =
        Jedis.class.getResourceAsStream("/META-INF/maven/redis.clients/jedis/pom.properties")) {
      pom.load(in);
    }
    return pom.getProperty("version");
  }
}
