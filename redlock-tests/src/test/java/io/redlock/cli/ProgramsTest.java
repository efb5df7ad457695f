package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each command once as a program of its own: what only its main method does. */
@RequiresRedis
@Tag("servers")
class ProgramsTest {

  @TempDir Path folder;

  @Test
  void everyCommandRunsAsAProgram() throws Exception {
    try (RedisServers servers = RedisServers.startBrandNew(3)) {
      Map<String, String> settings = patient(servers);
      assertPrints(0, ":" + servers.get(2).port() + " ADOPTED", settings, "adopt", "--new");
      try (CliProcess doctor = CliProcess.start(Map.of(), "doctor")) {
        doctor.type(String.join("\n", servers.addresses()));
        assertEquals(0, doctor.exitCode(), doctor::output);
        assertTrue(doctor.output().contains("3 nodes, 2 needed: 3 vote, 0 abstain"));
      }
      assertPrints(
          7,
          "r under",
          settings,
          "exec",
          "--resource=r",
          "--",
          "sh",
          "-c",
          "echo $REDLOCK_RESOURCE under; exit 7");
      assertPrints(0, "r is free: no client holds it on 2 of 3", settings, "status", "r");
      assertPrints(0, "0 held", settings, "list");
      assertPrints(0, "r is not held", settings, "free", "r");
      String future = "--moving-to=" + servers.get(0).address();
      assertPrints(0, " serves ", settings, "resize", "prepare", future);
    }
  }

  @Test
  void nameThatTheLocaleCannotExpressIsNotTakenForAnother() throws Exception {
    Map<String, String> settings = Map.of("REDLOCK_NODES", "127.0.0.1:1");
    try (CliProcess process =
        CliProcess.startInPosixLocale(folder, settings, "auftr\\303\\244ge", "status")) {
      assertEquals(123, process.exitCode(), process::output);
      assertEquals(
          "redlock: argument 2 has characters that this locale cannot express: set LC_ALL=C.UTF-8",
          process.output().strip());
    }
  }

  @Test
  void descriptorsThatWereClosedAtTheStartAreTheNullDeviceForTheCommand() throws Exception {
    Path told = folder.resolve("told");
    try (RedisServers servers = RedisServers.startBrandNew(3).founded()) {
      Map<String, String> settings = new HashMap<>(patient(servers));
      settings.put("REDLOCK_RESTART_GUARD", "false");
      try (CliProcess exec =
          CliProcess.startWithoutDescriptors(
              settings,
              "exec",
              "--resource=r",
              "--",
              "sh",
              "-c",
              "l=$(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2); echo \"$l\" > $0; cat >> $0;"
                  + " exit 7",
              told.toString())) {
        assertEquals(7, exec.exitCode(), exec::output);
      }
      assertEquals(Collections.nCopies(3, "/dev/null"), Files.readAllLines(told));
    }
  }

  /** A machine that stands still for 3 s makes no command fail. */
  private static Map<String, String> patient(RedisServers servers) {
    return Map.of(
        "REDLOCK_NODES",
        String.join(" ", servers.addresses()),
        "REDLOCK_NODE_TIMEOUT",
        "4s",
        "REDLOCK_SILENCE_TIMEOUT",
        "10s");
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
