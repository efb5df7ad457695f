package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseRequest;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class SettingsTest {

  private static final Duration AGES = Duration.ofSeconds(Long.MAX_VALUE);

  private final Bed bed = new Bed(3);
  private final Settings settings = bed.context.settings;

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("driver/Settings.txt", Problems::new);
  }

  private static LeaseRequest of(String resource) {
    return LeaseRequest.of(resource, Bed.TTL);
  }

  @Test
  void keyThatTheLibraryKeepsForItselfIsRefused() {
    Settings bare = new Settings(50_000_000, 30_000, 10_000, 2_000_000, -1, 0, "red", "");
    List<String> problems = bare.problems(of("lock:fence:x"));
    assertEquals(1, problems.size());
    assertTrue(problems.get(0).contains("redlock:fence:x"), problems.get(0));
    assertTrue(problems.get(0).contains("choose another"), problems.get(0));
  }

  @Test
  void ttlThatLeavesNoValidityIsRefused() {
    Settings greedy =
        new Settings(1_000_000, 30_000, 10_000, 2_000_000, 900_000_000, 88_000_000, "", "");
    assertEquals(List.of(), greedy.ttlProblems(Duration.ofMillis(1_001)));
    List<String> problems = greedy.ttlProblems(Duration.ofSeconds(1));
    assertEquals(1, problems.size());
    assertTrue(problems.get(0).contains("1s of it; lengthen it"), problems.get(0));
  }

  @Test
  void nameThatUtf8CannotEncodeIsRefused() {
    assertRefused("orders/\ud83d", "orders/\\ud83d");
    assertRefused("\udd12orders", "\\udd12orders");
    assertEquals(List.of(), settings.problems(of("orders/\ud83d\udd12")));
  }

  private void assertRefused(String name, String shown) {
    List<String> problems = settings.problems(of(name));
    assertEquals(1, problems.size(), problems::toString);
    assertTrue(problems.get(0).contains(shown), problems::toString);
    assertTrue(problems.get(0).contains("another name"), problems::toString);
  }

  @Test
  void noteThatNoKeyCanHoldIsRefused() {
    assertEquals(List.of(), settings.problems(of("a").note("nightly report")));
    assertEquals(
        List.of(
            "note \"a/b\" cannot be stored: use 1 to 48 printable ASCII characters, no slashes"),
        settings.problems(of("a").note("a/b")));
  }

  @Test
  void ttlIsRoundedUpToMilliseconds() {
    assertEquals(1, Settings.ceilMillis(Duration.ofNanos(1)));
    assertEquals(1_000, Settings.ceilMillis(Duration.ofSeconds(1)));
    assertEquals(1_001, Settings.ceilMillis(Duration.ofSeconds(1).plusNanos(1)));
  }

  @Test
  void durationsBeyondTheRangeSaturate() {
    assertEquals(Long.MAX_VALUE, Settings.saturatedNanos(AGES));
    assertEquals(Long.MIN_VALUE, Settings.saturatedNanos(Duration.ofSeconds(Long.MIN_VALUE)));
    assertEquals(-1, Settings.saturatedNanos(Duration.ofNanos(-1)));
  }

  @Test
  void termsReserveTheMarginAndTheLeastValidity() {
    Settings both =
        new Settings(1_000_000, 30_000, 10_000, 2_000_000, 5_000_000, 7_000_000, "", "");
    assertEquals(12_000_000, both.terms(Quorum.of(3), 1_000).minValidityNanos());
    assertEquals(12_000_000, both.terms(Quorum.of(3), 1_000).driftNanos());
  }

  @Test
  void ttlForATimeLeftCoversItsDrift() {
    assertEquals(5_103, settings.ttlMillisFor(5_000_000_000L));
    assertEquals(600_000, settings.ttlMillisFor(Duration.ofMinutes(10).toNanos()));
    assertEquals(3, settings.ttlMillisFor(0));
  }

  @Test
  void lossMarginOfZeroIsNoMargin() {
    Settings none = new Settings(1_000_000, 30_000, 10_000, 2_000_000, 0, 0, "", "");
    assertEquals(0, none.lossMarginNanos(10_000));
    assertEquals(1_000_000_000, settings.lossMarginNanos(10_000), "by default a tenth");
  }

  /** Says what is wrong with a request, or with what a service is to be built of. */
  private static final class Problems implements Scenes.Actor {

    private final Settings settings = new Bed(3).context.settings;

    @Override
    public List<String> act(String command, String rest) {
      List<String> problems =
          switch (command) {
            case "request" -> settings.problems(ServiceLife.request(List.of(rest.split(" "))));
            case "nodes" -> problems(rest.split(" to "));
            case "builder" -> builder(rest).problems(List.of("a"), List.of());
            default -> throw new IllegalArgumentException(command);
          };
      return problems.isEmpty() ? List.of("sound") : problems;
    }

    private static List<String> problems(String... sets) {
      List<String> future = sets.length == 1 ? List.of() : ServiceLife.names(sets[1]);
      return new RedlockBuilder().problems(ServiceLife.names(sets[0]), future);
    }

    private static RedlockBuilder builder(String values) {
      RedlockBuilder builder = new RedlockBuilder();
      for (String each : values.isEmpty() ? new String[0] : values.split(", ")) {
        String value = each.substring(each.indexOf(' ') + 1);
        switch (each.split(" ")[0]) {
          case "nodeTimeout" -> builder.nodeTimeout(Duration.parse(value));
          case "maxTtl" -> builder.maxTtl(Duration.parse(value));
          case "clockSkew" -> builder.clockSkew(Duration.parse(value));
          case "driftPerSecond" -> builder.driftPerSecond(Duration.parse(value));
          case "lossMargin" -> builder.lossMargin(Duration.parse(value));
          case "minValidity" -> builder.minValidity(Duration.parse(value));
          case "holder" -> builder.holder(ServiceLife.name(value));
          case "keyPrefix" -> builder.keyPrefix(value);
          default -> throw new IllegalArgumentException(each);
        }
      }
      return builder;
    }
  }
}
