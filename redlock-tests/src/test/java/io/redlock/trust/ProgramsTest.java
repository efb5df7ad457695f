package io.redlock.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.JavaProgram;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The commands {@code doctor} and {@code adopt}, each in a process of its own. */
@Tag("servers")
class ProgramsTest {

  private RedisServers servers;

  private record Run(int exitCode, List<String> lines) {

    private String line(RedisServer of) {
      return lines.stream().filter(line -> line.contains(":" + of.port())).findFirst().orElse("");
    }

    private void assertLine(RedisServer of, String expression) {
      assertTrue(line(of).matches(expression), () -> String.join("\n", lines));
    }
  }

  @BeforeEach
  void start() {
    servers = RedisServers.startBrandNew(3);
  }

  @AfterEach
  void stop() {
    servers.close();
  }

  @Test
  void doctorChangesNothingAndFindsNewMastersFit() throws Exception {
    Run run = run("doctor", "", servers.addresses());
    assertEquals(0, run.exitCode, run::toString);
    assertTrue(run.lines.get(0).startsWith("NODE "), run::toString);
    for (RedisServer server : servers) {
      run.assertLine(
          server, ".* abstains +[\\d.]+ +master +[+-][\\d.]+ms +unmarked +new or reset: .*");
      assertEquals(List.of(), server.keys("*"));
    }
    assertTrue(run.lines.contains("3 nodes, 2 needed: 0 vote, 3 abstain, 0 cannot be used"));
  }

  @Test
  void adoptedMastersVote() throws Exception {
    Run adopt = run("adopt", "", servers.addresses());
    assertEquals(0, adopt.exitCode, adopt::toString);
    adopt.assertLine(servers.get(0), ".* ADOPTED");
    Run doctor = run("doctor", "", servers.addresses());
    assertEquals(0, doctor.exitCode, doctor::toString);
    doctor.assertLine(servers.get(0), ".* votes .* [\\dTZ:-]+ adopted");
  }

  @Test
  void doctorNamesWhatIsRefusedAndFails() throws Exception {
    RedisServer replica = servers.get(0);
    replica.command("REPLICAOF", "127.0.0.1", "1");
    servers.get(1).kill();
    Run run = run("doctor", "", servers.addresses());
    assertEquals(1, run.exitCode, run::toString);
    run.assertLine(replica, ".* refused .* replica .* it is a replica: address its master instead");
    run.assertLine(servers.get(1), ".* unreachable +refused connection");
    assertTrue(run.lines.contains("3 nodes, 2 needed: 0 vote, 1 abstain, 2 cannot be used"));
  }

  @Test
  void doctorFindsEvictingMastersAndServersListedTwice() throws Exception {
    RedisServer evicting = servers.get(0);
    evicting.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    evicting.command("CONFIG", "SET", "maxmemory", "100mb");
    String alias = "localhost:" + servers.get(1).port();
    Run run = run("doctor", "", evicting.address(), servers.get(1).address(), alias);
    assertEquals(1, run.exitCode, run::toString);
    run.assertLine(evicting, ".* refused .* may evict locks: set maxmemory-policy noeviction");
    List<String> twice = run.lines.stream().filter(line -> line.contains("same server")).toList();
    assertEquals(1, twice.size(), run::toString);
    assertTrue(run.lines.contains("3 nodes, 2 needed: 0 vote, 1 abstain, 2 cannot be used"));
  }

  @Test
  void doctorSaysWhatAnEvenNumberIsWorth() throws Exception {
    Run run = run("doctor", "", servers.get(0).address(), servers.get(1).address());
    assertEquals(0, run.exitCode, run::toString);
    assertTrue(run.lines.get(run.lines.size() - 1).startsWith("use an odd number of nodes"));
  }

  @Test
  void adoptFailsWhenAMasterIsRefused() throws Exception {
    servers.get(1).command("SET", "locks:1", "somebody");
    List<String> arguments = new ArrayList<>(List.of("--key-prefix=locks:"));
    arguments.addAll(List.of(servers.addresses()));
    Run run = run("adopt", "", arguments.toArray(String[]::new));
    assertEquals(1, run.exitCode, run::toString);
    run.assertLine(servers.get(1), ".* REFUSED .*locks:1.*");
    run.assertLine(servers.get(0), ".* LEFT_ALONE .*");
  }

  @Test
  void addressesCanComeFromTheStandardInput() throws Exception {
    servers.get(0).command("CONFIG", "SET", "requirepass", "geheim");
    String address = "redis://:geheim@127.0.0.1:" + servers.get(0).port();
    Run run = run("doctor", address + "\n");
    assertEquals(0, run.exitCode, run::toString);
    run.assertLine(servers.get(0), ".* abstains .*");
    assertFalse(run.toString().contains("geheim"), run::toString);
  }

  @Test
  void unsoundAddressesAreReported() throws Exception {
    for (String command : List.of("doctor", "adopt")) {
      Run run = run(command, "", "redis://app:geheim@nowhere");
      assertEquals(123, run.exitCode, run::toString);
      assertTrue(run.toString().contains("does not end in host:port"), run::toString);
      assertFalse(run.toString().contains("geheim"), run::toString);
    }
  }

  private static Run run(String command, String input, String... arguments)
      throws IOException, InterruptedException {
    List<String> words = new ArrayList<>(List.of(command));
    words.addAll(List.of(arguments));
    JavaProgram.Run run =
        JavaProgram.run("io.redlock.jedis.cli.Cli", "off", input, words.toArray(String[]::new));
    return new Run(run.exitCode(), run.lines());
  }
}
