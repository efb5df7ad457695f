package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Unchecked;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * What became of a command that ran in this JVM.
 *
 * @param output what it printed, its faults included, and then what its child printed
 */
public record CommandRun(int exitCode, String output) {

  /** Runs the command to its end, with this environment and without input. */
  public static CommandRun of(Map<String, String> settings, String... arguments) {
    return withInput("", settings, arguments);
  }

  /** Runs the command to its end; its child reads nothing. */
  public static CommandRun withInput(
      String input, Map<String, String> settings, String... arguments) {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream both = new PrintStream(printed, true, StandardCharsets.UTF_8);
    Path ofChild = Unchecked.call(() -> Files.createTempFile("redlock-exec-", ""));
    try {
      Console console =
          new Console(
              settings,
              new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)),
              both,
              both,
              child ->
                  child
                      .redirectInput(Path.of("/dev/null").toFile())
                      .redirectErrorStream(true)
                      .redirectOutput(ofChild.toFile()));
      int exitCode = Cli.run(console, arguments);
      printed.writeBytes(Unchecked.call(() -> Files.readAllBytes(ofChild)));
      return new CommandRun(exitCode, printed.toString(StandardCharsets.UTF_8));
    } finally {
      Unchecked.call(() -> Files.delete(ofChild));
    }
  }

  /** Starts the command in a thread of its own. */
  public static CompletableFuture<CommandRun> start(
      Map<String, String> settings, String... arguments) {
    return CompletableFuture.supplyAsync(
        () -> of(settings, arguments), body -> new Thread(body, "command").start());
  }

  /** Checks the exit code. */
  public CommandRun assertExit(int expected) {
    assertEquals(expected, exitCode, output);
    return this;
  }

  /** Checks that it printed this. */
  public CommandRun assertHas(String part) {
    assertTrue(output.contains(part), output);
    return this;
  }

  /** Checks that it printed such a line. */
  public CommandRun assertMatches(String expression) {
    assertTrue(output.lines().anyMatch(line -> line.matches(expression)), output);
    return this;
  }
}
