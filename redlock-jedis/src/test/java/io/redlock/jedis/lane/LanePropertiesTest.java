package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.LaneLife.Asked;
import io.redlock.scenes.KeptLog;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What holds in every life of a lane. */
class LanePropertiesTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  @Test
  void everythingIsAnsweredOnceWheneverItIsClosed() {
    for (long seed = 0; seed < 500; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      LaneLife each = new LaneLife();
      each.play("start");
      List<Asked> taken = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        befall(each, random, taken);
      }
      List<String> came = each.play("close; pass " + LaneLife.NODE_TIMEOUT_MILLIS);
      String where = "seed " + seed;
      assertEquals(State.CLOSED, each.status().state(), where);
      assertEquals(1, came.stream().filter("closed"::equals).count(), where);
      for (Asked request : each.asked) {
        int answers = taken.contains(request) ? 0 : 1;
        assertEquals(answers, request.answers.size(), where + " " + request.label);
      }
      assertTrue(each.machine.calls.isIdle(), where);
      assertFalse(each.machine.calls.hasMore(), where);
    }
  }

  /** Something happens, most often something usual. */
  private static void befall(LaneLife each, SplittableRandom random, List<Asked> taken) {
    boolean isDue = each.isAnswerDue() && random.nextInt(3) == 0;
    switch (random.nextInt(16)) {
      case 0, 1, 2 -> each.play("grant a");
      case 3, 4 -> each.play("release b");
      case 5 -> each.play("withdraw c");
      case 6 -> {
        if (each.asked.isEmpty()) {
          each.play("grant d");
        }
        Asked one = each.asked.get(random.nextInt(each.asked.size()));
        if (one.answers.isEmpty() && one.withdraw()) {
          taken.add(one);
        }
      }
      case 7, 8 -> each.play("pass " + random.nextInt(600));
      case 9, 10 -> each.play(each.isDialled ? "connect; all" : "all");
      case 11 -> each.play("hang " + random.nextInt(4_000) + "; tick");
      case 12 -> each.play(isDue ? "noscript" : "more?");
      case 13 -> each.play(isDue ? "error BUSY" : "more?");
      case 14 -> each.play(random.nextInt(4) == 0 ? "lose" : "more?");
      default -> each.play(random.nextInt(8) == 0 ? "broken" : "more?");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {80, 150, 400, 999, 1_500, 5_000})
  void auditsGoOnAfterASilenceOfAnyLength(int silenceMillis) {
    LaneLife life = new LaneLife();
    life.play("three; others 2; up");
    String answered = "all; pass " + LaneLife.WATCH_MILLIS + "; all";
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < silenceMillis / 10; i++) {
        life.play("grant a; pass 10");
      }
      life.play(answered);
      String came = life.play("pass 1000").toString();
      assertTrue(came.contains("write audit"), "round " + round);
      life.play(answered);
      assertEquals(State.UP, life.status().state());
    }
  }

  @Test
  void auditsNeverEndWhateverHappens() {
    for (long seed = 0; seed < 300; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      LaneLife each = new LaneLife();
      each.play("three; others 2; up");
      try {
        for (int i = 0; i < 60; i++) {
          befall(each, random, new ArrayList<>());
        }
        recover(each);
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
      }
    }
  }

  /** From here on the node answers at once: the lane is up, and audits once a second. */
  private static void recover(LaneLife each) {
    for (int i = 0; i < 400; i++) {
      each.play("pass 10");
      each.play(each.isDialled ? "connect; all" : "all");
    }
    assertEquals(State.UP, each.status().state(), each.status()::toString);
    String came = each.play("prompt 3; pass 10").toString();
    assertTrue(came.matches(".*audits: ([3-9]|\\d{2,}).*"), came);
  }
}
