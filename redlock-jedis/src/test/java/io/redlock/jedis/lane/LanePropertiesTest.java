package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.LaneBed.Asked;
import io.redlock.scenes.KeptLog;
import java.io.IOException;
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
      LaneBed each = new LaneBed().start();
      List<Asked> asked = new ArrayList<>();
      List<Asked> taken = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        befall(each, random, asked, taken);
      }
      each.came();
      each.close().pass(LaneBed.NODE_TIMEOUT_MILLIS);
      String where = "seed " + seed;
      assertEquals(State.CLOSED, each.state(), where);
      assertEquals(1, each.came().stream().filter("closed"::equals).count(), where);
      asked.removeAll(taken);
      for (Asked request : asked) {
        assertEquals(1, request.answers.size(), where + " " + request.label);
      }
      for (Asked request : taken) {
        assertEquals(List.of(), request.answers, where);
      }
      assertTrue(each.machine.isIdle(), where);
      assertFalse(each.machine.hasMore(), where);
    }
  }

  /** Something happens, most often something usual. */
  private static void befall(
      LaneBed each, SplittableRandom random, List<Asked> asked, List<Asked> taken) {
    boolean isDue = each.due() > 0 && random.nextInt(3) == 0;
    switch (random.nextInt(16)) {
      case 0, 1, 2 -> asked.add(each.grant("a"));
      case 3, 4 -> asked.add(each.release("b"));
      case 5 -> asked.add(each.giveUpTicket("c"));
      case 6 -> {
        Asked one = asked.isEmpty() ? each.grant("d") : asked.get(random.nextInt(asked.size()));
        if (!asked.contains(one)) {
          asked.add(one);
        }
        if (one.answers.isEmpty() && one.withdraw()) {
          taken.add(one);
        }
      }
      case 7, 8 -> each.pass(random.nextInt(600));
      case 9, 10 -> {
        if (each.came().contains("dial")) {
          each.connect();
        }
        each.answerAll();
      }
      case 11 -> each.hang(random.nextInt(4_000)).tick();
      case 12 -> {
        if (isDue) {
          each.answerNoScript();
        }
      }
      case 13 -> {
        if (isDue) {
          each.answerError("BUSY");
        }
      }
      case 14 -> {
        if (random.nextInt(4) == 0) {
          each.lose(new IOException("reset"));
        }
      }
      default -> {
        if (random.nextInt(8) == 0) {
          each.breakDown(new OutOfMemoryError("heap"));
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {80, 150, 400, 999, 1_500, 5_000})
  void auditsGoOnAfterASilenceOfAnyLength(int silenceMillis) {
    LaneBed bed = new LaneBed(3, true).others(2).up();
    for (int round = 0; round < 20; round++) {
      for (int i = 0; i < silenceMillis / 10; i++) {
        bed.grant("a");
        bed.pass(10);
      }
      bed.answerAll().pass(LaneBed.WATCH_MILLIS).answerAll().came();
      bed.pass(1_000);
      assertTrue(String.join(" ", bed.came()).contains("write audit"), "round " + round);
      bed.answerAll().pass(LaneBed.WATCH_MILLIS).answerAll();
      assertEquals(State.UP, bed.state());
    }
  }

  @Test
  void auditsNeverEndWhateverHappens() {
    for (long seed = 0; seed < 300; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      LaneBed each = new LaneBed(3, true).others(2).up();
      List<Asked> asked = new ArrayList<>();
      try {
        for (int i = 0; i < 60; i++) {
          befall(each, random, asked, new ArrayList<>());
        }
        recover(each);
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
      }
    }
  }

  /** From here on the node answers at once: the lane is up, and audits once a second. */
  private static void recover(LaneBed each) {
    for (int i = 0; i < 400; i++) {
      each.pass(10);
      if (each.came().contains("dial")) {
        each.connect();
      }
      each.answerAll();
    }
    assertEquals(State.UP, each.state(), each.status()::toString);
    each.came();
    for (int i = 0; i < 301; i++) {
      each.pass(10).answerAll();
    }
    long audits = each.came().stream().filter(text -> text.startsWith("write audit")).count();
    assertTrue(audits >= 3, audits + " audits in three seconds");
  }
}
