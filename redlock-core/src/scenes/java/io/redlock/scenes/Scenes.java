package io.redlock.scenes;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.opentest4j.TestAbortedException;

/**
 * Scenes in a text beside the tests: commands, a line each, and what came of them, after an arrow
 * or, if that is long, below and indented. Several commands share a line with semicolons between
 * them, and {@code 3 * tick} is a command three times. An empty line ends a scene; each is played
 * by an actor of its own. A line that begins with {@code #} is a comment; the first of a scene says
 * what it shows.
 *
 * <p>With {@code -Dpinned.update=true} what came of the commands is written instead of compared,
 * and printed where it differs. Nothing is written if an actor does not know a word of the file.
 */
public final class Scenes {

  private static final Path FOLDER = Path.of("src/test/resources/io/redlock");
  private static final String ARROW = " -> ";
  private static final String BAR = " | ";
  private static final String INDENT = "    ";
  private static final int LONGEST = 150;
  private static final String HINT = "if this was meant, run the test with -Dpinned.update=true";
  private static final Pattern TIMES = Pattern.compile("(\\d+) \\* (.*)");

  /** Plays one scene. */
  public interface Actor extends AutoCloseable {

    /** Does what a command says, and returns what came of it, in texts of one line or more. */
    List<String> act(String command, String rest) throws Exception;

    @Override
    default void close() {}
  }

  /** An actor who tells what comes of a command while it is done. */
  public abstract static class Teller implements Actor {

    private final List<String> told = new ArrayList<>();

    protected abstract void perform(String command, String rest) throws Exception;

    protected final void tell(String what) {
      told.add(what);
    }

    protected final void tell(List<String> what) {
      told.addAll(what);
    }

    @Override
    public final List<String> act(String command, String rest) throws Exception {
      perform(command, rest);
      List<String> all = List.copyOf(told);
      told.clear();
      return all;
    }
  }

  private Scenes() {}

  /** Returns a test for each scene of a file below the module's resources for tests. */
  public static Stream<DynamicTest> of(String file, Supplier<? extends Actor> actors) {
    Path path = FOLDER.resolve(file);
    try {
      if (Boolean.getBoolean("pinned.update")) {
        List<String> played = scenes(path).map(scene -> played(scene, actors)).toList();
        Files.writeString(path, String.join("\n\n", played) + "\n");
      }
      return scenes(path)
          .filter(scene -> !scene.lines().allMatch(line -> line.startsWith("#")))
          .map(
              scene ->
                  DynamicTest.dynamicTest(
                      scene.lines().findFirst().orElseThrow(),
                      () -> assertEquals(scene, play(scene, actors), HINT)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Stream<String> scenes(Path path) throws IOException {
    return Stream.of(Files.readString(path).strip().split("\n\n+"));
  }

  /** Returns a scene as it is played now, and prints which of its lines went and came. */
  private static String played(String scene, Supplier<? extends Actor> actors) {
    String now = play(scene, actors);
    if (!now.equals(scene)) {
      System.out.println("changed: " + scene.lines().findFirst().orElseThrow());
      mark("- ", scene, now);
      mark("+ ", now, scene);
    }
    return now;
  }

  private static void mark(String sign, String text, String other) {
    Set<String> others = other.lines().collect(Collectors.toSet());
    text.lines()
        .filter(line -> !others.contains(line))
        .map(sign::concat)
        .forEach(System.out::println);
  }

  /** A line of commands and what came of them. */
  private record Line(String commands, List<String> texts) {

    private List<String> came() {
      return brief(texts);
    }

    boolean isShort() {
      String all = String.join(BAR, came());
      return commands.length() + all.length() <= LONGEST && !all.contains("\n");
    }

    String text(int width) {
      if (texts.isEmpty()) {
        return commands;
      }
      return isShort()
          ? String.format(Locale.ROOT, "%-" + width + "s", commands)
              + ARROW
              + String.join(BAR, came())
          : commands + below();
    }

    private String below() {
      StringBuilder text = new StringBuilder();
      int length = LONGEST;
      for (String each : came()) {
        boolean fits = length + each.length() < LONGEST;
        text.append(fits ? BAR : "\n" + INDENT).append(each.replace("\n", "\n" + INDENT));
        length = each.contains("\n") ? LONGEST : each.length() + (fits ? length : 0);
      }
      return text.toString();
    }
  }

  private static String play(String scene, Supplier<? extends Actor> actors) {
    List<Line> played = new ArrayList<>();
    try (Actor actor = actors.get()) {
      for (String line : scene.lines().filter(each -> !each.startsWith(INDENT)).toList()) {
        boolean isComment = line.startsWith("#");
        String commands = isComment ? line : line.split(ARROW, 2)[0].stripTrailing();
        List<String> came = new ArrayList<>();
        played.add(new Line(commands, came));
        if (!isComment) {
          perform(commands, actor, came);
        }
      }
    } catch (TestAbortedException e) { // the machine lacks what the scene needs
      throw e;
    } catch (Exception | AssertionError e) {
      throw new AssertionError("after this:\n" + text(played), e);
    }
    return text(played);
  }

  private static String text(List<Line> played) {
    int width =
        played.stream()
            .filter(line -> line.isShort() && !line.commands.startsWith("#"))
            .mapToInt(line -> line.commands.length())
            .max()
            .orElse(0);
    return played.stream().map(line -> line.text(width)).collect(Collectors.joining("\n"));
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

  private static void perform(String commands, Actor actor, List<String> came) throws Exception {
    for (String each : commands.split("; ")) {
      Matcher repeated = TIMES.matcher(each);
      boolean isRepeated = repeated.matches();
      String[] words = (isRepeated ? repeated.group(2) : each).split(" ", 2);
      int times = isRepeated ? Integer.parseInt(repeated.group(1)) : 1;
      for (int i = 0; i < times; i++) {
        came.addAll(actor.act(words[0], words.length == 1 ? "" : words[1]));
      }
    }
  }
}
