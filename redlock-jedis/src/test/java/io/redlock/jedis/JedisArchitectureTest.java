package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The packages stand on each other in one direction. */
class JedisArchitectureTest {

  private static final Path SOURCES = Path.of("src", "main", "java");

  /** From the top: each may know those that stand after it, and the report, which is a value. */
  private static final List<String> PACKAGES =
      List.of(
          "io.redlock.jedis",
          "io.redlock.jedis.deployment",
          "io.redlock.jedis.lane",
          "io.redlock.jedis.connection",
          "io.redlock.jedis.scripts",
          "io.redlock.jedis.membership");

  private static final Pattern COMMENT_OR_LITERAL =
      Pattern.compile("(?s)/\\*.*?\\*/|//[^\\n]*|\"(\\\\.|[^\"\\\\\\n])*\"|'(\\\\.|[^'\\\\\\n])*'");

  private static final Pattern PACKAGE = Pattern.compile("(?m)^package ([\\w.]+);");
  private static final Pattern TYPE =
      Pattern.compile("\\b(io\\.redlock\\.jedis[a-z.]*)\\.(?!AdoptReport\\b)[A-Z]");

  /** What a source says, of which type, and to which package it belongs. */
  private record Source(String packageName, String type, String code) {}

  private static List<Source> sources() throws IOException {
    List<Source> sources = new ArrayList<>();
    try (Stream<Path> files = Files.walk(SOURCES)) {
      for (Path file : files.filter(each -> each.toString().endsWith(".java")).toList()) {
        String code = COMMENT_OR_LITERAL.matcher(Files.readString(file)).replaceAll(" ");
        Matcher matcher = PACKAGE.matcher(code);
        if (matcher.find()) {
          String type = file.getFileName().toString().replace(".java", "");
          sources.add(new Source(matcher.group(1), type, code));
        }
      }
    }
    return sources;
  }

  @Test
  void packagesAreTheOnesThatAreDrawn() throws IOException {
    TreeSet<String> found = new TreeSet<>();
    sources().forEach(source -> found.add(source.packageName));
    assertEquals(new TreeSet<>(PACKAGES), found);
  }

  @Test
  void packageKnowsOnlyThoseBelowIt() throws IOException {
    List<String> found = new ArrayList<>();
    TreeSet<String> known = new TreeSet<>();
    for (Source source : sources()) {
      Matcher type = TYPE.matcher(source.code);
      while (type.find()) {
        String other = type.group(1);
        if (PACKAGES.indexOf(other) < PACKAGES.indexOf(source.packageName)) {
          found.add(source.packageName + " knows " + other);
        } else if (!other.equals(source.packageName)) {
          known.add(other);
        }
      }
    }
    assertEquals(List.of(), found);
    assertEquals(new TreeSet<>(PACKAGES.subList(1, PACKAGES.size())), known);
  }

  @Test
  void typesOfALaneStandOnEachOtherInOneDirection() throws IOException {
    Map<String, Set<String>> known = new TreeMap<>();
    List<Source> lane =
        sources().stream()
            .filter(each -> each.packageName.equals("io.redlock.jedis.lane"))
            .toList();
    for (Source source : lane) {
      Set<String> words = new TreeSet<>(List.of(source.code.split("\\W+")));
      words.remove(source.type);
      words.retainAll(lane.stream().map(Source::type).toList());
      known.put(source.type, words);
    }
    assertTrue(known.get("NodeLane").contains("LaneMachine"), "the sources are read");
    // Whatever stands on nothing that is left is taken away: a cycle remains.
    while (known.values().removeIf(Set::isEmpty)) {
      known.values().forEach(words -> words.retainAll(known.keySet()));
    }
    assertEquals(Map.of(), known);
  }

  @Test
  void judgementKnowsOfNoConnection() throws IOException {
    List<String> found = new ArrayList<>();
    for (Source source : sources()) {
      if (source.packageName.equals("io.redlock.jedis.membership")) {
        Pattern.compile("\\b(redis\\.clients|java\\.net(?!\\.URL\\w+coder)|java\\.io)\\b")
            .matcher(source.code)
            .results()
            .forEach(result -> found.add(result.group()));
      }
    }
    assertEquals(List.of(), found);
  }

  @Test
  void onlyTheFrontDoorIsExportedToAll() throws IOException {
    String module = Files.readString(SOURCES.resolve("module-info.java"));
    assertEquals(
        List.of("io.redlock.jedis"),
        Pattern.compile("(?m)^\\s*(?:exports|opens)\\s+([^;\\s]+);")
            .matcher(module)
            .results()
            .map(result -> result.group(1))
            .toList());
  }
}
