package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class LeaseRequestTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final LeaseRequest PLAIN = LeaseRequest.of("orders/42", TTL);

  @Test
  void requestsWithTheSameTermsAreEqual() {
    LeaseRequest one = PLAIN.waitUpTo(TTL).renewFor(TTL).fairly();
    LeaseRequest other =
        LeaseRequest.of("orders/42", Duration.ofMillis(10_000))
            .fairly()
            .renewFor(TTL)
            .waitUpTo(TTL);
    assertEquals(one, other);
    assertEquals(one.hashCode(), other.hashCode());
    assertEquals(
        LeaseRequest.ofAll(List.of("a", "b", "a"), TTL),
        LeaseRequest.ofAll(List.of("b", "a"), TTL));
  }

  static Stream<LeaseRequest> others() {
    return Stream.of(
        LeaseRequest.of("orders/43", TTL),
        LeaseRequest.of("orders/42", TTL.plusNanos(1)),
        PLAIN.waitUpTo(Duration.ZERO),
        PLAIN.renewFor(TTL),
        PLAIN.fairly());
  }

  @ParameterizedTest
  @MethodSource("others")
  void eachTermMakesADifference(LeaseRequest other) {
    assertNotEquals(PLAIN, other);
    assertNotEquals(PLAIN.toString(), other.toString());
    assertFalse(PLAIN.equals((Object) "orders/42"));
  }

  @Test
  void notSetIsAStateOfItsOwn() {
    assertEquals(Optional.empty(), PLAIN.maxWait());
    assertEquals(Optional.of(Duration.ZERO), PLAIN.waitUpTo(Duration.ZERO).maxWait());
    assertEquals(Optional.empty(), PLAIN.maxHold());
    assertEquals(Optional.of(TTL), PLAIN.renewFor(TTL).maxHold());
  }

  @Test
  void everyTermIsNamed() {
    assertEquals(
        "orders/42 for PT10S, waiting up to PT0S, renewed for PT1H, fairly",
        PLAIN.waitUpTo(Duration.ZERO).renewFor(Duration.ofHours(1)).fairly().toString());
    assertEquals("a + b for PT10S", LeaseRequest.ofAll(Set.of("b", "a"), TTL).toString());
  }

  @Test
  void resourcesAreSortedAndCannotBeChanged() {
    Set<String> given = new TreeSet<>(List.of("b", "a"));
    LeaseRequest request = LeaseRequest.ofAll(given, TTL);
    given.clear();
    assertEquals(List.of("a", "b"), List.copyOf(request.resources()));
  }
}
