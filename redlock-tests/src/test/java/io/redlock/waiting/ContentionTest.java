package io.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.lease.LeaseMasters;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.Together;
import java.time.Duration;
import java.util.ArrayList;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * Several clients with several threads each want one resource in turn, while a minority of the
 * masters is stopped, killed and started again: no two hold it at once, tokens rise, and nobody
 * goes short.
 */
@RequiresRedis
class ContentionTest {

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private static final int CLIENTS = 4;
  private static final int THREADS = 3;
  private static final Duration TTL = Duration.ofSeconds(5);

  /** For so long a call may wait for a stopped master. */
  private static final Duration NODE_TIMEOUT = Duration.ofMillis(250);

  /** Turns go by the masters' clocks, which a client on a busy machine misreads by milliseconds. */
  private static final Duration HOLD = Duration.ofMillis(10);

  private static final LeaseRequest FAIR =
      LeaseRequest.of("contended", TTL).waitUpTo(Duration.ofSeconds(60)).fair();

  @Test
  void fairContendersTakeTurnsWhileMastersComeAndGo() throws Exception {
    contend(Duration.ofSeconds(5));
  }

  @Test
  @Tag("long")
  void fairContendersTakeTurnsForAMinuteWhileMastersComeAndGo() throws Exception {
    contend(Duration.ofSeconds(60));
  }

  private static void contend(Duration span) throws Exception {
    long seed = Long.getLong("redlock.seed", System.nanoTime());
    System.out.println("contention: -Dredlock.seed=" + seed);
    AtomicReference<Lease> holder = new AtomicReference<>();
    AtomicLong highest = new AtomicLong();
    AtomicIntegerArray turns = new AtomicIntegerArray(CLIENTS);
    List<Redlock> clients = new ArrayList<>();
    for (int i = 0; i < CLIENTS; i++) {
      clients.add(masters.connect(settings -> settings.nodeTimeout(NODE_TIMEOUT)));
    }
    long endNanos = System.nanoTime() + span.toNanos();
    Together.run(
        CLIENTS * THREADS + 1,
        number -> {
          if (number == CLIENTS * THREADS) {
            disturb(new Random(seed), endNanos);
          }
          int client = number % CLIENTS;
          while (System.nanoTime() < endNanos) {
            Lease lease = clients.get(client).acquire(FAIR);
            Lease other = holder.getAndSet(lease);
            if (lease.isValid()) {
              boolean isHeld = other != null && other.isValid();
              long before = highest.getAndAccumulate(lease.fencingToken(), Math::max);
              if (lease.isValid()) { // it was meanwhile
                assertFalse(isHeld, "two hold it");
                assertTrue(before < lease.fencingToken(), "a token that does not rise");
              }
              turns.incrementAndGet(client);
              Thread.sleep(HOLD.toMillis());
            }
            holder.compareAndSet(lease, null);
            lease.close();
          }
        });
    assertNobodyWentShort(IntStream.range(0, CLIENTS).map(turns::get).summaryStatistics());
  }

  /** One master at a time: of five, four are always there. */
  private static void disturb(Random random, long endNanos) throws InterruptedException {
    while (System.nanoTime() < endNanos) {
      int node = random.nextInt(LeaseMasters.NODES);
      Thread.sleep(200 + random.nextInt(300));
      if (random.nextBoolean()) {
        masters.pause(node);
        Thread.sleep(100 + random.nextInt(500));
        masters.resume(node);
      } else {
        masters.kill(node);
        Thread.sleep(100 + random.nextInt(500));
        masters.get(node).restart();
        Thread.sleep(TTL.toMillis() / 5);
      }
    }
  }

  private static void assertNobodyWentShort(IntSummaryStatistics turns) {
    assertTrue(turns.getSum() > 4 * CLIENTS, turns::toString);
    boolean isFair = turns.getMin() > 0 && turns.getMax() <= 2 * turns.getMin() + 2 * THREADS;
    assertTrue(isFair, turns::toString);
  }
}
