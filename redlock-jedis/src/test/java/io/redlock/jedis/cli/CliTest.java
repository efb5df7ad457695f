package io.redlock.jedis.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.AbstractMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The command line without masters. */
class CliTest {

  private static final Map<String, String> BROKEN =
      new AbstractMap<>() {
        @Override
        public Set<Entry<String, String>> entrySet() {
          throw new IllegalStateException("a defect");
        }
      };

  @ParameterizedTest
  @ValueSource(
      strings = {"exec --resource=r -- true", "doctor a:1", "adopt a:1", "status r", "list"})
  void defectHasAnExitCodeOfItsOwn(String arguments) {
    CommandLine commandLine = Cli.commandLine(BROKEN);
    StringWriter printed = new StringWriter();
    commandLine.setErr(new PrintWriter(printed));
    assertEquals(125, commandLine.execute(arguments.split(" ")));
    assertTrue(printed.toString().contains("IllegalStateException: a defect"), printed::toString);
  }
}
