package io.redlock.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import io.redlock.AcquireResult.Outcome;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Unchecked;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Changes of masters that lose their marks, or restart with what they have on disk. */
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class SavedChangeTest extends OperatedMasters {

  private static final Duration MAX_TTL = Duration.ofSeconds(1);
  private static final String[] WITHOUT_DATA = {"--dbfilename", "none.rdb"};

  SavedChangeTest() {
    super(MAX_TTL, Duration.ofMillis(200));
  }

  private void start(int count, int[] present, String... config) {
    servers = RedisServers.startBrandNew(count, config);
    adopt(list(present));
  }

  /** Runs a command that ends when it has let a first master serve others. */
  private void interrupt(Command command, String present, String future) {
    Consumer<String> broken =
        line -> {
          throw new IllegalStateException(line);
        };
    assertThrows(IllegalStateException.class, () -> resize(command, present, future, broken));
  }

  private static int[] of(int... masters) {
    return masters;
  }

  @Test
  void abortIsRefusedAfterTheFutureMasterHasLostItsData() throws Exception { // A10
    start(2, of(0));
    Redlock old = client(list(0));
    awaitLease(old);
    assertDone(list(0), list(1), Command.PREPARE, Command.COMMIT);
    Redlock moved = client(list(1));
    Lease lease = moved.acquire("a", MAX_TTL, PATIENCE);
    servers.get(1).restart(WITHOUT_DATA);
    assertRefused(Command.ABORT, list(0), list(1), "run redlock resize commit");
    assertRefused(Command.PREPARE, list(0), list(1), "run redlock resize commit");
    assertFalse(old.tryAcquire("a", MAX_TTL).outcome() == Outcome.ACQUIRED, lease::toString);
    assertDone(list(0), list(1), Command.COMMIT);
    awaitLease(moved);
  }

  @Test
  void masterThatStaysLoadsNoMarkFromBeforeTheChange() throws Exception { // A9
    start(5, of(0, 1, 2));
    Redlock old = client(list(0, 1, 2));
    awaitLease(old);
    servers.get(2).command("SAVE");
    String before = mark(2).replaceFirst(".* ", "");
    assertDone(list(0, 1, 2), list(2, 3, 4), Command.PREPARE, Command.COMMIT, Command.FINISH);
    Redlock moved = client(list(2, 3, 4));
    awaitLease(moved);
    servers.get(0).restart(WITHOUT_DATA);
    servers.get(1).restart(WITHOUT_DATA);
    servers.get(2).restart();
    assertFalse(mark(2).endsWith(" " + before), "a client may have marked it again");
    awaitLease(moved);
    assertFalse(old.tryAcquire("a", MAX_TTL).outcome() == Outcome.ACQUIRED);
  }

  @Test
  void copyOfACommittedMarkServesFutureClients() throws Exception { // A6
    start(4, of(0, 1, 2));
    assertDone(list(0, 1, 2), list(0, 1, 3), Command.PREPARE, Command.COMMIT);
    Redlock moving = client(settings(list(0, 1, 2)).movingTo(list(0, 1, 3)));
    awaitLease(moving);
    for (int master : of(0, 1)) {
      servers.get(master).restart(WITHOUT_DATA);
      Await.until("it is marked", () -> mark(master).contains(">"));
    }
    awaitLease(client(list(0, 1, 3)));
  }

  @Test
  void secondChangeWaitsForTheFirst() throws Exception { // A11
    start(3, of(0));
    assertDone(list(0), list(1), Command.PREPARE, Command.COMMIT);
    interrupt(Command.FINISH, list(0), list(1));
    assertRefused(Command.PREPARE, list(1), list(2), "another change of masters is under way");
    servers.get(1).restart(WITHOUT_DATA);
    assertRefused(Command.ABORT, list(0), list(1), "run redlock resize commit");
    assertRefused(Command.PREPARE, list(0), list(1), "run redlock resize commit");
    assertRefused(Command.COMMIT, list(0), list(1), "run redlock resize finish");
    assertFalse(resize(Command.FINISH, list(0), list(1)), this::said);
    assertTrue(said().contains("redlock adopt " + name(1)), this::said);
    assertTrue(settings(list(1)).adopt().isComplete());
    awaitLease(client(list(1)));
  }

  @Test
  void finishFindsItsChangeByVoidMarks() throws Exception { // A12
    start(2, of(0));
    assertDone(list(0), list(0, 1), Command.PREPARE, Command.COMMIT, Command.FINISH);
    servers.get(0).restart();
    assertTrue(mark(0).contains(">"), mark(0));
    assertDone(list(0), list(0, 1), Command.FINISH);
    awaitLease(client(list(0, 1)));
  }

  // What is on disk.

  private static final String KILL = "KILL";

  static Stream<Arguments> filesAndEnds() {
    return Stream.of(
            List.of("--save", ""),
            List.of("--save", "3600 1000000"),
            List.of("--appendonly", "yes", "--appendfsync", "always"),
            List.of("--appendonly", "yes", "--appendfsync", "no"))
        .flatMap(
            files ->
                Stream.of(KILL, "SHUTDOWN", "SHUTDOWN NOSAVE") // TERM does what SHUTDOWN does
                    .map(end -> Arguments.of(files, end)));
  }

  private static void end(RedisServer server, String end) {
    if (end.equals(KILL)) {
      server.kill();
    } else {
      assertThrows(JedisConnectionException.class, () -> server.command(end.split(" ")));
      Await.until("it has ended", () -> !server.isAlive());
    }
  }

  @ParameterizedTest
  @MethodSource("filesAndEnds")
  void decisionOutlivesTheEndOfAMaster(List<String> files, String end) throws Exception {
    start(2, of(0), files.toArray(String[]::new));
    servers.get(0).command("SAVE");
    assertDone(list(0), list(1), Command.PREPARE, Command.COMMIT);
    String bound = mark(0);
    assertTrue(bound.contains("|-no-return-|"), bound);
    boolean isOnDiskAtOnce = files.contains("always");
    assertEquals(isOnDiskAtOnce, servers.get(0).calls("bgsave", "bgrewriteaof") == 0);
    end(servers.get(0), end);
    servers.get(0).restart();
    Await.until("it is loaded", () -> servers.get(0).infoOf("loading").equals("0"));
    assertEquals(bound, mark(0));
  }

  @Test
  void operatorSavesWhereTheCommandIsDenied() throws Exception {
    start(2, of(0), "--rename-command", "BGSAVE", "");
    assertDone(list(0), list(1), Command.PREPARE);
    assertSavedAfter("type BGSAVE there", () -> servers.forEach(server -> server.command("SAVE")));
  }

  @Test
  void masterOfWhichTheOperatorSaysSoIsNotSaved() throws Exception {
    start(2, of(0), "--rename-command", "BGSAVE", "");
    assertDone(list(0), list(1), Command.PREPARE);
    Word word = new Word(List.of(), List.of(name(0), name(1)), Map.of(), true);
    assertTrue(
        operator(list(0), list(1)).resize(Command.COMMIT, word, saying()::println), this::said);
    assertFalse(said().contains("BGSAVE"), this::said);
  }

  @Test
  void commandGoesOnWhenAMasterCanWriteItsFolderAgain() throws Exception {
    assumeFalse(RedisServer.isInContainer());
    start(2, of(0));
    assertDone(list(0), list(1), Command.PREPARE);
    Path obstacle = servers.get(0).folder().resolve("dump.rdb");
    Path inside = Files.createFile(Files.createDirectory(obstacle).resolve("inside"));
    assertSavedAfter(
        "BGSAVE failed there",
        () -> {
          if (Files.isDirectory(obstacle)) {
            Unchecked.call(() -> Files.delete(inside));
            Unchecked.call(() -> Files.delete(obstacle));
          }
        });
  }

  private void assertSavedAfter(String message, Runnable fix) throws Exception {
    CompletableFuture<Boolean> commit =
        CompletableFuture.supplyAsync(() -> resize(Command.COMMIT, list(0), list(1)));
    Await.until("it says so", () -> said().contains(message));
    Await.until(
        "it goes on",
        () -> {
          fix.run();
          return commit.isDone();
        });
    assertTrue(commit.join(), this::said);
    assertTrue(mark(0).contains("|-no-return-|"), this::said);
  }
}
