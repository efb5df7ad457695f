package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.testbed.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Text that must come out the same on every machine and JDK, kept beside the tests. With {@code
 * -Dpinned.update=true} it is written instead of compared.
 */
public final class Pinned {

  private static final Path FOLDER = Repository.ROOT.resolve("redlock-tests/src/test/resources");

  private Pinned() {}

  /** Whether what is pinned is to be brought up to date. */
  public static boolean isUpdate() {
    return Boolean.getBoolean("pinned.update");
  }

  /** How to bring it up to date. */
  public static String howToUpdate(String tests) {
    return "if this was meant to change, run\n  ./mvnw -pl redlock-tests -am test -Dtest='"
        + tests
        + "' -Dpinned.update=true -Dtests.processes=1 -Dtests.excludedTags=long -Dsurefire.failIfNoSpecifiedTests=false\n";
  }

  /**
   * Compares the lines with those pinned in a file.
   *
   * @param file below the folder of the tests' resources
   * @param test who is asking
   */
  public static void expect(String file, Class<?> test, List<String> lines) throws IOException {
    Path path = FOLDER.resolve(file);
    if (isUpdate()) {
      Files.write(path, lines);
    }
    String pinned = String.join("\n", Files.readAllLines(path));
    assertEquals(
        pinned,
        String.join("\n", lines),
        () -> file + " says otherwise; " + howToUpdate(test.getSimpleName()));
  }
}
