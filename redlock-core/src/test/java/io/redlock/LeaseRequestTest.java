package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
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
    LeaseRequest one = PLAIN.waitUpTo(TTL).renewFor(TTL).fair().unlessHeld().shared();
    LeaseRequest other =
        LeaseRequest.of("orders/42", Duration.ofMillis(10_000))
            .shared()
            .unlessHeld()
            .fair()
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
        PLAIN.fair(),
        PLAIN.unlessHeld(),
        PLAIN.shared());
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
    assertEquals(Optional.empty(), PLAIN.waitUpTo());
    assertEquals(Optional.of(Duration.ZERO), PLAIN.waitUpTo(Duration.ZERO).waitUpTo());
    assertEquals(Optional.empty(), PLAIN.renewFor());
    assertEquals(Optional.of(TTL), PLAIN.renewFor(TTL).renewFor());
  }

  @Test
  void everyTermIsNamed() {
    assertEquals(
        "orders/42 for 10s, waiting up to 0s, renewed for 1h, fair, shared",
        PLAIN.waitUpTo(Duration.ZERO).renewFor(Duration.ofHours(1)).fair().shared().toString());
    assertEquals("orders/42 for 10s, for nightly report", PLAIN.note("nightly report").toString());
    assertEquals("a + b for 10s", LeaseRequest.ofAll(Set.of("b", "a"), TTL).toString());
  }

  @Test
  void resourcesAreSortedAndCannotBeChanged() {
    Set<String> given = new TreeSet<>(List.of("b", "a"));
    LeaseRequest request = LeaseRequest.ofAll(given, TTL);
    given.clear();
    assertEquals(List.of("a", "b"), List.copyOf(request.resources()));
  }

  /** Returns a request with one more term. */
  private static LeaseRequest with(Method wither, LeaseRequest request) {
    Object[] values =
        Stream.of(wither.getParameterTypes())
            .map(type -> type == String.class ? "nightly" : Duration.ofMinutes(7))
            .toArray();
    try {
      return (LeaseRequest) wither.invoke(request, values);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(wither + " has a parameter that this test cannot fill", e);
    }
  }

  @Test
  void noWitherForgetsATerm() throws ReflectiveOperationException {
    List<Method> withers =
        Stream.of(LeaseRequest.class.getDeclaredMethods())
            .filter(method -> method.getReturnType() == LeaseRequest.class)
            .filter(method -> !Modifier.isStatic(method.getModifiers()))
            .toList();
    LeaseRequest full = LeaseRequest.anyOf(List.of("a", "b"), TTL);
    for (Method last : withers) {
      for (Method first : withers) {
        LeaseRequest one = with(first, full);
        assertNotEquals(full, one, first::getName);
        assertEquals(with(first, with(last, full)), with(last, one), first + " then " + last);
      }
    }
    for (Method wither : withers) {
      full = with(wither, full);
    }
    LeaseRequest plain = LeaseRequest.of("c", TTL.plusSeconds(1));
    Field terms = LeaseRequest.class.getDeclaredField("terms");
    terms.setAccessible(true);
    for (RecordComponent term : terms.getType().getRecordComponents()) {
      Method accessor = term.getAccessor();
      accessor.setAccessible(true);
      assertNotEquals(
          accessor.invoke(terms.get(plain)), accessor.invoke(terms.get(full)), term::getName);
    }
  }
}
