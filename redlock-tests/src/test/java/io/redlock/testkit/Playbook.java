package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.testbed.Repository;
import io.redlock.testbed.StandStill;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;

/**
 * Scenes in a text beside the tests: commands, a line each, and what came of them, after an arrow
 * or, if that is long, below and indented. Several commands share a line with semicolons between
 * them. An empty line ends a scene; each is played on a stage of its own. A line that begins with
 * {@code #} is a comment; the first of a scene says what it shows.
 *
 * <p>With {@code -Dpinned.update=true} what came of the commands is written instead of compared.
 */
public final class Playbook {

  private static final Path FOLDER = Repository.ROOT.resolve("redlock-tests/src/test/resources");
  private static final String ARROW = " -> ";
  private static final String BAR = " | ";
  private static final String INDENT = "    ";
  private static final int LONGEST = 110;
  private static final Duration TOO_LONG = Duration.ofMillis(20);
  private static final int MOST_TIMES = 10;

  /** Where a scene is played. */
  public interface Stage extends AutoCloseable {

    /** Does what a command says, and returns what came of it, by lines. */
    List<String> act(String command) throws Exception;

    @Override
    default void close() {}
  }

  private Playbook() {}

  /** Returns a test for each scene of a file below the folder of the tests' resources. */
  public static Stream<DynamicTest> of(String file, Class<?> test, Supplier<Stage> stage) {
    Path path = FOLDER.resolve(file);
    String hint = file + " says otherwise; " + Pinned.howToUpdate(test.getSimpleName());
    try {
      if (Pinned.isUpdate()) {
        List<String> played = scenes(path).map(scene -> play(scene, stage)).toList();
        Files.writeString(path, String.join("\n\n", played) + "\n");
      }
      return scenes(path)
          .filter(scene -> !scene.lines().allMatch(line -> line.startsWith("#")))
          .map(
              scene ->
                  DynamicTest.dynamicTest(
                      scene.lines().findFirst().orElseThrow(), () -> check(scene, stage, hint)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Plays a scene, and again if this process stood still: some have ttls of 40 ms. */
  private static void check(String scene, Supplier<Stage> stage, String hint) {
    for (int times = 1; ; times++) {
      try (StandStill machine = StandStill.watching()) {
        String played = play(scene, stage);
        boolean stoodStill = machine.longest().compareTo(TOO_LONG) > 0;
        if (played.equals(scene) || !stoodStill || times == MOST_TIMES) {
          assertEquals(scene, played, hint);
          return;
        }
      }
    }
  }

  private static Stream<String> scenes(Path path) throws IOException {
    return Stream.of(Files.readString(path).strip().split("\n\n+"));
  }

  /** Some commands and what came of them. */
  private record Line(String commands, String came) {

    boolean isShort() {
      return !came.isEmpty() && commands.length() + came.length() <= LONGEST;
    }

    String text(int width) {
      if (came.isEmpty()) {
        return commands;
      }
      return isShort()
          ? String.format("%-" + width + "s", commands) + ARROW + came.replace("\n", BAR)
          : commands + ("\n" + came).replace("\n", "\n" + INDENT);
    }
  }

  private static String play(String scene, Supplier<Stage> supplier) {
    List<Line> played = new ArrayList<>();
    try (Stage stage = supplier.get()) {
      for (String line : scene.lines().filter(each -> !each.startsWith(INDENT)).toList()) {
        boolean isComment = line.startsWith("#");
        String commands = isComment ? line : line.split(" *" + ARROW, 2)[0];
        played.add(new Line(commands, isComment ? "" : perform(commands, stage)));
      }
    }
    int width =
        played.stream()
            .filter(Line::isShort)
            .mapToInt(line -> line.commands.length())
            .max()
            .orElse(0);
    return played.stream().map(line -> line.text(width)).collect(Collectors.joining("\n"));
  }

  private static String perform(String commands, Stage stage) {
    List<String> came = new ArrayList<>();
    for (String command : commands.split("; ")) {
      try {
        came.addAll(stage.act(command));
      } catch (Exception | AssertionError e) {
        throw new AssertionError(command, e);
      }
    }
    return String.join("\n", came);
  }
}
