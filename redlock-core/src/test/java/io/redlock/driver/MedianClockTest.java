package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.scenes.FakeTime;
import io.redlock.spi.LockNode;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class MedianClockTest {

  private static final long EPOCH_MICROS = 1_800_000_000_000_000L;

  private static final long SKEW_MICROS = 2_000_000;

  private final FakeTime time = new FakeTime();
  private final MedianClock tokens = new MedianClock(List.of(), Quorum.of(0), time, SKEW_MICROS);

  private static MedianClock clock(FakeTime time, int size, long... offsetsMicros) {
    List<LockNode> nodes = new ArrayList<>();
    for (int index = 0; index < size; index++) {
      ScriptedNode node = new ScriptedNode("n" + index, new ArrayList<>());
      if (index < offsetsMicros.length) {
        node.clockOffsetMicros(offsetsMicros[index]);
      }
      nodes.add(node);
    }
    return new MedianClock(nodes, Quorum.of(nodes.size()), time, 0);
  }

  private long expected(long offsetMicros) {
    return offsetMicros + time.monotonicNanos() / 1_000;
  }

  @Test
  void untilAQuorumHasToldItsTimeTheClientsWallClockServes() {
    assertEquals(time.wallMicros(), clock(time, 5, EPOCH_MICROS, EPOCH_MICROS).micros());
    assertEquals(time.wallMicros(), clock(time, 2, EPOCH_MICROS).micros());
    assertEquals(expected(EPOCH_MICROS), clock(time, 1, EPOCH_MICROS).micros());
  }

  @Test
  void oneWrongClockDoesNotMoveTheMedian() {
    long far = Duration.ofDays(30).toNanos() / 1_000;
    assertEquals(
        expected(EPOCH_MICROS + 1),
        clock(time, 3, EPOCH_MICROS, EPOCH_MICROS + far, EPOCH_MICROS + 1).micros());
    assertEquals(
        expected(EPOCH_MICROS),
        clock(time, 3, EPOCH_MICROS, EPOCH_MICROS - far, EPOCH_MICROS + 1).micros());
  }

  @Test
  void ofAnEvenNumberTheLowerMiddleCounts() {
    assertEquals(
        expected(EPOCH_MICROS + 2),
        clock(time, 4, EPOCH_MICROS + 9, EPOCH_MICROS + 1, EPOCH_MICROS + 2, EPOCH_MICROS + 5)
            .micros());
    assertEquals(
        expected(EPOCH_MICROS + 2),
        clock(time, 5, EPOCH_MICROS + 9, EPOCH_MICROS + 2, EPOCH_MICROS + 1, EPOCH_MICROS + 5)
            .micros());
  }

  @Test
  void medianFollowsTheMonotonicClockAndNotTheWall() {
    MedianClock clock = clock(time, 1, EPOCH_MICROS);
    long before = clock.micros();
    time.stepWall(Duration.ofHours(-1));
    time.passMillis(7);
    assertEquals(before + 7_000, clock.micros());
  }

  // Tokens.

  @Test
  void tokenIsTheClock() {
    assertEquals(time.wallMicros(), tokens.nextToken());
    time.passMillis(5);
    assertEquals(time.wallMicros(), tokens.nextToken());
  }

  @Test
  void tokensOfOneInstantRise() {
    long first = tokens.nextToken();
    assertEquals(first + 1, tokens.nextToken());
    assertEquals(first + 2, tokens.nextToken());
  }

  @Test
  void tokensRiseUpToWhatNodesMayAccept() {
    long first = tokens.nextToken();
    time.stepWall(Duration.ofNanos(-SKEW_MICROS * 1_000));
    assertEquals(
        time.wallMicros(), tokens.nextToken(), "nodes would refuse one that is further ahead");
    time.stepWall(Duration.ofNanos(SKEW_MICROS * 1_000));
    assertEquals(first, tokens.nextToken());
    time.stepWall(Duration.ofNanos(-SKEW_MICROS * 1_000 + 1_000));
    assertEquals(first + 1, tokens.nextToken());
  }

  @Test
  void tokensRiseWhileTheClockGoesBackWithinTheSkew() {
    long first = tokens.nextToken();
    time.stepWall(Duration.ofMillis(-1_500));
    assertEquals(first + 1, tokens.nextToken());
  }

  @Test
  void clockThatWasFarAheadDoesNotSpoilLaterTokens() {
    time.stepWall(Duration.ofHours(1));
    tokens.nextToken();
    time.stepWall(Duration.ofHours(-1));
    assertEquals(
        time.wallMicros(), tokens.nextToken(), "nodes would refuse a token an hour ahead of them");
    assertEquals(time.wallMicros() + 1, tokens.nextToken());
  }
}
