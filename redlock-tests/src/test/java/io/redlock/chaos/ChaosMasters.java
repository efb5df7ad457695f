package io.redlock.chaos;

import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;

/**
 * The masters of a run, numbered from those that leave to those that join.
 *
 * @param leaving how many are present masters only
 * @param staying how many are present and future masters
 * @param joining how many are future masters only
 */
record ChaosMasters(int leaving, int staying, int joining) {

  /** What a client is told of the masters. */
  enum Known {
    /** The present masters. */
    PRESENT,
    /** The present masters, and the future ones to which it moves. */
    BOTH,
    /** The future masters, as its present ones. */
    FUTURE
  }

  /** Masters that do not change. */
  static ChaosMasters of(int count) {
    return new ChaosMasters(0, count, 0);
  }

  /** Three to five, five to three, one of three swapped, or all. */
  static ChaosMasters changing(long seed) {
    return switch (new SplittableRandom(seed).nextInt(4)) {
      case 0 -> new ChaosMasters(0, 3, 2);
      case 1 -> new ChaosMasters(2, 3, 0);
      case 2 -> new ChaosMasters(1, 2, 1);
      default -> new ChaosMasters(3, 0, 3);
    };
  }

  int all() {
    return leaving + staying + joining;
  }

  /** How many may be out at once while each client still has its majorities. */
  int tolerated() {
    return (staying + Math.min(leaving, joining) - 1) / 2;
  }

  List<Integer> present() {
    return IntStream.range(0, leaving + staying).boxed().toList();
  }

  List<Integer> future() {
    return IntStream.range(leaving, all()).boxed().toList();
  }

  /** The {@code nodes} of a client. */
  List<Integer> nodes(Known known) {
    return known == Known.FUTURE ? future() : present();
  }

  /** The {@code movingTo} of a client. */
  List<Integer> movingTo(Known known) {
    return known == Known.BOTH ? future() : List.of();
  }

  @Override
  public String toString() {
    int present = leaving + staying;
    return joining + leaving == 0
        ? present + " nodes"
        : present + " to " + (staying + joining) + " nodes, " + staying + " of which stay";
  }
}
