package io.redlock.scenes;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.BackgroundLog;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Keeps what is logged during a test that provokes errors or warnings, and prints it if the test
 * fails.
 */
public final class KeptLog implements BeforeEachCallback, AfterEachCallback {

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Pattern ERRORS = Pattern.compile(" ERROR ");
  private static final Pattern WARNINGS = Pattern.compile(" (WARN|ERROR) ");
  private static final Pattern LINES = Pattern.compile(" (INFO|WARN|ERROR) ");

  private final ByteArrayOutputStream log = new ByteArrayOutputStream();
  private final PrintStream err = System.err;
  private final Map<Pattern, Integer> told = new HashMap<>(); // how many of them

  @Override
  public void beforeEach(ExtensionContext context) {
    BackgroundLog.flush(PATIENCE); // lines of the test before
    System.setErr(new PrintStream(log, true, StandardCharsets.UTF_8));
  }

  @Override
  public void afterEach(ExtensionContext context) {
    BackgroundLog.flush(PATIENCE);
    System.setErr(err);
    if (context.getExecutionException().isPresent()) {
      err.print(log.toString(StandardCharsets.UTF_8));
    }
  }

  /** Returns the errors that were logged, without their stack traces. */
  public List<String> errors() {
    return messages(ERRORS);
  }

  /** Returns the warnings and errors since the last call, without their stack traces. */
  public List<String> newWarnings() {
    return fresh(WARNINGS);
  }

  private List<String> fresh(Pattern levels) {
    List<String> all = messages(levels);
    List<String> fresh = all.subList(told.getOrDefault(levels, 0), all.size());
    told.put(levels, all.size());
    return fresh;
  }

  /** Returns actors beside whom {@code log?} tells the new warnings, {@code lines?} all lines. */
  public Supplier<Scenes.Actor> beside(Supplier<? extends Scenes.Actor> actors) {
    return () -> {
      fresh(WARNINGS); // of the scene before
      fresh(LINES);
      Scenes.Actor actor = actors.get();
      return new Scenes.Actor() {
        @Override
        public List<String> act(String command, String rest) throws Exception {
          return switch (command) {
            case "log?" -> fresh(WARNINGS);
            case "lines?" -> fresh(LINES);
            default -> actor.act(command, rest);
          };
        }

        @Override
        public void close() {
          actor.close();
        }
      };
    };
  }

  private List<String> messages(Pattern levels) {
    assertTrue(BackgroundLog.flush(PATIENCE));
    return log.toString(StandardCharsets.UTF_8)
        .lines()
        .filter(line -> levels.matcher(line).find())
        .map(line -> line.substring(line.indexOf(" - ") + 3))
        .toList();
  }
}
