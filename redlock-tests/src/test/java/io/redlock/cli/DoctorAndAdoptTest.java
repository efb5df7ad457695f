package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisExecutable;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** {@code doctor} and {@code adopt} as subcommands, with the settings of the environment. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class DoctorAndAdoptTest {

  private static final String[] QUORUM = {"doctor", "--require", "quorum"};

  /** With it, new masters abstain for longer than a test takes. */
  private static final Duration MAX_TTL = Duration.ofMinutes(10);

  private RedisServers servers;

  @BeforeEach
  void start() {
    servers = RedisServers.startBrandNew(3);
  }

  @AfterEach
  void stop() {
    servers.close();
  }

  @Test
  void mastersThatAreAdoptedAreFoundToVote() throws Exception {
    Map<String, String> settings = patient(nodes());
    assertPrints(0, "3 nodes, 2 needed: 0 vote, 3 abstain", settings, "doctor");
    assertPrints(0, servers.get(2).port() + " ADOPTED", settings, "adopt");
    Map<String, String> others = patient("127.0.0.1:1");
    CommandRun doctor = CommandRun.of(others, "doctor", nodes()).assertExit(0);
    doctor.assertHas("3 nodes, 2 needed: 3 vote, 0 abstain");
    assertLine(doctor, servers.get(0), ".* votes .* [\\dTZ:-]+ adopted");
  }

  @Test
  void settingsComeFromTheEnvironment() throws Exception {
    servers.get(1).command("SET", "locks:1", "somebody");
    Map<String, String> prefixed = new HashMap<>(patient(nodes()));
    prefixed.put("REDLOCK_KEY_PREFIX", "locks:");
    assertPrints(1, "it holds lock keys, for example locks:1", prefixed, "adopt");
    assertPrints(0, " ADOPTED", prefixed, "adopt", "--key-prefix=other:");
    Map<String, String> wrong = Map.of("REDLOCK_NODES", nodes(), "REDLOCK_CLOCK_SKEW", "much");
    for (String command : new String[] {"doctor", "adopt"}) {
      assertPrints(123, "REDLOCK_CLOCK_SKEW: 'much' is not a duration", wrong, command);
    }
  }

  @Test
  void doctorThatRequiresAQuorumTellsIfOneVotes() throws Exception {
    Map<String, String> settings = patient(nodes());
    assertPrints(121, "3 nodes, 2 needed: 0 vote", settings, QUORUM);
    assertPrints(0, "3 nodes, 2 needed: 0 vote", settings, "doctor");
    servers.adopt();
    assertPrints(0, "3 nodes, 2 needed: 3 vote", settings, QUORUM);
    servers.get(0).kill();
    assertPrints(0, "2 vote, 0 abstain, 1 cannot be used", settings, QUORUM);
    assertPrints(1, "2 vote, 0 abstain, 1 cannot be used", settings, "doctor");
    servers.get(1).kill();
    assertPrints(121, "1 vote, 0 abstain, 2 cannot be used", settings, QUORUM);
  }

  @Test
  void mastersThatNoClientHasUsedVoteIfTheGuardIsOff() throws Exception {
    Map<String, String> unguarded = new HashMap<>(patient(nodes()));
    unguarded.put("REDLOCK_RESTART_GUARD", "false");
    assertPrints(0, "3 nodes, 2 needed: 3 vote", unguarded, QUORUM);
  }

  @Test
  void doctorChangesNothingAndFindsNewMastersFit() throws Exception {
    CommandRun run = run(0, "doctor", nodes());
    assertTrue(run.output().startsWith("NODE "), run::output);
    for (RedisServer server : servers) {
      assertLine(
          run, server, ".* abstains +[\\d.]+ +master +[+-][\\d.]+ms +unmarked +new or reset: .*");
      assertEquals(List.of(), server.keys("*"));
    }
    run.assertMatches("3 nodes, 2 needed: 0 vote, 3 abstain, 0 cannot be used");
  }

  @Test
  void doctorNamesWhatIsRefusedAndFails() throws Exception {
    RedisServer replica = servers.get(0);
    replica.command("REPLICAOF", "127.0.0.1", "1");
    servers.get(1).kill();
    CommandRun run = run(1, "doctor", nodes());
    assertLine(
        run, replica, ".* refused .* replica .* it is a replica: address its master instead");
    assertLine(run, servers.get(1), ".* unreachable +refused connection");
    run.assertMatches("3 nodes, 2 needed: 0 vote, 1 abstain, 2 cannot be used");
  }

  /** Each address leads to one server, as the list of docs/operations.md has it. */
  @Test
  @EnabledOnOs(OS.LINUX) // has more than one address of loopback
  void doctorRefusesANameThatLeadsToSeveralServers(@TempDir Path folder) throws Exception {
    Assumptions.assumeFalse(RedisServer.isInContainer(), "a server is started by hand");
    assertTrue(Repository.read("docs/operations.md").contains("no name with several servers"));
    String port = String.valueOf(servers.get(0).port());
    Path hosts = folder.resolve("hosts");
    Files.writeString(hosts, "127.0.0.1 redis\n127.0.0.2 redis\n");
    Process second =
        new ProcessBuilder(
                RedisExecutable.path() + "", "--port", port, "--bind", "127.0.0.2", "--save", "")
            .directory(folder.toFile())
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("log").toFile())
            .start();
    try {
      Await.until("the second server answers", () -> answers("127.0.0.2", port));
      Map<String, String> settings = new HashMap<>(patient("redis:" + port));
      settings.put("JAVA_TOOL_OPTIONS", "-Djdk.net.hosts.file=" + hosts);
      try (CliProcess doctor = CliProcess.start(settings, "doctor")) {
        assertEquals(1, doctor.exitCode());
        String refused =
            "its name redis leads to several servers, by address and run_id {127.0.0.1=";
        assertTrue(doctor.output().contains(refused), doctor::output);
      }
    } finally {
      second.destroyForcibly().waitFor();
    }
  }

  private static boolean answers(String host, String port) {
    try (Connection connection = new Connection(host, Integer.parseInt(port))) {
      return RedisServer.command(connection, "PING").equals("PONG");
    } catch (JedisConnectionException e) {
      return false;
    }
  }

  @Test
  void doctorFindsEvictingMastersAndServersListedTwice() throws Exception {
    RedisServer evicting = servers.get(0);
    evicting.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    evicting.command("CONFIG", "SET", "maxmemory", "100mb");
    String alias = "localhost:" + servers.get(1).port();
    CommandRun run = run(1, "doctor", evicting.address(), servers.get(1).address(), alias);
    assertLine(run, evicting, ".* refused .* may evict locks: set maxmemory-policy noeviction");
    assertEquals(2, run.output().split("same server").length, run::output);
    run.assertMatches("3 nodes, 2 needed: 0 vote, 1 abstain, 2 cannot be used");
  }

  @Test
  void doctorFindsServersThatAnswerAtOneAddressInTurn() throws Exception {
    try (GateProxy balancer = GateProxy.to(servers.get(0))) {
      CommandRun sound = run(0, "doctor", balancer.address());
      assertFalse(sound.output().contains("in turn"), sound::output);
      balancer.alternateWith(servers.get(1));
      CommandRun run = run(1, "doctor", balancer.address(), servers.get(2).address());
      run.assertMatches(
          ".*:"
              + balancer.port()
              + " +refused .* several servers answer at its address in turn, by run_id \\w+ and"
              + " \\w+: give each server an address of its own");
      assertLine(run, servers.get(2), ".* abstains .*");
    }
  }

  @Test
  void doctorFindsServersThatShareAName(@TempDir Path folder) throws Exception {
    int port = servers.get(0).port();
    Path hosts = folder.resolve("hosts");
    Files.writeString(hosts, "127.0.0.1 redis.test\n127.0.0.2 redis.test\n");
    String name = "redis.test:" + port;
    try (GateProxy second = GateProxy.at("127.0.0.2", port, servers.get(1));
        CliProcess doctor = CliProcess.startWithHosts(hosts, patient(name), "doctor")) {
      assertEquals(port, second.port());
      assertEquals(1, doctor.exitCode(), doctor::output);
      String said = doctor.output();
      assertTrue(
          said.replaceAll(" +", " ")
              .contains(name + " refused its name redis.test leads to several servers"),
          said);
      assertTrue(said.contains("127.0.0.2") && said.contains("give each server a name"), said);
      try (CliProcess status = CliProcess.startWithHosts(hosts, patient(name), "status", "a")) {
        assertEquals(121, status.exitCode(), status::output);
        assertTrue(status.output().contains("leads to several servers"), status.output());
      }
    }
  }

  @Test
  void doctorFindsMastersThatDifferInTheTermsOfTheirClients() throws Exception {
    Map<String, String> settings = patient(nodes());
    servers.adopt();
    assertPrints(0, "3 nodes, 2 needed: 3 vote", settings, QUORUM);
    agreeOn(0, "1000");
    assertPrints(
        1, "agreed on maxTtl 1s, restartGuard true, abstention 34.302s", settings, "doctor");
    assertPrints(0, "run redlock agree", settings, QUORUM);
    agreeOn(1, "2000");
    assertPrints(121, "no client can use all of these masters", settings, QUORUM);
    assertPrints(0, "agreed: ", settings, "agree");
    assertPrints(0, "3 nodes, 2 needed: 3 vote", settings, QUORUM);
  }

  private void agreeOn(int master, String maxTtlMillis) {
    RedisServer server = servers.get(master);
    String mark = String.valueOf(server.command("GET", "redlock:birth"));
    server.command(
        "SET", "redlock:birth", mark.replaceFirst(" guarded \\d+", " guarded " + maxTtlMillis));
  }

  @Test
  void doctorSaysWhatAnEvenNumberIsWorth() throws Exception {
    CommandRun run = run(0, "doctor", servers.get(0).address(), servers.get(1).address());
    run.assertMatches("use an odd number of nodes.*");
  }

  @Test
  void adoptFailsWhenAMasterIsRefused() throws Exception {
    servers.get(1).command("SET", "locks:1", "somebody");
    CommandRun run = run(1, "adopt", "--key-prefix=locks:", nodes());
    assertLine(run, servers.get(1), ".* REFUSED .*locks:1.*");
    assertLine(run, servers.get(0), ".* LEFT_ALONE .*");
  }

  @Test
  void addressesCanComeFromTheStandardInput() throws Exception {
    servers.get(0).command("CONFIG", "SET", "requirepass", "geheim");
    String address = "redis://:geheim@127.0.0.1:" + servers.get(0).port();
    CommandRun run = CommandRun.withInput(address + "\n", Map.of(), "doctor").assertExit(0);
    assertLine(run, servers.get(0), ".* abstains .*");
    assertFalse(run.output().contains("geheim"), run::output);
  }

  @Test
  void unsoundAddressesAreReported() throws Exception {
    for (String command : List.of("doctor", "adopt")) {
      CommandRun run = run(123, command, "redis://app:geheim@nowhere");
      run.assertHas("does not end in host:port");
      assertFalse(run.output().contains("geheim"), run::output);
    }
  }

  @Test
  void brandNewMastersAreOfferedForAdoption() throws Exception {
    assertEquals(3, hints(doctor()));
    try (Redlock client = client()) {
      awaitMarks(client);
      assertEquals(3, hints(doctor()), "they have birth marks and still abstain");
    }
    servers.get(2).kill();
    assertEquals(0, hints(doctor()), "nothing is known about the third");
  }

  @Test
  void replacedMasterIsNotOfferedForAdoption() throws Exception {
    servers.adopt(settings -> settings.maxTtl(MAX_TTL));
    servers.get(1).restart();
    assertEquals(0, hints(doctor()), "the others are adopted, and never used");
    try (Redlock client = client()) {
      Await.until("two vote", () -> votes(client) == 2);
      awaitMarks(client);
    }
    assertEquals(0, hints(doctor()), "it has a birth mark and still abstains");
    servers.get(1).restart();
    assertEquals(0, hints(doctor()), "it has no birth mark");
    servers.get(0).kill();
    servers.get(2).kill();
    assertEquals(0, hints(doctor()), "the others may have been in use");
  }

  private Redlock client() {
    return JedisRedlock.builder()
        .node(nodes())
        .nodeTimeout(Duration.ofSeconds(5))
        .maxTtl(MAX_TTL)
        .build();
  }

  private static long votes(Redlock client) {
    return client.operations().nodes().stream().filter(node -> node.state() == State.UP).count();
  }

  private void awaitMarks(Redlock client) {
    for (RedisServer server : servers) {
      Await.until(
          client.operations().nodes() + " have birth marks",
          () -> server.command("EXISTS", "redlock:birth").equals(1L));
    }
  }

  private String doctor() {
    return CommandRun.of(patient(nodes()), "doctor").assertHas("3 nodes, 2 needed: ").output();
  }

  private static long hints(String printed) {
    return printed
        .lines()
        .filter(line -> line.contains("can be adopted") || line.contains("is adopted"))
        .count();
  }

  /** A machine that is busy with other tests is slow to answer. */
  private static Map<String, String> patient(String nodes) {
    return Map.of("REDLOCK_NODES", nodes, "REDLOCK_SILENCE_TIMEOUT", "10s");
  }

  private String nodes() {
    return String.join(" ", servers.addresses());
  }

  private static CommandRun run(int exitCode, String... arguments) {
    Map<String, String> patient = Map.of("REDLOCK_SILENCE_TIMEOUT", "10s");
    return CommandRun.of(patient, arguments).assertExit(exitCode);
  }

  /** Checks what is printed about a master. */
  private static void assertLine(CommandRun run, RedisServer of, String expression) {
    run.assertMatches(".*:" + of.port() + expression);
  }

  private static void assertPrints(
      int exitCode, String part, Map<String, String> settings, String... arguments) {
    CommandRun.of(settings, arguments).assertExit(exitCode).assertHas(part);
  }
}
