package io.redlock.demo;

import io.redlock.testbed.Text;
import java.io.Console;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.Charset;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The output of the demo: scenes, tables, and statements that are checked before they are printed.
 * Uses colours only on a terminal, and plain characters if the charset has no others.
 */
final class Stage {

  private static final int WIDTH = 88;
  private static final String INDENT = "     ";

  private final PrintStream out;
  private final boolean colours;
  private final boolean unicode;
  private final long startNanos = System.nanoTime();
  private int scenes;
  private int checks;

  /** Thrown when a statement does not hold. */
  static final class NotSo extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NotSo(String message) {
      super(message);
    }
  }

  Stage(PrintStream out, boolean colours, boolean unicode) {
    this.out = out;
    this.colours = colours;
    this.unicode = unicode;
  }

  /** Returns a stage on standard output, in the charset of its reader. */
  static Stage onStandardOutput() {
    Charset charset = outputCharset();
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, charset);
    return new Stage(out, isTerminal(), charset.newEncoder().canEncode("✓✗─µ…−"));
  }

  private static Charset outputCharset() {
    for (String property : List.of("stdout.encoding", "sun.stdout.encoding")) {
      String name = System.getProperty(property, "");
      if (!name.isEmpty() && Charset.isSupported(name)) {
        return Charset.forName(name);
      }
    }
    return Charset.defaultCharset();
  }

  private static boolean isTerminal() {
    Console console = System.console();
    if (console == null
        || System.getenv("NO_COLOR") != null
        || "dumb".equals(System.getenv("TERM"))) {
      return false;
    }
    try {
      // From Java 22 on there may be a console without a terminal.
      return (Boolean) Console.class.getMethod("isTerminal").invoke(console);
    } catch (ReflectiveOperationException beforeJava22) {
      return true;
    }
  }

  void title(String title) {
    line("");
    line(bold(title));
    line("");
  }

  void scene(String title) {
    String head = ++scenes + "  " + title + " ";
    line("");
    line(bold(head) + dim("─".repeat(Math.max(0, WIDTH - head.length()))));
    line("");
  }

  void say(String text) {
    line("   " + text);
  }

  /** Returns, for example, {@code 8.89 s}. */
  static String seconds(Duration duration) {
    return seconds(duration.toNanos());
  }

  static String seconds(long nanos) {
    return Text.of("%.2f s", nanos / 1e9);
  }

  /** Prints a line of a table: cells padded to their widths, except the last one. */
  void row(String key, String cell, String last) {
    String padded = last.isEmpty() ? cell : Text.of("%-17s ", cell);
    line(INDENT + bold(key) + "  " + padded + dim(last));
  }

  /** Prints the output of a program, indented. */
  void quote(String text) {
    for (String line : wrapped(text)) {
      line(INDENT + "  " + dim(line));
    }
  }

  /** States something that holds; ends the demo if it does not. */
  void check(boolean holds, String statement) {
    if (!holds) {
      state(paint("31", "✗ "), "does not hold: " + statement);
      throw new NotSo(statement);
    }
    checks++;
    state(paint("32", "✓ "), statement);
  }

  private void state(String mark, String statement) {
    String before = "   " + mark;
    for (String line : wrapped(statement)) {
      line(before + line);
      before = INDENT;
    }
  }

  private static List<String> wrapped(String text) {
    List<String> lines = new ArrayList<>();
    StringBuilder line = new StringBuilder();
    for (String word : text.split(" ")) {
      if (line.length() + word.length() > WIDTH - INDENT.length()) {
        lines.add(line.toString());
        line.setLength(0);
      }
      line.append(line.length() == 0 ? "" : " ").append(word);
    }
    lines.add(line.toString());
    return lines;
  }

  void finish() {
    line("");
    line(
        bold(
            Text.of(
                "All %d statements were checked and hold. %.1f s.",
                checks, (System.nanoTime() - startNanos) / 1e9)));
    line("");
  }

  /** Prints why the demo ended early. */
  void fail(String reason) {
    line("");
    line(paint("31", "The demo ended early: ") + reason);
  }

  void blank() {
    line("");
  }

  private void line(String text) {
    out.println(unicode ? text : plain(text));
  }

  private static String plain(String text) {
    return text.replace("✓", "+")
        .replace("✗", "x")
        .replace("─", "-")
        .replace("−", "-")
        .replace("µ", "u")
        .replace("…", "...");
  }

  private String bold(String text) {
    return paint("1", text);
  }

  private String dim(String text) {
    return paint("2", text);
  }

  private String paint(String code, String text) {
    return colours ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
  }
}
