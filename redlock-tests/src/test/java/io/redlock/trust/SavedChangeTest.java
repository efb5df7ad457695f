package io.redlock.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.redlock.AcquireResult.Outcome;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.settings.Setting;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Changes of masters that lose their marks, or restart with what they have on disk. */
@Execution(ExecutionMode.CONCURRENT)
class SavedChangeTest {

  private static final Duration MAX_TTL = Duration.ofSeconds(1);
  private static final Duration PATIENCE = Duration.ofMinutes(1);
  private static final String[] WITHOUT_DATA = {"--dbfilename", "none.rdb"};

  private final List<Redlock> clients = new ArrayList<>();
  private final ByteArrayOutputStream said = new ByteArrayOutputStream();
  private RedisServers servers;

  @AfterEach
  void stop() {
    clients.forEach(Redlock::close);
    servers.close();
  }

  private void start(int count, int[] present, String... config) {
    servers = RedisServers.startBrandNew(count, config);
    assertTrue(settings(present).silenceTimeout(PATIENCE).adoptNew().isComplete());
  }

  private String list(int... masters) {
    return String.join(" ", IntStream.of(masters).mapToObj(i -> servers.get(i).address()).toList());
  }

  private JedisRedlock.Builder settings(int... masters) {
    return JedisRedlock.builder()
        .node(list(masters))
        .maxTtl(MAX_TTL)
        .clockSkew(Duration.ofMillis(200));
  }

  private Redlock client(JedisRedlock.Builder settings) {
    Redlock client = settings.build();
    clients.add(client);
    return client;
  }

  private boolean resize(Command command, int[] present, int[] future, PrintStream out) {
    DeploymentSettings deployment = new DeploymentSettings();
    deployment.node(list(present));
    deployment.movingTo(list(future));
    deployment.set(Setting.MAX_TTL, MAX_TTL);
    deployment.set(Setting.CLOCK_SKEW, Duration.ofMillis(200));
    deployment.set(Setting.SILENCE_TIMEOUT, PATIENCE);
    return deployment.resize(
        command, new Word(List.of(), List.of(), true), Duration.ofMillis(20), out);
  }

  private void assertDone(int[] present, int[] future, Command... commands) {
    for (Command command : commands) {
      assertTrue(resize(command, present, future, out()), said::toString);
    }
  }

  private void assertRefused(Command command, int[] present, int[] future, String reason) {
    said.reset();
    assertFalse(resize(command, present, future, out()), said::toString);
    assertTrue(said.toString(StandardCharsets.UTF_8).contains(reason), said::toString);
  }

  private PrintStream out() {
    return new PrintStream(said, true, StandardCharsets.UTF_8);
  }

  /** Runs a command that ends when it has let a first master serve others. */
  private void interrupt(Command command, int[] present, int[] future) {
    PrintStream broken =
        new PrintStream(said, true, StandardCharsets.UTF_8) {
          @Override
          public void println(String line) {
            throw new IllegalStateException(line);
          }
        };
    assertThrows(IllegalStateException.class, () -> resize(command, present, future, broken));
  }

  private static void awaitLease(Redlock client) throws InterruptedException {
    client.acquire("a", MAX_TTL, PATIENCE).release();
  }

  private String mark(int master) {
    return String.valueOf(servers.get(master).command("GET", "redlock:birth"));
  }

  private static int[] of(int... masters) {
    return masters;
  }

  @Test
  void abortIsRefusedAfterTheFutureMasterHasLostItsData() throws Exception { // A10
    start(2, of(0));
    Redlock old = client(settings(0));
    awaitLease(old);
    assertDone(of(0), of(1), Command.PREPARE, Command.COMMIT);
    Redlock moved = client(settings(1));
    Lease lease = moved.acquire("a", MAX_TTL, PATIENCE);
    servers.get(1).restart(WITHOUT_DATA);
    assertRefused(Command.ABORT, of(0), of(1), "run redlock resize commit");
    assertRefused(Command.PREPARE, of(0), of(1), "run redlock resize commit");
    assertFalse(old.tryAcquire("a", MAX_TTL).outcome() == Outcome.ACQUIRED, lease::toString);
    assertDone(of(0), of(1), Command.COMMIT);
    awaitLease(moved);
  }

  @Test
  void masterThatStaysLoadsNoMarkFromBeforeTheChange() throws Exception { // A9
    start(5, of(0, 1, 2));
    Redlock old = client(settings(0, 1, 2));
    awaitLease(old);
    servers.get(2).command("SAVE");
    assertDone(of(0, 1, 2), of(2, 3, 4), Command.PREPARE, Command.COMMIT, Command.FINISH);
    Redlock moved = client(settings(2, 3, 4));
    awaitLease(moved);
    servers.get(0).restart(WITHOUT_DATA);
    servers.get(1).restart(WITHOUT_DATA);
    servers.get(2).restart();
    assertTrue(mark(2).contains("|-no-return-|"), mark(2));
    awaitLease(moved);
    assertFalse(old.tryAcquire("a", MAX_TTL).outcome() == Outcome.ACQUIRED);
  }

  @Test
  void copyOfACommittedMarkServesFutureClients() throws Exception { // A6
    start(4, of(0, 1, 2));
    assertDone(of(0, 1, 2), of(0, 1, 3), Command.PREPARE, Command.COMMIT);
    Redlock moving = client(settings(0, 1, 2).movingTo(list(0, 1, 3)));
    awaitLease(moving);
    for (int master : of(0, 1)) {
      servers.get(master).restart(WITHOUT_DATA);
      Await.until("it is marked", () -> mark(master).contains(">"));
    }
    awaitLease(client(settings(0, 1, 3)));
  }

  @Test
  void secondChangeWaitsForTheFirst() throws Exception { // A11
    start(3, of(0));
    assertDone(of(0), of(1), Command.PREPARE, Command.COMMIT);
    interrupt(Command.FINISH, of(0), of(1));
    assertRefused(Command.PREPARE, of(1), of(2), "another change of masters is under way");
    servers.get(1).restart(WITHOUT_DATA);
    assertRefused(Command.PREPARE, of(0), of(1), "it is a master of");
    assertRefused(Command.COMMIT, of(0), of(1), "no change is prepared");
    assertDone(of(0), of(1), Command.ABORT, Command.FINISH);
    awaitLease(client(settings(1)));
  }

  @Test
  void finishFindsItsChangeByVoidMarks() throws Exception { // A12
    start(2, of(0));
    assertDone(of(0), of(0, 1), Command.PREPARE, Command.COMMIT, Command.FINISH);
    servers.get(0).restart();
    assertTrue(mark(0).contains(">"), mark(0));
    assertDone(of(0), of(0, 1), Command.FINISH);
    awaitLease(client(settings(0, 1)));
  }

  // What is on disk.

  static Stream<List<String>> files() {
    return Stream.of(
        List.of("--save", ""),
        List.of("--save", "3600 1000000"),
        List.of("--appendonly", "yes", "--appendfsync", "always"),
        List.of("--appendonly", "yes", "--appendfsync", "no"));
  }

  @ParameterizedTest
  @MethodSource("files")
  void decisionOutlivesACrash(List<String> files) throws Exception {
    start(2, of(0), files.toArray(String[]::new));
    servers.get(0).command("SAVE");
    assertDone(of(0), of(1), Command.PREPARE, Command.COMMIT);
    String bound = mark(0);
    assertTrue(bound.contains("|-no-return-|"), bound);
    servers.get(0).kill();
    servers.get(0).restart();
    assertEquals(bound, mark(0));
  }

  @Test
  void operatorSavesWhereTheCommandIsDenied() throws Exception {
    start(2, of(0), "--rename-command", "BGSAVE", "");
    assertDone(of(0), of(1), Command.PREPARE);
    assertSavedAfter("type BGSAVE there", () -> servers.forEach(server -> server.command("SAVE")));
  }

  @Test
  void commandGoesOnWhenAMasterCanWriteItsFolderAgain() throws Exception {
    assumeFalse(RedisServer.isInContainer());
    start(2, of(0));
    assertDone(of(0), of(1), Command.PREPARE);
    Path obstacle = servers.get(0).folder().resolve("dump.rdb");
    Path inside = Files.createFile(Files.createDirectory(obstacle).resolve("inside"));
    assertSavedAfter(
        "BGSAVE failed there",
        () -> {
          try {
            if (Files.isDirectory(obstacle)) {
              Files.delete(inside);
              Files.delete(obstacle);
            }
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
        });
  }

  private void assertSavedAfter(String message, Runnable fix) throws Exception {
    CompletableFuture<Boolean> commit =
        CompletableFuture.supplyAsync(() -> resize(Command.COMMIT, of(0), of(1), out()));
    Await.until("it says so", () -> said.toString(StandardCharsets.UTF_8).contains(message));
    Await.until(
        "it goes on",
        () -> {
          fix.run();
          return commit.isDone();
        });
    assertTrue(commit.join(), said::toString);
    assertTrue(mark(0).contains("|-no-return-|"), said::toString);
  }
}
