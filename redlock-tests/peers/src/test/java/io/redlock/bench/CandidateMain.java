package io.redlock.bench;

import io.redlock.Leadership;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;

/**
 * One of the JVMs of an {@link Election}. Says when it campaigns, and the monotonic time at which
 * each of its terms begins; resigns for every line of its input.
 */
final class CandidateMain {

  private CandidateMain() {}

  /**
   * @param args the masters' addresses
   */
  public static void main(String[] args) {
    Redlock redlock = JedisRedlock.builder().node(String.join(",", args)).build();
    System.out.println("campaigns"); // from the next statement on
    try (redlock;
        Leadership candidate =
            redlock.lead(
                "leader",
                LeaderGaps.TTL,
                (term, leadership) -> {
                  System.out.println(System.nanoTime());
                  new CountDownLatch(1).await();
                })) {
      Scanner lines = new Scanner(System.in, "UTF-8");
      while (lines.hasNextLine()) {
        lines.nextLine();
        candidate.resign();
      }
    }
  }
}
