package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class RoundTripsTest {

  private final RoundTrips trips = new RoundTrips();

  @Test
  void withoutAnyThereIsNone() {
    assertEquals(Optional.empty(), trips.percentile(50));
  }

  @Test
  void percentileIsTheLeastThatSoManyDoNotExceed() {
    for (int i = 10; i >= 1; i--) {
      trips.add(i * 1_000L);
    }
    assertEquals(micros(1), trips.percentile(1).orElseThrow());
    assertEquals(micros(5), trips.percentile(50).orElseThrow());
    assertEquals(micros(6), trips.percentile(51).orElseThrow());
    assertEquals(micros(10), trips.percentile(99).orElseThrow());
    assertEquals(micros(10), trips.percentile(100).orElseThrow());
  }

  @Test
  void onlyTheLastCount() {
    for (int i = 0; i < 256; i++) {
      trips.add(5_000);
    }
    trips.add(9_000);
    assertEquals(micros(5), trips.percentile(99).orElseThrow());
    assertEquals(micros(9), trips.percentile(100).orElseThrow());
    for (int i = 0; i < 255; i++) {
      trips.add(7_000);
    }
    assertEquals(micros(7), trips.percentile(1).orElseThrow());
    trips.add(7_000);
    assertEquals(micros(7), trips.percentile(100).orElseThrow());
  }

  @Test
  void theLastThatThereIsRoomForCountsToo() {
    for (int i = 0; i < 255; i++) {
      trips.add(5_000);
    }
    trips.add(9_000);
    assertEquals(micros(9), trips.percentile(100).orElseThrow());
  }

  @Test
  void shortOnesCountAsAMicrosecondAndLongOnesAreCut() {
    trips.add(0);
    assertEquals(micros(1), trips.percentile(50).orElseThrow());
    trips.add(Long.MAX_VALUE);
    assertEquals(micros(Integer.MAX_VALUE), trips.percentile(100).orElseThrow());
  }

  private static Duration micros(long micros) {
    return Duration.ofNanos(1_000 * micros);
  }
}
