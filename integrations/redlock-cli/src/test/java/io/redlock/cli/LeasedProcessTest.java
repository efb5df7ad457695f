package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.spi.Ticker;
import io.redlock.testing.InMemoryMasters;
import io.redlock.testkit.FakeTicker;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The end of a command whose lease is over, and of all that it started. */
@Timeout(300)
class LeasedProcessTest {

  private static final Duration GRACE = Duration.ofMillis(50);
  private static final LeaseRequest REQUEST =
      LeaseRequest.of("r", Duration.ofSeconds(20)).renewFor(Duration.ofHours(1));

  /** Writes a line again and again, and never ends. */
  private static final String WRITER = "while :; do echo on >> $0; sleep 0.01; done";

  private final InMemoryMasters masters = InMemoryMasters.inRealTime(3);
  private final Redlock client =
      masters.connect(settings -> settings.nodeTimeout(Duration.ofSeconds(5)));
  private Ticker ticker = Ticker.system();
  private Lease lease;
  private Family family;
  private Path file;

  @BeforeEach
  void acquire(@TempDir Path folder) throws Exception {
    file = folder.resolve("written");
    lease = client.acquire(REQUEST);
  }

  @AfterEach
  void close() {
    family.kill();
    masters.close();
  }

  @Test
  void descendantThatStartsItsLastStepOnTermIsEndedThoughItsParentsDiedFirst() throws Exception {
    String child =
        "trap 'echo on >> $0; ("
            + WRITER
            + ") & exit' TERM; echo up >> $0; while :; do sleep 0.01; done";
    Duration grace = Duration.ofMillis(250);
    do { // anew, with more time for its parent to begin its last step, if the machine is slow
      Files.deleteIfExists(file);
      LeasedProcess leased = start("sh -c \"$1\" \"$0\" & wait", child);
      awaitText("up");
      lease.release();
      assertTrue(leased.outlivesLease(grace, false));
      assertEquals(Set.of(), leased.running());
      assertStaysAsItIs();
      grace = grace.multipliedBy(2);
      lease = client.acquire(REQUEST);
    } while (!Files.readString(file).contains("on"));
  }

  /** Each one starts the next and ends, faster than anybody can look for it. */
  @Test
  @Tag("ci") // needs more than a JDK
  @EnabledIf(
      value = "io.redlock.cli.Family#hasSessions",
      disabledReason =
          "no session for a command (no setsid, or a terminal): one that forks all the time may escape")
  void commandThatForksAllTheTimeIsEnded() throws Exception {
    String chain = "echo on >> $0; sh -c \"$1\" \"$0\" \"$1\" &";
    LeasedProcess leased = start("sh -c \"$1\" \"$0\" \"$1\" &", chain);
    awaitText("on");
    lease.release();
    int tries = 0;
    do { // it gives up after five seconds, which may be too short for a slow machine
      assertTrue(leased.outlivesLease(GRACE, false));
      tries++;
    } while (!leased.running().isEmpty() && tries < 10);
    assertEquals(Set.of(), leased.running());
    assertStaysAsItIs();
  }

  /** A daemon leaves its session, but keeps its environment. Without setsid no command has one. */
  @Test
  @EnabledOnOs(OS.LINUX) // elsewhere nobody finds it
  void daemonThatLeftTheSessionIsEnded() throws Exception {
    LeasedProcess leased =
        start("$(command -v setsid || echo env) sh -c \"$1\" \"$0\" & sleep 600", WRITER);
    awaitText("on");
    family.root().destroyForcibly().waitFor();
    lease.release();
    assertTrue(leased.outlivesLease(GRACE, false));
    assertEquals(Set.of(), leased.running());
    assertStaysAsItIs();
  }

  @Test
  void lockIsHeldUntilTheLastDescendantHasEnded() throws Exception {
    LeasedProcess leased =
        start("sh -c \"$1\" \"$0\" & exit 7", "while [ ! -e $0.go ]; do sleep 0.01; done");
    family.root().waitFor();
    CompletableFuture<Boolean> outlives = CompletableFuture.supplyAsync(() -> ends(leased, false));
    assertFalse(ends(leased, true), "the command itself has ended");
    assertFalse(outlives.isDone());
    Files.createFile(Path.of(file + ".go"));
    assertFalse(outlives.get());
    assertEquals(Set.of(), leased.running());
    assertEquals(7, leased.exitCode());
  }

  /** At a limit of threads the JDK forks, and then has none that awaits the end of the child. */
  @Test
  void commandThatJavaStartedAndThenLostIsAwaitedUnderTheLock() throws Exception {
    LeasedProcess leased =
        start(
            builder -> {
              builder.start();
              throw new OutOfMemoryError("unable to create native thread");
            },
            "echo up >> $0; while [ ! -e $0.go ]; do sleep 0.01; done");
    CompletableFuture<Boolean> outlives = CompletableFuture.supplyAsync(() -> ends(leased, false));
    awaitText("up");
    boolean isSeen = !leased.running().isEmpty();
    boolean isOver = outlives.isDone();
    Files.createFile(Path.of(file + ".go"));
    assertFalse(outlives.get());
    assertTrue(isSeen && !isOver);
    assertEquals(Set.of(), leased.running());
    assertNull(leased.exitCode());
  }

  @Test
  void processThatHasEndedAndThatNobodyReapsDoesNotRun() throws Exception {
    LeasedProcess leased = start("sleep 0.01 & echo $! >> $0; exec sleep 600");
    awaitText("\n");
    long pid = Long.parseLong(Files.readString(file).strip());
    while (leased.running().contains(pid)) {
      Thread.sleep(1);
    }
    assertTrue(ProcessHandle.of(pid).orElseThrow().isAlive(), "it is a zombie");
    assertEquals(Set.of(family.root().pid()), leased.running());
  }

  @Test
  void graceIsOverOnceItHasPassedSinceTheLossWhileTheMachineWasSuspended() throws Exception {
    FakeTicker suspended = new FakeTicker();
    ticker = suspended;
    LeasedProcess leased = start("trap '' TERM; echo up >> $0; while :; do sleep 0.01; done");
    awaitText("up");
    suspended.stepWall(Duration.ofHours(1));
    lease.release();
    assertTrue(leased.outlivesLease(Duration.ofMinutes(30), false));
    assertEquals(Set.of(), leased.running());
  }

  private static boolean ends(LeasedProcess leased, boolean leavesDescendants) {
    try {
      return leased.outlivesLease(GRACE, leavesDescendants);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private LeasedProcess start(String script, String... arguments) throws IOException {
    return start(ProcessBuilder::start, script, arguments);
  }

  private LeasedProcess start(Family.Starter starter, String script, String... arguments)
      throws IOException {
    ProcessBuilder builder = new ProcessBuilder("sh", "-c", script, file.toString());
    builder.command().addAll(Set.of(arguments));
    Map<String, String> variables =
        Map.of("REDLOCK_FENCING_TOKEN", Long.toString(lease.fencingToken()));
    family = Family.start(builder, variables, starter);
    return new LeasedProcess(family, lease, ticker);
  }

  private void awaitText(String text) throws Exception {
    while (!Files.exists(file) || !Files.readString(file).contains(text)) {
      Thread.sleep(1);
    }
  }

  /** Checks that nobody writes any longer: a writer would do it many times meanwhile. */
  private void assertStaysAsItIs() throws Exception {
    String before = Files.readString(file);
    Process pause = new ProcessBuilder("sleep", "0.3").start();
    assertEquals(0, pause.waitFor());
    assertEquals(before, Files.readString(file));
  }
}
