package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.JavaCommand;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class in a JVM of its own, with the class path of this one. */
public final class JavaProgram {

  private static final int PATIENCE_SECONDS = 60;

  private JavaProgram() {}

  /**
   * What became of it.
   *
   * @param lines what it printed, standard error included
   */
  public record Run(int exitCode, List<String> lines) {}

  /**
   * Runs the program to its end.
   *
   * @param logLevel what of the log is printed among the lines
   * @param input its standard input
   */
  public static Run run(String mainClass, String logLevel, String input, String... arguments)
      throws IOException, InterruptedException {
    return run(List.of(), mainClass, logLevel, input, arguments);
  }

  /** The same with further options of the JVM. */
  public static Run run(
      List<String> options, String mainClass, String logLevel, String input, String... arguments)
      throws IOException, InterruptedException {
    List<String> command = JavaCommand.likeThis(64, options.toArray(String[]::new));
    command.add("-Dorg.slf4j.simpleLogger.defaultLogLevel=" + logLevel);
    command.add(mainClass);
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      try (OutputStream toProgram = process.getOutputStream()) {
        toProgram.write(input.getBytes(StandardCharsets.UTF_8));
      }
      List<String> lines =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
              .lines()
              .toList();
      assertTrue(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), "it ends");
      return new Run(process.exitValue(), lines);
    } finally {
      process.destroyForcibly();
    }
  }
}
