package io.redlock.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Another JVM with the same class path and settings, which reads lines and answers each with one.
 */
final class ChildJvm implements AutoCloseable {

  private static final List<String> INHERITED =
      List.of("bench.scale", "org.slf4j.simpleLogger.defaultLogLevel");

  private final Process process;
  private final PrintStream input;
  private final BufferedReader output;

  ChildJvm(String javaHome, Class<?> program, String... args) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(javaHome + "/bin/java");
    command.add("-Xmx1g");
    for (String property : INHERITED) {
      command.add("-D" + property + "=" + System.getProperty(property));
    }
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(program.getName());
    command.addAll(List.of(args));
    process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    input = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
    output = process.inputReader(StandardCharsets.UTF_8);
  }

  void ask(String line) {
    input.println(line);
  }

  String answer() throws IOException {
    String line = output.readLine();
    if (line == null) {
      throw new IOException("a JVM of the benchmark ended early");
    }
    return line;
  }

  /** Kills it, and waits until it is dead. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Sends it a signal, for example STOP. */
  void signal(String name) throws IOException, InterruptedException {
    new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
  }

  /** The end of its input ends it. */
  @Override
  public void close() {
    input.close();
    try {
      if (!process.waitFor(10, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
