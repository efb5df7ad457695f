package io.redlock.testkit;

/**
 * How much a search or a campaign does: little in {@code verify}, a lot in CI ({@code
 * -Dtests.budget=full}). Tests that ask have the tag {@code budget}.
 */
public final class Budget {

  private static final boolean IS_FULL = System.getProperty("tests.budget", "brief").equals("full");

  private Budget() {}

  /** Whether there is time for everything. */
  public static boolean isFull() {
    return IS_FULL;
  }

  /** The amount for {@code verify}, or for CI. */
  public static int of(int brief, int full) {
    return IS_FULL ? full : brief;
  }
}
