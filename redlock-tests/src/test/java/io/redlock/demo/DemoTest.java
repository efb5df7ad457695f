package io.redlock.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

@RequiresRedis
class DemoTest {

  @Test
  @AgainIfItStoodStill // a holder may be told too late then: its margin is half a second
  void everythingShownHoldsAndReadsAsInTheReadme() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    int exitCode = Demo.run(new Stage(out, false, true));
    String shown = bytes.toString(StandardCharsets.UTF_8);
    assertEquals(0, exitCode, shown);
    List<String> quoted = statements(Repository.read("README.md"));
    assertTrue(quoted.size() > 5, "the README shows the demo");
    assertEquals(List.of(), without(statements(shown), quoted));
  }

  /** Returns the statements with a check mark, without their figures. */
  private static List<String> statements(String text) {
    return text.lines()
        .filter(line -> line.startsWith("   ✓ "))
        .map(line -> line.replaceAll("\\d+(\\.\\d+)?", "N"))
        .toList();
  }

  private static List<String> without(List<String> present, List<String> all) {
    return all.stream().filter(statement -> !present.contains(statement)).toList();
  }
}
