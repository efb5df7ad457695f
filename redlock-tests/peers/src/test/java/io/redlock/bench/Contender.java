package io.redlock.bench;

import io.redlock.bench.Peer.Cycle;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * One of the JVMs of a {@link Contention}. For every line {@code peer|milliseconds} its threads
 * lock and unlock one resource for so long; it answers how often.
 */
final class Contender {

  static final int THREADS = 4;

  private Contender() {}

  /**
   * @param args {@code peer|address|address…} each
   */
  public static void main(String[] args) throws Exception {
    Map<String, ClosedLoop> loops = new HashMap<>();
    for (String arg : args) {
      String[] peer = arg.split("\\|");
      loops.put(peer[0], loop(peer[0], Arrays.copyOfRange(peer, 1, peer.length)));
    }
    Scanner lines = new Scanner(System.in, "UTF-8");
    while (lines.hasNextLine()) {
      String[] line = lines.nextLine().split("\\|");
      System.out.println(
          loops.get(line[0]).run(Duration.ofMillis(Long.parseLong(line[1]))).cycles());
    }
    System.exit(0);
  }

  private static ClosedLoop loop(String name, String... addresses) {
    Peer peer = peer(name, addresses);
    Supplier<Cycle> cycles = () -> peer.cycle("contended with " + name, Duration.ofSeconds(1));
    return new ClosedLoop(Stream.generate(cycles).limit(THREADS).toList(), Thread::new, List.of());
  }

  private static Peer peer(String name, String... addresses) {
    return switch (name) {
      case RedlockPeer.NAME, RedlockPeer.GRANTED, RedlockPeer.FAIR ->
          new RedlockPeer(name, settings -> settings, addresses);
      case RedissonPeer.NAME -> new RedissonPeer(addresses);
      default -> Elsewhere.connect(name, addresses);
    };
  }
}
