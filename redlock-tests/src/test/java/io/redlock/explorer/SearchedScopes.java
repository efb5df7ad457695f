package io.redlock.explorer;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.explorer.Search.Result;
import io.redlock.testkit.Budget;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Nothing bad is found in the scopes that a test lists. CI searches those that end within a minute
 * to their end and begins the others, {@code verify} begins them all; those tagged "long" go on.
 */
abstract class SearchedScopes {

  static final int TO_THE_END = 20_000_000;
  private static final int DEFAULT_BOUND = Budget.of(15_000, 100_000);
  private static final List<Result> RESULTS = new ArrayList<>();

  static Result explore(Scope scope, int mostStates) {
    Result result = Explorer.search(scope, mostStates).assertGood();
    RESULTS.add(result);
    return result;
  }

  private static void exhaust(Scope scope) {
    Result result = explore(scope, Budget.of(DEFAULT_BOUND, TO_THE_END));
    assertTrue(result.isExhausted() || !Budget.isAmple(), () -> "not exhausted: " + result);
  }

  @AfterAll
  static void sumUp() {
    long states = RESULTS.stream().mapToLong(Result::states).sum();
    double seconds = RESULTS.stream().mapToLong(Result::cpuNanos).sum() / 1e9;
    System.out.printf(
        Locale.ROOT,
        "explorer: %d scopes, %,d states, %.0f s of one core, %,.0f states/s%n",
        RESULTS.size(),
        states,
        seconds,
        states / seconds);
    RESULTS.clear();
  }

  @ParameterizedTest
  @MethodSource("scopes")
  @Tag("search")
  @Tag("budget")
  void nothingBadIsFoundToTheEnd(Scope scope) {
    exhaust(scope);
  }

  @ParameterizedTest
  @MethodSource("largeScopes")
  @Tag("search")
  @Tag("budget")
  void nothingBadIsFoundAtTheBeginning(Scope scope) {
    explore(scope, DEFAULT_BOUND);
  }

  @ParameterizedTest
  @MethodSource("longScopes")
  @Tag("long")
  void nothingBadIsFoundToTheDistantEnd(Scope scope) {
    exhaust(scope);
  }

  @ParameterizedTest
  @MethodSource("endlessScopes")
  @Tag("long")
  void nothingBadIsFoundFarFromTheBeginning(Scope scope) {
    explore(scope, TO_THE_END);
  }
}
