package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Bodies that run under a lease: what they throw comes out, and a loss is never silent. */
class LeasedBodyTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  private static final Duration WAIT = Duration.ofMinutes(1);

  @RegisterExtension static final LeaseMasters masters = new LeaseMasters();

  private Redlock redlock;

  @BeforeEach
  void connect() {
    redlock = masters.connect();
  }

  @Test
  void lossThatOnlyTheReleaseFindsIsReported() {
    LeaseLostException lost =
        assertThrows(
            LeaseLostException.class,
            () ->
                redlock.callLeased(
                    LeaseRequest.of("deleted", TTL),
                    lease -> {
                      masters.awaitHolders(5, "deleted");
                      IntStream.of(0, 1, 2)
                          .forEach(node -> masters.get(node).command("DEL", "deleted"));
                      return "unprotected";
                    }));
    assertTrue(lost.getMessage().contains("no majority held it"), lost.getMessage());
  }

  @Test
  void bodyMayReleaseEarly() throws Exception {
    String value =
        redlock.callLeased(
            LeaseRequest.of("early", TTL),
            lease -> {
              lease.release();
              return "done";
            });
    assertEquals("done", value);
  }

  @Test
  void tryWithResourcesNeverMasksTheBody() throws Exception {
    IOException thrown = new IOException("the body's");
    IOException caught =
        assertThrows(
            IOException.class,
            () -> {
              try (Lease lease = redlock.acquire("try", TTL, WAIT)) {
                assertTrue(lease.isValid());
                masters.pause(0, 1, 2, 3, 4);
                Thread.currentThread().interrupt();
                throw thrown;
              }
            });
    assertTrue(Thread.interrupted());
    assertSame(thrown, caught);
    assertEquals(List.of(), List.of(caught.getSuppressed()));
    masters.resume(0, 1, 2, 3, 4);
    masters.awaitHolders(0, "try");
  }

  @Test
  void interruptedReleaseGoesOnInTheBackground() throws Exception {
    Lease lease = redlock.acquire("release", TTL, WAIT);
    masters.awaitHolders(5, "release");
    masters.pause(0, 1, 2);
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, lease::release);
    masters.resume(0, 1, 2);
    masters.awaitHolders(0, "release");
    LeaseEnd end = Await.value("the end", lease.ended().toCompletableFuture());
    assertEquals(LeaseEnd.Cause.RELEASED, end.cause());
  }
}
