package io.redlock.waiting;

import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Callers in great number wait for one name while the masters die. Seen failing: refusals on the
 * caller's stack went from one waiter to the next until it overflowed, calls never ended, and the
 * name was dead in that process for good.
 */
@Tag("servers")
class CrowdWithoutQuorumTest {

  private static final String NAME = "wanted";
  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration WAIT = Duration.ofMillis(1_500);

  private final long seed = System.nanoTime();
  private final SplittableRandom random = new SplittableRandom(seed);

  @ParameterizedTest
  @ValueSource(ints = {1_500, 10_000})
  void everyCallEndsAndTheNameLivesOnWhenTheMastersDieJustBeforeTheWaitsEnd(int callers)
      throws Exception {
    try (RedisServers servers = RedisServers.start(3);
        Redlock client = JedisRedlock.connect(servers.addresses());
        Redlock rival = JedisRedlock.connect(servers.addresses())) {
      Lease held = rival.acquire(LeaseRequest.of(NAME, TTL).waitUpTo(Duration.ofMinutes(1)));
      LeaseRequest request = LeaseRequest.of(NAME, TTL).waitUpTo(WAIT);
      long startNanos = System.nanoTime();
      List<CompletableFuture<AcquireResult>> calls = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        calls.add(client.acquireAsync(request));
      }
      long beforeMillis = random.nextLong(60);
      long leftNanos = WAIT.toNanos() - (System.nanoTime() - startNanos);
      TimeUnit.NANOSECONDS.sleep(leftNanos - TimeUnit.MILLISECONDS.toNanos(beforeMillis));
      servers.forEach(RedisServer::kill);
      for (CompletableFuture<AcquireResult> call : calls) {
        AcquireResult result = Await.value("every call ends, seed " + seed, call);
        assertTrue(result.lease().isEmpty(), result::toString);
      }
      held.close();
      servers.forEach(RedisServer::restart);
      LeaseRequest again = LeaseRequest.of(NAME, TTL).waitUpTo(Duration.ofMillis(50));
      AcquireResult abstaining = client.tryAcquire(again);
      assertUnavailable(abstaining);
      assertEquals(3, abstaining.votes().nodes().size(), abstaining::toString);
      AcquireResult other = client.tryAcquire(LeaseRequest.of("other", TTL));
      assertEquals(3, other.votes().nodes().size(), other::toString);
    }
  }
}
