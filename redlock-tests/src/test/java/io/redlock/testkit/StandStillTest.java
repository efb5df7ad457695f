package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/** What tests that are about time do on a machine that stands still. */
class StandStillTest {

  private final List<Duration> played = new ArrayList<>();
  private final List<String> calls = new ArrayList<>();

  @BeforeEach
  void prepare() {
    calls.add("prepare");
  }

  @AfterEach
  void cleanUp() {
    calls.add("clean up");
  }

  private static void waitLongerThan(Duration span) {
    long startNanos = System.nanoTime();
    while (System.nanoTime() - startNanos <= span.toNanos()) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  private int fail(Duration time, boolean inTime) {
    played.add(time);
    if (!inTime) {
      waitLongerThan(time.dividedBy(2));
    }
    throw new AssertionError("test");
  }

  @Test
  void sceneThatFailsInTimeIsNotPlayedAgain() {
    Duration time = Duration.ofMinutes(10);
    assertThrows(AssertionError.class, () -> Await.inTime(time, each -> fail(each, true)));
    assertEquals(List.of(time), played);
  }

  @Test
  void sceneThatTakesTooLongIsPlayedWithTwiceTheTimeThreeTimes() {
    Duration time = Duration.ofMillis(20);
    assertThrows(AssertionError.class, () -> Await.inTime(time, each -> fail(each, false)));
    List<Duration> expected = new ArrayList<>();
    for (int factor = 1; factor <= 8; factor *= 2) {
      expected.add(time.multipliedBy(factor));
    }
    assertEquals(expected, played);
  }

  @Test
  void valueOfTheSceneThatSucceedsIsReturned() throws Exception {
    int value =
        Await.inTime(
            Duration.ofMillis(20), each -> played.isEmpty() ? fail(each, false) : played.size());
    assertEquals(1, value);
  }

  private void failOnceWhileTheProcessStandsStill() throws Exception {
    if (calls.size() == 2) {
      new ProcessBuilder("sh", "-c", "kill -STOP $PPID; sleep 1; kill -CONT $PPID")
          .start()
          .waitFor();
      throw new AssertionError("it shows nothing");
    }
  }

  @Test
  @AgainIfItStoodStill
  @EnabledOnOs(OS.LINUX)
  void testThatFailsWhileTheProcessStandsStillIsPlayedAgain() throws Exception {
    calls.add("test");
    failOnceWhileTheProcessStandsStill();
    assertEquals(List.of("prepare", "test", "clean up", "prepare", "test"), calls);
  }

  @TestFactory
  @AgainIfItStoodStill
  @EnabledOnOs(OS.LINUX)
  DynamicTest sceneThatFailsWhileTheProcessStandsStillIsPlayedAgain() {
    return DynamicTest.dynamicTest(
        "a scene",
        () -> {
          calls.add("scene");
          failOnceWhileTheProcessStandsStill();
          assertEquals(List.of("prepare", "scene", "scene"), calls);
        });
  }
}
