package io.redlock.bench;

import io.redlock.Lease;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** How long nobody gets a lease when masters restart without their data. */
final class Restarts implements AutoCloseable {

  private static final int MASTERS = 3;
  private static final Duration MAX_TTL = Duration.ofSeconds(5);
  private static final Duration SKEW = Duration.ofMillis(250); // so a master abstains for 5.6 s
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final RedisServers servers = RedisServers.startBrandNew(MASTERS);
  private final Redlock redlock;
  private final Thread caller = new Thread(this::call, "bench-restarts");
  private volatile boolean isOver;
  private int leases; // guarded by this, as what follows
  private long lastNanos;
  private long longestNanos;

  private Restarts() {
    settings().adoptNew();
    redlock = settings().build();
    caller.start();
  }

  static void run(Report report) {
    List<List<String>> rows = new ArrayList<>();
    rows.add(row("one after the other, when the last one votes again", Restarts::rolling));
    rows.add(row("all at once", Restarts::allAtOnce));
    rows.add(row("one while another is gone, after `adopt --without`", Restarts::withoutAnother));
    report.table(
        "Masters that restart without their data",
        MASTERS + " masters that abstain for 5.6 s; one caller acquires and releases all the time.",
        List.of("what restarts", "longest time without a lease (s)"),
        rows);
  }

  private interface Scene {
    void play(Restarts on);
  }

  private static List<String> row(String what, Scene scene) {
    try (Restarts on = new Restarts()) {
      on.awaitLease();
      scene.play(on);
      on.awaitLease();
      return List.of(what, String.format(Locale.ROOT, "%.1f", on.longestNanos / 1e9));
    }
  }

  private JedisRedlock.Builder settings() {
    return JedisRedlock.builder()
        .node(String.join(",", servers.addresses()))
        .maxTtl(MAX_TTL)
        .clockSkew(SKEW)
        .nodeTimeout(Duration.ofMillis(200));
  }

  private void rolling() {
    begin();
    for (int master = 0; master < MASTERS; master++) {
      servers.get(master).restart();
      awaitState(master, State.ABSTAINING);
      awaitState(master, State.UP);
    }
  }

  private void allAtOnce() {
    servers.forEach(server -> server.kill());
    begin();
    servers.forEach(server -> server.restart());
  }

  private void withoutAnother() {
    servers.get(0).kill();
    servers.get(1).restart();
    awaitState(1, State.ABSTAINING);
    begin();
    if (!settings().adoptWithout(List.of(servers.get(0).address())).isComplete()) {
      throw new IllegalStateException("not adopted: " + redlock.operations().nodes());
    }
  }

  private void awaitState(int master, State state) {
    Await.until(
        "master " + master + " is " + state,
        PATIENCE,
        () -> redlock.operations().nodes().get(master).state() == state);
  }

  private void call() {
    try {
      for (int i = 0; !isOver; i++) {
        Optional<Lease> lease = redlock.tryAcquire("bench:" + i, MAX_TTL).lease();
        if (lease.isPresent()) {
          count();
          lease.get().release();
        }
        Thread.sleep(10);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void count() {
    long nowNanos = System.nanoTime();
    longestNanos = Math.max(longestNanos, nowNanos - lastNanos);
    lastNanos = nowNanos;
    leases++;
  }

  private synchronized void begin() {
    lastNanos = System.nanoTime();
    longestNanos = 0;
  }

  private synchronized int leases() {
    return leases;
  }

  private void awaitLease() {
    int before = leases();
    Await.until("a lease", PATIENCE, () -> leases() > before);
  }

  @Override
  public void close() {
    isOver = true;
    Await.until("the caller ends", PATIENCE, () -> !caller.isAlive());
    redlock.close();
    servers.close();
  }
}
