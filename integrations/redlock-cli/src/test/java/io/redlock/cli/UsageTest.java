package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractMap;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.util.DefaultLocale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The options and exit codes of all commands; no master is asked. */
class UsageTest {

  /** An exit code, and what was printed, to either stream. */
  private record Outcome(int exitCode, String printed) {

    static Outcome of(List<String> arguments) {
      return of(Map.of(), arguments);
    }

    static Outcome of(Map<String, String> environment, List<String> arguments) {
      return of(InputStream.nullInputStream(), environment, arguments);
    }

    static Outcome of(InputStream in, Map<String, String> environment, List<String> arguments) {
      ByteArrayOutputStream printed = new ByteArrayOutputStream();
      PrintStream both = new PrintStream(printed);
      Console console = new Console(environment, in, both, both, child -> {});
      return new Outcome(Cli.run(console, arguments.toArray(String[]::new)), printed.toString());
    }
  }

  private static final Map<String, String> BROKEN =
      new AbstractMap<>() {
        @Override
        public Set<Entry<String, String>> entrySet() {
          return Set.of();
        }

        @Override
        public int size() { // is asked by who copies it
          throw new IllegalStateException("a defect");
        }
      };

  private static final List<String> COMMANDS =
      List.of("exec", "doctor", "adopt", "agree", "resize", "status", "list", "free");

  @Test
  void wrongUsageHasOneExitCodeAndOneFormOfMessageInEveryCommand() {
    List<List<String>> wrong =
        List.of(
            List.of(),
            List.of("nonsense"),
            List.of("--nonsense"),
            List.of("exec"),
            List.of("exec", "--resource=r"),
            List.of("exec", "--resource=r", "--ttl=1x", "--", "true"),
            List.of("exec", "--resource=r", "--ttl=0s", "--nodes=127.0.0.1:1", "--", "true"),
            List.of("exec", "--resource=r", "--hold-at-least=2d", "--nodes=a:1", "--", "true"),
            List.of("exec", "--resource=r", "--if-held=256", "--nodes=a:1", "--", "true"),
            List.of("exec", "--any-of=r", "--if-held=0", "--nodes=127.0.0.1:1", "--", "true"),
            List.of("exec", "--resource=r", "--nodes=nowhere", "--", "true"),
            List.of("exec", "--resource=r", "--nodes=127.0.0.1:1", "--ttl=2h", "--", "true"),
            List.of("doctor"),
            List.of("doctor", "--nonsense"),
            List.of("doctor", "--require=some", "127.0.0.1:1"),
            List.of("doctor", "redis://app:geheim@nowhere"),
            List.of("adopt"),
            List.of("adopt", "--key-prefix"),
            List.of("adopt", "redis://app:geheim@nowhere"),
            List.of("adopt", "--without=b:1", "127.0.0.1:1"),
            List.of("status"),
            List.of("status", "r"),
            List.of("free", "r", "--token=99999999999999999999", "--nodes=127.0.0.1:1"),
            List.of("free", "r", "--token=-1", "--nodes=127.0.0.1:1"),
            List.of("status", " ", "--nodes=127.0.0.1:1"),
            List.of("status", "r", "--nodes=redis://app:geheim@nowhere"),
            List.of("list"),
            List.of("list", "--nodes=redis://app:geheim@nowhere"),
            List.of("--geheim"),
            List.of("doctor", "--geheim"),
            List.of("doctor", "--requirepass=geheim", "127.0.0.1:1"),
            List.of("exec", "-pgeheim", "--", "true"),
            List.of("status", "r", "--pass", "geheim"),
            List.of("list", "geheim"),
            List.of(
                "resize",
                "finish",
                "--nodes=127.0.0.1:1",
                "--moving-to=127.0.0.1:2",
                "--without=redis://app:geheim@nowhere"));
    for (List<String> arguments : wrong) {
      Outcome outcome = Outcome.of(arguments);
      assertEquals(123, outcome.exitCode, () -> arguments + ": " + outcome);
      assertTrue(outcome.printed.startsWith("redlock: "), outcome::toString);
      assertFalse(outcome.printed.contains("geheim"), outcome::toString);
    }
  }

  /** Each is a duration to a parser of ISO 8601, or to one that reads numbers with a unit. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "PT9223372036854775807S",
        "PT-9223372036854775807S",
        "PT99999999999999999999S",
        "P106751991167301D",
        "999999999999d",
        "9999999999999999999999d",
        "-5s"
      })
  void absurdDurationIsRefusedWithItsNameItsValueAndTheRange(String absurd) {
    for (String option : List.of("ttl", "wait", "renew-for", "grace", "hold-at-least")) {
      assertRefusedByName("--" + option, absurd, exec("--" + option + "=" + absurd), Map.of());
    }
    for (String setting :
        List.of(
            "NODE_TIMEOUT",
            "SILENCE_TIMEOUT",
            "MAX_TTL",
            "CLOCK_SKEW",
            "FENCE_RETENTION",
            "LOSS_MARGIN",
            "MIN_VALIDITY")) {
      String variable = "REDLOCK_" + setting;
      Map<String, String> environment = Map.of(variable, absurd, "REDLOCK_NODES", "127.0.0.1:1");
      for (List<String> command :
          List.of(
              exec(),
              List.of("status", "r"),
              List.of("list"),
              List.of("free", "r"),
              List.of("doctor"),
              List.of("adopt"),
              List.of("resize", "prepare", "--moving-to=127.0.0.1:2"))) {
        assertRefusedByName(variable, absurd, command, environment);
      }
    }
  }

  private static List<String> exec(String... options) {
    List<String> words = new ArrayList<>(List.of("exec", "--resource=r"));
    words.addAll(List.of(options));
    words.addAll(List.of("--nodes=127.0.0.1:1", "--", "true"));
    return words;
  }

  private static void assertRefusedByName(
      String name, String value, List<String> words, Map<String, String> environment) {
    Outcome outcome = Outcome.of(environment, words);
    String what = name + " in " + words + ": " + outcome;
    assertEquals(123, outcome.exitCode, what);
    assertTrue(outcome.printed.startsWith("redlock: "), what);
    assertEquals(1, outcome.printed.lines().count(), what);
    assertTrue(outcome.printed.contains(name), what);
    assertTrue(outcome.printed.contains(value), what);
    assertTrue(outcome.printed.matches("(?s).*from \\w+ to \\w+.*"), what);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"exec --resource=r -- true", "doctor a:1", "adopt a:1", "status r", "list"})
  void defectHasAnExitCodeOfItsOwn(String arguments) {
    Outcome outcome = Outcome.of(BROKEN, List.of(arguments.split(" ")));
    assertEquals(125, outcome.exitCode);
    assertTrue(outcome.printed.contains("IllegalStateException: a defect"), outcome::toString);
  }

  @Test
  void unknownArgumentIsNamedByItsPlaceWithWhatIsSimilar() {
    Outcome outcome = Outcome.of(List.of("doctor", "127.0.0.1:1", "--requires=quorum"));
    assertEquals(123, outcome.exitCode, outcome::toString);
    assertEquals(
        "redlock: argument 3 is unknown, perhaps it is --require: see redlock doctor --help",
        outcome.printed.strip());
  }

  @Test
  void wordThatTheLocaleCannotExpressIsRefusedInsteadOfMeaningAnother() {
    String[] right = {"exec", "--resource=auftr\u00e4ge/42", "--", "true"};
    assertNull(Cli.misread(right, Map.of("REDLOCK_KEY_PREFIX", "l\u00f6cks:", "LANG", "\uFFFD")));
    String[] wrong = {"exec", "--resource=auftr\uFFFD\uFFFDge/42", "--", "true"};
    assertEquals(
        "argument 2 has characters that this locale cannot express: set LC_ALL=C.UTF-8",
        Cli.misread(wrong, Map.of()));
    String prefix = Cli.misread(right, Map.of("REDLOCK_KEY_PREFIX", "l\uFFFDcks:"));
    assertTrue(String.valueOf(prefix).startsWith("REDLOCK_KEY_PREFIX has characters"), prefix);
  }

  @Test
  void commandsThatReadMastersFromStandardInputAreThoseOfTheHelp() {
    String help = Outcome.of(List.of("--help")).printed.replaceAll("\\s+", " ");
    assertTrue(
        help.contains("doctor, adopt, agree, status and list read them from standard"), help);
    for (String command : COMMANDS) {
      List<String> words =
          switch (command) {
            case "exec" -> List.of(command, "--resource=r", "--", "true");
            case "resize" -> List.of(command, "finish", "--moving-to=127.0.0.1:1");
            case "status", "free" -> List.of(command, "r");
            default -> List.of(command);
          };
      AtomicBoolean isRead = new AtomicBoolean();
      InputStream in =
          new InputStream() {
            @Override
            public int read() {
              isRead.set(true);
              return -1;
            }
          };
      assertEquals(123, Outcome.of(in, Map.of(), words).exitCode, command);
      assertEquals(
          Set.of("doctor", "adopt", "agree", "status", "list").contains(command),
          isRead.get(),
          command);
    }
  }

  @Test
  void optionsReplaceTheEnvironmentInEveryCommand() {
    Map<String, String> environment =
        Map.of("REDLOCK_NODES", "a:1", "REDLOCK_MOVING_TO", "b:1", "REDLOCK_KEY_PREFIX", "locks:");
    Console console = console(environment);
    Deployment.Moving moving = new Deployment.Moving();
    assertEquals(environment, moving.settings(console));
    CommandLine.populateCommand(moving, "--nodes=c:1", "--moving-to=d:1", "--key-prefix=");
    assertEquals(
        Map.of("REDLOCK_NODES", "c:1", "REDLOCK_MOVING_TO", "d:1", "REDLOCK_KEY_PREFIX", ""),
        moving.settings(console));
    Deployment.Listed listed = new Deployment.Listed();
    CommandLine.populateCommand(listed, "c:1", "d:1");
    assertEquals(
        Map.of("REDLOCK_NODES", "c:1 d:1", "REDLOCK_KEY_PREFIX", "locks:"),
        listed.settingsOrInput(console),
        "the masters are those that were named, and no others");
    for (String command : COMMANDS) {
      assertTrue(help(command).contains("--key-prefix=PREFIX"), command);
    }
  }

  private static Console console(Map<String, String> environment) {
    PrintStream none = new PrintStream(PrintStream.nullOutputStream());
    return new Console(environment, InputStream.nullInputStream(), none, none, child -> {});
  }

  @Test
  void everyOptionShowsASpeakingPlaceholder() {
    for (String command : COMMANDS) {
      String help = help(command);
      assertFalse(help.contains("<"), help);
    }
    assertTrue(help("exec").contains("--ttl=DURATION"));
  }

  /** Line breaks depend on the width of the terminal. */
  @Test
  @DefaultLocale("en") // a program's main does as much
  void optionsAndExitCodesAreThoseOfTheReference() throws IOException {
    StringBuilder text = new StringBuilder();
    for (String command : COMMANDS) {
      text.append("$ redlock ").append(command).append(" --help\n").append(help(command));
      text.append('\n');
    }
    Path file = Path.of("..", "..", "docs", "commands.txt");
    if (System.getProperty("golden.write") != null) {
      Files.writeString(file, text);
    }
    assertEquals(
        Files.readString(file).replaceAll("\\s+", " "),
        text.toString().replaceAll("\\s+", " "),
        "write docs/commands.txt anew: ./mvnw -pl integrations/redlock-cli -am test"
            + " -Dtest=UsageTest -Dgolden.write -Dsurefire.failIfNoSpecifiedTests=false");
  }

  private static String help(String command) {
    Outcome outcome = Outcome.of(List.of(command, "--help"));
    assertEquals(0, outcome.exitCode, outcome::toString);
    return outcome.printed;
  }
}
