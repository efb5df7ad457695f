package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Several candidates, each of a client of its own, on five masters. */
@Execution(ExecutionMode.CONCURRENT)
class LeadershipTest {

  private static final Duration TTL = Duration.ofSeconds(9);

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  private final List<Redlock> clients = new ArrayList<>();
  private final List<Leadership> candidates = new ArrayList<>();
  private final List<Long> tokens = new ArrayList<>();
  private final CountDownLatch swept = new CountDownLatch(2);
  private final AtomicInteger working = new AtomicInteger();
  private final AtomicInteger mostAtOnce = new AtomicInteger();

  @AfterEach
  void stop() {
    candidates.forEach(Leadership::close);
    assertTrue(mostAtOnce.get() <= 1, mostAtOnce + " led at once");
    synchronized (tokens) {
      assertEquals(tokens.stream().sorted().toList(), tokens, "tokens rise from term to term");
    }
  }

  private void candidates(int count) {
    for (int i = 0; i < count; i++) {
      String label = "candidate-" + i;
      Redlock client = masters.connect(settings -> settings.holder(label));
      clients.add(client);
      candidates.add(client.lead("reports", TTL, this::work));
    }
  }

  private void work(Lease term, Leadership leadership) throws InterruptedException {
    mostAtOnce.accumulateAndGet(working.incrementAndGet(), Math::max);
    try {
      synchronized (tokens) {
        tokens.add(term.fencingToken());
      }
      new CountDownLatch(1).await();
    } finally {
      working.decrementAndGet();
    }
  }

  /** Waits until one candidate leads that is not this one, and returns its number. */
  private int leaderOtherThan(int former) {
    AtomicInteger seen = new AtomicInteger();
    Await.until(
        "another candidate leads",
        () -> {
          seen.set(leader());
          return seen.get() >= 0 && seen.get() != former;
        });
    return seen.get();
  }

  private int leader() {
    for (int i = 0; i < candidates.size(); i++) {
      if (candidates.get(i).isLeader()) {
        return i;
      }
    }
    return -1;
  }

  @Test
  void candidatesLeadInTurnIfEachResigns() {
    candidates(3);
    Set<Integer> led = new HashSet<>();
    int leader = -1;
    while (led.size() < 3) { // on a slow machine, one may lead again before all have led
      leader = leaderOtherThan(leader);
      led.add(leader);
      candidates.get(leader).resign();
    }
  }

  @Test
  void leaderThatEndsWithoutAWordIsFollowedWhenItsLeaseHasExpired() {
    candidates(2);
    int first = leaderOtherThan(-1);
    clients.get(first).close(); // releases nothing
    leaderOtherThan(first);
  }

  @Test
  void leaderIsInterruptedWhenAMajorityOfTheMastersFailsAndAnotherLeadsWhenTheyReturn() {
    candidates(2);
    leaderOtherThan(-1);
    masters.pause(0, 1, 2);
    Await.until("nobody leads", () -> leader() < 0 && working.get() == 0);
    masters.resume(0, 1, 2);
    leaderOtherThan(-1);
  }

  @Test
  void sampleOfThePageLeadsUntilItIsClosed() throws Exception {
    Redlock redlock = masters.connect();
    // readme:start lead
    Leadership leadership =
        redlock.lead(
            "sweeper",
            Duration.ofSeconds(10),
            (term, self) -> {
              while (!Thread.interrupted()) { // interrupted: the term is over
                term.ensureValid(Duration.ofSeconds(1)); // longer than one sweep takes
                sweep(term.fencingToken());
                Thread.sleep(100);
              }
            });
    // readme:end
    swept.await();
    assertTrue(leadership.isLeader());
    // readme:start stop-leading
    leadership.close(); // at the end of the process; before redlock.close()
    // readme:end
    assertFalse(leadership.isLeader());
  }

  private void sweep(long token) {
    assertTrue(token > 0);
    swept.countDown();
  }
}
