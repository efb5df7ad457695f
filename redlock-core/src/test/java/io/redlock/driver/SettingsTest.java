package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseRequest;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SettingsTest {

  private static final Duration AGES = Duration.ofSeconds(Long.MAX_VALUE);

  private final Bed bed = new Bed(3);
  private final Settings settings = bed.context.settings;

  /** Asserts that the only problem names the value and, after a colon or semicolon, the fix. */
  private void assertRefused(LeaseRequest request, String value, String fix) {
    List<String> problems = settings.problems(request);
    assertEquals(1, problems.size(), problems::toString);
    String problem = problems.get(0);
    assertTrue(problem.contains(value), problem);
    int colon = Math.max(problem.lastIndexOf(": "), problem.lastIndexOf("; "));
    assertTrue(colon > 0 && problem.substring(colon).contains(fix), problem);
  }

  private static LeaseRequest of(String resource) {
    return LeaseRequest.of(resource, Bed.TTL);
  }

  private static LeaseRequest of(Duration ttl) {
    return LeaseRequest.of("orders/42", ttl);
  }

  @Test
  void soundRequestsAreAccepted() {
    for (LeaseRequest request :
        List.of(
            Bed.REQUEST,
            of("a"),
            of("x".repeat(512 - "app:".length())),
            of("redlock:is reserved in keys only"),
            of(Duration.ofMillis(101)),
            of(Duration.ofMinutes(10)),
            Bed.REQUEST.waitUpTo(AGES).renewFor(AGES),
            LeaseRequest.ofAll(List.of("a", "b"), Bed.TTL))) {
      assertEquals(List.of(), settings.problems(request), request::toString);
    }
  }

  @Test
  void badResourceIsRefused() {
    assertRefused(of(""), "resource", "give it a name");
    assertRefused(of(" \t"), "resource", "give it a name");
    assertRefused(of("x".repeat(509)), "513 bytes", "use at most 512");
    assertRefused(of("ü".repeat(255)), "514 bytes", "use at most 512");
    assertRefused(LeaseRequest.ofAll(List.of(), Bed.TTL), "0 resources", "name 1 to 16");
    List<String> many = new ArrayList<>();
    for (int index = 0; index < 17; index++) {
      many.add("resource " + index);
    }
    assertRefused(LeaseRequest.ofAll(many, Bed.TTL), "17 resources", "name 1 to 16");
  }

  @Test
  void keyThatTheLibraryKeepsForItselfIsRefused() {
    Settings bare = new Settings(50_000_000, 30_000, 10_000, 2_000_000, -1, 0, "red");
    List<String> problems = bare.problems(of("lock:fence:x"));
    assertEquals(1, problems.size());
    assertTrue(problems.get(0).contains("redlock:fence:x"), problems.get(0));
    assertTrue(problems.get(0).contains("choose another"), problems.get(0));
  }

  @Test
  void badTtlIsRefused() {
    assertRefused(of(Duration.ZERO), "ttl 0s", "use");
    assertRefused(of(Duration.ofMillis(-5)), "ttl -5ms", "use");
    assertRefused(of(Duration.ofMinutes(10).plusNanos(1)), "ttl 600.000000001s", "shorten it");
    assertRefused(of(AGES), "ttl 9223372036854775807s", "shorten it");
    assertRefused(of(Duration.ofMillis(100)), "nodeTimeout 50ms", "lengthen the ttl");
  }

  @Test
  void ttlThatLeavesNoValidityIsRefused() {
    Settings greedy =
        new Settings(1_000_000, 30_000, 10_000, 2_000_000, 900_000_000, 90_000_000, "");
    assertEquals(List.of(), greedy.ttlProblems(Duration.ofMillis(1_003)));
    List<String> problems = greedy.ttlProblems(Duration.ofMillis(1_002));
    assertEquals(1, problems.size());
    assertTrue(problems.get(0).contains("1.00202s of it; lengthen it"), problems.get(0));
  }

  @Test
  void negativeWaitsAreRefused() {
    assertRefused(Bed.REQUEST.waitUpTo(Duration.ofNanos(-1)), "waitUpTo -0.000000001s", "zero");
    assertRefused(Bed.REQUEST.renewFor(Duration.ZERO), "renewFor 0s", "longest time");
  }

  @Test
  void everyProblemIsListedAtOnce() {
    LeaseRequest bad =
        LeaseRequest.of("", AGES).waitUpTo(Duration.ofNanos(-1)).renewFor(Duration.ZERO);
    assertEquals(4, settings.problems(bad).size());
    IllegalArgumentException refused =
        assertThrows(
            IllegalArgumentException.class,
            () -> Settings.reject("cannot acquire", settings.problems(bad)));
    assertTrue(refused.getMessage().startsWith("cannot acquire: resource \"\" is blank: "));
  }

  @Test
  void nameThatUtf8CannotEncodeIsRefused() {
    assertRefused(of("orders/\ud83d"), "orders/\\ud83d", "another name");
    assertRefused(of("\udd12orders"), "\\udd12orders", "another name");
    assertEquals(List.of(), settings.problems(of("orders/\ud83d\udd12")));
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
  void sixteenResourcesAreAccepted() {
    List<String> many = new ArrayList<>();
    for (int index = 0; index < 16; index++) {
      many.add("resource " + index);
    }
    assertEquals(List.of(), settings.problems(LeaseRequest.ofAll(many, Bed.TTL)));
  }

  @Test
  void sharingIsForOneResource() {
    assertEquals(
        List.of(),
        settings.problems(Bed.REQUEST.shared().fair().waitUpTo(Bed.TTL).renewFor(Bed.TTL)));
    assertRefused(
        LeaseRequest.ofAll(List.of("a", "b"), Bed.TTL).shared(),
        "shared() with 2 resources",
        "ask for one, or leave shared() out");
    for (List<String> names : List.of(List.of("a"), List.of("a", "b"))) {
      assertRefused(
          LeaseRequest.anyOf(names, Bed.TTL).shared(),
          "shared() with anyOf(): each name is a lock of its own",
          "leave shared() out");
    }
  }

  @Test
  void fairnessIsForOneResource() {
    assertEquals(List.of(), settings.problems(Bed.REQUEST.fair()));
    assertRefused(
        LeaseRequest.ofAll(List.of("a", "b"), Bed.TTL).fair(), "2 resources", "ask for one");
  }

  @Test
  void decisionIsAwaitedOutOfTurnAndForAllNames() {
    assertEquals(List.of(), settings.problems(Bed.REQUEST.waitUpTo(Bed.TTL).unlessHeld()));
    assertRefused(
        Bed.REQUEST.fair().unlessHeld(), "unlessHeld() with fair()", "leave one of them out");
    assertRefused(
        LeaseRequest.anyOf(List.of("a", "b"), Bed.TTL).unlessHeld(),
        "unlessHeld() with anyOf()",
        "leave one of them out");
  }

  @Test
  void longestHoldIsPositive() {
    assertRefused(Bed.REQUEST.renewFor(Duration.ofSeconds(-1)), "renewFor -1s", "longest time");
    assertEquals(List.of(), settings.problems(Bed.REQUEST.renewFor(Duration.ofNanos(1))));
  }

  @Test
  void termsReserveTheMarginAndTheLeastValidity() {
    Settings both = new Settings(1_000_000, 30_000, 10_000, 2_000_000, 5_000_000, 7_000_000, "");
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
    Settings none = new Settings(1_000_000, 30_000, 10_000, 2_000_000, 0, 0, "");
    assertEquals(0, none.lossMarginNanos(10_000));
    assertEquals(1_000_000_000, settings.lossMarginNanos(10_000), "by default a tenth");
  }

  @Test
  void ttlThatItsReservesUseUpIsRefused() {
    Settings greedy = new Settings(1_000_000, 30_000, 0, 2_000_000, 998_000_000, 0, "");
    List<String> problems = greedy.ttlProblems(Duration.ofSeconds(1));
    assertEquals(1, problems.size());
    assertTrue(problems.get(0).contains("1s of it; lengthen it"), problems.get(0));
    assertEquals(List.of(), greedy.ttlProblems(Duration.ofMillis(1_001)));
  }
}
