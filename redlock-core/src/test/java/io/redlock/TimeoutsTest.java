package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TimeoutsTest {

  private static final long TIMEOUT_NANOS = 50_000_000;

  private final FakeTime time = new FakeTime();
  private final Timeouts timeouts = new Timeouts(time, time, TIMEOUT_NANOS);
  private final List<String> struck = new ArrayList<>();
  private final long start = time.monotonicNanos();

  private final class Wait implements Timeouts.Waiting {
    final String name;
    boolean decided;
    Runnable then = () -> {};

    Wait(String name) {
      this.name = name;
    }

    @Override
    public boolean isDecided() {
      return decided;
    }

    @Override
    public void onTimeout() {
      decided = true;
      struck.add(name + " at " + (time.monotonicNanos() - start) / 1_000_000);
      then.run();
    }
  }

  private Wait add(String name) {
    Wait wait = new Wait(name);
    timeouts.add(wait, time.monotonicNanos());
    assertTrue(time.tasks() <= 1, "one task serves all");
    return wait;
  }

  @Test
  void eachIsStruckOnceANodeTimeoutAfterItsStart() {
    add("first");
    time.passMillis(20);
    add("second");
    time.passMillis(500);
    assertEquals(List.of("first at 50", "second at 70"), struck);
    assertEquals(0, time.tasks());
  }

  @Test
  void whatWasDecidedInTimeIsNotStruckAndLeavesNoTask() {
    add("first").decided = true;
    time.passMillis(10);
    add("second").decided = true;
    time.passMillis(500);
    assertEquals(List.of(), struck);
    assertEquals(0, time.tasks());
  }

  @Test
  void decidedOnesBetweenOthersAreSkipped() {
    add("first");
    add("second").decided = true;
    time.passMillis(7);
    add("third");
    time.passMillis(500);
    assertEquals(List.of("first at 50", "third at 57"), struck);
  }

  @Test
  void whatIsAddedFromWithinATimeoutIsServedToo() {
    add("first").then = () -> add("second").then = () -> add("third");
    time.passMillis(500);
    assertEquals(List.of("first at 50", "second at 100", "third at 150"), struck);
    assertEquals(0, time.tasks());
  }

  @Test
  void whatIsAddedAfterAQuietTimeIsServed() {
    add("first");
    time.passMillis(500);
    add("second");
    time.passMillis(500);
    assertEquals(List.of("first at 50", "second at 550"), struck);
  }

  @Test
  void allThatCameDueDuringAPauseAreStruckAfterIt() {
    add("first");
    time.passMillis(10);
    add("second");
    time.pause(java.time.Duration.ofSeconds(1));
    time.passMillis(0);
    assertEquals(List.of("first at 1010", "second at 1010"), struck);
  }

  @Test
  void closingStrikesWhatStillWaitsAndThenWhateverComes() {
    add("decided").decided = true;
    add("defect").then =
        () -> {
          throw new IllegalStateException("a defect");
        };
    add("open");
    time.passMillis(10);
    timeouts.close();
    assertEquals(List.of("defect at 10", "open at 10"), struck);
    add("late");
    assertEquals(List.of("defect at 10", "open at 10", "late at 10"), struck);
    time.passMillis(500);
    assertEquals(3, struck.size());
    assertEquals(0, time.tasks());
  }

  @Test
  void oneThatFailsDoesNotStopTheOthers() {
    add("first").then =
        () -> {
          throw new IllegalStateException("a defect");
        };
    add("second");
    assertThrows(IllegalStateException.class, () -> time.passMillis(50));
    time.passMillis(1);
    assertEquals(List.of("first at 50", "second at 50"), struck);
    add("third");
    time.passMillis(500);
    assertEquals(3, struck.size());
  }
}
