package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.Lease;
import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;

/** When those that wait for nodes are struck by a timeout of 50 ms. */
class TimeoutsTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("driver/Timeouts.txt", log.beside(Life::new));
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

  /** What comes of a command are those that are struck, and when: {@code first at 50}. */
  private static final class Life implements Scenes.Actor {

    private final FakeTime time = new FakeTime();
    private final Timeouts timeouts = new Timeouts(time, time, 50_000_000);
    private final Map<String, Wait> waits = new HashMap<>();
    private final List<String> out = new ArrayList<>();
    private final long startNanos = time.monotonicNanos();

    @Override
    public List<String> act(String command, String rest) {
      out.clear();
      switch (command) {
        case "add" -> add(rest);
        case "decided" -> waits.get(rest).isDecided = true;
        case "pass" -> time.passMillis(Long.parseLong(rest));
        case "pause" -> time.pause(Duration.ofMillis(Long.parseLong(rest)));
        case "close" -> timeouts.close();
        case "check" -> timeouts.check();
        case "no-timer" -> time.duringNextSchedule(() -> fail("error"));
        case "throws" -> {
          String[] words = rest.split(" ", 2);
          assertThrows(Error.class, () -> act(words[0], words[1]));
        }
        case "kept?" -> out.add(timeouts.kept() + " kept");
        case "timers?" -> out.add(time.tasks() + " timers");
        default -> throw new IllegalArgumentException(command);
      }
      return List.copyOf(out);
    }

    /** Adds one, with what it does when it is struck: fail, starve, or add another. */
    private void add(String terms) {
      Wait wait = new Wait(terms);
      waits.put(wait.name, wait);
      timeouts.add(wait, time.monotonicNanos());
    }

    private static void fail(String how) {
      switch (how) {
        case "exception" -> throw new IllegalStateException("a defect");
        case "memory" -> throw new OutOfMemoryError("a passing one");
        default -> throw new Error("a defect");
      }
    }

    private final class Wait implements Timeouts.Timed {
      private final String name;
      private final String then;
      private boolean isDecided;
      private int asked;
      private int struck;

      Wait(String terms) {
        String[] words = terms.split(" ", 2);
        name = words[0];
        then = words.length == 1 ? "" : words[1];
      }

      @Override
      public boolean isDecided() {
        if (then.equals("cannot-tell-once") && asked++ == 0) {
          fail("error");
        }
        return isDecided || asked > 0;
      }

      @Override
      public void onTimeout() {
        struck++;
        isDecided = !then.equals("starves") || struck == 5;
        out.add(name + " at " + (time.monotonicNanos() - startNanos) / 1_000_000);
        if (then.equals("starves") && !isDecided) {
          fail("memory");
        } else if (then.startsWith("fails ")) {
          fail(then.substring("fails ".length()));
        } else if (then.startsWith("adds ")) {
          add(then.substring("adds ".length()));
        }
      }
    }
  }
}
