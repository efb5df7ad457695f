package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.spi.Scheduler.Cancellable;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FakeSchedulerTest {

  private final FakeTicker ticker = new FakeTicker();
  private final FakeScheduler scheduler = new FakeScheduler(ticker);
  private final List<String> ran = new ArrayList<>();

  @Test
  void taskInAnEndlessTimeIsTheLast() {
    scheduler.schedule(() -> ran.add("endless"), Long.MAX_VALUE);
    scheduler.schedule(() -> ran.add("soon"), 1);
    scheduler.runNext();
    assertEquals(List.of("soon"), ran);
  }

  @Test
  void tasksRunInOrderOfTimeAndThenOfScheduling() {
    scheduler.schedule(() -> ran.add("late"), 20);
    scheduler.schedule(() -> ran.add("first of two"), 10);
    scheduler.schedule(() -> ran.add("second of two"), 10);
    scheduler.schedule(() -> ran.add("overdue"), -5);
    scheduler.runFor(Duration.ofNanos(20));
    assertEquals(List.of("overdue", "first of two", "second of two", "late"), ran);
  }

  @Test
  void eachTaskSeesItsOwnTimeAndTheSpanPassesInFull() {
    long start = ticker.monotonicNanos();
    scheduler.schedule(() -> ran.add("+" + (ticker.monotonicNanos() - start)), 7);
    scheduler.runFor(Duration.ofNanos(6));
    assertEquals(List.of(), ran);
    scheduler.runFor(Duration.ofNanos(4));
    assertEquals(List.of("+7"), ran);
    assertEquals(10, ticker.monotonicNanos() - start);
  }

  @Test
  void tasksThatScheduleRunInTheSameSpan() {
    scheduler.schedule(() -> scheduler.schedule(() -> ran.add("child"), 3), 3);
    scheduler.runFor(Duration.ofNanos(6));
    assertEquals(List.of("child"), ran);
  }

  @Test
  void cancelledTaskIsForgotten() {
    Cancellable task = scheduler.schedule(() -> ran.add("cancelled"), 1);
    task.cancel();
    assertEquals(0, scheduler.pending());
    assertFalse(scheduler.runNext());
  }

  @Test
  void closeDropsWhatIsPendingAndWhatComesLater() {
    scheduler.schedule(() -> ran.add("before"), 1);
    scheduler.close();
    scheduler.schedule(() -> ran.add("after"), 1);
    assertFalse(scheduler.runNext());
    assertEquals(0, scheduler.pending());
  }

  @Test
  void runUntilStopsAsSoonAsTheConditionHolds() {
    scheduler.schedule(() -> ran.add("a"), 1_000);
    scheduler.schedule(() -> ran.add("b"), 2_000);
    scheduler.runUntil("a ran", Duration.ofSeconds(1), () -> ran.contains("a"));
    assertEquals(List.of("a"), ran);
    assertThrows(
        AssertionError.class,
        () -> scheduler.runUntil("c ran", Duration.ofSeconds(1), () -> ran.contains("c")));
  }

  @Test
  void wallClockStepsAloneAndTimePassesOnBoth() {
    ticker.stepWall(Duration.ofHours(-1));
    assertEquals(FakeTicker.START_WALL_MICROS - 3_600_000_000L, ticker.wallMicros());
    long monotonicNanos = ticker.monotonicNanos();
    ticker.stepWall(Duration.ofHours(1));
    ticker.advance(Duration.ofMillis(5));
    assertEquals(FakeTicker.START_WALL_MICROS + 5_000, ticker.wallMicros());
    assertEquals(5_000_000, ticker.monotonicNanos() - monotonicNanos);
  }
}
