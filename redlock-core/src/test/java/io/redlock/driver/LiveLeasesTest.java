package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.LeaseEnd;
import io.redlock.LeaseStatus;
import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;

/** When live leases are checked against the wall clock, and what has stalled is woken. */
class LiveLeasesTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("driver/LiveLeases.txt", log.beside(Life::new));
  }

  /** What comes of a command are the leases that are checked, and what is woken. */
  private static final class Life implements Scenes.Actor {

    private final FakeTime time = new FakeTime();
    private final LiveLeases leases = new LiveLeases(time, time);
    private final Map<String, Named> named = new HashMap<>();
    private final Set<String> failing = new HashSet<>();
    private final Set<String> stallingAgain = new HashSet<>();
    private final List<String> out = new ArrayList<>();

    @Override
    public List<String> act(String command, String rest) {
      out.clear();
      switch (command) {
        case "add" -> leases.add(named.computeIfAbsent(rest, Named::new));
        case "remove" -> leases.remove(named.get(rest));
        case "stalled" -> leases.stalled(named.computeIfAbsent(rest, Named::new).planned);
        case "fails" -> failing.add(rest);
        case "stalls-again" -> stallingAgain.add(rest);
        case "reaffirm" -> leases.forEach(lease -> lease.reaffirm(Integer.parseInt(rest)));
        case "pass" -> time.passMillis(Long.parseLong(rest));
        case "step" -> time.stepWall(Duration.ofMillis(Long.parseLong(rest)));
        case "check" -> leases.check();
        case "no-timer" ->
            time.duringNextSchedule(
                () -> {
                  throw new Error("no memory for a timer");
                });
        case "throws" -> {
          String[] words = rest.split(" ", 2);
          assertThrows(Error.class, () -> act(words[0], words[1]));
        }
        case "timers?" -> out.add(time.tasks() + " timers");
        default -> throw new IllegalArgumentException(command);
      }
      return List.copyOf(out);
    }

    private void happened(String name, String what) {
      out.add(name + " " + what);
      if (failing.contains(name)) {
        throw new Error("a defect");
      }
    }

    private final class Named implements LiveLeases.Live {
      private final String name;
      private final LiveLeases.Planned planned =
          new LiveLeases.Planned() {
            @Override
            void wake() {
              if (stallingAgain.remove(name)) {
                leases.stalled(this);
              }
              happened(name, "woken");
            }

            @Override
            public String toString() {
              return name;
            }
          };

      Named(String name) {
        this.name = name;
      }

      @Override
      public void check() {
        happened(name, "checked");
      }

      @Override
      public void reaffirm(int node) {
        happened(name, "on " + node);
      }

      @Override
      public void abandon(LeaseEnd how) {
        happened(name, how.cause().toString());
      }

      @Override
      public Optional<LeaseStatus> status() {
        return Optional.empty();
      }

      @Override
      public String toString() {
        return name;
      }
    }
  }
}
