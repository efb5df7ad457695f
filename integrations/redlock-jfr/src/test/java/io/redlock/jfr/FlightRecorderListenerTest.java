package io.redlock.jfr;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.testing.InMemoryMasters;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import jdk.jfr.Recording;
import jdk.jfr.Timespan;
import jdk.jfr.ValueDescriptor;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FlightRecorderListenerTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Set<String> COMMON =
      Set.of("startTime", "duration", "eventThread", "stackTrace");

  private final RedlockListener listener = new FlightRecorderListener();

  @Test
  void recordingHasWhatTheListenerIsToldFromItsBeginOn(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("redlock.jfr");
    try (InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
        Recording recording = new Recording()) {
      Redlock redlock = masters.connect(settings -> settings.listener(listener));
      Lease early = redlock.acquire("early", TTL, Duration.ZERO);
      early.extend(TTL);
      recording.start();
      Lease lease = redlock.acquire("orders/42", TTL, Duration.ZERO);
      lease.extend(TTL);
      LeaseRequest anyOf = LeaseRequest.anyOf(List.of("early", "orders/42"), TTL);
      redlock.tryAcquire(anyOf);
      CompletableFuture<AcquireResult> call = redlock.acquireAsync(anyOf.waitUpTo(TTL));
      masters.advance(Duration.ofSeconds(1));
      call.cancel(true);
      early.release();
      masters.vacate("orders/42");
      lease.extend(TTL);
      masters.stop(1);
      listener.onNodeReset("master-1", "it was restarted");
      recording.dump(file);
    }
    String events =
        RecordingFile.readAllEvents(file).stream()
            .filter(event -> event.getEventType().getName().startsWith("redlock."))
            .map(FlightRecorderListenerTest::text)
            .collect(Collectors.joining());
    assertEquals(
        """
        redlock.Acquire: request orders/42 for 10s, waiting up to 0s; outcome ACQUIRED; fencingToken 1767225600000001; votes 3 of 3 granted, 2 needed (master-1 granted 0µs, master-2 granted 0µs, master-3 granted 0µs); holder ; took PT0S
        redlock.Extend: lease lease on orders/42, token 1767225600000001; outcome EXTENDED; votes 3 of 3 granted, 2 needed (master-1 extended 0µs, master-2 extended 0µs, master-3 extended 0µs); took PT0S
        redlock.Acquire: request any of early + orders/42 for 10s; outcome CONTENDED; fencingToken 0; votes 0 of 3 granted, 2 needed (master-1 held for 10s more by client-1, master-2 held for 10s more by client-1, master-3 held for 10s more by client-1); holder client-1; took PT0S
        redlock.Acquire: request any of early + orders/42 for 10s, waiting up to 10s; outcome GIVEN_UP; fencingToken 0; votes ; holder ; took PT1S
        redlock.Lease: lease lease on early, token 1767225600000000; cause RELEASED; lost false; detail by its holder; held PT1S
        redlock.Lease: lease lease on orders/42, token 1767225600000001; cause REFUSED; lost true; detail too few nodes still hold it: 0 of 3 granted, 2 needed (master-1 does not hold it, master-2 does not hold it, master-3 does not hold it); held PT1S
        redlock.Extend: lease lease on orders/42, token 1767225600000001; outcome LOST; votes 0 of 3 granted, 2 needed (master-1 does not hold it, master-2 does not hold it, master-3 does not hold it); took PT0S
        redlock.NodeState: node master-1; state DOWN; reason refused connection
        redlock.NodeReset: node master-1; reason it was restarted
        """,
        events);
  }

  private static String text(RecordedEvent event) {
    return event.getFields().stream()
        .filter(field -> !COMMON.contains(field.getName()))
        .map(field -> field.getName() + " " + value(field, event))
        .collect(Collectors.joining("; ", event.getEventType().getName() + ": ", "\n"));
  }

  private static Object value(ValueDescriptor field, RecordedEvent event) {
    return field.getAnnotation(Timespan.class) == null
        ? event.getValue(field.getName())
        : event.getDuration(field.getName());
  }

  @Test
  void nothingIsReadWhileNobodyRecords() {
    assertDoesNotThrow(() -> listener.onAcquire(null, null, null));
    assertDoesNotThrow(() -> listener.onGiveUp(null, null));
    assertDoesNotThrow(() -> listener.onExtend(null, null, null));
    assertDoesNotThrow(() -> listener.onEnd(null, null, null));
  }
}
