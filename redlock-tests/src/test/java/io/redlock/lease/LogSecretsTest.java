package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.JavaProgram;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;

/** What no log shows at any level: an owner id is all that it takes to release somebody's lock. */
@Tag("servers")
@RequiresRedis
class LogSecretsTest {

  private static final String OWNER = "the server holds it for ";

  @Test
  void noLogShowsAnOwnerIdOrAPassword() throws Exception {
    try (RedisServer server = RedisServer.start("--requirepass", "geheim").founded()) {
      JavaProgram.Run run =
          JavaProgram.run(List.of(), Holder.class, "trace", Integer.toString(server.port()));
      assertEquals(0, run.exitCode(), run.lines()::toString);
      List<String> owners =
          run.lines().stream()
              .filter(line -> line.startsWith(OWNER))
              .map(line -> line.substring(OWNER.length()))
              .toList();
      List<String> log = run.lines().stream().filter(line -> !line.startsWith(OWNER)).toList();
      assertEquals(2, owners.size(), run.lines()::toString);
      assertTrue(log.stream().anyMatch(line -> line.contains("some-resource")), log::toString);
      for (String line : log) {
        owners.forEach(owner -> assertFalse(line.contains(owner), line));
        assertFalse(line.contains("geheim"), line);
      }
    }
  }

  /** Acquires, is refused, extends and releases. */
  static final class Holder {

    private static JedisRedlock.Builder patient(String address) {
      return JedisRedlock.builder()
          .restartGuard(false)
          .node(address)
          .nodeTimeout(Duration.ofSeconds(4));
    }

    public static void main(String[] args) throws Exception {
      int port = Integer.parseInt(args[0]);
      String address = "redis://:geheim@127.0.0.1:" + port;
      JedisRedlock.Builder builder = patient(address);
      try (Redlock redlock = builder.build();
          Redlock rival = patient(address).build();
          Connection connection = RedisServer.connect(port)) {
        RedisServer.command(connection, "AUTH", "geheim");
        LeaseRequest request =
            LeaseRequest.of("some-resource", Duration.ofSeconds(20))
                .waitUpTo(Duration.ofMinutes(1));
        for (LeaseRequest each : List.of(request, request.fair())) {
          Lease lease = redlock.acquire(each);
          System.out.println(OWNER + RedisServer.command(connection, "GET", "some-resource"));
          rival.tryAcquire(each.waitUpTo(Duration.ofMillis(50)));
          lease.extend(Duration.ofSeconds(25));
          lease.release();
        }
      }
    }
  }
}
