package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A simulation must control all time, chance and order. Outside {@code SystemSources.java} and
 * {@code Ticker.system()}, no main source of this module may name a real clock, real randomness, a
 * timer or thread pool of the JDK, or a collection whose iteration order differs between runs.
 */
class ArchitectureTest {

  private static final Path SOURCES = Path.of("src", "main", "java");
  private static final Path SPI = Path.of("io", "redlock", "spi");

  private static final List<Pattern> BANNED =
      Stream.of(
              "\\bnanoTime\\b",
              "\\bcurrentTimeMillis\\b",
              "\\bThread\\s*\\.\\s*(sleep|startVirtualThread|ofVirtual|ofPlatform)\\b",
              "\\bnew\\s+Thread\\b",
              "\\b(parkNanos|parkUntil)\\b",
              "\\bTimeUnit\\s*\\.\\s*\\w+\\s*\\.\\s*sleep\\b",
              "\\bThreadLocalRandom\\b",
              "\\bSecureRandom\\b",
              "\\brandomUUID\\b",
              "\\bMath\\s*\\.\\s*random\\b",
              "\\bnew\\s+Random\\b",
              "\\b(Instant|Clock|LocalDateTime|ZonedDateTime|OffsetDateTime)\\s*\\.\\s*(now|system\\w*)\\b",
              "\\b(orTimeout|completeOnTimeout|delayedExecutor)\\b",
              "\\b(Executors|ForkJoinPool|ScheduledThreadPoolExecutor|ThreadPoolExecutor|java\\.util\\.Timer)\\b",
              "\\b(Set|Map)\\s*\\.\\s*(of|ofEntries|copyOf)\\b",
              "\\btoUnmodifiable(Set|Map)\\b",
              "\\bidentityHashCode\\b",
              "\\bparallel(Stream)?\\s*\\(",
              "\\bimport\\s+(static\\s+)?redis\\.",
              "\\bimport\\s+(static\\s+)?java\\.(net|nio\\.channels)\\.")
          .map(Pattern::compile)
          .toList();

  /**
   * The asynchronous methods of CompletableFuture, each with its number of arguments if one is an
   * executor.
   */
  private static final Pattern ASYNC =
      Pattern.compile(
          "\\b(runAsync|supplyAsync|completeAsync|thenApplyAsync|thenAcceptAsync|thenRunAsync"
              + "|thenComposeAsync|thenCombineAsync|thenAcceptBothAsync|runAfterBothAsync"
              + "|applyToEitherAsync|acceptEitherAsync|runAfterEitherAsync|handleAsync"
              + "|whenCompleteAsync|exceptionallyAsync|exceptionallyComposeAsync)\\s*\\(");

  /** What formats text, or changes its case, as the language of the machine has it. */
  private static final Pattern NO_LOCALE =
      Pattern.compile(
          "\\bformatted\\b|\\b(String|out|err)\\s*\\.\\s*(format|printf)\\b(?!\\s*\\(\\s*Locale\\b)"
              + "|\\bto(Lower|Upper)Case\\b(?!\\s*\\(\\s*\\w)|\\bofPattern\\s*\\([^,]*?\\)"
              + "|\\b(Formatter|DecimalFormat|NumberFormat|MessageFormat|SimpleDateFormat|Collator)\\b");

  private static final Pattern COMMENT_OR_LITERAL =
      Pattern.compile(
          "/\\*.*?\\*/|//[^\\n]*|\"\"\".*?\"\"\"|\"(\\\\.|[^\"\\\\\\n])*\"|'(\\\\.|[^'\\\\\\n])*'",
          Pattern.DOTALL);

  /** Returns everything in a source that must not be there. */
  private static List<String> faults(String source) {
    String code = COMMENT_OR_LITERAL.matcher(source).replaceAll(" ");
    List<String> faults = new ArrayList<>();
    for (Pattern banned : BANNED) {
      banned.matcher(code).results().forEach(result -> faults.add(result.group().strip()));
    }
    Matcher async = ASYNC.matcher(code);
    while (async.find()) {
      int arguments = arguments(code, async.end());
      if (arguments < executorPosition(async.group(1))) {
        faults.add(async.group(1) + " without an executor");
      }
    }
    return faults;
  }

  private static int executorPosition(String method) {
    boolean takesAnotherStage =
        method.contains("Both") || method.contains("Either") || method.contains("Combine");
    return takesAnotherStage ? 3 : 2;
  }

  /** Returns the number of arguments of the call whose parenthesis opens just before. */
  private static int arguments(String code, int start) {
    int depth = 0;
    int commas = 0;
    for (int index = start; index < code.length(); index++) {
      switch (code.charAt(index)) {
        case '(', '{', '[' -> depth++;
        case ')', '}', ']' -> {
          if (depth-- == 0) {
            return code.substring(start, index).isBlank() ? 0 : commas + 1;
          }
        }
        case ',' -> commas += depth == 0 ? 1 : 0;
        default -> {}
      }
    }
    throw new AssertionError("no end of a call");
  }

  private static List<Path> sources() throws IOException {
    return files(SOURCES, ".java");
  }

  private static List<Path> files(Path folder, String end) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.filter(file -> file.toString().endsWith(end)).sorted().toList();
    }
  }

  @Test
  void onlyTheSystemSourcesNameRealTimeChanceAndThreads() throws IOException {
    Set<String> sources = Set.of("SystemSources.java", "CallbackThreads.java", "Ticker.java");
    List<String> found = new ArrayList<>();
    int scanned = 0;
    for (Path file : sources()) {
      if (!sources.contains(file.getFileName().toString())) {
        scanned++;
        List<String> faults = faults(Files.readString(file));
        if (file.endsWith("BackgroundLog.java")) { // on it nothing depends but lines of the log
          faults.removeIf("ThreadPoolExecutor"::equals);
        }
        faults.forEach(fault -> found.add(file + ": " + fault));
      }
    }
    assertEquals(List.of(), found);
    assertTrue(scanned > 40, scanned + " files: the sources were not found");
  }

  /** And the results that it decides for users. */
  @Test
  void protocolKnowsNothingButWhatANodeIsAskedAndAnswersAndWhichNodesAreEnough()
      throws IOException {
    List<Path> protocol = files(SOURCES.resolve(Path.of("io", "redlock", "protocol")), ".java");
    Pattern other =
        Pattern.compile(
            "\\bimport (static )?"
                + "(?!io.redlock.(ReleaseResult|FreeResult.Outcome);"
                + "|io.redlock.spi.(NodeRe(ply|quest)[\\w.]*|NodeReport|NodeLook|HolderLabel|Quorum);"
                + "|io.redlock.protocol\\.|java.util.((Array)?List|Objects|concurrent.TimeUnit|function.Long\\w+);"
                + "|org.jspecify.annotations.Null)(?!static )[\\w.]+");
    assertEquals(List.of(), found(other, protocol));
    assertEquals(
        5, protocol.stream().filter(file -> file.toString().endsWith("Round.java")).count());
  }

  /** Returns what matches, comments and literals apart. */
  private static List<String> found(Pattern pattern, List<Path> files) throws IOException {
    List<String> found = new ArrayList<>();
    for (Path file : files) {
      found(pattern, Files.readString(file)).forEach(match -> found.add(file + ": " + match));
    }
    return found;
  }

  private static List<String> found(Pattern pattern, String source) {
    String code = COMMENT_OR_LITERAL.matcher(source).replaceAll(" ");
    return pattern.matcher(code).results().map(MatchResult::group).toList();
  }

  /** It hands them to values of the protocol; two classes read them to show them to people. */
  @Test
  void driverDecidesNothingFromTheRepliesOfNodes() throws Exception {
    Set<String> read = new TreeSet<>();
    for (Class<?> reply : List.of(NodeReply.class, NodeReport.class, NodeLook.class)) {
      for (RecordComponent part : reply.getRecordComponents()) {
        read.add(reply.getName().replace('.', '/') + "." + part.getName());
      }
    }
    Set<String> readers = new TreeSet<>();
    for (Path file : files(CLASSES.resolve(Path.of("io", "redlock", "driver")), ".class")) {
      if (calls(file).stream().anyMatch(read::contains)) {
        readers.add(outermost(file.getFileName().toString()));
      }
    }
    assertEquals(Set.of("ReplyText.class", "VoteOfNode.class"), readers);
  }

  @Test
  void defaultsWouldBeCaughtElsewhere() throws IOException {
    List<String> found =
        faults(
            Files.readString(
                SOURCES.resolve(Path.of("io", "redlock", "driver", "SystemSources.java"))));
    found.addAll(
        faults(Files.readString(SOURCES.resolve(Path.of("io", "redlock", "spi", "Ticker.java")))));
    assertTrue(
        found.containsAll(List.of("nanoTime", "SecureRandom", "ThreadLocalRandom")),
        found::toString);
  }

  @Test
  void whatAdaptersImplementDoesNotKnowTheRest() throws IOException {
    Pattern outside = Pattern.compile("\\bio\\.redlock\\.(?!spi\\b|text\\b|NodeStatus\\b)");
    assertEquals(List.of(), found(outside, files(SOURCES.resolve(SPI), ".java")));
  }

  /** Of the whole project: whoever reads a name knows which class it is. */
  @Test
  void simpleNameBelongsToOneClass() throws IOException {
    Map<String, Set<Path>> places = new TreeMap<>();
    for (Path folder : sourceFolders()) {
      for (Path file : files(folder, ".java")) {
        places
            .computeIfAbsent(file.getFileName().toString(), name -> new TreeSet<>())
            .add(folder.relativize(file)); // the same where one replaces the other
      }
    }
    places.entrySet().removeIf(e -> e.getKey().endsWith("-info.java") || e.getValue().size() == 1);
    assertEquals(Map.of(), places);
  }

  /** Of the whole project, its tests and tools too: it works, and prints the same, everywhere. */
  @Test
  void nothingDependsOnTheLanguageOfTheMachine() throws IOException {
    List<String> found = new ArrayList<>();
    for (Path folder : sourceFolders()) {
      found.addAll(found(NO_LOCALE, files(folder, ".java")));
    }
    assertEquals(List.of(), found);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '^',
      textBlock =
          """
          "%d".formatted(1)                              | formatted
          String . format("%d", 1)                       | String . format
          System.out.printf("Locale.ROOT, %d", 1)        | out.printf
          name.toLowerCase()                             | toLowerCase
          names.map(String::toUpperCase)                 | toUpperCase
          DateTimeFormatter.ofPattern("uuuu, Locale")    | ofPattern( )
          new java.util.Formatter(out)                   | Formatter
          String.format(Locale.ROOT, "%d", 1)            |
          System.out.printf(locale, "%d", 1)             | out.printf
          name.toLowerCase(Locale.ROOT)                  |
          Character.toLowerCase(letter)                  |
          DateTimeFormatter.ofPattern("uuuu", Locale.US) |
          "String.format(1)" // name.toLowerCase()       |
          """)
  void whatDependsOnTheLanguageOfTheMachineIsSeen(String code, String found) {
    assertEquals(found == null ? List.of() : List.of(found), found(NO_LOCALE, code));
  }

  private static List<Path> sourceFolders() throws IOException {
    Path java = Path.of("java");
    try (Stream<Path> folders =
        Files.find(
            Path.of(".."),
            5,
            (path, attributes) ->
                path.endsWith(java) && path.getParent().getParent().endsWith("src"))) {
      List<Path> found = folders.sorted().toList();
      assertTrue(found.size() >= 6, found::toString);
      return found;
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "long now = System.nanoTime();",
        "long now = System . currentTimeMillis ();",
        "import static java.lang.System.nanoTime;",
        "Thread.sleep(5);",
        "var random = java.util.concurrent.ThreadLocalRandom.current();",
        "String id = UUID.randomUUID().toString();",
        "new SecureRandom()",
        "Instant.now()",
        "future.orTimeout(1, SECONDS)",
        "future.completeOnTimeout(null, 1, SECONDS)",
        "CompletableFuture.delayedExecutor(1, SECONDS)",
        "CompletableFuture.runAsync(() -> call(a, b))",
        "future.thenAcceptAsync(value -> use(value))",
        "future.thenCombineAsync(other, (a, b) -> a)",
        "Set.of(a)",
        "Map.of(a, b)",
        "Set.copyOf(list)",
        "import redis.clients.jedis.Jedis;",
        "import java.net.Socket;"
      })
  void eachBannedThingIsSeen(String code) {
    assertEquals(1, faults(code).size(), () -> faults(code).toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "// System.nanoTime() is banned",
        "/** Says {@link java.time.Instant#now}. */",
        "String text = \"Thread.sleep(5)\";",
        "List.of(a, b)",
        "List.copyOf(set)",
        "future.thenAcceptAsync(value -> use(value), executor)",
        "future.thenCombineAsync(other, (a, b) -> a, executor)",
        "CompletableFuture.runAsync(() -> call(a, b), executor)",
        "public CompletableFuture<AcquireResult> acquireAsync(LeaseRequest request) {}",
        "EnumSet.of(a, b)"
      })
  void whatIsAllowedIsNotTakenForBanned(String code) {
    assertEquals(List.of(), faults(code));
  }

  /** No class may refer to itself through other classes; but a result throws its failure. */
  @Test
  void classesFormNoReferenceCycle() throws Exception {
    Map<String, Set<String>> references = references(CLASSES);
    assertEquals(
        List.of("[io.redlock.AcquireResult, io.redlock.LockNotAcquiredException]"),
        cycles(references));
    assertTrue(references.size() > 40, references.keySet()::toString);
  }

  @Test
  void packagesFormNoReferenceCycle() throws Exception {
    Map<String, Set<String>> packages = new TreeMap<>();
    references(CLASSES)
        .forEach(
            (name, others) -> {
              Set<String> known =
                  packages.computeIfAbsent(packageOf(name), absent -> new TreeSet<>());
              others.stream()
                  .map(ArchitectureTest::packageOf)
                  .filter(other -> !other.equals(packageOf(name)))
                  .forEach(known::add);
            });
    assertEquals(List.of(), cycles(packages));
    assertEquals(
        Set.of("io.redlock.text"), packages.get("io.redlock"), "what users see stands alone");
  }

  @Test
  void cycleWouldBeSeen() {
    Map<String, Set<String>> references = new TreeMap<>();
    references.put("a", Set.of("b", "d"));
    references.put("b", Set.of("c"));
    references.put("c", Set.of("a"));
    references.put("d", Set.of());
    assertEquals(List.of("[a, b, c]"), cycles(references));
    references.put("c", Set.of("d"));
    assertEquals(List.of(), cycles(references));
  }

  private static final Path CLASSES = Path.of("target", "classes");

  /** Returns the classes to which each class refers; nested ones count as the outermost. */
  private static Map<String, Set<String>> references(Path classes) throws Exception {
    Map<String, Set<String>> references = new TreeMap<>();
    for (Path file : files(classes, ".class")) {
      String path = classes.relativize(file).toString().replace('\\', '/');
      String name = outermost(path.substring(0, path.length() - ".class".length()));
      if (!name.endsWith("-info")) {
        Set<String> known = references.computeIfAbsent(name, absent -> new TreeSet<>());
        NAME.matcher(disassembled(file))
            .results()
            .map(result -> outermost(result.group()))
            .filter(other -> !other.equals(name))
            .forEach(known::add);
      }
    }
    return references;
  }

  private static final Pattern NAME = Pattern.compile("\\bio/redlock/[\\w/$]+");

  private static String outermost(String internalName) {
    return internalName.replaceFirst("\\$.*", "").replace('/', '.');
  }

  private static String packageOf(String name) {
    return name.substring(0, name.lastIndexOf('.'));
  }

  /** Returns the methods that a class calls, each with its class: {@code a/B.c}. */
  private static Set<String> calls(Path file) {
    return MEMBER
        .matcher(disassembled(file))
        .results()
        .map(result -> result.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static final Pattern MEMBER = Pattern.compile("ref +#\\S+ +// ([\\w/$]+\\.\\w+):");

  private static String disassembled(Path file) {
    StringWriter text = new StringWriter();
    PrintWriter out = new PrintWriter(text);
    ToolProvider javap = ToolProvider.findFirst("javap").orElseThrow();
    assertEquals(0, javap.run(out, out, "-v", "-p", file.toString()), text::toString);
    return text.toString();
  }

  /** Returns the sets of classes in which each class reaches each other one. */
  private static List<String> cycles(Map<String, Set<String>> references) {
    Map<String, Set<String>> reached = new TreeMap<>();
    references.forEach((name, others) -> reached.put(name, new TreeSet<>(others)));
    for (String via : references.keySet()) {
      for (Set<String> others : reached.values()) {
        if (others.contains(via)) {
          others.addAll(reached.get(via));
        }
      }
    }
    return references.keySet().stream()
        .filter(name -> reached.get(name).contains(name))
        .map(
            name ->
                reached.get(name).stream()
                    .filter(other -> reached.getOrDefault(other, Set.of()).contains(name))
                    .toList()
                    .toString())
        .distinct()
        .toList();
  }
}
