package io.redlock.driver;

import io.redlock.scenes.KeptLog;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Wherever memory is short in the life of a service, calls and leases end, and nothing is left. */
class ShortageTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  /** Memory that is short when it is taken for so many times, from one time on. */
  private static final class Memory implements Runnable {
    private final int from;
    private final int times;
    private int taken;
    private @Nullable OutOfMemoryError first;

    Memory(int from, int times) {
      this.from = from;
      this.times = times;
    }

    @Override
    public void run() {
      int now = taken++;
      if (now >= from && now < from + times) {
        OutOfMemoryError error = new OutOfMemoryError("short from " + from + " on, " + times);
        first = first == null ? error : first;
        throw error;
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        // A lease that is renewed, and those who wait for it.
        "every yes; call ttl 2000 wait 20000 renew 20000; call ttl 2000 wait 20000; call ttl 2000"
            + " wait 20000 fair; pass-checks 2000; close 1; pass-checks 1000; extend 2 2000;"
            + " pass-checks 1000; release 2",
        // Attempts that are refused, outbid, not answered, and cancelled.
        "call ttl 2000 wait 20000; call ttl 2000 wait 20000; answer ab grant stale 5;"
            + " answer a grant yes; pass 49; answer b grant lost; pass 1; grants ab held 3000;"
            + " pass 200; cancel 2; grants ab held 700; pass-checks 1000; every yes;"
            + " pass-checks 1000; release 1",
        // Readers, a writer behind them, and a lease that is lost.
        "every yes; call ttl 2000 shared wait 20000 fair; call ttl 2000 shared wait 20000 fair;"
            + " call ttl 2000 wait 20000 fair; pass-checks 1000; close 1; pass 200; close 2; pass 200;"
            + " every gone; extend 3 2000; pass-checks 1000",
        // One of several names, and a release that is repeated.
        "every down; call any-of 3 wait 20000; pass-checks 1000; every yes; pass-checks 1000;"
            + " every silent; close 1; pass-checks 1000; releases yes; pass-checks 1000"
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
            + " pass-checks 1000; every silent; extend 1 2000; close-service",
        times);
  }

  private static void playEachWay(String life, int times) {
    Memory memory = new Memory(0, times);
    while (play(life, memory)) {
      memory = new Memory(memory.from + 1, times);
    }
  }

  /** Returns true if memory was short. */
  private static boolean play(String life, Memory memory) {
    ServiceLife played = new ServiceLife();
    played.whenMemoryIsTaken(memory);
    for (String command : life.split("; *")) {
      String[] words = command.split(" ", 2);
      try {
        played.act(words[0], words.length == 1 ? "" : words[1]);
      } catch (RuntimeException | AssertionError | OutOfMemoryError e) {
        if (memory.first == null) {
          throw e;
        } // else it failed for that, or what came before did, and it has become impossible
      }
    }
    played.whenMemoryIsTaken(() -> {});
    try {
      played.assertAllEnds();
    } catch (AssertionError e) {
      throw memory.first == null ? e : new AssertionError(e.getMessage(), memory.first);
    }
    return memory.first != null;
  }
}
