package io.redlock.simulation;

import java.util.random.RandomGenerator;

/**
 * Numbers from a seed, the same on every JDK: SplitMix64 (G. Steele, D. Lea, C. Flood, <i>Fast
 * Splittable Pseudorandom Number Generators</i>, OOPSLA 2014), with bounds by remainder.
 */
final class SimRandom implements RandomGenerator {

  private static final long GAMMA = 0x9e3779b97f4a7c15L;

  private long state;

  SimRandom(long seed) {
    state = mix(seed + GAMMA);
  }

  static long mix(long bits) {
    long z = (bits ^ bits >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }

  /** A generator of its own, the same for the same purpose whatever others have drawn. */
  static SimRandom of(long seed, String purpose) {
    return new SimRandom(mix(seed) ^ mix(purpose.hashCode()));
  }

  @Override
  public long nextLong() {
    state += GAMMA;
    return mix(state);
  }

  @Override
  public long nextLong(long bound) {
    if (bound <= 0) {
      throw new IllegalArgumentException("bound " + bound + " is not positive");
    }
    return (nextLong() >>> 1) % bound;
  }

  @Override
  public int nextInt(int bound) {
    return (int) nextLong(bound);
  }

  /** From and to are both possible. */
  long between(long from, long to) {
    return from + nextLong(to - from + 1);
  }

  /** True this often in a hundred. */
  boolean percent(int times) {
    return nextLong(100) < times;
  }

  long oneOf(long... choices) {
    return choices[nextInt(choices.length)];
  }

  /** Small values are as likely as large ones: uniform in the number of digits. */
  long spread(long from, long to) {
    long ceiling = from;
    int doublings = 0;
    while (ceiling < to) {
      ceiling *= 2;
      doublings++;
    }
    if (doublings == 0) {
      return from;
    }
    long low = from << nextInt(doublings);
    return between(low, Math.min(to, 2 * low));
  }
}
