package io.redlock.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.cli.Doctor;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.settings.Setting;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Masters are changed while clients go on, on real servers. */
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class MovingMastersTest {

  private static final Duration MAX_TTL = Duration.ofMillis(900);
  private static final Duration TTL = Duration.ofMillis(800);
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final Duration SETTLE = Duration.ofMillis(50);
  private static final long PAUSE_NANOS = 2_000_000;

  /** The servers, of which the first are the present masters and the last are the future ones. */
  private static final class Masters implements AutoCloseable {
    final RedisServers servers;
    final List<String> present;
    final List<String> future;

    Masters(int leaving, int staying, int joining) {
      servers = RedisServers.startBrandNew(leaving + staying + joining);
      List<String> all = List.of(servers.addresses());
      present = all.subList(0, leaving + staying);
      future = all.subList(leaving, all.size());
      assertTrue(
          builder(present).silenceTimeout(PATIENCE).adoptNew().isComplete(),
          "the present masters are in use from the start");
    }

    private JedisRedlock.Builder builder(List<String> nodes) {
      return JedisRedlock.builder()
          .node(String.join(",", nodes))
          .maxTtl(MAX_TTL)
          .clockSkew(Duration.ofMillis(200));
    }

    Redlock old() {
      return builder(present).build();
    }

    Redlock moving() {
      return builder(present).movingTo(String.join(",", future)).build();
    }

    Redlock moved() {
      return builder(future).build();
    }

    /** Runs a command; returns the last line that it printed. */
    String resize(Command command, String... without) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
      boolean isDone = resize(command, out, without);
      List<String> lines = bytes.toString(StandardCharsets.UTF_8).lines().toList();
      return (isDone ? "done: " : "stopped: ") + lines.get(lines.size() - 1);
    }

    boolean resize(Command command, PrintStream out, String... without) {
      return deployment().resize(command, new Word(List.of(without), List.of(), true), SETTLE, out);
    }

    private DeploymentSettings deployment() {
      DeploymentSettings deployment = new DeploymentSettings();
      present.forEach(address -> deployment.set(Setting.NODES, address));
      future.forEach(address -> deployment.set(Setting.MOVING_TO, address));
      deployment.set(Setting.MAX_TTL, MAX_TTL);
      deployment.set(Setting.CLOCK_SKEW, Duration.ofMillis(200));
      deployment.set(Setting.SILENCE_TIMEOUT, PATIENCE); // the machine may stand still
      return deployment;
    }

    /** Asserts that the doctor names the next step. */
    void assertDoctorSays(String next) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      Doctor.run(deployment(), new PrintStream(bytes, true, StandardCharsets.UTF_8));
      String said = bytes.toString(StandardCharsets.UTF_8);
      assertTrue(said.contains(next), said);
    }

    /** Returns whom a mark says to be served, with a set's number of members in place of its id. */
    private static String inNumbers(String served, String mark) {
      String named = served;
      for (String set : mark.substring(mark.lastIndexOf(' ') + 1).split(";")) {
        String[] parts = set.split("[=,]");
        named = named.replace(parts[0], String.valueOf(parts.length - 1));
      }
      return named;
    }

    List<String> served() {
      List<String> served = new ArrayList<>();
      for (RedisServer server : servers) {
        String mark = String.valueOf(server.command("GET", "redlock:birth"));
        served.add(inNumbers(mark.replaceAll(".* (\\|\\S*) .*", "$1"), mark));
      }
      return served;
    }

    @Override
    public void close() {
      servers.close();
    }
  }

  /** A client that acquires the same lock again and again, with one lock service after another. */
  private static final class Worker implements AutoCloseable {
    private final AtomicReference<Lease> holder; // of all workers
    private final AtomicLong highest;
    private final AtomicReference<Redlock> redlock;
    private final List<Redlock> all = new ArrayList<>();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final AtomicInteger leases = new AtomicInteger();
    private final CompletableFuture<Void> work;
    private volatile boolean closed;

    Worker(Redlock first, AtomicReference<Lease> holder, AtomicLong highest) {
      this.holder = holder;
      this.redlock = new AtomicReference<>(first);
      all.add(first);
      this.highest = highest;
      work = CompletableFuture.runAsync(this::work, task -> new Thread(task, "worker").start());
    }

    private void work() {
      try {
        while (!closed) {
          AcquireResult result = redlock.get().tryAcquire("orders/42", TTL, Duration.ofMillis(200));
          if (result.lease().isPresent()) {
            hold(result.lease().get());
          }
          LockSupport.parkNanos(PAUSE_NANOS);
        }
      } catch (Throwable e) {
        failure.set(e);
      }
    }

    private void hold(Lease lease) throws InterruptedException {
      Lease other = holder.getAndSet(lease);
      boolean bothAreHeld = lease.isValid() && other != null && other.isValid() && lease.isValid();
      long before = highest.getAndAccumulate(lease.fencingToken(), Math::max);
      Thread.sleep(2);
      boolean isGood = lease.isValid();
      holder.compareAndSet(lease, null);
      assertFalse(bothAreHeld, "two holders");
      if (isGood) { // else it may have been overtaken, on a machine that stopped for so long
        assertTrue(lease.fencingToken() > before, "token " + lease + " after " + before);
        leases.incrementAndGet();
      }
      lease.release();
    }

    /** Goes on with another lock service. */
    void with(Redlock next) {
      all.add(next);
      redlock.set(next);
      awaitLeases();
    }

    void awaitLeases() {
      int seen = leases.get();
      Await.until(
          "it acquires with " + redlock.get().operations().nodes(),
          () -> leases.get() > seen + 1 || failure.get() != null);
      assertNull(failure.get());
    }

    @Override
    public void close() {
      closed = true;
      work.join();
      all.forEach(Redlock::close);
      assertNull(failure.get());
    }
  }

  static Stream<Arguments> changes() {
    return Stream.of(
        Arguments.of("3 to 5", 0, 3, 2),
        Arguments.of("5 to 3", 2, 3, 0),
        Arguments.of("one swapped", 1, 2, 1),
        Arguments.of("all swapped", 3, 0, 3));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("changes")
  void clientsGoOnWhileTheMastersAreChanged(String name, int leaving, int staying, int joining)
      throws Exception {
    AtomicReference<Lease> holder = new AtomicReference<>();
    AtomicLong highest = new AtomicLong();
    try (Masters masters = new Masters(leaving, staying, joining);
        Worker one = new Worker(masters.old(), holder, highest);
        Worker other = new Worker(masters.old(), holder, highest)) {
      one.awaitLeases();
      masters.assertDoctorSays("no change of masters is under way");
      assertStarts("done: prepared", masters.resize(Command.PREPARE));
      masters.assertDoctorSays("one after the other; then run redlock resize commit");
      one.awaitLeases();
      one.with(masters.moving());
      other.awaitLeases();
      other.with(masters.moving());
      assertStarts("done: committed", masters.resize(Command.COMMIT));
      masters.assertDoctorSays("without movingTo; then run redlock resize finish");
      one.awaitLeases();
      one.with(masters.moved());
      other.awaitLeases();
      other.with(masters.moved());
      assertStarts("done: finished", masters.resize(Command.FINISH));
      masters.assertDoctorSays(" masters is finished: list these as the nodes, and leave");
      masters.assertDoctorSays("the change is finished: list the future masters as the nodes");
      one.awaitLeases();
      other.awaitLeases();
      List<String> expected = new ArrayList<>();
      IntStream.range(0, leaving).forEach(i -> expected.add("|"));
      String served = "|" + (staying + joining) + "|";
      IntStream.range(0, staying + joining).forEach(i -> expected.add(served));
      assertEquals(expected, masters.served());
    }
  }

  private static String name(String address) {
    return address.replaceAll(".*[/@]", "");
  }

  private static void assertStarts(String start, String line) {
    assertTrue(line.startsWith(start), line);
  }

  @Test
  void clientThatSkipsAStepIsRefusedByName() throws Exception {
    try (Masters masters = new Masters(0, 3, 2);
        Redlock old = masters.old();
        Redlock moving = masters.moving()) {
      awaitLease(old);
      awaitRefusal(moving, "first run redlock resize prepare");
      assertStarts("done: ", masters.resize(Command.PREPARE));
      skipAStep(masters, old, moving);
    }
  }

  private static void skipAStep(Masters masters, Redlock old, Redlock moving)
      throws InterruptedException {
    try (Redlock moved = masters.moved()) {
      awaitLease(moving);
      awaitLease(old);
      awaitRefusal(moved, "not committed: first run redlock resize commit");
      assertStarts("done: ", masters.resize(Command.COMMIT));
      awaitRefusal(old, "first run this client with movingTo");
      awaitLease(moving);
      awaitLease(moved);
      assertStarts("done: ", masters.resize(Command.FINISH));
      awaitRefusal(old, "is not the set of its masters");
      awaitRefusal(moving, "the change to 5 masters is finished");
      awaitLease(moved);
    }
  }

  @Test
  void commitNamesClientsThatWouldBeLeftBehind() throws Exception {
    try (Masters masters = new Masters(0, 1, 1);
        Redlock old = masters.old()) {
      awaitLease(old);
      assertStarts("done: ", masters.resize(Command.PREPARE));
      ByteArrayOutputStream said = new ByteArrayOutputStream();
      PrintStream out = new PrintStream(said, true, StandardCharsets.UTF_8);
      assertFalse(masters.deployment().resize(Command.COMMIT, Word.NONE, SETTLE, out));
      assertStarts("connected without movingTo, as CLIENT LIST shows: ", said.toString());
      awaitLease(old);
      assertStarts("done: ", masters.resize(Command.COMMIT));
    }
  }

  private static AcquireResult tried(Redlock redlock) {
    return redlock.acquireAsync(LeaseRequest.of("orders/42", TTL)).join();
  }

  private static void awaitLease(Redlock redlock) {
    Await.until(
        "it acquires with " + redlock.operations().nodes(),
        () -> {
          Optional<Lease> lease = tried(redlock).lease();
          lease.ifPresent(Lease::close);
          return lease.isPresent();
        });
  }

  private static void awaitRefusal(Redlock redlock, String reason) {
    Await.until(
        reason + ", with " + redlock.operations().nodes(),
        () -> {
          AcquireResult refused = tried(redlock);
          return refused.outcome() == AcquireResult.Outcome.UNAVAILABLE
              && refused.toString().contains(reason);
        });
  }

  @Test
  void leaseOfAClientThatIsLeftBehindEndsBeforeFutureClientsAreServed() throws Exception {
    try (Masters masters = new Masters(3, 0, 3);
        Redlock old = masters.old()) {
      assertStarts("done: ", masters.resize(Command.PREPARE));
      Lease lease = old.acquire("orders/42", TTL, PATIENCE);
      AtomicReference<Boolean> wasHeld = new AtomicReference<>();
      Thread extending =
          new Thread(
              () -> {
                while (lease.isValid()) {
                  lease.extendAsync(TTL).join();
                  LockSupport.parkNanos(PAUSE_NANOS);
                }
              });
      extending.start();
      PrintStream out =
          new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8) {
            @Override
            public void println(String line) {
              if (line.contains(" serves clients of ")) {
                wasHeld.compareAndSet(null, lease.isValid());
              }
            }
          };
      assertTrue(masters.resize(Command.COMMIT, out));
      assertEquals(false, wasHeld.get());
      extending.join();
    }
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("changes")
  void commandThatIsInterruptedAnywhereIsTypedAgain(
      String name, int leaving, int staying, int joining) throws Exception {
    try (Masters masters = new Masters(leaving, staying, joining)) {
      AtomicBoolean hasWaited = new AtomicBoolean();
      for (Command command : List.of(Command.PREPARE, Command.COMMIT, Command.FINISH)) {
        int runs = 1;
        while (!isDone(masters, command, hasWaited)) {
          runs++;
          assertTrue(runs < 20, command + " does not end: " + masters.served());
        }
      }
      List<String> served = masters.served();
      assertEquals(leaving, served.stream().filter("|"::equals).count(), served::toString);
      try (Redlock moved = masters.moved()) {
        awaitLease(moved);
      }
    }
  }

  /** Runs a command until its first write, or its first wait. */
  private static boolean isDone(Masters masters, Command command, AtomicBoolean hasWaited) {
    PrintStream out =
        new PrintStream(OutputStream.nullOutputStream(), true, StandardCharsets.UTF_8) {
          @Override
          public void println(String line) {
            if (line.contains(" serves ")
                || line.startsWith("waiting") && !hasWaited.getAndSet(true)) {
              Thread.currentThread().interrupt();
            }
          }
        };
    boolean isDone = masters.resize(command, out);
    return !Thread.interrupted() && isDone;
  }

  @Test
  void abortLetsThePresentClientsGoOnAndASecondChangeIsPossible() throws Exception {
    try (Masters masters = new Masters(1, 2, 1);
        Redlock old = masters.old()) {
      assertStarts("done: prepared", masters.resize(Command.PREPARE));
      assertStarts("done: aborted", masters.resize(Command.ABORT));
      assertEquals(List.of("|3|", "|3|", "|3|", "|"), masters.served());
      awaitLease(old);
      assertStarts("done: no change", masters.resize(Command.ABORT));
      assertStarts("done: prepared", masters.resize(Command.PREPARE));
      assertStarts("done: committed", masters.resize(Command.COMMIT));
      String refused = masters.resize(Command.ABORT);
      assertStarts("stopped: the change is committed: run redlock resize commit", refused);
      assertStarts("done: finished", masters.resize(Command.FINISH));
      try (Redlock moved = masters.moved()) {
        awaitLease(moved);
      }
    }
  }

  @Test
  void masterThatIsDownStopsACommandUntilItIsSaidToBeGone() throws Exception {
    try (Masters masters = new Masters(1, 2, 1)) {
      String gone = name(masters.present.get(0));
      masters.servers.get(0).kill();
      String stopped = masters.resize(Command.PREPARE);
      assertTrue(stopped.contains("if it is gone for good, with --without " + gone), stopped);
      Object mark = masters.servers.get(1).command("GET", "redlock:birth");
      assertFalse(String.valueOf(mark).contains(">"), "nothing was written");
      for (Command command : List.of(Command.PREPARE, Command.COMMIT, Command.FINISH)) {
        assertStarts("done: ", masters.resize(command, "redis://app:geheim@" + gone + "/"));
      }
      try (Redlock moved = masters.moved()) {
        awaitLease(moved);
      }
      assertFalse(masters.resize(Command.PREPARE, "elsewhere:1").startsWith("done"));
    }
  }

  /** The wait of {@code commit} is longer, so its connections rest. */
  @Test
  @AgainIfItStoodStill // the servers close what is idle for a second
  void commandsComeToTheirEndThoughServersCloseIdleConnections() throws Exception {
    try (Masters masters = new Masters(0, 3, 2)) {
      masters.servers.forEach(server -> server.command("CONFIG", "SET", "timeout", "1"));
      for (Command command : List.of(Command.PREPARE, Command.COMMIT, Command.FINISH)) {
        DeploymentSettings slow = masters.deployment();
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(said, true, StandardCharsets.UTF_8);
        assertTrue(
            slow.resize(command, new Word(List.of(), List.of(), true), SETTLE, out),
            said::toString);
      }
    }
  }

  @Test
  void masterThatIsNotNewIsRefusedByName() throws Exception {
    try (Masters masters = new Masters(0, 3, 2)) {
      masters.servers.get(4).command("SET", "redlock:fence:x", "7");
      String stopped = masters.resize(Command.PREPARE);
      assertTrue(stopped.contains(name(masters.future.get(4)) + ": it is not new"), stopped);
      masters.servers.get(4).command("DEL", "redlock:fence:x");
      assertTrue(JedisRedlock.adoptNew(masters.future.get(3)).isComplete());
      stopped = masters.resize(Command.PREPARE);
      assertTrue(stopped.contains("a master joins empty; empty it only if nobody uses"), stopped);
    }
  }

  @Test
  void tokensRiseAlthoughThePresentMastersWereAhead() throws Exception {
    try (Masters masters = new Masters(3, 0, 3)) {
      long ahead = System.currentTimeMillis() * 1_000 + 3_600_000_000L;
      for (int i = 0; i < 3; i++) {
        masters.servers.get(i).command("SET", "redlock:fence:orders/42", String.valueOf(ahead));
      }
      for (Command command : List.of(Command.PREPARE, Command.COMMIT, Command.FINISH)) {
        assertStarts("done: ", masters.resize(command));
      }
      try (Redlock moved = masters.moved();
          Lease lease = moved.acquire("orders/42", TTL, PATIENCE)) {
        assertTrue(lease.fencingToken() > ahead, lease::toString);
      }
    }
  }

  /** A reader of the future masters must be above writers that only the present ones have seen. */
  @Test
  void floorsOfReadersAreForgottenWhereCountersAreCarried() throws Exception {
    try (Masters masters = new Masters(3, 0, 3)) {
      assertStarts("done: ", masters.resize(Command.PREPARE));
      String writer = String.valueOf(System.currentTimeMillis() * 1_000);
      String reader = String.valueOf(System.currentTimeMillis() * 1_000 + 7);
      for (int i = 0; i < 6; i++) {
        RedisServer server = masters.servers.get(i);
        server.command("SET", "redlock:fence:read", i < 3 ? writer : reader, "PX", "600000");
        server.command("SET", "redlock:floor:read", reader + " 1", "PX", "600000");
      }
      assertStarts("done: ", masters.resize(Command.COMMIT));
      for (int i = 3; i < 6; i++) {
        assertEquals(reader, masters.servers.get(i).command("GET", "redlock:fence:read"));
        assertEquals(null, masters.servers.get(i).command("GET", "redlock:floor:read"));
      }
    }
  }

  @Test
  void commandsInTheWrongOrderAreRefused() throws Exception {
    try (Masters masters = new Masters(0, 3, 2)) {
      assertStarts("stopped: no change is prepared", masters.resize(Command.COMMIT));
      assertStarts("stopped: ", masters.resize(Command.FINISH));
      assertStarts("done: ", masters.resize(Command.PREPARE));
      String early = masters.resize(Command.FINISH);
      assertTrue(early.contains("run redlock resize commit first"), early);
    }
  }
}
