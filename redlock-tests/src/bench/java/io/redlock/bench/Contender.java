package io.redlock.bench;

import io.redlock.bench.Peer.Cycle;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Scanner;

/**
 * One of the JVMs of {@link Contention}. For every line {@code peer|milliseconds} its threads lock
 * and unlock one resource for so long; it answers how often.
 */
final class Contender {

  static final int THREADS = 4;
  static final String FAIR = RedlockPeer.NAME + ", fairly";

  private Contender() {}

  /**
   * @param args the masters' addresses
   */
  public static void main(String[] args) throws Exception {
    RedlockPeer redlock = new RedlockPeer(Uncontended.PATIENT, args);
    RedissonPeer redisson = new RedissonPeer(args);
    Map<String, ClosedLoop> loops =
        Map.of(
            RedlockPeer.NAME,
            loop(redlock.contender("contended")),
            FAIR,
            loop(redlock.fairContender("contended fairly")),
            RedissonPeer.NAME,
            loop(redisson.contender("redisson contended")));
    Scanner lines = new Scanner(System.in, "UTF-8");
    while (lines.hasNextLine()) {
      String[] line = lines.nextLine().split("\\|");
      System.out.println(
          loops.get(line[0]).run(Duration.ofMillis(Long.parseLong(line[1]))).cycles());
    }
    System.exit(0);
  }

  private static ClosedLoop loop(Cycle cycle) {
    return new ClosedLoop(Collections.nCopies(THREADS, cycle), Thread::new, List.of());
  }
}
