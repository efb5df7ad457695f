package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** {@code doctor} and {@code adopt} as subcommands, with the settings of the environment. */
@RequiresRedis
@Tag("servers")
class DoctorAndAdoptTest {

  private static final String[] QUORUM = {"doctor", "--require", "quorum"};

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
    assertPrints(0, "3 nodes, 2 needed: 3 vote, 0 abstain", others, "doctor", nodes());
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
    servers.adopt();
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

  /** With it, new masters abstain for longer than a test takes. */
  private Redlock client() {
    return JedisRedlock.builder()
        .node(nodes())
        .nodeTimeout(Duration.ofSeconds(1))
        .maxTtl(Duration.ofMinutes(10))
        .build();
  }

  private static long votes(Redlock client) {
    return client.nodes().stream().filter(node -> node.state() == State.UP).count();
  }

  private void awaitMarks(Redlock client) {
    for (RedisServer server : servers) {
      Await.until(
          client.nodes() + " have birth marks",
          () -> server.command("EXISTS", "redlock:birth").equals(1L));
    }
  }

  private String doctor() throws InterruptedException {
    try (CliProcess process = CliProcess.start(patient(nodes()), "doctor")) {
      process.exitCode();
      assertTrue(process.output().contains("3 nodes, 2 needed: "), process::output);
      return process.output();
    }
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

  private static void assertPrints(
      int exitCode, String part, Map<String, String> settings, String... arguments)
      throws InterruptedException {
    try (CliProcess process = CliProcess.start(settings, arguments)) {
      assertEquals(exitCode, process.exitCode(), process::output);
      assertTrue(process.output().contains(part), process::output);
    }
  }
}
