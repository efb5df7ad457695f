package io.redlock.cli;

import io.redlock.text.Brief;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * The surroundings of a command: the process in a program, something else in a test.
 *
 * @param environment the environment variables
 * @param in what the command reads
 * @param out what it prints
 * @param err where it prints its faults
 * @param childStreams gives the streams to a process that the command starts
 */
record Console(
    Map<String, String> environment,
    InputStream in,
    PrintStream out,
    PrintStream err,
    Consumer<ProcessBuilder> childStreams) {

  private static final Path DESCRIPTORS = Path.of("/proc/self");
  private static final String FLAGS = "flags:";
  private static final long CLOSE_ON_EXEC = 02000000; // O_CLOEXEC of Linux, octal as in fdinfo

  /** Prints a line of this program itself, not of its child. */
  void say(String line) {
    err.println("redlock: " + Brief.line(line));
  }

  /** Returns what surrounds this program. */
  static Console ofProcess() {
    boolean hasIn = isInherited(0);
    boolean hasOut = isInherited(1);
    boolean hasErr = isInherited(2);
    if (!hasErr) {
      System.setErr(nowhere()); // the log goes there
    }
    return new Console(
        System.getenv(),
        hasIn ? System.in : InputStream.nullInputStream(),
        hasOut ? System.out : nowhere(),
        System.err,
        child -> {
          child.redirectInput(hasIn ? Redirect.INHERIT : Redirect.from(Family.NOTHING));
          child.redirectOutput(hasOut ? Redirect.INHERIT : Redirect.DISCARD);
          child.redirectError(hasErr ? Redirect.INHERIT : Redirect.DISCARD);
        });
  }

  /** Prints columns as wide as their widest cell. */
  static void printTable(List<List<String>> table, PrintStream out) {
    List<List<String>> rows =
        table.stream().map(row -> row.stream().map(Brief::text).toList()).toList();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int column = 0; column < row.size(); column++) {
        String cell = row.get(column);
        line.append(cell).append(" ".repeat(width(rows, column) - cell.length() + 2));
      }
      out.println(line.toString().stripTrailing());
    }
  }

  private static int width(List<List<String>> rows, int column) {
    return rows.stream().mapToInt(row -> row.get(column).length()).max().orElse(0);
  }

  private static PrintStream nowhere() {
    return new PrintStream(OutputStream.nullOutputStream());
  }

  /**
   * Returns false if a descriptor was closed when this program started. The JVM may have opened a
   * file there since: one of its own, one of the class path, or one that no parent can pass on.
   */
  private static boolean isInherited(int descriptor) {
    if (!Files.exists(DESCRIPTORS)) {
      return true; // elsewhere than on Linux, this is not known
    }
    try {
      Path file = Files.readSymbolicLink(DESCRIPTORS.resolve("fd/" + descriptor));
      return !isOfTheJvm(file)
          && Files.readAllLines(DESCRIPTORS.resolve("fdinfo/" + descriptor)).stream()
              .filter(line -> line.startsWith(FLAGS))
              .map(line -> Long.parseLong(line.substring(FLAGS.length()).strip(), 8))
              .noneMatch(flags -> (flags & CLOSE_ON_EXEC) != 0);
    } catch (NoSuchFileException e) {
      return false; // it is still closed
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isOfTheJvm(Path file) throws IOException {
    if (file.startsWith(Path.of(System.getProperty("java.home")).toRealPath())) {
      return true;
    }
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      if (Files.exists(Path.of(entry)) && file.equals(Path.of(entry).toRealPath())) {
        return true;
      }
    }
    return false;
  }
}
