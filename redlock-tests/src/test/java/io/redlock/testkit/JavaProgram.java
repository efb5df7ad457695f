package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.JavaCommand;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs a main class in a JVM of its own, with the class path of this one. */
public final class JavaProgram {

  private static final int PATIENCE_SECONDS = 60;
  private static final String LOG = "-Dorg.slf4j.simpleLogger.defaultLogLevel=";

  private JavaProgram() {}

  /** A program that answers on its standard output; closing kills it. */
  public static final class Running implements AutoCloseable {
    public final Process process;
    private final BufferedReader lines;

    private Running(Process process) {
      this.process = process;
      lines = process.inputReader(StandardCharsets.UTF_8);
    }

    /** Says a line to it. */
    public void ask(Object line) throws IOException {
      process.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
    }

    /** Waits for the next line that it says. */
    public String answer() throws IOException {
      String line = lines.readLine();
      assertNotNull(line, "the program has ended");
      return line;
    }

    @Override
    public void close() {
      process.destroyForcibly();
      process.onExit().orTimeout(PATIENCE_SECONDS, TimeUnit.SECONDS).join();
    }
  }

  /** Starts a main class that can be talked to. */
  public static Running start(
      int heapMegabytes, Redirect errors, Class<?> main, String... arguments) throws IOException {
    List<String> command = JavaCommand.likeThis(heapMegabytes, LOG + "warn");
    command.add(main.getName());
    command.addAll(List.of(arguments));
    return start(command, errors);
  }

  /** The same with a command line of one's own. */
  public static Running start(List<String> command, Redirect errors) throws IOException {
    return new Running(new ProcessBuilder(command).redirectError(errors).start());
  }

  /**
   * What became of it.
   *
   * @param lines what it printed, standard error included
   */
  public record Run(int exitCode, List<String> lines) {}

  /**
   * Runs the program to its end.
   *
   * @param options of the JVM
   * @param logLevel what of the log is printed among the lines
   */
  public static Run run(List<String> options, Class<?> main, String logLevel, String... arguments)
      throws Exception {
    List<String> command = JavaCommand.likeThis(64, options.toArray(String[]::new));
    command.addAll(List.of(LOG + logLevel, main.getName()));
    command.addAll(List.of(arguments));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      List<String> lines = process.inputReader(StandardCharsets.UTF_8).lines().toList();
      assertTrue(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), "it ends");
      return new Run(process.exitValue(), lines);
    } finally {
      process.destroyForcibly();
    }
  }
}
