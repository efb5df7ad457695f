package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.Together;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Several clients that want one of a few permits, on five masters. */
@RequiresRedis
@Tag("servers")
class PermitsTest {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration WAIT = Duration.ofMinutes(1);

  /** A master rounds times to milliseconds and reads its clock now and then. */
  private static final Duration CLOCK_STEP = Duration.ofMillis(100);

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private static LeaseRequest permits(String pool, int count, Duration ttl) {
    return LeaseRequest.anyOf(
        IntStream.range(0, count).mapToObj(number -> pool + "/" + number).toList(), ttl);
  }

  @Test
  void crowdOfThreeClientsNeverHoldsMoreThanThereAreAndAllAreServed() throws Exception {
    LeaseRequest request = permits("crowd", 3, TTL).waitUpTo(WAIT);
    List<Redlock> clients = List.of(masters.connect(), masters.connect(), masters.connect());
    Set<String> working = ConcurrentHashMap.newKeySet();
    AtomicInteger served = new AtomicInteger();
    Together.run(
        12,
        number -> {
          for (int turn = 0; turn < 10; turn++) {
            clients
                .get(number % clients.size())
                .runLeased(
                    request,
                    lease -> {
                      String permit = lease.resource();
                      assertTrue(working.add(permit), () -> permit + " is held twice");
                      served.incrementAndGet();
                      assertTrue(working.remove(permit));
                    });
          }
        });
    assertEquals(120, served.get());
  }

  @Test
  void permitOfAHolderThatDiedIsFoundWhenItHasExpired() throws Exception {
    Duration ttl = Duration.ofSeconds(9);
    LeaseRequest request = permits("dead", 3, ttl);
    Redlock dying = masters.connect();
    Redlock other = masters.connect();
    for (int permit = 0; permit < 2; permit++) {
      other.acquire(permits("dead", 2, TTL).renewFor(WAIT));
    }
    long startNanos = System.nanoTime();
    Lease last = dying.acquire(request);
    dying.close(); // releases nothing
    Lease found = other.acquire(request.waitUpTo(WAIT));
    Duration took = Duration.ofNanos(System.nanoTime() - startNanos);
    assertTrue(took.plus(CLOCK_STEP).compareTo(ttl) >= 0, () -> "acquired after " + took);
    assertEquals(last.resources(), found.resources());
    assertTrue(found.fencingToken() > last.fencingToken());
  }

  @Test
  void sampleOfThePageRunsUnderOnePermit() throws Exception {
    Redlock redlock = masters.connect();
    AtomicInteger exported = new AtomicInteger();
    // readme:start permits
    List<String> permits = List.of("export/1", "export/2", "export/3");
    redlock.runLeased(
        LeaseRequest.anyOf(permits, Duration.ofSeconds(30))
            .waitUpTo(Duration.ofMinutes(5))
            .renewFor(Duration.ofHours(1)),
        lease -> {
          String permit = lease.resource(); // for example export/2
          exported.addAndGet(export(permit, lease.fencingToken()));
        });
    // readme:end
    assertEquals(1, exported.get());
  }

  private static int export(String permit, long token) {
    assertTrue(permit.startsWith("export/") && token > 0);
    return 1;
  }
}
