package io.redlock.jedis.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.scenes.Scenes;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Which readings of a node's clock are a step of that clock. */
class ClockStepDetectorTest {

  private static final long EPOCH_MICROS = 1_700_000_000_000_000L;
  private static final long SECOND = 1_000_000;

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/membership/ClockStepDetector.txt", Life::new);
  }

  /** A clock that is read again and again, each time by a round trip of a millisecond. */
  private static final class Life extends Scenes.Teller {

    private final ClockStepDetector detector = new ClockStepDetector(10_000);
    private long monotonicMicros = -5 * 3_600 * SECOND; // of any origin
    private long wallMicros = EPOCH_MICROS;
    private long nodeMicros = EPOCH_MICROS + 300;
    private long tripMicros = 1_000;

    Life() {
      assertEquals("no step", read());
    }

    @Override
    protected void perform(String command, String rest) {
      switch (command) {
        case "trip" -> tripMicros = Marks.micros(rest);
        case "pass" -> pass(Marks.micros(rest));
        case "node" -> nodeMicros += Marks.micros(rest);
        case "wall" -> wallMicros += Marks.micros(rest);
        case "read" -> tell(read());
        case "second" -> { // passes, and perhaps the node's clock is set
          pass(SECOND);
          nodeMicros += Marks.micros(rest);
          tell(read());
        }
        case "exactly" -> tell(secondReading(rest.split(" ")));
        default -> throw new IllegalArgumentException(command);
      }
    }

    private void pass(long micros) {
      monotonicMicros += micros;
      wallMicros += micros;
      nodeMicros += micros;
    }

    /** The node reads its clock in the middle of the trip. */
    private String read() {
      long beforeNanos = monotonicMicros * 1_000;
      pass(tripMicros / 2);
      long readMicros = nodeMicros;
      pass(tripMicros / 2);
      long afterNanos = monotonicMicros * 1_000;
      return text(
          detector.stepMicros(readMicros, beforeNanos, afterNanos, wallMicros - monotonicMicros));
    }

    /** How much later the node's clock is read, before and after what, and how ours differ then. */
    private static String secondReading(String[] micros) {
      ClockStepDetector fresh = new ClockStepDetector(10_000);
      assertEquals(0, fresh.stepMicros(SECOND, 0, 0, 0));
      return text(
          fresh.stepMicros(
              SECOND + Marks.micros(micros[0]),
              1_000 * Marks.micros(micros[1]),
              1_000 * Marks.micros(micros[2]),
              Marks.micros(micros[3])));
    }

    private static String text(long stepMicros) {
      return stepMicros == 0 ? "no step" : "a step of " + stepMicros;
    }
  }
}
