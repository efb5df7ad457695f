package io.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.Votes;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What happens to a hold while the masters are asked to extend it. */
class JobHoldTest {

  private static final long MINUTE_NANOS = Duration.ofMinutes(1).toNanos();
  private static final Votes VOTES = new Votes(List.of(), 2, Optional.empty());

  private final long nowNanos = System.nanoTime();
  private final JobHold.Limits before = limits(1);
  private final JobHold.Limits next = limits(3);
  private Runnable meanwhile = () -> {};
  private ExtendResult result = ExtendResult.unknown(VOTES);
  private final JobHold hold =
      new JobHold(
          ShortMemoryTest.proxy(
              Lease.class,
              method ->
                  switch (method) {
                    case "isValid" -> true;
                    case "extend" -> {
                      meanwhile.run();
                      yield result;
                    }
                    default -> method;
                  }),
          before,
          new JobTimer());

  /** Returns limits of so many minutes from now, and of a minute more. */
  private JobHold.Limits limits(long minutes) {
    return new JobHold.Limits(
        nowNanos + minutes * MINUTE_NANOS, nowNanos + (minutes + 1) * MINUTE_NANOS);
  }

  private boolean extend(JobHold.Limits limits) {
    return hold.extend(limits, Duration.ofMinutes(5));
  }

  private long overNanos() {
    return nowNanos + hold.leftNanos(nowNanos);
  }

  @ParameterizedTest
  @EnumSource(ExtendResult.Outcome.class)
  void unlockDuringAnExtensionReleasesAtTheEarliestTime(ExtendResult.Outcome outcome) {
    meanwhile = hold::end;
    result =
        switch (outcome) {
          case EXTENDED -> ExtendResult.extended(Duration.ofMinutes(5), VOTES);
          case LOST -> ExtendResult.lost(VOTES);
          case UNKNOWN -> ExtendResult.unknown(VOTES);
        };
    boolean extended = extend(next);
    assertEquals((extended ? next : before).earliestNanos(), overNanos());
  }

  @Test
  void unlockedHoldIsNotExtended() {
    hold.end();
    result = ExtendResult.extended(Duration.ofMinutes(5), VOTES);
    assertFalse(extend(next));
    assertEquals(before.earliestNanos(), overNanos());
  }

  @Test
  void holdWhoseTimeIsOverIsNotExtended() {
    result = ExtendResult.extended(Duration.ofMinutes(5), VOTES);
    assertTrue(extend(limits(-2)), "its time is over from now on");
    assertFalse(extend(next));
  }

  @Test
  void extensionThatFailsUndoesNoOther() {
    meanwhile =
        () -> {
          meanwhile = () -> {};
          result = ExtendResult.extended(Duration.ofMinutes(5), VOTES);
          extend(limits(7));
          result = ExtendResult.unknown(VOTES);
        };
    assertFalse(extend(next));
    assertEquals(limits(7).latestNanos(), overNanos());
  }
}
