package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.testbed.Repository;
import io.redlock.testbed.Text;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Text that must come out the same on every machine and JDK, kept beside the tests or in docs/.
 * With {@code -Dpinned.update=true}, for docs/ {@code -Dgolden.write}, it is written before it is
 * read.
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
    return howToRun(tests, "-Dpinned.update=true -Dtests.processes=1 -Dtests.excludedTags=long");
  }

  private static String howToRun(String tests, String options) {
    return Text.of(
        "if this was meant to change, run\n  ./mvnw -pl redlock-tests -am test -Dtest='%s' %s -Dsurefire.failIfNoSpecifiedTests=false\n",
        tests, options);
  }

  /**
   * Compares the lines with those pinned in a file.
   *
   * @param file below the folder of the tests' resources
   * @param test who is asking
   */
  public static void expect(String file, Class<?> test, List<String> lines) throws IOException {
    String text = String.join("\n", lines) + "\n";
    expect(FOLDER.resolve(file), isUpdate(), text, howToUpdate(test.getSimpleName()));
  }

  /** Compares the text of a file in docs/ with what it should say. */
  public static void expectPage(String file, Class<?> test, String text) throws IOException {
    boolean isUpdate = System.getProperty("golden.write") != null;
    String howTo = howToRun(test.getSimpleName(), "-Dgolden.write");
    expect(Repository.ROOT.resolve("docs").resolve(file), isUpdate, text, howTo);
  }

  private static void expect(Path path, boolean isUpdate, String text, String howTo)
      throws IOException {
    if (isUpdate) {
      Files.writeString(path, text);
    }
    assertEquals(Files.readString(path), text, path + " says otherwise; " + howTo);
  }
}
