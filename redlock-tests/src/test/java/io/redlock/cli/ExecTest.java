package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.lease.LeaseMasters;
import io.redlock.testbed.Await;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Signal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** {@code exec} on five real masters, with real commands and signals. */
@RequiresRedis
class ExecTest {

  /** Instead of the 30 s that are usual. */
  private static final Duration SHORT = Duration.ofSeconds(6);

  /** What is found free so soon after the end was released, and did not run out. */
  private static final Duration SOON = Duration.ofSeconds(10);

  /** On a busy machine a program takes its time to start. */
  private static final Duration START = Duration.ofMinutes(1);

  private static final int INT = 2;

  @RegisterExtension static final LeaseMasters MASTERS = new LeaseMasters();

  @TempDir Path folder;
  private Path file;
  private final List<CliProcess> started = new ArrayList<>();

  @BeforeEach
  void nameFile() {
    file = folder.resolve("told");
  }

  @AfterEach
  void endWhatIsLeft() {
    started.forEach(CliProcess::close);
  }

  @Test
  void commandRunsUnderTheLeaseAndItsExitCodeIsPassedOn() throws Exception {
    Files.writeString(file, "not an argument");
    CliProcess exec =
        exec(
            "job",
            "sh",
            "-c",
            "echo $REDLOCK_RESOURCE $REDLOCK_FENCING_TOKEN $*; cat; exit 7",
            "sh",
            "@" + file,
            "--",
            "${x}");
    awaitFiveHolders();
    String owner = MASTERS.owner(0, "job");
    long token = MASTERS.fence(0, "job");
    exec.closeInput();
    assertEquals(7, exec.exitCode(), exec::output);
    assertEquals("job " + token + " @" + file + " -- ${x}", exec.output().strip());
    assertFalse(owner.isEmpty());
    awaitNoLocks();
  }

  @Test
  void commandRunsUnderOneOfSeveralNamesAndLearnsWhich() throws Exception {
    Redlock other = MASTERS.connect();
    try (Lease first = other.acquire(renewed("pool/1"));
        Lease third = other.acquire(renewed("pool/3"))) {
      CliProcess exec =
          start(
              "exec",
              "--any-of=pool/1,pool/2",
              "--any-of",
              "pool/3",
              "--",
              "sh",
              "-c",
              "echo $REDLOCK_RESOURCE $REDLOCK_FENCING_TOKEN; cat");
      MASTERS.awaitHolders(5, "pool/2");
      long token = MASTERS.fence(0, "pool/2");
      CliProcess tooMany = start("exec", "--any-of=pool/1,pool/2,pool/3", "--", "true");
      assertEquals(120, tooMany.exitCode(), tooMany::output);
      exec.closeInput();
      assertEquals(0, exec.exitCode(), exec::output);
      assertEquals("pool/2 " + token, exec.output().strip());
      assertTrue(first.isValid() && third.isValid());
    }
  }

  @Test
  void deathOfTwoMastersOfFiveIsSurvived() throws Exception {
    CliProcess exec = exec(List.of("--ttl=" + SHORT), "job", "sh", "-c", "cat; exit 5");
    awaitFiveHolders();
    MASTERS.kill(1, 3);
    long killedNanos = System.nanoTime();
    Await.until(
        "the lease is renewed beyond its first ttl",
        () -> System.nanoTime() - killedNanos > SHORT.toNanos() && MASTERS.pttl(0, "job") > 0);
    assertEquals(3, MASTERS.holders("job"));
    assertTrue(exec.isAlive());
    exec.closeInput();
    assertEquals(5, exec.exitCode(), exec::output);
    awaitNoLocks();
  }

  @Test
  void deathOfThreeMastersEndsACommandThatIgnoresTermBeforeTheDeadline() throws Exception {
    CliProcess exec =
        exec(
            List.of("--ttl=" + SHORT, "--grace=2s"), // so KILL is due half a second in advance
            "job",
            "sh",
            "-c",
            "trap 'echo TERM >> $0' TERM; while :; do date +%s%3N >> $0; sleep 0.01; done",
            file.toString());
    awaitFiveHolders();
    Await.until("the command runs", START, () -> !told().isEmpty());
    MASTERS.kill(0, 2, 4);
    long killedMillis = System.currentTimeMillis(); // nothing has been renewed since
    assertEquals(122, exec.exitCode(), exec::output);
    List<String> told = told();
    long latestMillis = killedMillis + SHORT.toMillis();
    long lastMillis = killedMillis;
    long previousMillis = killedMillis;
    for (String line : told) {
      long millis = line.equals("TERM") ? previousMillis : Long.parseLong(line);
      boolean stoodStill = millis - previousMillis > 500; // the command, and who was to kill it
      lastMillis = stoodStill ? lastMillis : Math.max(lastMillis, millis);
      previousMillis = millis;
    }
    assertTrue(lastMillis < latestMillis, () -> told + ", " + killedMillis);
    assertTrue(told.contains("TERM"), told::toString);
    assertTrue(exec.output().contains("the lease on job was lost"), exec::output);
  }

  @Test
  void termEndsTheCommandAndFreesTheLock() throws Exception {
    CliProcess exec =
        exec(
            "job",
            "sh",
            "-c",
            "trap 'exit 9' TERM; echo up > $0; while :; do sleep 0.05; done",
            file.toString());
    Await.until("the command runs", START, () -> !told().isEmpty());
    awaitFiveHolders();
    exec.send(Signal.TERM);
    assertEquals(9, exec.exitCode(), exec::output);
    awaitNoLocks();
  }

  @Test
  void termKeepsTheLockUntilAChildThatTakesItsTimeHasEnded() throws Exception {
    String child =
        "trap 'sleep 1; echo done >> $0; exit' TERM; echo up >> $0; while :; do sleep 0.05; done";
    CliProcess exec = exec("job", "sh", "-c", "sh -c \"$1\" \"$0\" & wait", file.toString(), child);
    Await.until("the child runs", START, () -> !told().isEmpty());
    awaitFiveHolders();
    exec.send(Signal.TERM);
    assertEquals(143, exec.exitCode(), exec::output);
    assertEquals(List.of("up", "done"), told());
    awaitNoLocks();
  }

  @Test
  void commandThatDiesOfTheSignalIsReportedAsAShellDoes() throws Exception {
    assumeFalse(isIgnored(INT), "INT is ignored here, as in what a shell starts in the background");
    CliProcess exec = exec("job", "sleep", "60");
    awaitFiveHolders();
    Await.until("the command runs", START, () -> exec.hasCommand("sleep"));
    exec.send(Signal.INT);
    assertEquals(143, exec.exitCode(), exec::output);
    awaitNoLocks();
  }

  @Test
  void signalEndsTheWaitAndNothingStaysLocked() throws Exception {
    LeaseRequest all =
        LeaseRequest.of("job", Duration.ofSeconds(20))
            .waitUpTo(Duration.ofSeconds(20))
            .renewFor(Duration.ofMinutes(5));
    try (Redlock other = MASTERS.connect();
        Lease held = other.acquire(all)) {
      awaitFiveHolders();
      CliProcess refused = exec("job", "false");
      assertEquals(120, refused.exitCode(), refused::output);
      assertTrue(refused.output().contains("redlock: not acquired: job: 0 of 5"), refused::output);
      List<String> others = clients(0);
      CliProcess waiting = exec(List.of("--wait=1m"), "job", "false");
      Await.until("it has begun", START, () -> !others.containsAll(clients(0)));
      waiting.send(Signal.TERM);
      assertEquals(143, waiting.exitCode(), waiting::output);
      assertTrue(held.isValid());
    }
    awaitNoLocks();
  }

  @Test
  @Tag("servers")
  void tooFewMastersAndCommandsThatDoNotExistHaveTheirOwnExitCodes() throws Exception {
    CliProcess missing = exec("job", "/no/such/command");
    assertEquals(127, missing.exitCode(), missing::output);
    awaitNoLocks();
    MASTERS.kill(0, 1, 2);
    CliProcess unavailable = exec("job", "echo", "ran");
    assertEquals(121, unavailable.exitCode(), unavailable::output);
    assertFalse(unavailable.output().contains("ran\n"), unavailable::output);
    CliProcess unsound =
        exec(List.of("--nodes=redis://app:geheim@x", "--grace=1x"), "job", "echo", "ran");
    assertEquals(123, unsound.exitCode(), unsound::output);
    assertTrue(unsound.output().contains("'1x' is not a duration"), unsound::output);
    assertFalse(unsound.output().contains("geheim"), unsound::output);
  }

  @Test
  @Tag("servers")
  void everyExitCodeOfItsOwnComesWithALineOfItsOwn() throws Exception {
    CliProcess imitation = exec("job", "sh", "-c", "exit 120");
    assertEquals(120, imitation.exitCode(), imitation::output);
    assertEquals("", imitation.output());
    try (Redlock other = MASTERS.connect();
        Lease held = other.acquire("job", Duration.ofSeconds(29), Duration.ofSeconds(20))) {
      assertSpeaks(120, exec("job", "true"));
      assertTrue(held.isValid());
    }
    assertSpeaks(127, exec("job", "/no/such/command"));
    assertSpeaks(123, exec(List.of("--ttl"), "job", "true"));
    CliProcess lost = exec(List.of("--ttl=" + SHORT), "job", "cat");
    awaitFiveHolders();
    MASTERS.kill(0, 1, 2);
    assertSpeaks(122, lost);
    assertSpeaks(121, exec("job", "true"));
  }

  private static void assertSpeaks(int exitCode, CliProcess exec) throws InterruptedException {
    assertEquals(exitCode, exec.exitCode(), exec::output);
    assertTrue(exec.output().lines().anyMatch(line -> line.startsWith("redlock: ")), exec::output);
  }

  /** What is ignored is inherited, and a JVM leaves it so. */
  private static boolean isIgnored(int signal) throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("SigIgn:"))
        .map(line -> Long.parseUnsignedLong(line.substring(7).strip(), 16))
        .anyMatch(ignored -> (ignored >>> signal - 1 & 1) == 1);
  }

  private CliProcess exec(String resource, String... command) {
    return exec(List.of(), resource, command);
  }

  private CliProcess exec(List<String> options, String resource, String... command) {
    List<String> arguments = new ArrayList<>(List.of("exec"));
    arguments.addAll(options);
    arguments.addAll(List.of("--resource", resource, "--"));
    arguments.addAll(List.of(command));
    return start(arguments.toArray(String[]::new));
  }

  private static LeaseRequest renewed(String resource) {
    return LeaseRequest.of(resource, Duration.ofSeconds(20)).renewFor(Duration.ofHours(1));
  }

  private CliProcess start(String... arguments) {
    Map<String, String> settings =
        Map.of(
            "REDLOCK_NODES",
            String.join(" ", MASTERS.addresses()),
            "REDLOCK_NODE_TIMEOUT",
            SHORT.dividedBy(2).minusMillis(1).toString(), // the machine may be busy
            "REDLOCK_RESTART_GUARD",
            "false");
    CliProcess process = CliProcess.start(settings, arguments);
    started.add(process);
    return process;
  }

  /** What the command has written to its file so far. */
  private List<String> told() {
    try {
      return Files.exists(file) ? Files.readAllLines(file) : List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void awaitFiveHolders() {
    Await.until("5 masters hold it", START, () -> MASTERS.holders("job") == 5);
  }

  /** A node outside the quorum may hear of a release a little later than the rest. */
  private static void awaitNoLocks() {
    Await.until("nothing stays locked", SOON, () -> MASTERS.locks().isEmpty());
  }

  /** Who is connected and has run a script. */
  private static List<String> clients(int node) {
    return MASTERS
        .get(node)
        .command("CLIENT", "LIST")
        .toString()
        .lines()
        .filter(client -> client.contains(" cmd=eval"))
        .map(client -> client.substring(0, client.indexOf(' ')))
        .toList();
  }
}
