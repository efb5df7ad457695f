package io.redlock.jedis;

import io.redlock.RedlockBuilder;
import io.redlock.spi.LockNode;
import java.util.function.Consumer;

/** What tests of whole lock services need to know of this package. */
public final class JedisCore {

  private JedisCore() {}

  /** Sets what only the core's builder knows. */
  public static JedisRedlock.Builder with(
      JedisRedlock.Builder builder, Consumer<RedlockBuilder> setting) {
    return builder.core(setting);
  }

  /** Whether nothing waits to be sent to this master, or for its answer. */
  public static boolean isIdle(LockNode node) {
    NodeLane lane = (NodeLane) node;
    LaneConnection connection = lane.connection();
    return !lane.hasQueued() && (connection == null || connection.unanswered() == 0);
  }
}
