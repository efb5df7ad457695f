package io.redlock.lease;

import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.driver.RealTime;
import io.redlock.jedis.JedisCore;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testbed.Await;
import io.redlock.testbed.Signal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Clients that stand still while the world goes on. */
class PauseTest {

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  @Test
  void processThatWasStoppedForLongerThanItsTtlIsToldTheTruthByItsFirstQuestion() throws Exception {
    Duration ttl = Duration.ofSeconds(9);
    FencedResource resource = new FencedResource();
    try (PausedClient.Remote client = new PausedClient.Remote(ttl, masters.addresses())) {
      List<Long> stale = client.tokens;
      stale.forEach(token -> assertTrue(resource.write(token)));
      Signal.STOP.to(client.process);
      client.ask(0);
      Signal.CONT.to(client.process); // after a moment: it holds its leases, no node looks dead
      assertEquals("valid left ensured EXTENDED valid", client.answer());
      assertEquals("ended", client.answer().strip());

      Signal.STOP.to(client.process);
      client.ask(PausedClient.LEASES);
      Redlock other = masters.connect();
      List<Lease> taken = new ArrayList<>();
      for (int i = 0; i < PausedClient.LEASES; i++) {
        taken.add(
            other.acquire(
                LeaseRequest.of(PausedClient.resource(i), Duration.ofSeconds(20))
                    .waitUpTo(Duration.ofMinutes(1))));
        assertTrue(taken.get(i).fencingToken() > stale.get(i));
        assertTrue(resource.write(taken.get(i).fencingToken()));
      }
      Signal.CONT.to(client.process);
      assertEquals("invalid over LeaseLostException LOST invalid", client.answer());
      assertEquals("ended EXPIRED EXPIRED EXPIRED EXPIRED EXPIRED", client.answer());
      stale.forEach(token -> assertFalse(resource.write(token), "a stale write"));
      for (Lease lease : taken) {
        assertExtended(lease.extend(Duration.ofSeconds(20)));
      }
    }
  }

  @Test
  void machineThatWasSuspendedKnowsItThoughItsMonotonicClockStoodStill() throws Exception {
    Duration ttl = Duration.ofMillis(1_000);
    SuspendableTime time = new SuspendableTime();
    LeaseEvents events = new LeaseEvents();
    Redlock redlock =
        masters.open(
            JedisCore.with(
                masters.settings().nodeTimeout(Duration.ofMillis(250)).listener(events),
                core -> core.ticker(time).scheduler(time.scheduler)));
    Redlock other = masters.connect();
    List<Lease> leases = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      LeaseRequest request = LeaseRequest.of("suspended-" + i, ttl).waitUpTo(Duration.ofMinutes(1));
      leases.add(redlock.acquire(i == 4 ? request.renewFor(Duration.ofHours(1)) : request));
    }
    time.suspend();
    List<Lease> taken = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      taken.add(other.acquire("suspended-" + i, Duration.ofSeconds(20), Duration.ofMinutes(1)));
    }
    time.wake();

    assertFalse(leases.get(0).isValid());
    assertEquals(Duration.ZERO, leases.get(1).remaining());
    Lease third = leases.get(2);
    assertThrows(LeaseLostException.class, () -> third.ensureValid(Duration.ZERO));
    assertLost(leases.get(3).extend(ttl));
    assertFalse(leases.get(4).isValid());
    Await.until("all are told", () -> events.ended.size() == 5);
    assertTrue(events.causes().stream().allMatch(cause -> cause == LeaseEnd.Cause.EXPIRED));
    assertTrue(taken.stream().allMatch(Lease::isValid));
  }

  /** Accepts a write unless it has seen a higher token. */
  private static final class FencedResource {
    private long highest;

    boolean write(long token) {
      if (token < highest) {
        return false;
      }
      highest = token;
      return true;
    }
  }

  /**
   * Real time until the machine is suspended: then the monotonic clock stands still, and no task is
   * run, while the wall clock goes on.
   */
  private static final class SuspendableTime implements Ticker {
    private final Ticker real = RealTime.ticker();
    private final Scheduler realScheduler = RealTime.scheduler();
    private final List<Runnable> asleep = new ArrayList<>(); // guarded by this
    private boolean suspended; // guarded by this
    private long suspendedAtNanos; // guarded by this
    private long sleptNanos; // guarded by this

    final Scheduler scheduler =
        new Scheduler() {
          @Override
          public Cancellable schedule(Runnable task, long delayNanos) {
            return realScheduler.schedule(() -> runAwake(task), delayNanos);
          }

          @Override
          public void close() {
            realScheduler.close();
          }
        };

    private void runAwake(Runnable task) {
      synchronized (this) {
        if (suspended) {
          asleep.add(task);
          return;
        }
      }
      task.run();
    }

    synchronized void suspend() {
      suspendedAtNanos = monotonicNanos();
      suspended = true;
    }

    void wake() {
      List<Runnable> due;
      synchronized (this) {
        suspended = false;
        sleptNanos = real.monotonicNanos() - suspendedAtNanos;
        due = List.copyOf(asleep);
      }
      due.forEach(task -> realScheduler.schedule(task, 0));
    }

    @Override
    public synchronized long monotonicNanos() {
      return suspended ? suspendedAtNanos : real.monotonicNanos() - sleptNanos;
    }

    @Override
    public long wallMicros() {
      return real.wallMicros();
    }
  }
}
