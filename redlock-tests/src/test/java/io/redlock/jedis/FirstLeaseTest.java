package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.JavaProgram;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;

/** The first lease of a process finds its way prepared: its node timeout is short. */
@RequiresRedis
class FirstLeaseTest {

  private static final String CONNECTED = "now it is connected";
  private static final String ACQUIRED = "now it has the lease";
  private static final Pattern LOADED = Pattern.compile("(?:^|\\s)(io\\.redlock\\.\\S+) source: ");

  @AutoClose private final RedisServers servers = RedisServers.start(3);

  /** A process that acquires once. */
  static final class Once {

    public static void main(String[] addresses) throws InterruptedException {
      try (Redlock redlock = connect(addresses)) {
        System.out.println(CONNECTED);
        Optional<Lease> lease = redlock.tryAcquire("first", Duration.ofSeconds(20)).lease();
        System.out.println(lease.isPresent() ? ACQUIRED : "it has no lease");
        lease.ifPresent(Lease::close);
      }
    }
  }

  /** As with {@link JedisRedlock#connect}, with a node timeout that a busy machine keeps. */
  private static Redlock connect(String... addresses) {
    return JedisRedlock.builder()
        .node(String.join(",", addresses))
        .nodeTimeout(Duration.ofSeconds(5))
        .build();
  }

  @Test
  void firstLeaseLoadsNoClassOfTheLibrary() throws Exception {
    List<String> loaded = loadedByTheFirstLease();
    for (int again = 0; again < 4 && !loaded.isEmpty(); again++) { // a ping may have come between
      loaded = loadedByTheFirstLease();
    }
    assertEquals(List.of(), loaded);
  }

  private List<String> loadedByTheFirstLease() throws Exception {
    JavaProgram.Run run =
        JavaProgram.run(List.of("-Xlog:class+load"), Once.class, "off", servers.addresses());
    List<String> lines = run.lines();
    int connected = lines.indexOf(CONNECTED);
    int acquired = lines.indexOf(ACQUIRED);
    assertTrue(connected >= 0 && acquired > connected, () -> String.join("\n", lines));
    assertTrue(loaded(lines.subList(0, connected)).size() > 100, "loading is not in the log");
    return loaded(lines.subList(connected, acquired));
  }

  private static List<String> loaded(List<String> lines) {
    return lines.stream()
        .map(LOADED::matcher)
        .flatMap(line -> line.find() ? Stream.of(line.group(1)) : Stream.empty())
        .toList();
  }

  @Test
  void preparationAsksTheMastersAndLeavesNothingThere() {
    RedisServer watched = servers.get(0);
    try (Connection monitor = watched.connect()) {
      monitor.sendCommand(Protocol.Command.MONITOR);
      assertEquals("OK", monitor.getStatusCodeReply());
      connect(servers.addresses()).close();
      String request;
      do {
        request = monitor.getBulkReply();
      } while (!request.contains("redlock:warm-up"));
      assertTrue(request.contains("\"EVAL"), request);
    }
    for (RedisServer server : servers) {
      assertEquals(List.of("redlock:birth"), server.keys("*"));
    }
  }
}
