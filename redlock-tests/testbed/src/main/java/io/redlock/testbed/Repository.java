package io.redlock.testbed;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;

/** The files of this repository, as they are in the working copy that is tested. */
public final class Repository {

  /** The folder with everything in it. */
  public static final Path ROOT = root();

  private Repository() {}

  /** The text of a file, named from the top of the repository. */
  public static String read(String file) throws IOException {
    return Files.readString(ROOT.resolve(file));
  }

  /** The files below a folder whose names end so, without build output and hidden folders. */
  public static List<Path> files(Path top, String ending) throws IOException {
    List<Path> files = new ArrayList<>();
    Files.walkFileTree(
        top,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) {
            String name = folder.getFileName().toString();
            boolean skipped = name.equals("target") || name.startsWith(".");
            return skipped ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
            if (file.toString().endsWith(ending)) {
              files.add(file);
            }
            return FileVisitResult.CONTINUE;
          }
        });
    return files;
  }

  private static Path root() {
    Path here = Path.of("").toAbsolutePath();
    for (Path folder = here; folder != null; folder = folder.getParent()) {
      if (Files.exists(folder.resolve("mvnw"))) {
        return folder;
      }
    }
    throw new IllegalStateException("no mvnw in " + here + " and above: run tests in the checkout");
  }
}
