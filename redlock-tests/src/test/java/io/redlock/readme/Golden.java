package io.redlock.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.testbed.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files in docs/ that say what must not change unnoticed. */
public final class Golden {

  private static final String COMMAND =
      "./mvnw -pl redlock-tests -am test -Dtest='ApiTest,WireTest' -Dgolden.write"
          + " -Dsurefire.failIfNoSpecifiedTests=false";

  private Golden() {}

  /** Compares a file with what it should say; writes it instead if that is asked for. */
  public static void check(String file, String text) throws IOException {
    Path path = Repository.ROOT.resolve(file);
    if (System.getProperty("golden.write") != null) {
      Files.writeString(path, text);
    }
    assertEquals(
        Files.readString(path),
        text,
        file + " differs. If that is meant, write it anew and commit it: " + COMMAND + "\n");
  }
}
