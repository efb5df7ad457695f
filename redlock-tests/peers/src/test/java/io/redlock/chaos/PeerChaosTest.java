package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.peers.PeerLibrary;
import io.redlock.testbed.Folders;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * All peers play the same schedules with the same seeds, for {@code -Dpeers.minutes} or once each.
 * {@code -Dpeers.only=redisson,curator}, {@code -Dpeers.schedule=held-back} and {@code
 * -Dpeers.seed=N} choose; {@code -Dpeers.record=true} adds what came of it to {@code
 * docs/measured/peers.md}. Only what this library is found to do wrong fails.
 */
@RequiresRedis
@Tag("long")
class PeerChaosTest {

  private static final int SIDE_BY_SIDE = Integer.getInteger("peers.sideBySide", 2);

  private record Game(PeerLibrary peer, Schedule schedule, long seed) {}

  private final long minutes = Long.getLong("peers.minutes", 0);
  private final boolean records = Boolean.getBoolean("peers.record");
  private final PeerRecords all = PeerRecords.read(PeerRecords.FOLDER);
  private final List<String> ours = new ArrayList<>(); // guarded by this
  private final List<Throwable> broken = new ArrayList<>(); // guarded by this
  private final Map<PeerLibrary, Long> locks = new EnumMap<>(PeerLibrary.class); // guarded by this
  private final List<Game> games = new ArrayList<>(); // guarded by this
  private long nextSeed = Long.getLong("peers.seed", System.currentTimeMillis() % 1_000_000);

  @Test
  void libraryDoesNothingWrongWhereItsPeersPlayToo() throws InterruptedException {
    long untilNanos = System.nanoTime() + TimeUnit.MINUTES.toNanos(minutes);
    for (PeerLibrary peer : peers()) {
      System.out.println(
          "peers: " + peer.title + " " + PeerRecords.version(peer) + ": " + peer.settings);
      locks.put(peer, 0L);
    }
    refill();
    ExecutorService runs = Executors.newFixedThreadPool(SIDE_BY_SIDE);
    for (int i = 0; i < SIDE_BY_SIDE; i++) {
      runs.execute(() -> play(untilNanos));
    }
    runs.shutdown();
    assertTrue(runs.awaitTermination(minutes + 60, TimeUnit.MINUTES), "it ends");
    synchronized (this) {
      assertEquals(List.of(), broken);
      assertEquals(List.of(), ours);
      locks.forEach((peer, count) -> assertTrue(count > 0, () -> peer.title + " locks nothing"));
    }
  }

  private void play(long untilNanos) {
    for (Game game = next(untilNanos); game != null; game = next(untilNanos)) {
      try {
        took(PeerRun.of(game.peer, game.schedule, game.seed));
      } catch (RuntimeException | Error e) {
        System.out.println("peers: no result of " + game + ": " + e);
        synchronized (this) {
          broken.add(e);
        }
      }
    }
  }

  private synchronized Game next(long untilNanos) {
    if (games.isEmpty() && System.nanoTime() - untilNanos < 0) {
      refill();
    }
    boolean over = minutes > 0 && System.nanoTime() - untilNanos >= 0;
    return games.isEmpty() || over ? null : games.remove(0);
  }

  /** The next schedule and seed for each peer in turn, so that all run for about as long. */
  private synchronized void refill() {
    for (Schedule schedule : Schedules.all()) {
      String only = System.getProperty("peers.schedule", "");
      if (!only.isEmpty() && !List.of(only.split(",")).contains(schedule.name())) {
        continue;
      }
      for (PeerLibrary peer : peers()) {
        if (PeerRun.schedules(peer).stream().anyMatch(s -> s.name().equals(schedule.name()))) {
          games.add(new Game(peer, schedule, nextSeed));
        }
      }
    }
    nextSeed++;
  }

  private static List<PeerLibrary> peers() {
    String only = System.getProperty("peers.only", "");
    return Stream.of(PeerLibrary.values())
        .filter(peer -> only.isEmpty() || List.of(only.split(",")).contains(peer.id()))
        .toList();
  }

  private synchronized void took(PeerRun.Report report) {
    System.out.println(report.summary());
    report
        .verdict()
        .findings()
        .forEach(
            finding ->
                System.out.println("peers:   " + finding.invariant() + ": " + finding.what()));
    locks.merge(report.peer(), report.verdict().leases(), Long::sum);
    if (report.peer() == PeerLibrary.REDLOCK && !report.verdict().findings().isEmpty()) {
      ours.add(report.summary());
    }
    if (records) {
      all.add(report);
      all.write(PeerRecords.FOLDER);
      PeersPage.write(all, Repository.ROOT.resolve("docs/measured/peers.md"));
    }
    if (report.verdict().findings().isEmpty()) {
      Folders.delete(report.folder());
    }
  }
}
