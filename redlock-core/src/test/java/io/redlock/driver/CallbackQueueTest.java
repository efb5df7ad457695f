package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class CallbackQueueTest {

  private final FakeTime time = new FakeTime();
  private final List<Runnable> leaves = new ArrayList<>();
  private final List<Runnable> toBreak = new ArrayList<>();
  private final CallbackQueue queue =
      new CallbackQueue(
          new WorkerPool(Thread::new) {
            @Override
            void whenBroken(Runnable action) {
              toBreak.add(action);
            }

            @Override
            public void execute(Runnable leave) {
              leaves.add(leave);
            }
          },
          new Agenda(time, time));
  private final List<String> ran = new ArrayList<>();

  private void add(String name) {
    queue.add(
        new CallbackQueue.Task() {
          private static final long serialVersionUID = 1;

          @Override
          public void run() {
            ran.add(name);
          }
        });
  }

  @Test
  void leavesThatThreadsHaveLostAreGivenAgain() {
    add("one");
    add("two");
    assertEquals(2, leaves.size());
    toBreak.get(0).run();
    time.passMillis(50);
    assertEquals(4, leaves.size());
    leaves.forEach(Runnable::run); // the old ones were not lost
    assertEquals(List.of("one", "two"), ran);
    add("three");
    assertEquals(5, leaves.size());
    leaves.get(4).run();
    assertEquals(List.of("one", "two", "three"), ran);
  }
}
