package io.redlock.testbed;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** Deletes what servers leave behind. */
public final class Folders {

  private Folders() {}

  /** Deletes a folder and everything in it, if it is there. */
  public static void delete(Path folder) {
    if (Files.notExists(folder)) {
      return;
    }
    try (Stream<Path> files = Unchecked.call(() -> Files.walk(folder))) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Unchecked.call(() -> Files.delete(file));
      }
    }
  }
}
