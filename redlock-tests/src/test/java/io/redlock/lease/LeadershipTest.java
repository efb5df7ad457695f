package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Leadership;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The sample of the page on leaders, on five masters. */
class LeadershipTest {

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  private final CountDownLatch swept = new CountDownLatch(2);

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
