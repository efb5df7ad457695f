package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * All of time, chance and order comes in from outside, so that a simulation can own it: outside
 * {@code Defaults.java} and {@code Ticker.system()} no main source of this module may name a real
 * clock, real randomness, a timer or a thread pool of the JDK's, or anything whose iteration order
 * differs between runs.
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
              "\\b(Executors|ForkJoinPool|ScheduledThreadPoolExecutor|ThreadPoolExecutor|Timer)\\b",
              "\\b(Set|Map)\\s*\\.\\s*(of|ofEntries|copyOf)\\b",
              "\\btoUnmodifiable(Set|Map)\\b",
              "\\bidentityHashCode\\b",
              "\\bparallel(Stream)?\\s*\\(",
              "\\bimport\\s+(static\\s+)?redis\\.",
              "\\bimport\\s+(static\\s+)?java\\.(net|nio\\.channels)\\.")
          .map(Pattern::compile)
          .toList();

  /**
   * The asynchronous methods of CompletableFuture, each with how many arguments name an executor.
   */
  private static final Pattern ASYNC =
      Pattern.compile(
          "\\b(runAsync|supplyAsync|completeAsync|thenApplyAsync|thenAcceptAsync|thenRunAsync"
              + "|thenComposeAsync|thenCombineAsync|thenAcceptBothAsync|runAfterBothAsync"
              + "|applyToEitherAsync|acceptEitherAsync|runAfterEitherAsync|handleAsync"
              + "|whenCompleteAsync|exceptionallyAsync|exceptionallyComposeAsync)\\s*\\(");

  private static final Pattern COMMENT_OR_LITERAL =
      Pattern.compile(
          "/\\*.*?\\*/|//[^\\n]*|\"\"\".*?\"\"\"|\"(\\\\.|[^\"\\\\\\n])*\"|'(\\\\.|[^'\\\\\\n])*'",
          Pattern.DOTALL);

  /** Everything in a source that must not be there. */
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

  /** How many arguments the call has whose parenthesis opens just before. */
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
    try (Stream<Path> files = Files.walk(SOURCES)) {
      return files.filter(file -> file.toString().endsWith(".java")).sorted().toList();
    }
  }

  @Test
  void onlyTheDefaultsNameRealTimeChanceAndThreads() throws IOException {
    List<String> found = new ArrayList<>();
    int scanned = 0;
    for (Path file : sources()) {
      if (!file.endsWith("Defaults.java") && !file.endsWith("Ticker.java")) {
        scanned++;
        faults(Files.readString(file)).forEach(fault -> found.add(file + ": " + fault));
      }
    }
    assertEquals(List.of(), found);
    assertTrue(scanned > 40, scanned + " files: the sources were not found");
  }

  @Test
  void protocolKnowsNothingButWhatANodeAnswers() throws IOException {
    Path protocol = SOURCES.resolve(Path.of("io", "redlock", "protocol"));
    Pattern imported = Pattern.compile("(?m)^import (?:static )?([\\w.]+);");
    List<String> found = new ArrayList<>();
    int rounds = 0;
    for (Path file : sources()) {
      if (file.startsWith(protocol)) {
        rounds += file.toString().endsWith("Round.java") ? 1 : 0;
        imported
            .matcher(Files.readString(file))
            .results()
            .map(result -> result.group(1))
            .filter(name -> !name.startsWith("io.redlock.spi.NodeReply"))
            .filter(name -> !name.equals("org.jspecify.annotations.NullMarked"))
            .forEach(name -> found.add(file + ": " + name));
      }
    }
    assertEquals(List.of(), found);
    assertEquals(3, rounds);
  }

  @Test
  void defaultsWouldBeCaughtElsewhere() throws IOException {
    List<String> found =
        faults(Files.readString(SOURCES.resolve(Path.of("io", "redlock", "Defaults.java"))));
    found.addAll(
        faults(Files.readString(SOURCES.resolve(Path.of("io", "redlock", "spi", "Ticker.java")))));
    assertTrue(
        found.containsAll(List.of("nanoTime", "SecureRandom", "ThreadLocalRandom")),
        found::toString);
  }

  @Test
  void whatAdaptersImplementDoesNotKnowTheRest() throws IOException {
    Pattern outside = Pattern.compile("\\bio\\.redlock\\.(?!spi\\b)");
    List<String> found = new ArrayList<>();
    for (Path file : sources()) {
      if (SOURCES.relativize(file).startsWith(SPI)) {
        String code = COMMENT_OR_LITERAL.matcher(Files.readString(file)).replaceAll(" ");
        outside.matcher(code).results().forEach(result -> found.add(file + ": " + result.group()));
      }
    }
    assertEquals(List.of(), found);
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
}
