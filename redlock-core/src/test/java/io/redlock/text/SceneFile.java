package io.redlock.text;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * A file of scenes: a text beside the tests: commands, a line each, and after an arrow what came of
 * them. An empty line ends a scene, and the next begins with a new life. Several commands share a
 * line with semicolons between them, and {@code 3 * tick} is a command three times. A line that
 * begins with {@code #} is a comment; the first of a scene says what it shows.
 *
 * <p>With {@code -Dpinned.update=true} what came of the commands is written instead of compared.
 */
public final class SceneFile {

  private static final Path FOLDER = Path.of("src/test/resources/io/redlock");
  private static final String ARROW = " -> ";
  private static final String INDENT = "    ";
  private static final int LONGEST = 120;
  private static final String HINT = "if this was meant, run the test with -Dpinned.update=true";

  /** A life. */
  public interface Actor {

    /** Does what a command says, and returns what came of it. */
    List<String> act(String command, String rest);
  }

  private SceneFile() {}

  /** Returns a test for each scene of a file. */
  public static Stream<DynamicTest> of(String file, Supplier<Actor> newLife) {
    Path path = FOLDER.resolve(file);
    try {
      if (Boolean.getBoolean("pinned.update")) {
        List<String> played = scenes(path).map(scene -> play(scene, newLife.get())).toList();
        Files.writeString(path, String.join("\n\n", played) + "\n");
      }
      return scenes(path)
          .filter(scene -> !scene.lines().allMatch(line -> line.startsWith("#")))
          .map(
              scene ->
                  DynamicTest.dynamicTest(
                      scene.lines().findFirst().orElseThrow(),
                      () -> assertEquals(scene, play(scene, newLife.get()), HINT)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Stream<String> scenes(Path path) throws IOException {
    return Stream.of(Files.readString(path).strip().split("\n\n+"));
  }

  /** A line of commands and what came of them. */
  private record Line(String commands, List<String> came) {

    String onOneLine() {
      return String.join(" | ", came);
    }

    boolean isShort() {
      return came.isEmpty() || commands.length() + onOneLine().length() <= LONGEST;
    }

    String text(int width) {
      if (came.isEmpty()) {
        return commands;
      }
      return isShort()
          ? String.format("%-" + width + "s", commands) + ARROW + onOneLine()
          : commands + below();
    }

    private String below() {
      StringBuilder text = new StringBuilder();
      int length = LONGEST;
      for (String each : came) {
        boolean fits = length + each.length() < LONGEST;
        text.append(fits ? " | " : "\n" + INDENT).append(each);
        length = each.length() + (fits ? length : 0);
      }
      return text.toString();
    }
  }

  private static String play(String scene, Actor life) {
    List<Line> played = new ArrayList<>();
    for (String line : scene.lines().filter(each -> !each.startsWith(INDENT)).toList()) {
      boolean isComment = line.startsWith("#");
      String commands = isComment ? line : line.split(ARROW, 2)[0].stripTrailing();
      played.add(new Line(commands, isComment ? List.of() : brief(perform(commands, life))));
    }
    int width =
        played.stream()
            .filter(line -> line.isShort() && !line.commands.startsWith("#"))
            .mapToInt(line -> line.commands.length())
            .max()
            .orElse(0);
    return played.stream().map(line -> line.text(width)).collect(Collectors.joining("\n"));
  }

  /** Returns the texts, each once where it is there several times in a row. */
  private static List<String> brief(List<String> texts) {
    List<String> brief = new ArrayList<>();
    for (int i = 0, next; i < texts.size(); i = next) {
      for (next = i; next < texts.size() && texts.get(next).equals(texts.get(i)); next++) {}
      brief.add(texts.get(i) + (next - i == 1 ? "" : " (" + (next - i) + " times)"));
    }
    return brief;
  }

  private static List<String> perform(String line, Actor life) {
    List<String> came = new ArrayList<>();
    for (String each : line.split("; ")) {
      String[] repeated = each.split(" \\* ", 2);
      String[] words = repeated[repeated.length - 1].split(" ", 2);
      int times = repeated.length == 1 ? 1 : Integer.parseInt(repeated[0]);
      for (int i = 0; i < times; i++) {
        try {
          came.addAll(life.act(words[0], words.length == 1 ? "" : words[1]));
        } catch (RuntimeException | AssertionError e) {
          throw new AssertionError(line, e);
        }
      }
    }
    return came;
  }
}
