package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testkit.RedisServers;
import io.redlock.testkit.RequiresRedis;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@code doctor} and {@code adopt} as subcommands, with the settings of the environment. */
@RequiresRedis
class DoctorAndAdoptTest {

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
      assertPrints(2, "REDLOCK_CLOCK_SKEW: 'much' is not a duration", wrong, command);
    }
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
