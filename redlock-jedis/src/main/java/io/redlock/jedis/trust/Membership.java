package io.redlock.jedis.trust;

import io.redlock.spi.Quorum;

/**
 * The clients that a node tells apart: those of {@code 3} masters, or those that move from {@code
 * 3>5}. The number is enough: all nodes that serve clients of n masters belong to the one present
 * set of n masters, so two majorities of n share a node.
 *
 * @param masters the number of masters of the client; of its present ones if it moves
 * @param future the number of its future masters; 0 if it does not move
 */
public record Membership(int masters, int future) {

  /** Returns the clients of this number of masters. */
  public static Membership of(int masters) {
    return new Membership(masters, 0);
  }

  /** Returns the clients that need this quorum. */
  public static Membership of(Quorum quorum) {
    return new Membership(Integer.bitCount(quorum.present()), Integer.bitCount(quorum.future()));
  }

  /** Returns true if the client moves. */
  public boolean isJoint() {
    return future != 0;
  }

  /**
   * Returns the name of these clients in marks.
   *
   * @param change the change that a moving client takes part in; of no meaning for others
   */
  public String label(String change) {
    return isJoint() ? masters + ">" + future + "#" + change : Integer.toString(masters);
  }
}
