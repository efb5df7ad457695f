package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.spi.Scheduler.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class FakeSchedulerTest {

  private final FakeTicker ticker = new FakeTicker();
  private final FakeScheduler scheduler = new FakeScheduler(ticker);
  private final List<String> ran = new ArrayList<>();

  private Timer in(long delayNanos, Runnable task) {
    Timer timer = scheduler.timer(task);
    timer.set(ticker.monotonicNanos() + delayNanos);
    return timer;
  }

  @Test
  void taskInAnEndlessTimeIsTheLast() {
    scheduler.timer(() -> ran.add("endless")).set(Long.MAX_VALUE);
    in(1, () -> ran.add("soon"));
    scheduler.runNext();
    assertEquals(List.of("soon"), ran);
  }

  @Test
  void tasksRunInOrderOfTimeAndThenOfScheduling() {
    in(20, () -> ran.add("late"));
    in(10, () -> ran.add("first of two"));
    in(10, () -> ran.add("second of two"));
    in(-5, () -> ran.add("overdue"));
    scheduler.runFor(Duration.ofNanos(20));
    assertEquals(List.of("overdue", "first of two", "second of two", "late"), ran);
  }

  @Test
  void eachTaskSeesItsOwnTimeAndTheSpanPassesInFull() {
    long start = ticker.monotonicNanos();
    in(7, () -> ran.add("+" + (ticker.monotonicNanos() - start)));
    scheduler.runFor(Duration.ofNanos(6));
    assertEquals(List.of(), ran);
    scheduler.runFor(Duration.ofNanos(4));
    assertEquals(List.of("+7"), ran);
    assertEquals(10, ticker.monotonicNanos() - start);
  }

  @Test
  void tasksThatScheduleRunInTheSameSpan() {
    in(3, () -> in(3, () -> ran.add("child")));
    scheduler.runFor(Duration.ofNanos(6));
    assertEquals(List.of("child"), ran);
  }

  @Test
  void cancelledTaskIsForgotten() {
    Timer timer = in(1, () -> ran.add("cancelled"));
    timer.cancel();
    assertEquals(0, scheduler.pending());
    assertFalse(scheduler.runNext());
  }

  @Test
  void timerThatIsSetAgainRunsOnceAtTheLastTime() {
    Timer timer = in(1, () -> ran.add("+" + ticker.monotonicNanos()));
    long start = ticker.monotonicNanos();
    timer.set(start + 9);
    timer.set(start + 5);
    scheduler.runFor(Duration.ofNanos(20));
    assertEquals(List.of("+" + (start + 5)), ran);
  }

  @Test
  void closeDropsWhatIsPendingAndWhatComesLater() {
    in(1, () -> ran.add("before"));
    scheduler.close();
    in(1, () -> ran.add("after"));
    assertFalse(scheduler.runNext());
    assertEquals(0, scheduler.pending());
  }

  @Test
  void runUntilStopsAsSoonAsTheConditionHolds() {
    in(1_000, () -> ran.add("a"));
    in(2_000, () -> ran.add("b"));
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
