package io.redlock.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.RetryStrategy;
import io.redlock.RetryStrategy.Cause;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.protocol.LeaseTerms;
import io.redlock.settings.Setting;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.Text;
import io.redlock.text.Brief;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Figures on the pages follow from the code, or are those of a measurement that is named. */
class FiguresTest {

  private static final Duration MAX_TTL = byDefault(Setting.MAX_TTL);
  private static final Duration SKEW = byDefault(Setting.CLOCK_SKEW);
  private static final Duration NODE_TIMEOUT = byDefault(Setting.NODE_TIMEOUT);
  private static final long DRIFT_PPM = byDefault(Setting.DRIFT_PER_SECOND).toNanos() / 1_000;
  private static final TrustRules RULES =
      TrustRules.of(true, MAX_TTL, DRIFT_PPM, SKEW.toMillis() * 1_000, "");

  /** The names that the sentence about memory has, divided by 32: tables of keys are as full. */
  private static final int NAMES = 18_750;

  private static <T> T byDefault(Setting<T> setting) {
    return setting.byDefault().orElseThrow();
  }

  private static void assertSays(String page, String sentence, Object... figures)
      throws IOException {
    String expected = Text.of(sentence, figures);
    assertTrue(Repository.read(page).contains(expected), () -> page + " does not say: " + expected);
  }

  private static String text(Duration duration) {
    return Brief.exact(duration).replaceFirst("(?<=\\d)(?=\\D)", " ");
  }

  private static double seconds(long millis) {
    return millis / 1_000.0;
  }

  @Test
  void pausesByCauseAreThoseOfTheStrategy() throws IOException {
    assertSays(
        "docs/waiting.md",
        "It grows from %s to %s while another client holds the resource, or a majority granted too"
            + " late; to %s after a split of the votes; and from %s to %s while too few masters can"
            + " vote.",
        ceiling(1, Cause.HELD),
        ceiling(64, Cause.HELD),
        ceiling(64, Cause.SPLIT),
        ceiling(1, Cause.UNAVAILABLE),
        ceiling(64, Cause.UNAVAILABLE));
    assertEquals(ceiling(1, Cause.HELD), ceiling(1, Cause.SPLIT));
    assertEquals(ceiling(1, Cause.HELD), ceiling(1, Cause.TOO_SLOW));
    assertEquals(ceiling(64, Cause.HELD), ceiling(64, Cause.TOO_SLOW));
  }

  /** Returns the longest pause that the default strategy can choose. */
  private static String ceiling(int failures, Cause cause) {
    RandomGenerator highest =
        new RandomGenerator() {
          @Override
          public long nextLong() {
            throw new AssertionError("a bound is given");
          }

          @Override
          public long nextLong(long bound) {
            return bound - 1;
          }
        };
    return text(RetryStrategy.jitteredBackoff().delay(failures, cause, highest));
  }

  @Test
  void timesOfOneCallFollowFromTheNodeTimeout() throws IOException {
    assertSays("docs/waiting.md", "at most one node timeout (%s by default)", text(NODE_TIMEOUT));
    assertSays(
        "docs/semaphore.md",
        "so one attempt takes at most three (%s by default)",
        text(NODE_TIMEOUT.multipliedBy(3)));
    assertSays(
        "docs/waiting.md",
        "(waiters before it + 1) × (longest hold + ttl + 3 s): with 4 before it, holds of 2 s and a"
            + " ttl of 10 s, %d s.",
        (4 + 1) * (2 + 10 + 3));
  }

  @Test
  void abstentionFollowsFromTheSettings() throws IOException {
    double abstention = seconds(RULES.terms().abstentionMillis());
    assertSays(
        "docs/operations.md",
        "for `maxTtl` × %.2f + 2 × `clockSkew`, %.1f s with the defaults",
        1 + DRIFT_PPM / 1e6,
        abstention);
    assertSays("docs/protocol.md", "%.3f s with the defaults", abstention);
    assertSays("docs/change-the-masters.md", "`maxTtl`, %.0f s with the defaults", abstention);
    assertSays("docs/runbook/replace-a-master.md", "about %.0f s after it started", abstention);
  }

  @Test
  void leastRetentionFollowsFromTheSettings() throws IOException {
    List<String> faults = new ArrayList<>();
    LaneSettings.derive(NODE_TIMEOUT, null, MAX_TTL, SKEW, Duration.ofMillis(1), faults);
    Matcher least = Pattern.compile("use at least (.+)").matcher(faults.get(0));
    assertTrue(least.find(), faults::toString);
    assertSays(
        "docs/operations.md",
        "at least `maxTtl` + 4 × `clockSkew` is accepted, %s with the defaults",
        least.group(1).replace("s", " s"));
  }

  @Test
  void workedNumbersOfALeaseFollowFromItsTtl() throws IOException {
    long ttl = 10_000;
    long drift = LeaseTerms.driftNanos(ttl, DRIFT_PPM) / 1_000_000;
    assertSays("docs/protocol.md", "%d ms for a ttl of 10 s", drift);
    assertSays("docs/protocol.md", "here %,d ms", ttl - drift);
    assertEquals("ttl / 10", Setting.LOSS_MARGIN.defaultText());
    assertSays("docs/protocol.md", "a tenth of the ttl: at %,d ms", ttl - drift - ttl / 10);
    LaneSettings lane =
        LaneSettings.derive(
            NODE_TIMEOUT, null, Duration.ofMillis(ttl), SKEW, null, new ArrayList<>());
    assertSays(
        "docs/protocol.md",
        "skew + 1 s, so %s for a ttl of 10 s",
        text(Duration.ofNanos(lane.releaseLifeNanos())));
    long longTtl = MAX_TTL.toMillis();
    double longDrift = LeaseTerms.driftNanos(longTtl, DRIFT_PPM) / 1e9;
    double margin = seconds(longTtl / 10);
    assertSays(
        "docs/leases.md",
        "with a ttl of %s, %.0f − %.0f − 3 − %.1f = %.1f s (computed, not measured)",
        text(MAX_TTL),
        seconds(longTtl * 2 / 3),
        margin,
        longDrift,
        seconds(longTtl * 2 / 3) - margin - 3 - longDrift);
  }

  @Test
  void nameLeavesAsManyBytesOnAMasterAsThePageSays() throws Exception {
    Matcher formula =
        Pattern.compile("used within fenceRetention × \\((\\d+) \\+ length of prefix and name\\)")
            .matcher(Repository.read("docs/operations.md"));
    assertTrue(formula.find());
    int bytes = Integer.parseInt(formula.group(1));
    int length = 20;
    long names =
        1_000
            * LaneSettings.derive(NODE_TIMEOUT, null, MAX_TTL, SKEW, null, new ArrayList<>())
                .encoder()
                .retentionMillis()
            / 1_000;
    assertSays(
        "docs/operations.md",
        "1,000 new names of %d characters a second, for ten minutes: %,d × %d = %d MB",
        length,
        names,
        bytes + length,
        names * (bytes + length) / 1_000_000);
    assertSays("README.md", "about %d bytes and the length of the name", bytes);
    double measured = bytesPerName(length) - length;
    assertTrue(
        measured > 0.6 * bytes && measured < 1.1 * bytes, () -> "bytes measured: " + measured);
  }

  /** Returns what each name has left on a master after it was held for a moment. */
  private static double bytesPerName(int length) throws Exception {
    try (RedisServers servers = RedisServers.start(1);
        Redlock redlock = servers.patientClient().build()) {
      long before = Long.parseLong(servers.get(0).infoOf("used_memory"));
      for (int first = 0; first < NAMES; first += 250) {
        List<CompletableFuture<AcquireResult>> calls = new ArrayList<>();
        for (int name = first; name < first + 250; name++) {
          String resource = Text.of("%0" + length + "d", name);
          calls.add(
              redlock.acquireAsync(
                  LeaseRequest.of(resource, MAX_TTL).waitUpTo(Duration.ofMinutes(1))));
        }
        List<CompletableFuture<ReleaseResult>> releases = new ArrayList<>();
        for (CompletableFuture<AcquireResult> call : calls) {
          releases.add(call.get().lease().orElseThrow().releaseAsync());
        }
        for (CompletableFuture<ReleaseResult> release : releases) {
          release.get();
        }
      }
      long after = Long.parseLong(servers.get(0).infoOf("used_memory"));
      assertEquals(NAMES, servers.get(0).keys("redlock:fence:*").size());
      return (after - before) / (double) NAMES;
    }
  }

  @Test
  void readerLeavesAsManyBytesOnAMasterAsThePageSays() throws Exception {
    String page = "docs/readers-and-a-writer.md";
    Matcher about =
        Pattern.compile("About (\\d+) bytes on each master for each reader")
            .matcher(Repository.read(page));
    assertTrue(about.find());
    int bytes = Integer.parseInt(about.group(1));
    long kept = 1_000 * Duration.ofSeconds(10).plus(SKEW.multipliedBy(2)).toSeconds();
    long hours = 1_000 * Duration.ofHours(1).plus(SKEW.multipliedBy(2)).toSeconds();
    assertSays(page, "with a ttl of 10 s: %,d × %d B = %.1f MB", kept, bytes, kept * bytes / 1e6);
    assertSays(page, "With a ttl of an hour it would be %.0f0 MB", hours * bytes / 1e7);
    double measured = bytesPerReader(1_000);
    assertTrue(
        measured > 0.6 * bytes && measured < 1.1 * bytes, () -> "bytes measured: " + measured);
  }

  /** Returns what each reader of a name that has read for a moment has left on a master. */
  private static double bytesPerReader(int readers) throws Exception {
    try (RedisServers servers = RedisServers.start(1);
        Redlock redlock = servers.patientClient().build()) {
      for (int reader = 0; reader < readers; reader++) {
        redlock
            .acquire(LeaseRequest.of("read", MAX_TTL).shared().waitUpTo(Duration.ofMinutes(1)))
            .release();
      }
      Object bytes =
          servers.get(0).command("MEMORY", "USAGE", "redlock:readers:read", "SAMPLES", "0");
      return (Long) bytes / (double) readers;
    }
  }

  /** What the page for readers calls measured, programs have written below docs/measured. */
  @Test
  void figuresOfThePageOnSpeedAreMeasured() throws IOException {
    StringBuilder measured = new StringBuilder();
    for (String kind : List.of(".md", ".tsv")) {
      for (Path page : Repository.files(Repository.ROOT.resolve("docs/measured"), kind)) {
        measured.append(Files.readString(page));
      }
    }
    Set<String> known = numbers(measured.toString());
    Set<String> shown = new TreeSet<>();
    Pattern.compile("(?m)^\\|.*$")
        .matcher(Repository.read("docs/benchmarks.md"))
        .results()
        .forEach(row -> shown.addAll(numbers(row.group())));
    assertTrue(shown.size() > 20, shown::toString);
    shown.removeAll(known);
    assertEquals(Set.of(), shown, "figures that no program has written");
  }

  /** A target is shown as it was measured; one that is not met is always shown, with a reason. */
  @Test
  void targetsOfThePageOnSpeedAreThoseOfTheBenchmark() throws IOException {
    Map<String, String> measured = new LinkedHashMap<>();
    Set<String> missed = new TreeSet<>();
    Pattern.compile("(?m)^\\| (.+? \\| .+?) \\| (\\S+).*? \\| (\\*\\*not met\\*\\*)? \\|$")
        .matcher(Repository.read("docs/measured/benchmarks.md"))
        .results()
        .forEach(
            row -> {
              measured.put(row.group(1), row.group(2));
              if (row.group(3) != null) {
                missed.add(row.group(1));
              }
            });
    assertTrue(measured.size() > 20, measured::toString);
    String page = Repository.read("docs/benchmarks.md");
    Pattern.compile("(?m)^\\| (.+? \\| .+?) \\| (\\*\\*)?(\\d\\S*?)(?:\\*\\*: (.{10,}))? \\|$")
        .matcher(page.substring(page.indexOf("## Targets")))
        .results()
        .forEach(
            row -> {
              assertEquals(measured.get(row.group(1)), row.group(3), row.group(1));
              assertEquals(missed.remove(row.group(1)), row.group(4) != null, row.group(1));
            });
    assertEquals(Set.of(), missed, "targets that are not met, and not on the page");
  }

  private static Set<String> numbers(String text) {
    Set<String> numbers = new TreeSet<>();
    Pattern.compile("(?<![\\w.,])\\d+(?:[.,]\\d+)*")
        .matcher(text)
        .results()
        .forEach(number -> numbers.add(number.group()));
    return numbers;
  }
}
