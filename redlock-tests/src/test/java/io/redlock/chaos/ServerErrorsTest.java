package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.testbed.RequiresRedis;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * One master of three has something the matter with it while a client works: the client is told
 * what, has leases all the same, and is on terms with the master as soon as that is mended.
 */
@RequiresRedis
@Tag("chaos")
class ServerErrorsTest {

  private static final int LONGEST_MILLIS = 2_800;

  /** On a busy machine a client may have no time to notice; the next strike lasts longer. */
  private static final int MOST_STRIKES = 4;

  private static ChaosDeployment deployment;

  @BeforeAll
  static void start() {
    deployment = new ChaosDeployment(ChaosTerms.of(3, 1), ChaosRun.FOLDER.resolve("server-errors"));
  }

  @AfterAll
  static void nothingWasViolated() {
    try (ChaosDeployment ending = deployment) {
      ending.stopClients();
      assertEquals(List.of(), HistoryVerdict.of(ending.history()).findings());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "NODE_OOM, OOM",
    "NODE_SCRIPT_FLUSH, NOSCRIPT",
    "NODE_DEMOTION, READONLY",
    "NODE_EVICTION, its maxmemory-policy allkeys-lru may evict locks",
    "NODE_FAILED_SAVE, MISCONF",
    "NODE_RIGHT_LOST, the server denies",
    "NODE_PASSWORD, WRONGPASS",
    "NODE_BUSY, BUSY",
    "NODE_CROWDED, max number of clients reached",
    "NODE_LOADING, LOADING",
  })
  void clientIsToldAndGetsOverIt(ChaosFault fault, String sign) {
    Assumptions.assumeTrue(fault.obstacle().isEmpty(), fault::obstacle);
    long beganNanos = System.nanoTime();
    List<HistoryEvent> events = List.of();
    for (int strikes = 1; strikes <= MOST_STRIKES && !isGood(events, sign); strikes++) {
      strike(fault, strikes * Math.min(fault.mostMillis, LONGEST_MILLIS), strikes * 500L);
      events =
          deployment.soFar().events().stream()
              .filter(event -> event.atNanos() > beganNanos)
              .toList();
    }
    List<HistoryEvent> all = events;
    assertTrue(isTold(all, sign), () -> "nobody tells " + sign);
    assertTrue(isGood(all, sign), all::toString);
  }

  /** The client works from before until after. */
  private static void strike(ChaosFault fault, long lastsMillis, long afterwardsMillis) {
    ClientProcess client = deployment.client(0);
    client.order("0 work 4711 " + (lastsMillis + afterwardsMillis) + " 2 1000");
    ChaosPlan plan = new ChaosPlan(List.of(new Strike(fault, 0, 0, 0, 200, 200 + lastsMillis)));
    CompletableFuture<Void> struck =
        CompletableFuture.runAsync(() -> new Nemesis(deployment, revived -> {}).execute(plan));
    while (!struck.isDone()) {
      client.order("nodes");
      LockSupport.parkNanos(50_000_000);
    }
    struck.join();
    client.outcome("0 work");
    client.order("0 work 4712 300 2 1000"); // what a master denied is seen to be over by asking
    client.outcome("0 work");
    client.awaitMasters(240_000);
  }

  /** The client is told, and has leases all the same. */
  private static boolean isGood(List<HistoryEvent> events, String sign) {
    return isTold(events, sign) && events.stream().filter(event -> event.is("held")).count() > 3;
  }

  private static boolean isTold(List<HistoryEvent> events, String sign) {
    return events.stream().anyMatch(event -> tells(event, sign));
  }

  /** What the struck master answers, or what the client says of it. */
  private static boolean tells(HistoryEvent event, String sign) {
    return event.is("exchange") && event.actor().equals("n0") && event.text("verdict").equals(sign)
        || event.is("node") && event.text("why").contains(sign);
  }
}
