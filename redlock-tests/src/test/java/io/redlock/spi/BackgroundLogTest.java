package io.redlock.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Unchecked;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class BackgroundLogTest {

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final PrintStream err = System.err;
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private final BackgroundLog log = log();

  private static BackgroundLog log() {
    String name = BackgroundLogTest.class.getName();
    System.setProperty("org.slf4j.simpleLogger.log." + name, "warn");
    return BackgroundLog.of(name);
  }

  @BeforeEach
  void keep() {
    assertTrue(BackgroundLog.flush(PATIENCE));
    System.setErr(new PrintStream(written, true, StandardCharsets.UTF_8));
  }

  @AfterEach
  void restore() {
    System.setErr(err);
  }

  private List<String> lines() {
    assertTrue(BackgroundLog.flush(PATIENCE));
    return written
        .toString(StandardCharsets.UTF_8)
        .lines()
        .map(line -> line.substring(line.indexOf(" - ") + 3))
        .toList();
  }

  @Test
  void linesAreWrittenInTheirOrder() {
    log.warn("{} of {}", 1, 2);
    log.warn("{} {} {}", "a", "b", "c");
    log.warn("last");
    assertEquals(List.of("1 of 2", "a b c", "last"), lines());
  }

  @Test
  void exceptionIsWrittenWithItsTrace() {
    log.error("{} failed", "it", new IllegalStateException("why"));
    log.error("all failed", new IllegalStateException("why"));
    log.warn("last");
    List<String> lines = lines();
    assertEquals("it failed", lines.get(0));
    assertTrue(lines.contains("all failed"), lines::toString);
    assertEquals("last", lines.get(lines.size() - 1));
    assertTrue(lines.stream().anyMatch(line -> line.contains("IllegalStateException: why")));
  }

  @Test
  void argumentWhoseTextFailsHarmsItsOwnLineAtMost() {
    log.warn(
        "{}",
        new Object() {
          @Override
          public String toString() {
            throw new IllegalStateException("user code");
          }
        });
    log.warn("next");
    List<String> lines = lines();
    assertEquals("next", lines.get(lines.size() - 1));
  }

  @Test
  void blockedLogHoldsUpNobodyAndCountsWhatItDrops() throws InterruptedException {
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch goesOn = new CountDownLatch(1);
    OutputStream pipe =
        new OutputStream() {
          @Override
          public void write(int piece) {
            blocked.countDown();
            Unchecked.call(() -> goesOn.await());
            written.write(piece);
          }
        };
    System.setErr(new PrintStream(pipe, true, StandardCharsets.UTF_8));
    log.warn("first");
    blocked.await();
    for (int line = 1; line <= BackgroundLog.MOST_WAITING + 5; line++) {
      log.warn("line {}", line);
    }
    assertFalse(BackgroundLog.flush(Duration.ofMillis(1)));
    goesOn.countDown();
    List<String> lines = lines();
    assertEquals(BackgroundLog.MOST_WAITING + 2, lines.size());
    assertTrue(lines.get(0).startsWith("first"), lines.get(0));
    assertEquals(
        "5 log lines were dropped: the log was blocked, or memory was short", lines.get(1));
    assertEquals("line 1000", lines.get(lines.size() - 1));
  }
}
