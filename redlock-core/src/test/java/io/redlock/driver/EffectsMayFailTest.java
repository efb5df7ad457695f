package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.KeptLog;
import io.redlock.spi.FullLog;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever fails in the life of a service, calls and leases end, and nothing is left. */
class EffectsMayFailTest {

  private static final long LIVES = 500;

  @RegisterExtension private final KeptLog log = new KeptLog();

  /**
   * Effects that fail so many times, from one of them on: sends, timers, clocks, memory, threads,
   * executors, lines of the log.
   */
  private static final class Effects implements Runnable {
    private final int from;
    private final int times;
    private final boolean isShortage;
    private int done;
    private boolean areOver;
    private @Nullable Throwable first;

    Effects(int from, int times, boolean isShortage) {
      this.from = from;
      this.times = times;
      this.isShortage = isShortage;
    }

    @Override
    public void run() {
      int now = done++;
      if (!areOver && now >= from && now < from + times) {
        String text = "effects fail from " + from + " on, " + times;
        OutOfMemoryError shortage = new OutOfMemoryError(text);
        IllegalStateException defect = new IllegalStateException(text);
        first = first != null ? first : isShortage ? shortage : defect;
        if (isShortage) {
          throw shortage;
        }
        throw defect;
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        // A lease that is renewed, and those who wait for it.
        "every yes; call ttl 2000 wait 20000 renew 20000; call ttl 2000 wait 20000; call ttl 2000"
            + " wait 20000 fair; pass 2000; close 1; pass 1000; extend 2 2000;"
            + " pass 1000; release 2",
        // A lease that is passed on, twice, then released; one that is cancelled before.
        "every over 9; call ttl 2000 wait 20000; call ttl 2000 wait 20000; call ttl 2000 wait 20000;"
            + " call ttl 2000 wait 20000 renew 20000; call ttl 2000 wait 20000; close 1;"
            + " pass 1; cancel 3; close 2; pass 1; release 4; close 5",
        // Attempts that are refused, outbid, not answered, and cancelled.
        "call ttl 2000 wait 20000; call ttl 2000 wait 20000; answer ab grant stale 5;"
            + " answer a grant yes; pass 49; answer b grant lost; pass 1; grants ab held 3000;"
            + " pass 200; cancel 2; grants ab held 700; pass 1000; every yes;"
            + " pass 1000; release 1",
        // Readers, a writer behind them, and a lease that is lost.
        "every yes; call ttl 2000 shared wait 20000 fair; call ttl 2000 shared wait 20000 fair;"
            + " call ttl 2000 wait 20000 fair; pass 1000; close 1; pass 200; close 2; pass 200;"
            + " every gone; extend 3 2000; pass 1000",
        // One of several names, a release that is repeated, and questions of an operator.
        "every down; call any-of 3 wait 20000; inspect; pass 1000; every yes; pass 1000;"
            + " every silent; close 1; inspect; pass 1000; releases yes; pass 1000"
      })
  void allEndsWhereverMemoryIsShort(String life) {
    for (int times : new int[] {1, 4, 50}) {
      playEachWay(life, times);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 4})
  void allEndsWithAServiceThatIsClosedWhereverMemoryIsShort(int times) {
    playEachWay(
        "every yes; call ttl 2000 wait 20000 renew 20000; call wait 20000; call wait 20000 fair;"
            + " pass 1000; every silent; extend 1 2000; close-service",
        times);
  }

  private static void playEachWay(String life, int times) {
    Effects effects = new Effects(0, times, true);
    while (play(List.of(life.split("; *")), effects, false)) {
      effects = new Effects(effects.from + 1, times, true);
    }
  }

  static LongStream seeds() {
    return LongStream.range(0, LIVES);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void allEndsInAnyLifeWhateverFails(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<String> life = life(random);
    int times = new int[] {1, 3, 100}[random.nextInt(3)];
    Effects effects = new Effects(random.nextInt(400), times, random.nextBoolean());
    FullLog.during(effects, () -> play(life, effects, true));
  }

  private static List<String> life(SplittableRandom random) {
    List<String> life = new ArrayList<>(List.of("every yes"));
    for (int step = random.nextInt(5, 30); step > 0; step--) {
      life.add(command(random));
    }
    return life;
  }

  private static String command(SplittableRandom random) {
    if (random.nextInt(50) == 0) {
      return "close-service";
    }
    String[] usual = {"call", "call", "pass", "every", "some", "lease"};
    String[] kinds = {"wait 4000", "wait 500 fair", "wait 4000 shared fair", "", "renew 9000"};
    String[] answers = {
      "yes", "over 9", "over 9", "down", "silent", "gone", "lost", "held 700", "stale 5"
    };
    String answer = answers[random.nextInt(answers.length)];
    return switch (usual[random.nextInt(usual.length)]) {
      case "call" -> "call ttl 2000 " + kinds[random.nextInt(kinds.length)];
      case "pass" -> new String[] {"pass 1", "pass 20", "pass 50", "pass 2000"}[random.nextInt(4)];
      case "every" -> "every " + answer;
      case "some" ->
          new String[] {"grants ab ", "releases ", "answer abc "}[random.nextInt(3)] + answer;
      default ->
          new String[] {"close ", "cancel ", "complete ", "release ", "extend "}[random.nextInt(5)]
              + random.nextInt(1, 6);
    };
  }

  /** Returns true if an effect failed. A life that was drawn has impossible commands, too. */
  private static boolean play(List<String> life, Effects effects, boolean isDrawn) {
    ServiceLife played = new ServiceLife(effects);
    played.whenMemoryIsTaken(effects);
    for (String command : life) {
      String[] words = command.split(" ", 2);
      effects.areOver = isDrawn && effects.first != null; // two seconds later at most
      try {
        played.perform(words[0], words.length == 1 ? "" : words[1]);
      } catch (RuntimeException | AssertionError | OutOfMemoryError e) {
        if (effects.first == null && !isDrawn) {
          throw e;
        } // else it failed for that, or what came before did, and it has become impossible
      }
      assertTrue(played.timers() <= 1, "timers");
    }
    effects.areOver = true;
    try {
      if (effects.times == 1) {
        played.assertAllEnds();
      } else {
        played.assertAllEndsWithinASecond();
      }
    } catch (AssertionError e) {
      throw new AssertionError(e.getMessage() + ": " + life, effects.first);
    }
    return effects.first != null;
  }
}
