package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.readme.Repository;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The options and exit codes of all commands; no master is asked. */
class UsageTest {

  private static final List<String> COMMANDS =
      List.of("exec", "doctor", "adopt", "status", "list", "free");

  @Test
  void wrongUsageHasOneExitCodeAndOneFormOfMessageInEveryCommand() throws Exception {
    List<List<String>> wrong =
        List.of(
            List.of(),
            List.of("nonsense"),
            List.of("--nonsense"),
            List.of("exec"),
            List.of("exec", "--resource=r"),
            List.of("exec", "--resource=r", "--ttl=1x", "--", "true"),
            List.of("exec", "--resource=r", "--nodes=nowhere", "--", "true"),
            List.of("exec", "--resource=r", "--nodes=127.0.0.1:1", "--ttl=2h", "--", "true"),
            List.of("doctor"),
            List.of("doctor", "--nonsense"),
            List.of("doctor", "--require=some", "127.0.0.1:1"),
            List.of("doctor", "redis://app:geheim@nowhere"),
            List.of("adopt"),
            List.of("adopt", "--key-prefix"),
            List.of("adopt", "redis://app:geheim@nowhere"),
            List.of("status"),
            List.of("status", "r"),
            List.of("status", " ", "--nodes=127.0.0.1:1"),
            List.of("status", "r", "--nodes=redis://app:geheim@nowhere"),
            List.of("list"),
            List.of("list", "--nodes=redis://app:geheim@nowhere"),
            List.of("--geheim"),
            List.of("doctor", "--geheim"),
            List.of("doctor", "--requirepass=geheim", "127.0.0.1:1"),
            List.of("exec", "-pgeheim", "--", "true"),
            List.of("status", "r", "--pass", "geheim"),
            List.of("list", "geheim"));
    for (List<String> arguments : wrong) {
      try (CliProcess process = CliProcess.start(Map.of(), arguments.toArray(String[]::new))) {
        process.closeInput();
        assertEquals(123, process.exitCode(), () -> arguments + ": " + process.output());
        assertTrue(process.output().startsWith("redlock: "), process::output);
        assertFalse(process.output().contains("geheim"), process::output);
      }
    }
  }

  @Test
  void unknownArgumentIsNamedByItsPlaceWithWhatIsSimilar() throws Exception {
    String[] arguments = {"doctor", "127.0.0.1:1", "--requires=quorum"};
    try (CliProcess process = CliProcess.start(Map.of(), arguments)) {
      assertEquals(123, process.exitCode(), process::output);
      assertEquals(
          "redlock: argument 3 is unknown, perhaps it is --require: see redlock doctor --help",
          process.output().strip());
    }
  }

  @Test
  void everyOptionShowsASpeakingPlaceholder() throws Exception {
    for (String command : COMMANDS) {
      String help = help(command);
      assertFalse(help.contains("<"), help);
    }
    assertTrue(help("adopt").contains("--key-prefix=PREFIX"));
    assertTrue(help("exec").contains("--ttl=DURATION"));
  }

  @Test
  void exitCodesOfTheHelpAreThoseOfThePage() throws Exception {
    for (String command : COMMANDS) {
      TreeSet<String> printed = new TreeSet<>();
      Pattern.compile("(?m)^ +(\\d+) +\\S")
          .matcher(help(command))
          .results()
          .forEach(code -> printed.add(code.group(1)));
      assertEquals(codesOnThePage(command), printed, command);
    }
  }

  /** The codes with a meaning of the command's own. */
  private static TreeSet<String> codesOnThePage(String command) throws IOException {
    List<List<String>> rows = new ArrayList<>();
    Stream<String> lines = Repository.read("docs/command-line.md").lines();
    lines
        .dropWhile(line -> !line.startsWith("| exit code |"))
        .takeWhile(line -> line.startsWith("|"))
        .forEach(line -> rows.add(Stream.of(line.split("\\|")).map(String::strip).toList()));
    assertFalse(rows.isEmpty(), "the page has a table of exit codes");
    int column = rows.get(0).indexOf("`" + command + "`");
    TreeSet<String> codes = new TreeSet<>();
    for (List<String> row : rows) {
      if (row.get(1).matches("\\d+") && row.size() > column && !isEmptyOrOfTheChild(row, column)) {
        codes.add(row.get(1));
      }
    }
    return codes;
  }

  private static boolean isEmptyOrOfTheChild(List<String> row, int column) {
    return row.get(column).isEmpty() || row.get(column).equals("the command's own");
  }

  private static String help(String command) throws InterruptedException {
    try (CliProcess process = CliProcess.start(Map.of(), command, "--help")) {
      assertEquals(0, process.exitCode(), process::output);
      return process.output();
    }
  }
}
