package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.JavaCommand;
import io.redlock.testbed.Signal;
import io.redlock.testbed.Unchecked;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import picocli.CommandLine;

/** The command line in a process of its own. */
final class CliProcess implements AutoCloseable {

  private static final int PATIENCE_SECONDS = 300; // for a small machine that does much else

  private final Process process;
  private final CompletableFuture<String> output;

  private CliProcess(Process process) {
    this.process = process;
    output = CompletableFuture.supplyAsync(this::readOutput);
  }

  /** Starts it with these settings in its environment. */
  static CliProcess start(Map<String, String> settings, String... arguments) {
    return start(settings, command(arguments));
  }

  /**
   * Starts it in the POSIX locale.
   *
   * @param folder for a copy of the program, which Java does not find at a name that the locale
   *     cannot express
   * @param last the last argument, as the format of printf: bytes that are not ASCII are octal
   */
  static CliProcess startInPosixLocale(
      Path folder, Map<String, String> settings, String last, String... arguments)
      throws Exception {
    List<String> classPath = new ArrayList<>();
    for (Class<?> each : List.of(Cli.class, CommandLine.class, JedisRedlock.class, Redlock.class)) {
      URI place = each.getProtectionDomain().getCodeSource().getLocation().toURI();
      String copy = folder.resolve(each.getSimpleName()).toString();
      assertEquals(
          0, new ProcessBuilder("cp", "-r", Path.of(place).toString(), copy).start().waitFor());
      classPath.add(copy);
    }
    String script = "LC_ALL=C exec \"$@\" \"$(printf '" + last + "')\"";
    List<String> command = new ArrayList<>(List.of("sh", "-c", script, "sh"));
    command.addAll(JavaCommand.with(String.join(File.pathSeparator, classPath), 64));
    command.add("io.redlock.cli.Cli");
    command.addAll(List.of(arguments));
    return start(settings, command);
  }

  /** Starts it with all standard descriptors closed. */
  static CliProcess startWithoutDescriptors(Map<String, String> settings, String... arguments) {
    List<String> command = new ArrayList<>(List.of("sh", "-c", "exec \"$@\" 0<&- 1>&- 2>&-", "sh"));
    command.addAll(command(arguments));
    return start(settings, command);
  }

  /** Starts it on a machine whose file of hosts this is. */
  static CliProcess startWithHosts(Path hosts, Map<String, String> settings, String... arguments) {
    return start(settings, command(List.of("-Djdk.net.hosts.file=" + hosts), arguments));
  }

  private static List<String> command(String... arguments) {
    return command(List.of(), arguments);
  }

  private static List<String> command(List<String> options, String... arguments) {
    List<String> command = JavaCommand.likeThis(64, options.toArray(String[]::new));
    command.add("io.redlock.cli.Cli");
    command.addAll(List.of(arguments));
    return command;
  }

  private static CliProcess start(Map<String, String> settings, List<String> command) {
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().putAll(settings);
    return new CliProcess(Unchecked.call(builder::start));
  }

  private String readOutput() {
    byte[] output = Unchecked.call(() -> process.getInputStream().readAllBytes());
    return new String(output, StandardCharsets.UTF_8);
  }

  /** Gives it all of its input. */
  void type(String input) throws IOException {
    try (OutputStream in = process.getOutputStream()) {
      in.write(input.getBytes(StandardCharsets.UTF_8));
    }
  }

  void send(Signal signal) {
    signal.to(process);
  }

  /** Returns true if {@link #limitFiles} can be called. */
  static boolean canLimitFiles() {
    return Stream.of(System.getenv("PATH").split(File.pathSeparator))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "prlimit")));
  }

  /** Limits the numbers of the files that it opens from now on. */
  void limitFiles(int most) throws InterruptedException {
    String[] limit = {"prlimit", "--pid", "" + process.pid(), "--nofile=" + most + ":"};
    Process prlimit = Unchecked.call(() -> new ProcessBuilder(limit).inheritIO().start());
    assertEquals(0, prlimit.waitFor());
  }

  /** Whether a command of that name runs in it. */
  boolean hasCommand(String name) {
    return process
        .descendants()
        .anyMatch(child -> child.info().command().orElse("").endsWith("/" + name));
  }

  /** Waits for its end. */
  int exitCode() throws InterruptedException {
    assertTrue(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), "it ends");
    return process.exitValue();
  }

  /** Waits for its end; what it and its command printed. */
  String output() {
    return output.join();
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }
}
