package io.redlock.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.settings.Setting;
import io.redlock.testbed.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What the documentation refers to exists, and what it quotes is what runs. */
class MarkdownTest {

  private static final Pattern LINK = Pattern.compile("\\[[^\\]]*]\\(([^)\\s]+)\\)");
  private static final Pattern HEADING = Pattern.compile("(?m)^#+ +(.+)$");
  private static final Pattern FENCED = Pattern.compile("(?ms)^```(\\w*)\\n(.*?)^```$");
  private static final Pattern OUR_CALL =
      Pattern.compile("\\b(JedisRedlock|LeaseRequest|InMemoryMasters|redlock)\\.\\w+\\(");
  private static final Pattern CITED_TEST = Pattern.compile("`(\\w+(?:Test|Contract))\\.(\\w+)`");
  private static final Pattern TEST_CLASSES =
      Pattern.compile("[\\w*]+(?:Test|Contract)\\b(?!\\.java)");
  private static final Pattern REGION =
      Pattern.compile("(?ms)^( *)// readme:start (\\S+)\\n(.*?\\n)\\n*^ *// readme:end$");

  private static final Pattern CODE = Pattern.compile("`([^`\\n]+)`");
  private static final Pattern EVERYTHING = Pattern.compile("(?s)(.+)");
  private static final Pattern CALL = Pattern.compile("\\b[a-z]\\w*(?=\\()");
  private static final Pattern TYPE = Pattern.compile("(?<![\\w@-])[A-Z][a-z]\\w*[a-z]\\b");
  private static final Pattern OPTION = Pattern.compile("(?<!\\S)--[a-z][a-z-]*");
  private static final Pattern NAME = Pattern.compile("\\b[a-z]+[A-Z]\\w*");
  private static final Pattern BENCH_PART = Pattern.compile("-Dbench\\.only=([\\w-]+)");

  /** Of JUnit, JDK, Maven, Jedis, ioredis, ShedLock and Spring, and our examples and modules. */
  private static final Set<String> OTHERS_NAMES =
      Set.of(
          ("commandTimeout dependencyManagement getLock inTime closedServiceRefusesCalls"
                  + " lockAtLeastFor lockAtMostFor mutationCoverage orTimeout renewLock retryCount"
                  + " setHeartBeatMillis setRenewalTaskScheduler sslSocketFactory ttlMillis"
                  + " useModulePath withResource")
              .split(" "));

  private static final Path ROOT = Repository.ROOT;
  private static final List<Path> TESTS =
      List.of(ROOT.resolve("redlock-tests"), ROOT.resolve("integrations"));

  private static final Pattern RULE = Pattern.compile("(?m)^- \\*\\*([A-Z]\\d+)\\*\\*");
  private static final Pattern COMMENT = Pattern.compile("(?m)(?://|--|^ *(?:/\\*)?\\*).*$");
  private static final Pattern RULE_ID = Pattern.compile("\\b[AEFGLMNPQRSTX]\\d{1,2}\\b");

  /**
   * A rule of the protocol can be found by its id: in the script and the model, if it is a node's.
   */
  @Test
  void everyRuleOfTheProtocolStandsInTheCodeThatImplementsIt() throws IOException {
    Set<String> rules =
        RULE.matcher(Files.readString(ROOT.resolve("docs/protocol.md")))
            .results()
            .map(rule -> rule.group(1))
            .collect(Collectors.toCollection(TreeSet::new));
    Set<String> scripts = rulesIn(".lua", "/src/main/");
    Set<String> java = rulesIn(".java", "/src/main/");
    Set<String> model = rulesIn("NodeModel.java", "/src/main/");
    Set<String> found = new TreeSet<>(scripts);
    found.addAll(java);
    assertEquals(rules, found);
    Set<String> ofNodes =
        rules.stream()
            .filter(rule -> rule.matches("G.|E[123]|R[123]|S[1-7]|F[1-4]|Q[126]|X[15]"))
            .collect(Collectors.toCollection(TreeSet::new));
    assertTrue(scripts.containsAll(ofNodes), () -> ofNodes + " in scripts: " + scripts);
    assertTrue(model.containsAll(ofNodes), () -> ofNodes + " in the model: " + model);
  }

  private static Set<String> rulesIn(String ending, String folder) throws IOException {
    Set<String> ids = new TreeSet<>();
    for (Path file : Repository.files(ROOT, ending)) {
      if (file.toString().contains(folder)) {
        COMMENT
            .matcher(Files.readString(file))
            .results()
            .flatMap(comment -> RULE_ID.matcher(comment.group()).results())
            .forEach(id -> ids.add(id.group()));
      }
    }
    return ids;
  }

  /** Something that was found on a page. */
  private record Found(Path page, MatchResult it) {
    @Override
    public String toString() {
      return ROOT.relativize(page) + ": " + it.group();
    }
  }

  private static List<Found> onPages(Pattern pattern) throws IOException {
    List<Found> found = new ArrayList<>();
    for (Path page : Repository.files(ROOT, ".md")) {
      String text = Files.readString(page);
      pattern.matcher(text).results().forEach(it -> found.add(new Found(page, it)));
    }
    return found;
  }

  @Test
  void relativeLinksResolve() throws IOException {
    List<String> broken = new ArrayList<>();
    for (Path page : Repository.files(ROOT, ".md")) {
      Matcher link = LINK.matcher(FENCED.matcher(Files.readString(page)).replaceAll(""));
      while (link.find()) {
        if (!link.group(1).matches("[a-z]+:.*") && !resolves(page, link.group(1))) {
          broken.add(ROOT.relativize(page) + ": " + link.group(1));
        }
      }
    }
    assertEquals(List.of(), broken);
  }

  private static boolean resolves(Path page, String target) throws IOException {
    String[] parts = target.split("#", 2);
    Path file = parts[0].isEmpty() ? page : page.resolveSibling(parts[0]);
    return Files.exists(file)
        && (parts.length == 1 || anchors(Files.readString(file)).contains(parts[1]));
  }

  /** The anchors that a heading gets on the pages of a repository. */
  private static Set<String> anchors(String markdown) {
    return HEADING
        .matcher(markdown)
        .results()
        .map(heading -> heading.group(1).toLowerCase(Locale.ROOT))
        .map(heading -> heading.replaceAll("[^\\p{L}\\p{N}\\- ]", "").replace(' ', '-'))
        .collect(Collectors.toSet());
  }

  @Test
  void javaSamplesAreRegionsOfTests() throws IOException {
    Map<String, String> regions = regions();
    Set<String> unused = new TreeSet<>(regions.keySet());
    List<String> strange = new ArrayList<>();
    for (Path page : Repository.files(ROOT, ".md")) {
      String text = Files.readString(page);
      Matcher block = FENCED.matcher(text);
      int fences = 0;
      while (block.find()) {
        fences += 2;
        if (block.group(1).equals("java") || OUR_CALL.matcher(block.group(2)).find()) {
          String name = regions.get(block.group(2));
          if (name == null) {
            strange.add(ROOT.relativize(page) + ":\n" + block.group(2));
          } else {
            unused.remove(block.group(2));
          }
        }
      }
      assertEquals(fences, text.split("```", -1).length - 1, () -> "fences seen in " + page);
    }
    assertEquals(List.of(), strange, "samples that are no region of any test");
    assertEquals(Set.of(), unused, "regions that no page shows");
    assertFalse(regions.isEmpty());
  }

  /** Text to name of what stands between {@code readme:start} and {@code readme:end}. */
  private static Map<String, String> regions() throws IOException {
    Map<String, String> regions = new LinkedHashMap<>();
    for (Path tests : TESTS) {
      for (Path source : Repository.files(tests, ".java")) {
        Matcher region = REGION.matcher(Files.readString(source));
        while (region.find()) {
          String text = region.group(3).replaceAll("(?m)^" + region.group(1), "");
          regions.put(text, region.group(2));
        }
      }
    }
    return regions;
  }

  @Test
  void citedTestsExist() throws IOException {
    Map<String, Path> sources = new LinkedHashMap<>();
    for (Path source : Repository.files(ROOT, ".java")) {
      sources.put(source.getFileName().toString(), source);
    }
    for (Found cited : onPages(CITED_TEST)) {
      Path source = sources.get(cited.it.group(1) + ".java");
      assertTrue(source != null, cited::toString);
      String method = " " + cited.it.group(2) + "(";
      assertTrue(Files.readString(source).contains(method), cited::toString);
    }
  }

  /** Those that are to be run, or that show something; a star is any text. */
  @Test
  void testClassesOfThePagesExist() throws IOException {
    Set<String> known = new TreeSet<>(Set.of("SomeTest"));
    for (Path source : Repository.files(ROOT, ".java")) {
      known.add(source.getFileName().toString().replace(".java", ""));
    }
    for (Found named : onPages(TEST_CLASSES)) {
      String name = named.it.group().replace("*", ".*");
      assertTrue(known.stream().anyMatch(test -> test.matches(name)), named::toString);
    }
  }

  /** A name of Java in a sentence is one of the API, of our sources, or of another library. */
  @Test
  void namesOfJavaOnThePagesExist() throws IOException {
    Set<String> known = new TreeSet<>(OTHERS_NAMES);
    known.addAll(List.of(Repository.read("docs/api.txt").split("\\W+")));
    for (Path source : Repository.files(ROOT, ".java")) {
      if (source.toString().contains("/src/main/")) {
        CALL.matcher(Files.readString(source)).results().forEach(call -> known.add(call.group()));
      }
    }
    Pattern names = Pattern.compile(NAME + "|" + CALL);
    String elsewhere = ".*(migration|measured/.*)\\.md"; // have tests of their own
    assertTrue(assertKnown(known, CODE, "-D\\S+|\"[^\"]*\"", names, elsewhere) > 100);
  }

  /** A type in a sentence is one of our sources, or of those that they use; an alert is a rule. */
  @Test
  void typesOnThePagesExist() throws IOException {
    Set<String> known = new TreeSet<>(Set.of("Int", "TransactionTemplate")); // Kotlin's, Spring's
    List<Path> sources = new ArrayList<>(Repository.files(ROOT, ".java"));
    sources.add(ROOT.resolve("docs/observability/redlock-alerts.yml"));
    for (Path source : sources) {
      TYPE.matcher(Files.readString(source)).results().forEach(type -> known.add(type.group()));
    }
    String elsewhere = ".*(migration|measured/.*)\\.md";
    assertTrue(assertKnown(known, CODE, "-D\\S+|\"[^\"]*\"|.*\\*.*", TYPE, elsewhere) > 150);
  }

  @Test
  void settingsOnThePagesExist() throws IOException {
    Set<String> known = new TreeSet<>(Set.of("REDLOCK_PORT", "REDLOCK_SERVICE_HOST")); // of others
    known.addAll(List.of("REDLOCK_RESOURCE", "REDLOCK_FENCING_TOKEN")); // of the command
    Setting.ALL.forEach(setting -> known.addAll(List.of(setting.variable(), setting.property())));
    Pattern names = Pattern.compile("\\bREDLOCK_[A-Z_]+|\\bredlock\\.[a-z]+-[a-z-]+");
    assertTrue(assertKnown(known, EVERYTHING, "", names, "") > 30);
  }

  @Test
  void optionsOfOurCommandsOnThePagesAreThoseOfTheirHelp() throws IOException {
    String help = Repository.read("docs/commands.txt");
    int found = 0;
    for (String section : help.split("(?m)^\\$ redlock ")) {
      String command = section.split(" ", 2)[0];
      Set<String> known = new TreeSet<>();
      OPTION.matcher(section).results().forEach(option -> known.add(option.group()));
      Pattern typed = Pattern.compile("(?:\\bredlock[\\w.-]* |`|… )(" + command + "\\b[^`\\n]*)");
      if (!command.isBlank()) {
        found += assertKnown(known, typed, " -- .*", OPTION, "");
      }
    }
    assertTrue(found > 20, "only " + found);
  }

  /** Checks that what is found in places of the pages is known; returns how much was found. */
  private static int assertKnown(
      Set<String> known, Pattern place, String without, Pattern name, String except)
      throws IOException {
    Set<String> unknown = new TreeSet<>();
    int found = 0;
    for (Path page : Repository.files(ROOT, ".md")) {
      if (page.toString().matches(except)) {
        continue;
      }
      String text = Files.readString(page);
      text = place == CODE ? FENCED.matcher(text).replaceAll("") : text;
      for (MatchResult each : place.matcher(text).results().toList()) {
        String here = each.group(1).replaceAll(without, "");
        for (MatchResult it : name.matcher(here).results().toList()) {
          found++;
          if (!known.contains(it.group())) {
            unknown.add(ROOT.relativize(page) + ": " + it.group());
          }
        }
      }
    }
    assertEquals(Set.of(), unknown);
    return found;
  }

  /** A measured figure names what measures it. */
  @Test
  void partsOfTheBenchmarkThatThePagesNameExist() throws IOException {
    String bench =
        Repository.read("redlock-tests/peers/src/test/java/io/redlock/bench/Benchmarks.java");
    List<Found> named = onPages(BENCH_PART);
    named.forEach(part -> assertTrue(bench.contains('"' + part.it.group(1) + '"'), part::toString));
    assertTrue(named.size() > 2, named::toString);
  }

  /** What CI tests, as the page on compatibility has it, is what the build and its scripts name. */
  @Test
  void versionsThatAreTestedAreThoseOfTheBuild() throws IOException {
    StringBuilder build = new StringBuilder();
    List<Path> files = new ArrayList<>(Repository.files(ROOT, "pom.xml"));
    files.addAll(List.of(ROOT.resolve(".ci/spring-boot"), ROOT.resolve(".ci/integrations")));
    for (Path file : files) {
      build.append(Files.readString(file));
    }
    List<String> versions =
        Pattern.compile("(?m)^\\| (?!Java|Redis)[^|]+\\|[^|]+\\|([^|]+)\\|")
            .matcher(Repository.read("docs/compatibility.md"))
            .results()
            .flatMap(row -> Pattern.compile("\\d+\\.\\d+\\.\\d+").matcher(row.group(1)).results())
            .map(MatchResult::group)
            .toList();
    assertTrue(versions.size() > 8, versions::toString);
    versions.forEach(version -> assertTrue(build.indexOf(version) > 0, version));
  }

  @Test
  void versionShownIsOurs() throws IOException {
    Pattern shown =
        Pattern.compile(
            "(?:<artifactId>redlock-[a-z-]+</artifactId>\\s*<version>|io\\.redlock:redlock-[a-z-]+:)"
                + "([^<\"`]+)");
    Matcher ours = shown.matcher(Repository.read("pom.xml"));
    assertTrue(ours.find());
    List<Path> files = new ArrayList<>(Repository.files(ROOT, ".md"));
    files.addAll(Repository.files(ROOT, "pom.xml"));
    for (Path file : files) {
      Matcher version = shown.matcher(Files.readString(file));
      while (version.find()) {
        if (!version.group(1).startsWith("$")) {
          assertEquals(ours.group(1), version.group(1), () -> ROOT.relativize(file).toString());
        }
      }
    }
  }
}
