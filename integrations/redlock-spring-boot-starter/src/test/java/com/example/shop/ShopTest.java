package com.example.shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.SpringBootVersion;
import redis.clients.jedis.Jedis;

/** Two instances of the shop on five masters. */
@RequiresRedis
@Timeout(600)
class ShopTest {

  /** A line that is there because of the lock. */
  private static final Pattern OF_THE_LOCK = Pattern.compile("(?i)redlock|lease");

  private static final String HOLDER = "/actuator/redlock/holder?resource=";
  private static final Pattern NOTHING = Pattern.compile("^$");

  @Test
  void versionsAreThoseOfTheLineUnderTest() throws IOException {
    assertEquals(System.getProperty("spring-boot.version"), SpringBootVersion.getVersion());
    Properties pom = new Properties();
    try (var in =
        Jedis.class.getResourceAsStream("/META-INF/maven/redis.clients/jedis/pom.properties")) {
      pom.load(in);
    }
    assertEquals(System.getProperty("jedis.version"), pom.getProperty("version"));
  }

  /** The property redlock.nodes, and the lines of the sources that name the lock. */
  @Test
  void userWritesTenLinesAtMost() throws IOException {
    List<String> lines = new ArrayList<>(List.of("redlock.nodes=..."));
    for (String source : List.of("Shop", "ShopApplication", "Warehouse")) {
      Repository.read(
              "integrations/redlock-spring-boot-starter/src/test/java/com/example/shop/"
                  + source
                  + ".java")
          .lines()
          .filter(line -> OF_THE_LOCK.matcher(line).find())
          .forEach(lines::add);
    }
    System.out.println("lines for the lock: " + lines.size());
    assertTrue(lines.size() <= 10, () -> String.join("\n", lines));
    assertTrue(lines.size() >= 5, "the pattern finds them");
  }

  @Test
  void applicationNeedsNoActuatorNoMetersAndNoWebServer() throws Exception {
    Pattern without = Pattern.compile("actuator|health|micrometer|tomcat|web");
    try (Instance bare =
        Instance.start(BareApplication.class, without, "--redlock.nodes=127.0.0.1:1,127.0.0.1:2")) {
      bare.awaitEnd();
      assertTrue(bare.log().contains("masters: 2"), bare::log);
    }
  }

  @Test
  void badSettingEndsTheStartWithItsFix() throws Exception {
    try (Instance bad =
        Instance.start(BareApplication.class, NOTHING, "--redlock.nodes=10.0.0.1")) {
      assertEquals(1, bad.awaitEnd());
      assertTrue(bad.log().contains("APPLICATION FAILED TO START"), bad::log);
      assertTrue(bad.log().contains("add host and port, for example 10.0.0.1:6379"), bad::log);
      assertFalse(bad.log().contains("\tat "), bad::log);
    }
  }

  /** Requests that never stop, each to the next instance, for three orders. */
  private static final class Customers implements AutoCloseable {
    private final List<Instance> instances = new CopyOnWriteArrayList<>();
    private final List<String> failures = new CopyOnWriteArrayList<>();
    private final AtomicInteger served = new AtomicInteger();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean closed;

    Customers(Instance... first) {
      instances.addAll(List.of(first));
      for (int i = 0; i < 4; i++) {
        int number = i;
        Thread thread = new Thread(() -> run(number), "customer-" + i);
        threads.add(thread);
        thread.start();
      }
    }

    private void run(int number) {
      for (int i = number; !closed; i++) {
        Instance instance = instances.get(i % instances.size());
        try {
          HttpResponse<String> response = instance.ship(Integer.toString(i % 3)).join();
          if (response.statusCode() == 200) {
            served.incrementAndGet();
          } else {
            failures.add(response.statusCode() + " " + response.body());
          }
        } catch (CompletionException e) {
          if (instances.contains(instance)) {
            failures.add(e.toString()); // it was to serve
          }
        }
      }
    }

    void awaitServed(int more) {
      int before = served.get();
      Await.until(more + " requests are served", () -> served.get() >= before + more);
    }

    /** Sends nothing more, and waits for the last answers. */
    void finish() throws InterruptedException {
      closed = true;
      for (Thread thread : threads) {
        thread.join(Duration.ofSeconds(60).toMillis());
        assertFalse(thread.isAlive(), "it has its answer");
      }
    }

    @Override
    public void close() {
      closed = true;
    }
  }

  private static Instance shop(RedisServers masters, Ledger ledger) throws IOException {
    return Instance.start(
        ShopApplication.class,
        NOTHING,
        "--warehouse=" + ledger.address(),
        "--redlock.nodes=" + String.join(",", masters.addresses()),
        "--redlock.node-timeout=2s", // for a busy machine
        "--server.tomcat.basedir=target/tomcat",
        "--management.endpoint.health.show-details=always",
        "--management.endpoints.web.exposure.include=health,metrics,redlock");
  }

  @Test
  @Tag("ci")
  void twoInstancesWorkUnderOneLockWhileMastersDieAndInstancesAreReplaced() throws Exception {
    try (RedisServers masters = RedisServers.start(5);
        Ledger ledger = new Ledger();
        Instance a = shop(masters, ledger).awaitServing();
        Instance b = shop(masters, ledger).awaitServing()) {
      try (Customers customers = new Customers(a, b)) {
        customers.awaitServed(20);
        assertEquals(5, count(a.page("/actuator/redlock"), "\"state\":\"UP\""));
        assertTrue(a.page("/actuator/metrics/redlock.acquire").contains("outcome"));
        Await.until(
            "somebody is named as the holder of an order",
            () -> a.page(HOLDER + "orders/1").matches(".*\"holder\":\"[^\"]+:\\d+\".*"));
        Await.until(
            "an instance lists its lease",
            () -> b.page("/actuator/redlock").contains("\"resources\":[\"orders/"));
        assertTrue(a.page(HOLDER + "orders//1").contains("\"resource\":\"orders//1\""));
        assertEquals(404, a.get("/actuator/redlock/orders?resource=orders/1").statusCode());
        assertEquals(400, a.get(HOLDER + "x".repeat(600)).statusCode());

        masters.get(0).kill();
        masters.get(1).kill();
        Await.until("two are down", () -> count(b.page("/actuator/health"), "DOWN refused") == 2);
        assertEquals(200, b.get("/actuator/health").statusCode());
        customers.awaitServed(20);

        try (Instance c = shop(masters, ledger)) {
          replace(a, c, customers, ledger);
          try (Instance d = shop(masters, ledger)) {
            replace(b, d, customers, ledger);
            customers.awaitServed(20);
            customers.finish();
            assertEquals(List.of(), customers.failures);
            assertEquals(List.of(), ledger.violations());
            assertTrue(ledger.reports() > 5, () -> ledger.reports() + " reports");
            assertTrue(ledger.shipped() >= 60, () -> ledger.shipped() + " orders");

            masters.get(2).kill();
            Await.until("no majority is left", () -> status(c) == 503);
            Await.until(
                "the other instance says so too",
                () -> count(d.page("/actuator/redlock"), "\"state\":\"DOWN\"") == 3);
          }
        }
      }
    }
  }

  /** Stops an instance in the middle of a request, once its successor serves. */
  private static void replace(Instance old, Instance successor, Customers customers, Ledger ledger)
      throws Exception {
    successor.awaitServing();
    customers.instances.add(successor);
    customers.instances.remove(old);
    String order = "slow";
    Ledger.Held held = ledger.hold(order);
    CompletableFuture<HttpResponse<String>> slow = old.ship(order);
    assertTrue(held.awaitArrival(), "the request is under its lock");
    old.terminate();
    Await.until("nothing new reaches it", old::refusesConnections);
    assertFalse(slow.isDone(), "it waits for the request");
    ledger.release(order);
    assertEquals("shipped slow", Await.value("the request is served", slow).body());
    assertEquals(143, old.awaitEnd());
    String released = successor.page(HOLDER + "orders/slow");
    assertTrue(released.contains("\"held\":\"NO\""), released);
    assertEquals("shipped slow", Await.value("nobody has it", successor.ship(order)).body());
  }

  private static int status(Instance instance) {
    try {
      return instance.get("/actuator/health").statusCode();
    } catch (IOException e) {
      return 0;
    }
  }

  private static int count(String text, String part) {
    return text.split(Pattern.quote(part), -1).length - 1;
  }
}
