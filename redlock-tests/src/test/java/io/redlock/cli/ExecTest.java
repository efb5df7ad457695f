package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.lease.LeaseMasters;
import io.redlock.testbed.Await;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Signal;
import io.redlock.testbed.Unchecked;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** {@code exec} on five real masters, with real commands and signals. */
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
class ExecTest {

  /** Instead of the 30 s that are usual. */
  private static final Duration SHORT = Duration.ofSeconds(9);

  /** What is found free so soon after the end was released, and did not run out. */
  private static final Duration SOON = Duration.ofSeconds(20);

  /** On a busy machine a program takes its time to start. */
  private static final Duration START = Duration.ofMinutes(5);

  private static final int INT = 2;

  /** A script that ends when its file is there. */
  private static final String UNTIL_FILE = "until [ -e $0 ]; do sleep 0.05; done";

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  @TempDir Path folder;
  private Path file;
  private final List<CliProcess> started = new ArrayList<>();

  @BeforeEach
  void nameFile() {
    file = folder.resolve("told");
  }

  @AfterEach
  void endWhatIsLeft() throws IOException {
    started.forEach(CliProcess::close);
    Files.writeString(file, "end");
  }

  @Test
  void commandRunsUnderTheLeaseAndItsExitCodeIsPassedOn() throws Exception {
    Files.writeString(file, "not an argument");
    CliProcess exec =
        exec(
            "",
            "sh",
            "-c",
            "echo $REDLOCK_RESOURCE $REDLOCK_FENCING_TOKEN $*; cat; exit 7",
            "sh",
            "@" + file,
            "--",
            "${x}");
    awaitFiveHolders();
    String owner = masters.owner(0, "job");
    long token = masters.fence(0, "job");
    exec.type("");
    assertEquals(7, exec.exitCode(), exec::output);
    assertEquals("job " + token + " @" + file + " -- ${x}", exec.output().strip());
    assertFalse(owner.isEmpty());
    awaitNoLocks();
  }

  @Test
  void commandRunsUnderOneOfSeveralNamesAndLearnsWhich() throws Exception {
    Redlock other = masters.connect();
    try (Lease first = other.acquire(renewed("pool/1"));
        Lease third = other.acquire(renewed("pool/3"))) {
      String script = "echo $REDLOCK_RESOURCE $REDLOCK_FENCING_TOKEN; " + UNTIL_FILE;
      CompletableFuture<CommandRun> exec =
          CommandRun.start(
              settings(),
              words("exec --any-of=pool/1,pool/2 --any-of pool/3 --", "sh", "-c", script, file()));
      masters.awaitHolders(5, "pool/2");
      long token = masters.fence(0, "pool/2");
      CommandRun.of(settings(), words("exec --any-of=pool/1,pool/2,pool/3 --", "true"))
          .assertExit(120);
      Files.createFile(file);
      assertEquals("pool/2 " + token, end(exec).assertExit(0).output().strip());
      assertTrue(first.isValid() && third.isValid());
    }
  }

  @Test
  void sharedCommandsRunTogetherAndNoOtherBesideThem() throws Exception {
    CompletableFuture<CommandRun> reads =
        begin("--shared", "sh", "-c", "echo $REDLOCK_FENCING_TOKEN; " + UNTIL_FILE, file());
    masters.awaitHolders(5, "job");
    CommandRun.of(settings(), onJob("--shared", "echo", "reads, too"))
        .assertExit(0)
        .assertHas("reads, too");
    CommandRun.of(settings(), onJob("--wait=0s", "echo", "writes"))
        .assertExit(120)
        .assertHas("more by readers");
    Files.createFile(file);
    end(reads).assertExit(0);
    awaitNoLocks();
  }

  @Test
  void refusalSaysWhatTheLockIsFor() throws Exception {
    CompletableFuture<CommandRun> holds = begin("--note=nightly", "sh", "-c", UNTIL_FILE, file());
    masters.awaitHolders(5, "job");
    CommandRun.of(settings(), onJob("--wait=0s", "true")).assertExit(120).assertHas(" (nightly)");
    Files.createFile(file);
    end(holds).assertExit(0);
  }

  @Test
  void fairCommandWaitsInTurnAndNoReaderPassesIt() throws Exception {
    Redlock other = masters.connect();
    CompletableFuture<CommandRun> reads = begin("--shared", "sh", "-c", UNTIL_FILE, file());
    masters.awaitHolders(5, "job");
    CompletableFuture<CommandRun> writes = begin("--fair --wait=1m", "echo", "writes");
    Await.until(
        "it waits everywhere",
        () ->
            other.operations().inspectAsync("job").join().nodes().stream()
                .allMatch(node -> node.waiting() == 1));
    assertFalse(writes.isDone(), "it waits");
    CommandRun.of(settings(), onJob("--shared --wait=0s", "echo", "reads, too"))
        .assertExit(120)
        .assertHas("others are first in the queue");
    Files.createFile(file);
    end(reads).assertExit(0);
    end(writes).assertExit(0).assertHas("writes");
    CommandRun.of(settings(), words("exec --any-of=a,b --fair --", "true"))
        .assertExit(123)
        .assertHas("Missing required argument(s): --resource=NAME");
  }

  @Test
  void jobOfMillisecondsKeepsTheLockAndTheOthersEndSilently() throws Exception {
    CommandRun.of(settings(), onJob("--hold-at-least=300ms", "sh", "-c", "exit 3")).assertExit(3);
    awaitNoLocks();
    CompletableFuture<CommandRun> first =
        begin("--ttl=" + SHORT + " --hold-at-least=1h", "sh", "-c", "echo ran >> $0", file());
    Await.until("the job runs", START, () -> !told().isEmpty());
    CommandRun second = CommandRun.of(settings(), onJob("--if-held=0", "echo", "twice"));
    assertEquals("", second.assertExit(0).output());
    CommandRun.of(settings(), onJob("--if-held=9 --wait=1s", "echo", "twice"))
        .assertExit(9)
        .assertHas("redlock: not acquired: job: 0 of 5");
    assertFalse(first.isDone());
    masters.kill(0, 2, 4);
    end(first).assertExit(0).assertHas("job was lost before --hold-at-least had passed");
    assertEquals(List.of("ran"), told());
  }

  /** Java tells the end of a process by a task there, with one thread on two cores. */
  @Test
  void endOfACommandIsSeenThoughTheCommonPoolIsBusy() {
    CountDownLatch over = new CountDownLatch(1);
    List<Future<Boolean>> busy = new ArrayList<>();
    try {
      for (int thread = 0; thread < ForkJoinPool.getCommonPoolParallelism(); thread++) {
        busy.add(ForkJoinPool.commonPool().submit(() -> over.await(1, TimeUnit.MINUTES)));
      }
      CommandRun.of(settings(), onJob("--ttl=" + SHORT, "true")).assertExit(0);
      assertTrue(busy.stream().noneMatch(Future::isDone), "it waited for the pool");
    } finally {
      over.countDown();
    }
  }

  @Test
  void deathOfTwoMastersOfFiveIsSurvived() throws Exception {
    CompletableFuture<CommandRun> exec =
        begin("--ttl=" + SHORT, "sh", "-c", UNTIL_FILE + "; exit 5", file());
    awaitFiveHolders();
    masters.kill(1, 3);
    long killedNanos = System.nanoTime();
    Await.until(
        "the lease is renewed beyond its first ttl",
        () -> System.nanoTime() - killedNanos > SHORT.toNanos() && masters.pttl(0, "job") > 0);
    assertEquals(3, masters.holders("job"));
    assertFalse(exec.isDone());
    Files.createFile(file);
    end(exec).assertExit(5);
    awaitNoLocks();
  }

  @Test
  void deathOfThreeMastersEndsACommandThatIgnoresTermBeforeTheDeadline() throws Exception {
    Duration ttl = SHORT;
    while (!endsBeforeTheDeadline(ttl)) { // anew with more time, if who is to kill it stood still
      ttl = ttl.multipliedBy(3).dividedBy(2);
      assertTrue(ttl.compareTo(Duration.ofSeconds(30)) < 0, "it is never killed in time");
      masters.get(0).restart();
      masters.get(2).restart();
      masters.get(4).restart();
      Files.delete(file);
    }
  }

  private boolean endsBeforeTheDeadline(Duration ttl) throws Exception {
    CompletableFuture<CommandRun> exec =
        begin(
            "--ttl=" + ttl + " --grace=" + ttl.multipliedBy(2).dividedBy(9),
            "sh",
            "-c",
            "trap 'echo TERM >> $0' TERM; while :; do date +%s%3N >> $0; sleep 0.01; done",
            file());
    awaitFiveHolders();
    Await.until("the command runs", START, () -> !told().isEmpty());
    masters.kill(0, 2, 4);
    long latestMillis = System.currentTimeMillis() + ttl.toMillis(); // nothing was renewed since
    end(exec).assertExit(122).assertHas("the lease on job was lost");
    List<String> told = told();
    assertTrue(told.contains("TERM"), told::toString);
    told.removeIf("TERM"::equals);
    return Long.parseLong(told.get(told.size() - 1)) < latestMillis;
  }

  @Test
  void termEndsTheCommandAndFreesTheLock() throws Exception {
    CliProcess exec =
        exec(
            "",
            "sh",
            "-c",
            "trap 'exit 9' TERM; echo up > $0; while :; do sleep 0.05; done",
            file());
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
    CliProcess exec = exec("", "sh", "-c", "sh -c \"$1\" \"$0\" & wait", file(), child);
    Await.until("the child runs", START, () -> !told().isEmpty());
    awaitFiveHolders();
    exec.send(Signal.TERM);
    assertEquals(143, exec.exitCode(), exec::output);
    assertEquals(List.of("up", "done"), told());
    awaitNoLocks();
  }

  /**
   * What /proc holds cannot be read then, and Java reports that no process is alive. Without a path
   * there is no session, so that children are looked for before, and all classes are loaded.
   */
  @Test
  @Tag("ci") // needs more than a JDK
  void lockIsKeptForAChildWhileNoFileDescriptorIsLeftToLookForIt() throws Exception {
    assumeTrue(CliProcess.canLimitFiles(), "no prlimit: the files of a process cannot be limited");
    Map<String, String> settings = new HashMap<>(settings());
    settings.put("PATH", "");
    String command =
        "/bin/sh -c \"$1\" \"$0\" & until [ -e $0.end ]; do /bin/sleep 0.05; done; exit 3";
    String child = "until [ -e $0.go ]; do /bin/sleep 0.05; done";
    CliProcess exec =
        CliProcess.start(
            settings, onJob("--ttl=" + SHORT, "/bin/sh", "-c", command, file(), child));
    started.add(exec);
    awaitFiveHolders();
    awaitRenewal();
    exec.limitFiles(1);
    Files.createFile(Path.of(file + ".end"));
    awaitRenewal();
    exec.limitFiles(1000);
    Files.createFile(Path.of(file + ".go"));
    assertEquals(3, exec.exitCode(), exec::output);
    awaitNoLocks();
  }

  private void awaitRenewal() {
    long most = SHORT.toMillis() * 5 / 6; // it is renewed when a third of the time has passed
    Await.until("time has passed", START, () -> masters.pttl(0, "job") < most);
    Await.until("the lease is renewed", START, () -> masters.pttl(0, "job") > most);
  }

  @Test
  void commandThatDiesOfTheSignalIsReportedAsAShellDoes() throws Exception {
    assumeFalse(isIgnored(INT), "INT is ignored here, as in what a shell starts in the background");
    CliProcess exec = exec("", "sleep", "60");
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
    try (Redlock other = masters.connect();
        Lease held = other.acquire(all)) {
      awaitFiveHolders();
      run(120, "", "false").assertHas("redlock: not acquired: job: 0 of 5");
      List<String> others = clients(0);
      CliProcess waiting = exec("--wait=1m", "false");
      Await.until("it has begun", START, () -> !others.containsAll(clients(0)));
      waiting.send(Signal.TERM);
      assertEquals(143, waiting.exitCode(), waiting::output);
      assertTrue(held.isValid());
    }
    awaitNoLocks();
  }

  @Test
  @Tag("servers")
  void everyExitCodeOfItsOwnComesWithALineOfItsOwn() throws Exception {
    assertEquals("", run(120, "", "sh", "-c", "exit 120").output());
    try (Redlock other = masters.connect();
        Lease held = other.acquire("job", Duration.ofSeconds(29), Duration.ofSeconds(20))) {
      assertSpeaks(run(120, "", "true"));
      assertTrue(held.isValid());
    }
    awaitNoLocks();
    assertSpeaks(run(127, "", "/no/such/command"));
    awaitNoLocks();
    assertSpeaks(run(123, "--ttl", "true"));
    masters.kill(0, 1, 2);
    CommandRun unavailable = run(121, "", "echo", "ran");
    assertSpeaks(unavailable);
    assertFalse(unavailable.output().contains("ran\n"), unavailable::output);
  }

  private static void assertSpeaks(CommandRun run) {
    run.assertMatches("redlock: .*");
  }

  /** What is ignored is inherited, and a JVM leaves it so. */
  private static boolean isIgnored(int signal) throws IOException {
    return Files.readAllLines(Path.of("/proc/self/status")).stream()
        .filter(line -> line.startsWith("SigIgn:"))
        .map(line -> Long.parseUnsignedLong(line.substring(7).strip(), 16))
        .anyMatch(ignored -> (ignored >>> signal - 1 & 1) == 1);
  }

  /** Runs it under the lock {@code job} in this JVM. */
  private CommandRun run(int exitCode, String options, String... command) {
    return CommandRun.of(settings(), onJob(options, command)).assertExit(exitCode);
  }

  private CompletableFuture<CommandRun> begin(String options, String... command) {
    return CommandRun.start(settings(), onJob(options, command));
  }

  private static CommandRun end(CompletableFuture<CommandRun> begun) {
    return Await.value("it ends", begun);
  }

  /** Runs it under the lock {@code job} as a program. */
  private CliProcess exec(String options, String... command) {
    CliProcess process = CliProcess.start(settings(), onJob(options, command));
    started.add(process);
    return process;
  }

  private static String[] onJob(String options, String... command) {
    return words(("exec " + options).strip() + " --resource job --", command);
  }

  private static String[] words(String first, String... more) {
    return Stream.concat(Stream.of(first.split(" ")), Stream.of(more)).toArray(String[]::new);
  }

  private static LeaseRequest renewed(String resource) {
    return LeaseRequest.of(resource, Duration.ofSeconds(20)).renewFor(Duration.ofHours(1));
  }

  private Map<String, String> settings() {
    return Map.of(
        "REDLOCK_NODES",
        String.join(" ", masters.addresses()),
        "REDLOCK_NODE_TIMEOUT",
        SHORT.dividedBy(2).minusMillis(1).toString(), // the machine may be busy
        "REDLOCK_RESTART_GUARD",
        "false");
  }

  private String file() {
    return file.toString();
  }

  /** What the command has written to its file so far. */
  private List<String> told() {
    return Files.exists(file) ? Unchecked.call(() -> Files.readAllLines(file)) : List.of();
  }

  private void awaitFiveHolders() {
    Await.until("5 masters hold it", START, () -> masters.holders("job") == 5);
  }

  /** A node outside the quorum may hear of a release a little later than the rest. */
  private void awaitNoLocks() {
    Await.until("nothing stays locked", SOON, () -> masters.locks().isEmpty());
  }

  /** Who is connected and has run a script. */
  private List<String> clients(int node) {
    return masters
        .get(node)
        .command("CLIENT", "LIST")
        .toString()
        .lines()
        .filter(client -> client.contains(" cmd=eval"))
        .map(client -> client.substring(0, client.indexOf(' ')))
        .toList();
  }
}
