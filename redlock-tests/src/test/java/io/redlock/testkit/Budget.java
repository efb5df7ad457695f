package io.redlock.testkit;

import java.util.List;
import java.util.Locale;

/**
 * How much a search or a campaign does: a little in {@code verify}, in CI what that left out
 * ({@code -Dtests.budget=rest}), or all of it ({@code full}). Tests that ask have the tag {@code
 * budget}.
 */
public enum Budget {
  BRIEF,
  REST,
  FULL;

  private static final Budget OURS =
      valueOf(System.getProperty("tests.budget", "brief").toUpperCase(Locale.ROOT));

  /** Whether there is time to go to the end. */
  public static boolean isAmple() {
    return OURS != BRIEF;
  }

  /** A bound for {@code verify}, or for CI. */
  public static int of(int brief, int ample) {
    return isAmple() ? ample : brief;
  }

  /** The first ones for {@code verify}, the others for CI. */
  public static <T> List<T> part(List<T> all, int brief) {
    return switch (OURS) {
      case BRIEF -> all.subList(0, brief);
      case REST -> all.subList(brief, all.size());
      case FULL -> all;
    };
  }
}
