package io.redlock.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.cli.Doctor;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.deployment.SteppedResize;
import io.redlock.jedis.deployment.Survey;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
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
class MovingMastersTest extends OperatedMasters {

  private static final Duration TTL = Duration.ofMillis(900);
  private static final long PAUSE_NANOS = 2_000_000;

  private String present;
  private String future;

  MovingMastersTest() {
    super(TTL, Duration.ofMillis(200));
  }

  /** Starts servers: the first are the present masters, and the last are the future ones. */
  private void start(int leaving, int staying, int joining) {
    int all = leaving + staying + joining;
    servers = startSynced(all);
    present = list(IntStream.range(0, leaving + staying).toArray());
    future = list(IntStream.range(leaving, all).toArray());
    adopt(present);
  }

  private Redlock old() {
    return client(present);
  }

  private Redlock moving() {
    return client(settings(present).movingTo(future));
  }

  private Redlock moved() {
    return client(future);
  }

  /** Runs a command; returns the last line that it printed. */
  private String resize(Command command, String... without) {
    boolean isDone = resize(command, present, future, without);
    List<String> lines = said().lines().toList();
    return (isDone ? "done: " : "stopped: ") + lines.get(lines.size() - 1);
  }

  /** Asserts that the doctor names the next step. */
  private void assertDoctorSays(String next) {
    Doctor.run(operator(present, future), null, saying());
    assertTrue(said().contains(next), this::said);
  }

  /** Returns whom the marks say to be served, with a set's number of members in place of its id. */
  private List<String> served() {
    return marks().stream()
        .map(
            mark -> {
              String named = mark.replaceAll(".* (\\|\\S*) .*", "$1");
              for (String set : mark.substring(mark.lastIndexOf(' ') + 1).split(";")) {
                String[] parts = set.split("[=,]");
                named = named.replace(parts[0], String.valueOf(parts.length - 1));
              }
              return named;
            })
        .toList();
  }

  /** A client that acquires the same lock again and again, with one lock service after another. */
  private static final class Worker implements AutoCloseable {
    private final AtomicReference<Lease> holder; // of all workers
    private final AtomicLong highest;
    private final AtomicReference<Redlock> redlock;
    private final AtomicReference<Throwable> failure = new AtomicReference<>();
    private final AtomicInteger leases = new AtomicInteger();
    private final CompletableFuture<Void> work;
    private volatile boolean closed;

    Worker(Redlock first, AtomicReference<Lease> holder, AtomicLong highest) {
      this.holder = holder;
      this.redlock = new AtomicReference<>(first);
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
    start(leaving, staying, joining);
    try (Worker one = new Worker(old(), holder, highest);
        Worker other = new Worker(old(), holder, highest)) {
      one.awaitLeases();
      assertDoctorSays("no change of masters is under way");
      assertStarts("done: prepared", resize(Command.PREPARE));
      assertDoctorSays("one after the other; then run redlock resize commit");
      Doctor.run(operator(present), null, saying());
      String both = "MOVING_TO=" + future + " redlock doctor " + present.replace(',', ' ');
      assertTrue(said().contains(both.replace("redis://", "")), this::said);
      one.awaitLeases();
      one.with(moving());
      other.awaitLeases();
      other.with(moving());
      assertStarts("done: committed", resize(Command.COMMIT));
      assertDoctorSays("without movingTo; then run redlock resize finish");
      one.awaitLeases();
      one.with(moved());
      other.awaitLeases();
      other.with(moved());
      assertStarts("done: finished", resize(Command.FINISH));
      assertDoctorSays(" masters is finished: list these as the nodes, and leave");
      assertDoctorSays("the change is finished: list the future masters as the nodes");
      one.awaitLeases();
      other.awaitLeases();
      List<String> expected = new ArrayList<>();
      IntStream.range(0, leaving).forEach(i -> expected.add("|"));
      String served = "|" + (staying + joining) + "|";
      IntStream.range(0, staying + joining).forEach(i -> expected.add(served));
      assertEquals(expected, served());
    }
  }

  private static void assertStarts(String start, String line) {
    assertTrue(line.startsWith(start), line);
  }

  @Test
  void clientThatSkipsAStepIsRefusedByName() throws Exception {
    start(0, 3, 2);
    Redlock old = old();
    Redlock moving = moving();
    awaitLease(old);
    awaitRefusal(moving, "first run redlock resize prepare");
    assertDone(present, future, Command.PREPARE);
    Redlock moved = moved();
    awaitLease(moving);
    awaitLease(old);
    awaitRefusal(moved, "not committed: first run redlock resize commit");
    assertDone(present, future, Command.COMMIT);
    awaitRefusal(old, "first run this client with movingTo");
    awaitLease(moving);
    awaitLease(moved);
    assertDone(present, future, Command.FINISH);
    awaitRefusal(old, "is not the set of its masters");
    awaitRefusal(moving, "the change to 5 masters is finished");
    awaitLease(moved);
  }

  @Test
  void commitNamesClientsThatWouldBeLeftBehind() throws Exception {
    start(0, 1, 1);
    Redlock old = old();
    awaitLease(old);
    assertDone(present, future, Command.PREPARE);
    DeploymentSettings operator = operator(present, future);
    assertFalse(operator.resize(Command.COMMIT, Word.NONE, saying()::println));
    assertStarts("connected without movingTo, as CLIENT LIST shows: ", said());
    awaitLease(old);
    assertDone(present, future, Command.COMMIT);
  }

  @Test
  void commitNamesAMasterThatDoesNotNameItsClientsAndGoesOn() throws Exception {
    start(1, 2, 1);
    assertDone(present, future, Command.PREPARE);
    awaitLease(moving());
    servers.get(0).kill();
    servers.get(1).command("ACL", "SETUSER", "default", "-client", "+client|setname");
    Word word = new Word(List.of(list(0)), List.of(), Map.of(), false);
    DeploymentSettings operator = operator(present, future);
    assertTrue(operator.resize(Command.COMMIT, word, saying()::println), this::said);
    String first = said().lines().findFirst().orElseThrow();
    assertStarts("clients without movingTo are unknown: " + name(1) + ": NOPERM", first);
    assertFalse(first.contains(name(0)), first);
  }

  private static void awaitRefusal(Redlock redlock, String reason) {
    Await.until(
        reason + ", with " + redlock.operations().nodes(),
        () -> {
          AcquireResult refused = redlock.acquireAsync(LeaseRequest.of("orders/42", TTL)).join();
          return refused.outcome() == AcquireResult.Outcome.UNAVAILABLE
              && refused.toString().contains(reason);
        });
  }

  @Test
  void leaseOfAClientThatIsLeftBehindEndsBeforeFutureClientsAreServed() throws Exception {
    start(3, 0, 3);
    Redlock old = old();
    assertDone(present, future, Command.PREPARE);
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
    Consumer<String> out =
        line -> {
          if (line.contains(" serves clients of ")) {
            wasHeld.compareAndSet(null, lease.isValid());
          }
        };
    assertTrue(resize(Command.COMMIT, present, future, out));
    assertEquals(false, wasHeld.get());
    extending.join();
  }

  /** Nobody waits here, and each write is on disk at once. */
  @Test
  void commitPausesForItsWaitOnly() throws Exception {
    start(0, 3, 2);
    assertDone(present, future, Command.PREPARE);
    try (Survey masters = operator(present, future).survey("cannot resize")) {
      SteppedResize commit = new SteppedResize(Command.COMMIT, masters, saying()::println);
      Stream<Duration> pauses =
          Stream.iterate(commit.step(), Optional::isPresent, last -> commit.step())
              .map(Optional::orElseThrow);
      assertEquals(
          masters.rules().terms().abstentionMillis(),
          pauses.reduce(Duration.ZERO, Duration::plus).toMillis(),
          this::said);
    }
    assertDone(present, future, Command.FINISH);
  }

  @Test
  void abortLetsThePresentClientsGoOnAndASecondChangeIsPossible() throws Exception {
    start(1, 2, 1);
    Redlock old = old();
    assertStarts("done: prepared", resize(Command.PREPARE));
    assertStarts("done: aborted", resize(Command.ABORT));
    assertEquals(List.of("|3|", "|3|", "|3|", "|"), served());
    awaitLease(old);
    assertStarts("done: no change", resize(Command.ABORT));
    assertStarts("done: prepared", resize(Command.PREPARE));
    assertStarts("done: committed", resize(Command.COMMIT));
    assertStarts(
        "stopped: the change is committed: run redlock resize commit", resize(Command.ABORT));
    assertStarts("done: finished", resize(Command.FINISH));
    awaitLease(moved());
  }

  @Test
  void masterThatIsDownStopsACommandUntilItIsSaidToBeGone() throws Exception {
    start(1, 2, 1);
    String gone = name(0);
    servers.get(0).kill();
    String stopped = resize(Command.PREPARE);
    assertTrue(stopped.contains("if it is gone for good, with --without " + gone), stopped);
    assertFalse(mark(1).contains(">"), "nothing was written");
    for (Command command : List.of(Command.PREPARE, Command.COMMIT, Command.FINISH)) {
      assertStarts("done: ", resize(command, "redis://app:geheim@" + gone + "/"));
    }
    awaitLease(moved());
    assertThrows(IllegalArgumentException.class, () -> resize(Command.PREPARE, "elsewhere:1"));
  }

  /** The wait of {@code commit} is longer, so its connections rest. */
  @Test
  @AgainIfItStoodStill // the servers close what is idle for a second
  void commandsComeToTheirEndThoughServersCloseIdleConnections() throws Exception {
    start(0, 3, 2);
    servers.forEach(server -> server.command("CONFIG", "SET", "timeout", "1"));
    assertResized(present, future);
  }

  @Test
  void masterThatIsNotNewIsRefusedByName() throws Exception {
    start(0, 3, 2);
    servers.get(4).command("SET", "redlock:fence:x", "7");
    assertRefused(Command.PREPARE, present, future, name(4) + ": it is not new");
    servers.get(4).command("DEL", "redlock:fence:x");
    adopt(list(3));
    String id = mark(3).split("\\|")[1];
    assertRefused(Command.PREPARE, present, future, "add --replace " + name(3) + "=" + id);
    Word word = new Word(List.of(), List.of(), Map.of(name(3), id), false);
    assertTrue(operator(present, future).resize(Command.PREPARE, word, saying()::println));
  }

  @Test
  void tokensRiseAlthoughThePresentMastersWereAhead() throws Exception {
    start(3, 0, 3);
    long ahead = System.currentTimeMillis() * 1_000 + 3_600_000_000L;
    for (int i = 0; i < 3; i++) {
      servers.get(i).command("SET", "redlock:fence:orders/42", String.valueOf(ahead));
    }
    assertResized(present, future);
    try (Lease lease = moved().acquire("orders/42", TTL, PATIENCE)) {
      assertTrue(lease.fencingToken() > ahead, lease::toString);
    }
  }

  /** A reader of the future masters must be above writers that only the present ones have seen. */
  @Test
  void floorsOfReadersAreForgottenWhereCountersAreCarried() throws Exception {
    start(3, 0, 3);
    assertDone(present, future, Command.PREPARE);
    String writer = String.valueOf(System.currentTimeMillis() * 1_000);
    String reader = String.valueOf(System.currentTimeMillis() * 1_000 + 7);
    for (int i = 0; i < 6; i++) {
      RedisServer server = servers.get(i);
      server.command("SET", "redlock:fence:read", i < 3 ? writer : reader, "PX", "600000");
      server.command("SET", "redlock:floor:read", reader + " 1", "PX", "600000");
    }
    assertDone(present, future, Command.COMMIT);
    for (int i = 3; i < 6; i++) {
      assertEquals(reader, servers.get(i).command("GET", "redlock:fence:read"));
      assertNull(servers.get(i).command("GET", "redlock:floor:read"));
    }
  }
}
