package io.redlock.cli;

import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.scenes.Scenes;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** What the commands of an operator print, most of it in scenes. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class CommandsTest {

  private static final Duration TTL = Duration.ofMinutes(10);

  @AutoClose private final CommandStage stage = new CommandStage();

  @TestFactory
  @AgainIfItStoodStill
  Stream<DynamicTest> commandsPrintWhatTheScenesSay() {
    return Stream.of("StatusAndList", "Free", "DoctorAndAdopt")
        .flatMap(file -> Scenes.of("cli/" + file + ".txt", CommandStage::new));
  }

  private RedisServer server(int number) {
    return stage.servers().get(number);
  }

  /** Waits until a command prints such lines that does not wait for long. */
  private void awaitPrints(int exitCode, String command, String... expressions) throws Exception {
    stage.act("unset REDLOCK_NODE_TIMEOUT");
    stage.act("unset REDLOCK_SILENCE_TIMEOUT");
    Await.until(
        "it prints " + List.of(expressions),
        () -> {
          CommandRun run = stage.run(command.split(" "));
          return run.exitCode() == exitCode
              && Stream.of(expressions)
                  .allMatch(each -> run.output().lines().anyMatch(line -> line.matches(each)));
        });
  }

  @Test
  void masterThatHangsIsNamedAndNobodyTellsWhatIsHeld() throws Exception {
    stage.act("adopt");
    stage.act("acquire orders/1");
    server(0).kill();
    server(1).pause();
    try {
      awaitPrints(
          121,
          "status orders/1",
          "orders/1 may be held or free: too few nodes can tell",
          "127.0.0.1:" + server(1).port() + " +the server accepted the connection and .*");
      awaitPrints(1, "list", "orders/1 +unknown .*1 of 3", "0 held; there may be more");
    } finally {
      server(1).resume();
    }
  }

  @Test
  void listIsCutWhereThereIsTooMuch() throws Exception {
    stage.act("adopt");
    List<String> words = new ArrayList<>(List.of("MSET"));
    for (int i = 0; i < 1_500; i++) {
      words.addAll(List.of("locks:" + i, "x", "redlock:fence:locks:" + i, "1"));
    }
    stage.servers().forEach(server -> server.command(words.toArray(String[]::new)));
    stage
        .run("list")
        .assertExit(1)
        .assertHas("only the first 1000 locks are listed: use --prefix")
        .assertHas(" has more: ");
    stage.run("list", "--prefix=14").assertExit(0).assertMatches("111 held");
  }

  private JedisRedlock.Builder holder(List<String> addresses) {
    return JedisRedlock.builder()
        .node(String.join(",", addresses))
        .keyPrefix("locks:")
        .nodeTimeout(Duration.ofSeconds(5))
        .maxTtl(Duration.ofHours(1));
  }

  /** Failed attempts bury their tokens on masters whose answers they did not wait for. */
  @Test
  void tokenOfTheHolderIsKnownAndComparedWhileOthersWait() throws Exception {
    stage.act("adopt");
    try (Redlock redlock = holder(List.of(stage.servers().addresses())).build()) {
      Lease lease = redlock.acquire(LeaseRequest.of("orders/42", TTL).waitUpTo(TTL));
      String token = Long.toString(lease.fencingToken());
      for (RedisServer late : stage.servers()) {
        late.pause();
        redlock.acquireAsync(LeaseRequest.of("orders/42", TTL)).join();
        late.resume();
        Await.until(
            "the attempt has buried its token",
            () -> !token.equals(late.command("GET", "redlock:fence:locks:orders/42")));
      }
      stage.run("status", "orders/42").assertExit(120).assertHas(", token " + token);
      stage.run("list").assertExit(0).assertHas(token);
      stage.run("free", "orders/42", "--token", token).assertExit(0).assertHas(" is set free");
      assertLost(lease.extend(TTL));
    }
  }

  /** The holder has its lease on the first master, which restarts empty, and on the second. */
  @Test
  void masterWithoutItsDataDoesNotProveThatNobodyHoldsIt() throws Exception {
    stage.act("adopt");
    List<GateProxy> ways = new ArrayList<>();
    stage.servers().forEach(server -> ways.add(GateProxy.to(server)));
    try (Redlock redlock = holder(ways.stream().map(GateProxy::address).toList()).build()) {
      Lease lease = redlock.acquire(LeaseRequest.of("orders/42", TTL).waitUpTo(TTL));
      Await.until("all hold it", () -> server(2).command("GET", "locks:orders/42") != null);
      ways.forEach(way -> way.requests().hold()); // its holder hangs
      stage.act("c DEL locks:orders/42 redlock:fence:locks:orders/42");
      stage.act("kill a");
      stage.act("restart a");
      stage.act("export REDLOCK_NODES=a:6379,127.0.0.1:1,c:6379");
      stage
          .run("free", "orders/42")
          .assertExit(121)
          .assertHas("orders/42 may still be held")
          .assertHas("127.0.0.1:" + server(0).port());
      assertTrue(lease.isValid());
    }
    ways.forEach(GateProxy::close);
  }

  @Test
  void doctorFindsServersThatAnswerAtOneAddressInTurn() throws Exception {
    try (GateProxy balancer = GateProxy.to(server(0))) {
      CommandRun sound = stage.run("doctor", balancer.address()).assertExit(1);
      assertFalse(sound.output().contains("in turn"), sound::output);
      balancer.alternateWith(server(1));
      stage
          .run("doctor", balancer.address(), server(2).address())
          .assertExit(1)
          .assertMatches(
              ".*:"
                  + balancer.port()
                  + " +refused .* several servers answer at its address in turn, by run_id \\w+ and"
                  + " \\w+: give each server an address of its own")
          .assertMatches(".*:" + server(2).port() + ".* no set is founded .*");
    }
  }

  /** Each address leads to one server, as the list of docs/operations.md has it. */
  @Test
  @EnabledOnOs(OS.LINUX) // has more than one address of loopback
  void doctorFindsServersThatShareAName(@TempDir Path folder) throws Exception {
    assertTrue(Repository.read("docs/operations.md").contains("no name with several servers"));
    int port = server(0).port();
    Path hosts = folder.resolve("hosts");
    Files.writeString(hosts, "127.0.0.1 redis.test\n127.0.0.2 redis.test\n");
    String name = "redis.test:" + port;
    Map<String, String> settings = Map.of("REDLOCK_NODES", name, "REDLOCK_SILENCE_TIMEOUT", "10s");
    try (GateProxy second = GateProxy.at("127.0.0.2", port, server(1));
        CliProcess doctor = CliProcess.startWithHosts(hosts, settings, "doctor");
        CliProcess status = CliProcess.startWithHosts(hosts, settings, "status", "a")) {
      assertEquals(port, second.port());
      assertEquals(1, doctor.exitCode(), doctor::output);
      String said = doctor.output().replaceAll(" +", " ");
      assertTrue(
          said.contains(name + " refused its name redis.test leads to several servers"), said);
      assertTrue(said.contains("127.0.0.2") && said.contains("give each server a name"), said);
      assertEquals(121, status.exitCode(), status::output);
      assertTrue(status.output().contains("leads to several servers"), status.output());
    }
  }

  @Test
  void addressesCanComeFromTheStandardInput() {
    server(0).command("CONFIG", "SET", "requirepass", "geheim");
    String address = "redis://:geheim@127.0.0.1:" + server(0).port();
    CommandRun run = CommandRun.withInput(address + "\n", Map.of(), "doctor").assertExit(1);
    run.assertMatches(".*:" + server(0).port() + ".* no set is founded .*");
    assertFalse(run.output().contains("geheim"), run::output);
  }
}
