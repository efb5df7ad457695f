package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * Scenes of a life, in a text beside the tests: commands, a line each, and after an arrow what came
 * of them. An empty line ends a scene, and the next begins with a new life. Several commands share
 * a line with semicolons between them, and {@code 3 * tick} is a command three times. A line that
 * begins with {@code #} is a comment; the first of a scene says what it shows.
 *
 * <p>With {@code -Dpinned.update=true} what came of the commands is written instead of compared.
 */
public final class Scenes {

  private static final Path FOLDER = Path.of("src/test/resources/io/redlock/jedis");
  private static final String ARROW = " -> ";
  private static final String HINT = "if this was meant, run the test with -Dpinned.update=true";

  /** A life. */
  public interface Actor {

    /** Does what a command says, and returns what came of it. */
    List<String> act(String command, String rest);
  }

  private Scenes() {}

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

  /** Returns a test for each scene of a file, in which {@code log?} tells the new warnings. */
  public static Stream<DynamicTest> of(String file, KeptLog log, Supplier<Actor> newLife) {
    return of(
        file,
        () -> {
          log.newWarnings(); // of the life before
          Actor life = newLife.get();
          return (command, rest) ->
              command.equals("log?") ? log.newWarnings() : life.act(command, rest);
        });
  }

  private static Stream<String> scenes(Path path) throws IOException {
    return Stream.of(Files.readString(path).strip().split("\n\n+"));
  }

  private static String play(String scene, Actor life) {
    List<String> commands = new ArrayList<>();
    List<String> came = new ArrayList<>();
    for (String line : scene.lines().toList()) {
      boolean isComment = line.startsWith("#");
      String command = isComment ? line : line.split(ARROW, 2)[0].stripTrailing();
      commands.add(command);
      came.add(isComment ? "" : String.join(" | ", brief(perform(command, life))));
    }
    int width =
        commands.stream()
            .filter(line -> !line.startsWith("#"))
            .mapToInt(String::length)
            .max()
            .orElse(0);
    return IntStream.range(0, came.size())
        .mapToObj(
            i ->
                came.get(i).isEmpty()
                    ? commands.get(i)
                    : String.format("%-" + width + "s%s%s", commands.get(i), ARROW, came.get(i)))
        .collect(Collectors.joining("\n"));
  }

  /** Returns the texts, each once where it is there several times in a row. */
  public static List<String> brief(List<String> texts) {
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
