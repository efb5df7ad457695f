package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.spi.Ticker;
import io.redlock.testing.InMemoryMasters;
import io.redlock.testkit.JavaProgram;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import jdk.jfr.EventType;
import jdk.jfr.Recording;
import jdk.jfr.SettingDescriptor;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What the Flight Recorder sees, and that nobody pays for it otherwise. */
class FlightEventsTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  @Test
  void recordingHasTheLifeOfALease(@TempDir Path folder) throws Exception {
    List<RecordedEvent> events =
        recorded(
            folder,
            () -> {
              try (InMemoryMasters masters = InMemoryMasters.inVirtualTime(3)) {
                Redlock redlock = masters.connect();
                Lease lease = redlock.acquire("orders/42", TTL, Duration.ZERO);
                lease.extend(TTL);
                masters.stop(2);
                masters.advance(TTL);
                redlock.tryAcquire("orders/42", TTL);
              }
            });
    RecordedEvent acquired = of("Acquire", events).get(0);
    assertEquals("orders/42", acquired.getString("resource"));
    assertEquals("ACQUIRED", acquired.getString("outcome"));
    assertTrue(acquired.getLong("fencingToken") > 0);
    assertEquals("UNAVAILABLE", of("Acquire", events).get(1).getString("outcome"));
    assertEquals("EXTENDED", of("Extend", events).get(0).getString("outcome"));
    RecordedEvent ended = of("Lease", events).get(0);
    assertEquals("EXPIRED", ended.getString("cause"));
    assertTrue(ended.getBoolean("lost"));
    assertTrue(ended.getString("lease").contains("orders/42"), ended::toString);
    assertTrue(ended.getDuration().toNanos() > 0, ended::toString);
    assertTrue(
        of("NodeCall", events).stream()
            .anyMatch(
                call ->
                    call.getString("node").equals("master-3")
                        && call.getString("answer").equals("GRANTED")));
    assertTrue(
        of("NodeState", events).stream()
            .anyMatch(state -> state.getString("state").equals("DOWN")));
  }

  /** All events while something is done, however short they are. */
  private static List<RecordedEvent> recorded(Path folder, Executable what) throws Exception {
    Path file = folder.resolve("redlock.jfr");
    try (Recording recording = new Recording()) {
      for (String name :
          List.of("Acquire", "Extend", "Lease", "NodeCall", "NodeState", "NodeReset")) {
        recording.enable("redlock." + name).withoutThreshold();
      }
      recording.start();
      assertDoesNotThrow(what);
      recording.stop();
      recording.dump(file);
    }
    return RecordingFile.readAllEvents(file);
  }

  private static List<RecordedEvent> of(String name, List<RecordedEvent> events) {
    return events.stream()
        .filter(event -> event.getEventType().getName().equals("redlock." + name))
        .sorted(Comparator.comparing(RecordedEvent::getStartTime))
        .toList();
  }

  @Test
  void leasesOfTheWarmUpAreNotRecorded(@TempDir Path folder) throws Exception {
    List<RecordedEvent> events =
        recorded(folder, () -> new Warmup(Ticker.system()).once(RedlockBuilder::warm));
    for (RecordedEvent event : events) {
      assertFalse(event.getEventType().getName().startsWith("redlock."), event::toString);
    }
  }

  @Test
  void nodesAreRecordedOnlyWhenTheyAreSlow() {
    EventType type = EventType.getEventType(FlightEvents.NodeCall.class);
    String threshold =
        type.getSettingDescriptors().stream()
            .filter(setting -> setting.getName().equals("threshold"))
            .map(SettingDescriptor::getDefaultValue)
            .findFirst()
            .orElse("none");
    assertEquals("10 ms", threshold);
  }

  @Test
  void nothingIsAllocatedWhileNobodyRecords() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long thread = Thread.currentThread().getId();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 10; i++) { // the first rounds load classes
      long before = threads.getThreadAllocatedBytes(thread);
      beginAll(1_000);
      least = Math.min(least, threads.getThreadAllocatedBytes(thread) - before);
    }
    assertEquals(0, least);
  }

  private static void beginAll(int times) {
    for (int i = 0; i < times; i++) {
      assertNull(FlightEvents.acquiring());
      assertNull(FlightEvents.extending());
      assertNull(FlightEvents.holding());
      assertNull(FlightEvents.calling(5));
    }
  }

  @Test
  void runtimeWithoutFlightRecorderLacksNothingElse() throws Exception {
    JavaProgram.Run run =
        JavaProgram.run(
            List.of("--limit-modules", "java.base"),
            WithoutFlightRecorder.class.getName(),
            "off",
            "");
    assertEquals(List.of("no jdk.jfr: acquired, extended, EXPIRED"), run.lines());
  }

  /** A program for a trimmed runtime. */
  static final class WithoutFlightRecorder {

    public static void main(String[] args) throws InterruptedException {
      boolean present = ModuleLayer.boot().findModule("jdk.jfr").isPresent();
      StringBuilder told = new StringBuilder(present ? "jdk.jfr is here" : "no jdk.jfr");
      try (InMemoryMasters masters = InMemoryMasters.inVirtualTime(3)) {
        Lease lease = masters.connect().acquire("orders/42", TTL, Duration.ZERO);
        told.append(lease.isValid() ? ": acquired" : ": not acquired");
        told.append(
            lease.extend(TTL).outcome() == ExtendResult.Outcome.EXTENDED ? ", extended" : ", not");
        lease.ended().thenAccept(end -> told.append(", ").append(end.cause()));
        masters.stop(2);
        masters.advance(TTL);
      }
      System.out.println(told);
    }
  }
}
