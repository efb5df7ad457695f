package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.AbstractMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The command line without masters. */
class CliTest {

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

  @ParameterizedTest
  @ValueSource(
      strings = {"exec --resource=r -- true", "doctor a:1", "adopt a:1", "status r", "list"})
  void defectHasAnExitCodeOfItsOwn(String arguments) {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream both = new PrintStream(printed);
    Console console = new Console(BROKEN, InputStream.nullInputStream(), both, both, child -> {});
    assertEquals(125, Cli.run(console, arguments.split(" ")));
    assertTrue(printed.toString().contains("IllegalStateException: a defect"), printed::toString);
  }
}
