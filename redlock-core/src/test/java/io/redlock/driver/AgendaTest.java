package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.FakeTime;
import io.redlock.scenes.KeptLog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What waits is done in time, once, and by one thread at a time. */
class AgendaTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private final FakeTime time = new FakeTime();
  private final Agenda agenda = new Agenda(time, time);
  private final List<String> done = new ArrayList<>();
  private final long startNanos = time.monotonicNanos();

  /** Something to do at given times. */
  private class Task extends Agenda.Item {
    private final String name;
    private long dueNanos = Agenda.NEVER; // guarded by this
    int failures; // of its next steps

    Task(String name) {
      super(agenda);
      this.name = name;
      enter();
    }

    void at(long millis) {
      synchronized (this) {
        dueNanos = startNanos + Duration.ofMillis(millis).toNanos();
      }
      drain();
    }

    @Override
    boolean step(long nowNanos, long nowWallMicros) {
      if (failures-- > 0) {
        throw new OutOfMemoryError("memory is short");
      }
      synchronized (this) {
        if (dueNanos == Agenda.NEVER) {
          return rests(nowNanos, Agenda.NEVER);
        }
        if (dueNanos - nowNanos > 0) {
          return rests(nowNanos, dueNanos - nowNanos);
        }
        dueNanos = Agenda.NEVER;
      }
      done.add(name + " at " + (nowNanos - startNanos) / 1_000_000);
      return true;
    }

    synchronized void leave() {
      leaves();
    }
  }

  @Test
  void allIsDoneInItsOrderByOneTimer() {
    List<Task> tasks = new ArrayList<>();
    for (int index = 0; index < 40; index++) {
      tasks.add(new Task("task " + index));
      tasks.get(index).at(1_000 + index * 7 % 40);
    }
    assertEquals(1, time.tasks());
    tasks.get(3).at(500);
    tasks.get(4).leave();
    tasks.get(4).leave();
    time.passMillis(999);
    assertEquals(List.of("task 3 at 500"), done);
    time.passMillis(1_000);
    assertEquals(39, done.size());
    List<String> sorted = new ArrayList<>(done);
    sorted.sort((one, other) -> millis(one) - millis(other));
    assertEquals(sorted, done);
    assertEquals(0, time.tasks());
    assertEquals(39, agenda.items(Task.class).size());
    assertEquals("task 5", agenda.items(Task.class).get(4).name);
  }

  private static int millis(String done) {
    return Integer.parseInt(done.split(" at ")[1]);
  }

  @Test
  void laterTimeIsFoundAtTheEarlierOne() {
    Task task = new Task("task");
    task.at(10);
    task.at(30);
    time.passMillis(29);
    assertEquals(List.of(), done);
    time.passMillis(1);
    assertEquals(List.of("task at 30"), done);
  }

  @Test
  void stepThatFailsIsDoneAgainWithTheNextStrikeAndHoldsUpNobody() {
    Task task = new Task("task");
    Task other = new Task("other");
    task.at(10);
    other.at(10);
    task.failures = 2;
    time.passMillis(10);
    assertEquals(List.of("other at 10"), done);
    time.passMillis(100);
    assertEquals(List.of("other at 10", "task at 110"), done);
    Task late = new Task("late");
    late.failures = 1;
    late.at(0);
    time.passMillis(0);
    assertEquals("late at 110", done.get(2));
  }

  /** For ten seconds, every hundredth task that is due finds no memory. */
  @Test
  void shortageDelaysOnlyWhoseStepsFailAndHasNobodyElseLook() {
    int tasks = 100_000;
    long shortMillis = 10_000;
    int[] steps = {0};
    List<Long> late = new ArrayList<>();
    long mostSteps = 0;
    for (int number = 0; number < tasks; number++) {
      long dueMillis = number / 10;
      boolean isShort = number % 100 == 0;
      new Task("") {
        @Override
        boolean step(long nowNanos, long nowWallMicros) {
          steps[0]++;
          long lateMillis = (nowNanos - startNanos) / 1_000_000 - dueMillis;
          if (isShort && lateMillis >= 0 && dueMillis + lateMillis < shortMillis) {
            throw new OutOfMemoryError("memory is short");
          }
          boolean isDone = super.step(nowNanos, nowWallMicros);
          if (isDone && !isShort && lateMillis > 50) {
            late.add(lateMillis);
          }
          return isDone;
        }
      }.at(dueMillis);
      mostSteps +=
          3 + (isShort ? (shortMillis - dueMillis) / 50 + 1 : 0); // it is planned, done, over
    }
    time.passMillis(shortMillis + 50);
    assertEquals(tasks, done.size());
    assertEquals(List.of(), late);
    assertTrue(steps[0] <= mostSteps, steps[0] + " steps, not " + mostSteps);
  }

  @Test
  void wallClockThatRunsAheadHasAllLookAgain() {
    List<Long> looks = new ArrayList<>();
    Agenda.Item item =
        new Agenda.Item(agenda) {
          @Override
          synchronized boolean step(long nowNanos, long nowWallMicros) {
            looks.add((nowNanos - startNanos) / 1_000_000);
            return rests(nowNanos, 1_000_000_000);
          }
        };
    item.enter();
    item.drain();
    new Task("never").drain();
    time.stepWall(Duration.ofMillis(-100));
    time.passMillis(49);
    time.stepWall(Duration.ofMillis(5));
    time.passMillis(51);
    assertEquals(List.of(0L), looks, "set back, and five milliseconds");
    time.stepWall(Duration.ofMillis(6));
    time.passMillis(100);
    assertEquals(List.of(0L, 150L), looks);
  }

  @Test
  void closeStrikesAllAndNothingWaitsAfterwards() {
    List<String> told = new ArrayList<>();
    Agenda.Item item =
        new Agenda.Item(agenda) {
          @Override
          synchronized boolean step(long nowNanos, long nowWallMicros) {
            told.add(isStruck() ? isClosing() ? "closing" : "struck" : "event");
            return rests(nowNanos, 10_000_000);
          }
        };
    item.enter();
    item.drain();
    time.passMillis(10);
    item.drain();
    agenda.close();
    assertEquals(List.of("event", "struck", "event", "closing"), told);
    assertEquals(0, time.tasks());
    assertFalse(item.enter());
    item.drain();
    time.passMillis(1_000);
    assertEquals(5, told.size());
    assertEquals(List.of(), agenda.items(Agenda.Item.class));
  }

  @Test
  void whatThrowsAtTheCloseIsDoneAgainBeforeTheTimerIsClosed() {
    new Task("other");
    Task task = new Task("task");
    task.at(1_000);
    task.failures = 2;
    agenda.close();
    assertEquals(List.of(task), agenda.items(Task.class));
    time.passMillis(50);
    assertEquals(1, time.tasks(), "it has failed twice");
    time.passMillis(50);
    assertEquals(0, time.tasks());
    assertEquals(List.of(), agenda.items(Task.class));
  }

  /** What it reports comes back to it, as user code may. */
  private final class Reporting extends Agenda.Item {
    private int left = 2; // guarded by this

    Reporting() {
      super(agenda);
      enter();
    }

    @Override
    boolean step(long nowNanos, long nowWallMicros) {
      synchronized (this) {
        if (left == 0) {
          return leaves();
        }
        left--;
      }
      return apart(this::report);
    }

    private void report() {
      done.add("report");
      drain(); // which does the next one
    }
  }

  @Test
  void itemStaysUntilItsReportsHaveEnded() {
    Reporting item = new Reporting();
    item.drain();
    assertEquals(List.of("report", "report"), done);
    assertEquals(List.of(), agenda.items(Reporting.class));
    done.clear();
    Agenda.Item failing =
        new Agenda.Item(agenda) {
          @Override
          boolean step(long nowNanos, long nowWallMicros) {
            synchronized (this) {
              if (done.size() == 3) {
                return leaves();
              }
            }
            return apart(
                () -> {
                  done.add("failure");
                  throw new OutOfMemoryError("memory is short");
                });
          }
        };
    failing.enter();
    failing.drain();
    assertEquals(1, done.size());
    assertEquals(1, agenda.items(Agenda.Item.class).size());
    time.passMillis(200);
    assertEquals(3, done.size());
    assertEquals(List.of(), agenda.items(Agenda.Item.class));
  }

  // Every order of the steps of two threads.

  /** An item that two threads share: what is due, and when it is to be looked at again. */
  private static final class Shared extends Agenda.Item {
    private int due; // these are guarded by this
    private long planNanos = Agenda.NEVER;
    private int strikes;
    private int acting; // threads
    private int acts;

    Shared(Agenda agenda) {
      super(agenda);
      enter();
    }

    void event(long delayNanos) {
      synchronized (this) {
        due++;
        planNanos = Math.min(planNanos, delayNanos);
      }
      Actor.point();
      drain();
    }

    @Override
    boolean step(long nowNanos, long nowWallMicros) {
      Actor.point();
      synchronized (this) {
        strikes += isStruck() ? 1 : 0;
        if (due == 0) {
          return rests(nowNanos, planNanos);
        }
        due--;
        acting++;
        assertEquals(1, acting, "threads at a time");
      }
      Actor.point();
      synchronized (this) {
        acting--;
        acts++;
      }
      return true;
    }
  }

  private static final int FIRST = 0;
  private static final int SECOND = 1;
  private static final int ONLY_FIRST = 2; // the other is over
  private static final int ONLY_SECOND = 3;

  @Test
  void whateverTheOrderOfTheStepsOfTwoThreadsAllIsDoneAndPlanned() {
    List<Integer> order = new ArrayList<>();
    int orders = 0;
    do {
      play(order);
      orders++;
    } while (advance(order));
    assertTrue(orders > 50, "orders: " + orders);
  }

  /** Plays this order, and notes how it goes on. */
  private static void play(List<Integer> order) {
    FakeTime time = new FakeTime();
    Shared item = new Shared(new Agenda(time, time));
    Actor first = new Actor(() -> item.event(Agenda.NEVER));
    Actor second = new Actor(() -> item.event(1_000_000));
    first.start();
    second.start();
    for (int step = 0; !first.isOver || !second.isOver; step++) {
      if (step == order.size()) {
        order.add(first.isOver ? ONLY_SECOND : second.isOver ? ONLY_FIRST : FIRST);
      }
      (order.get(step) == FIRST || order.get(step) == ONLY_FIRST ? first : second).go();
    }
    assertNull(first.failure, order::toString);
    assertNull(second.failure, order::toString);
    assertEquals(2, item.acts, () -> "done after " + order);
    time.passMillis(1);
    assertEquals(1, item.strikes, () -> "planned after " + order);
  }

  /** Makes it the next order: the last choice of the first thread becomes the second's. */
  private static boolean advance(List<Integer> order) {
    int last = order.lastIndexOf(FIRST);
    if (last < 0) {
      return false;
    }
    order.subList(last, order.size()).clear();
    order.add(SECOND);
    return true;
  }
}
