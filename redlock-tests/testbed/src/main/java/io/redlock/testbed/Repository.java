package io.redlock.testbed;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The files of this repository, as they are in the working copy that is tested. */
public final class Repository {

  /** The folder with everything in it. */
  public static final Path ROOT = root();

  private static final Pattern METER =
      Pattern.compile("(?m)^\\| `(redlock\\.[a-z.]+)` \\| \\w+ \\| ([^|]*)\\|");
  private static final Pattern TAG = Pattern.compile("`(\\w+)`");

  private Repository() {}

  /** The text of a file, named from the top of the repository. */
  public static String read(String file) throws IOException {
    return Files.readString(ROOT.resolve(file));
  }

  /** The meters of the table in {@code docs/observability.md}, each with its tags. */
  public static Map<String, Set<String>> promisedMeters() throws IOException {
    Map<String, Set<String>> meters = new TreeMap<>();
    Matcher rows = METER.matcher(read("docs/observability.md"));
    while (rows.find()) {
      Stream<MatchResult> tags = TAG.matcher(rows.group(2)).results();
      meters.put(rows.group(1), tags.map(tag -> tag.group(1)).collect(Collectors.toSet()));
    }
    return meters;
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
