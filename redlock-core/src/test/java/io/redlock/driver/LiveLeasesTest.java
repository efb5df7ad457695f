package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseStatus;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class LiveLeasesTest {

  private final FakeTime time = new FakeTime();
  private final LiveLeases leases = new LiveLeases(time, time);
  private final List<String> checked = new ArrayList<>();

  private final class Lease implements LiveLeases.Live {
    final String name;
    Runnable then = () -> {};

    Lease(String name) {
      this.name = name;
    }

    @Override
    public void check() {
      checked.add(name);
      then.run();
    }

    @Override
    public void reaffirm(int node) {
      checked.add(name + " on " + node);
      then.run();
    }

    @Override
    public void abandon(LeaseEnd how) {
      checked.add(name + " " + how.cause());
      then.run();
    }

    @Override
    public Optional<LeaseStatus> status() {
      return Optional.empty();
    }
  }

  private Lease add(String name) {
    Lease lease = new Lease(name);
    leases.add(lease);
    return lease;
  }

  private static Runnable failing() {
    return () -> {
      throw new Error("a defect");
    };
  }

  @Test
  void stepOfTheWallClockHasAllCheckedOnce() {
    add("a");
    add("b");
    time.passMillis(1_000);
    assertEquals(List.of(), checked);
    time.stepWall(Duration.ofMillis(6));
    time.passMillis(1_000);
    assertEquals(List.of("a", "b"), checked);
  }

  @Test
  void driftOfTheWallClockAddsUp() {
    add("a");
    for (int step = 0; step < 5; step++) {
      time.stepWall(Duration.ofMillis(1));
      time.passMillis(50);
    }
    assertEquals(List.of(), checked);
    time.stepWall(Duration.ofMillis(1));
    time.passMillis(50);
    assertEquals(List.of("a"), checked);
  }

  @Test
  void stepForwardAfterAStepBackIsNoticed() {
    add("a");
    time.stepWall(Duration.ofSeconds(-10));
    time.passMillis(50);
    assertEquals(List.of(), checked);
    time.stepWall(Duration.ofSeconds(1));
    time.passMillis(50);
    assertEquals(List.of("a"), checked);
  }

  @Test
  void stepIsMeasuredFromWhenTheFirstLeaseCame() {
    leases.remove(add("a"));
    time.passMillis(200);
    assertEquals(0, time.tasks(), "nothing to watch");
    time.stepWall(Duration.ofSeconds(1));
    add("b");
    time.passMillis(200);
    assertEquals(List.of(), checked);
    assertEquals(1, time.tasks(), "one tick for all");
  }

  @Test
  void errorInOneLeaseStopsNeitherTheTickNorTheOthers() {
    add("a").then = failing();
    add("b");
    time.stepWall(Duration.ofSeconds(1));
    time.passMillis(50);
    assertEquals(List.of("a", "b"), checked);
    time.stepWall(Duration.ofSeconds(1));
    time.passMillis(50);
    assertEquals(List.of("a", "b", "a", "b"), checked);
  }

  @Test
  void errorInOneLeaseKeepsNoOtherFromWhatIsDoneWithEach() {
    add("a").then = failing();
    add("b").then = failing();
    add("c");
    leases.forEach(lease -> lease.reaffirm(2));
    assertEquals(List.of("a on 2", "b on 2", "c on 2"), checked);
  }

  private LiveLeases.Planned planned(Runnable then) {
    return new LiveLeases.Planned() {
      @Override
      void wake() {
        checked.add("woken");
        then.run();
      }
    };
  }

  @Test
  void whatHasStalledIsWokenOnceWithTheNextTickAndNoOther() {
    add("a");
    LiveLeases.Planned late = planned(() -> {});
    leases.stalled(late);
    leases.stalled(late);
    leases.stalled(planned(failing()));
    assertEquals(List.of(), checked);
    time.passMillis(50);
    assertEquals(List.of("woken", "woken"), checked);
    time.passMillis(1_000);
    assertEquals(List.of("woken", "woken"), checked);
    leases.stalled(late);
    time.passMillis(50);
    assertEquals(List.of("woken", "woken", "woken"), checked);
  }

  @Test
  void whatStallsAgainIsWokenWithTheTickAfter() {
    add("a");
    LiveLeases.Planned[] late = {planned(() -> {})};
    late[0] = planned(() -> leases.stalled(late[0]));
    leases.stalled(late[0]);
    time.passMillis(100);
    assertEquals(List.of("woken", "woken"), checked);
  }

  @Test
  void whatHasStalledWithoutALeaseIsWokenAfterTheNextCheck() {
    leases.stalled(planned(() -> {}));
    time.passMillis(1_000);
    assertEquals(List.of(), checked);
    leases.check();
    time.passMillis(50);
    assertEquals(List.of("woken"), checked);
    time.passMillis(100);
    assertEquals(0, time.tasks());
  }

  @Test
  void tickThatCannotBeScheduledIsScheduledWithTheNextLease() {
    time.duringNextSchedule(failing());
    assertThrows(Error.class, () -> add("a"));
    assertEquals(0, time.tasks());
    add("b");
    time.passMillis(49);
    time.duringNextSchedule(failing());
    assertThrows(Error.class, () -> time.passMillis(1));
    add("c");
    assertEquals(1, time.tasks());
    time.stepWall(Duration.ofSeconds(1));
    time.passMillis(50);
    assertEquals(List.of("a", "b", "c"), checked);
  }
}
