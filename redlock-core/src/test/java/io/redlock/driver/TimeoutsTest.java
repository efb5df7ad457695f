package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TimeoutsTest {

  private static final long TIMEOUT_NANOS = 50_000_000;

  private final FakeTime time = new FakeTime();
  private final Timeouts timeouts = new Timeouts(time, time, TIMEOUT_NANOS);
  private final List<String> struck = new ArrayList<>();
  private final long start = time.monotonicNanos();

  private final class Wait implements Timeouts.Timed {
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
  void busyServiceKeepsNoPastRounds() {
    for (int i = 0; i < 100; i++) {
      add("quick").decided = true;
    }
    Wait slow = add("slow");
    assertEquals(1, timeouts.kept());
    add("next").decided = true;
    assertEquals(2, timeouts.kept());
    slow.decided = true;
    add("last");
    assertEquals(1, timeouts.kept());
    time.passMillis(500);
    assertEquals(List.of("last at 50"), struck);
    assertEquals(0, timeouts.kept());
  }

  @Test
  void everyKindOfOperationIsForgottenOnceItIsDecided() throws Exception {
    Bed bed = new Bed(3);
    bed.script(
        request ->
            request instanceof NodeRequest.Free || request instanceof NodeRequest.Inspect
                ? NodeReply.misconfigured("not here")
                : Bed.yes(request));
    for (int round = 0; round < 3; round++) {
      Lease lease = bed.redlock.acquire("orders/42", Bed.TTL);
      assertEquals(1, bed.context.timeouts.kept(), "the acquire");
      lease.extend(Bed.TTL);
      assertEquals(1, bed.context.timeouts.kept(), "the extend");
      lease.release();
      assertEquals(1, bed.context.timeouts.kept(), "the release");
      bed.redlock.operations().inspect("orders/42");
      assertEquals(1, bed.context.timeouts.kept(), "the inspection");
      bed.redlock.operations().free("orders/42");
      assertEquals(1, bed.context.timeouts.kept(), "the freeing");
    }
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
    add("defect").then = failing(new IllegalStateException("a defect"));
    add("error").then = failing(new AssertionError("a defect"));
    add("memory").then = failing(new OutOfMemoryError("a passing one"));
    add("open");
    time.passMillis(10);
    timeouts.close();
    List<String> all =
        new ArrayList<>(List.of("defect at 10", "error at 10", "memory at 10", "open at 10"));
    assertEquals(all, struck);
    add("late");
    all.add("late at 10");
    assertEquals(all, struck);
    time.passMillis(500);
    assertEquals(all, struck);
    assertEquals(0, time.tasks());
  }

  private static Runnable failing(Throwable failure) {
    return () -> {
      if (failure instanceof Error error) {
        throw error;
      }
      throw (RuntimeException) failure;
    };
  }

  @Test
  void oneThatFailsDoesNotStopTheOthers() {
    add("first").then = failing(new IllegalStateException("a defect"));
    add("second").then = failing(new AssertionError("a defect"));
    add("third").then = failing(new OutOfMemoryError("a passing one"));
    add("fourth");
    time.passMillis(50);
    assertEquals(List.of("first at 50", "second at 50", "third at 50", "fourth at 50"), struck);
    add("fifth");
    time.passMillis(500);
    assertEquals(5, struck.size());
    assertEquals(0, time.tasks());
  }

  @Test
  void tickThatCannotBeScheduledIsScheduledWithTheNext() {
    add("first");
    time.passMillis(10);
    add("second");
    time.duringNextSchedule(failing(new Error("no memory for a task")));
    assertThrows(Error.class, () -> time.passMillis(40));
    assertEquals(List.of("first at 50"), struck);
    time.passMillis(30);
    add("third");
    time.passMillis(500);
    assertEquals(List.of("first at 50", "second at 130", "third at 130"), struck);
  }

  @Test
  void memoryThatStaysShortEndsNoWaitForGood() {
    add("quiet");
    Wait starved = add("starved");
    starved.then =
        () -> {
          starved.decided = struck.size() > 5;
          if (!starved.decided) {
            throw new OutOfMemoryError("it stays short");
          }
        };
    time.passMillis(1_000);
    assertTrue(starved.decided);
    assertEquals(6, struck.size(), struck.toString());
    time.duringNextSchedule(failing(new Error("no memory for a task")));
    assertThrows(Error.class, () -> timeouts.add(new Wait("forgotten"), time.monotonicNanos()));
    time.passMillis(1_000);
    assertEquals(6, struck.size());
    timeouts.check();
    time.passMillis(0);
    assertEquals(7, struck.size());
    timeouts.check();
    assertEquals(0, time.tasks());
  }

  @Test
  void oneWhoseTickCannotBeScheduledDoesNotStopTheNext() {
    time.duringNextSchedule(failing(new Error("no memory for a task")));
    assertThrows(Error.class, () -> timeouts.add(new Wait("first"), time.monotonicNanos()));
    add("second");
    time.passMillis(500);
    assertEquals(List.of("first at 50", "second at 50"), struck);
  }

  @Test
  void oneThatCannotTellWhetherItWaitsDoesNotStopTheTicks() {
    Wait first = add("first");
    timeouts.add(
        new Timeouts.Timed() {
          private int asked;

          @Override
          public boolean isDecided() {
            if (asked++ == 0) {
              throw new Error("a defect");
            }
            return true;
          }

          @Override
          public void onTimeout() {
            struck.add("undecided");
          }
        },
        time.monotonicNanos());
    add("third");
    assertThrows(Error.class, () -> time.passMillis(50));
    time.passMillis(50);
    assertEquals(List.of("first at 50", "third at 100"), struck);
    assertTrue(first.decided);
  }
}
