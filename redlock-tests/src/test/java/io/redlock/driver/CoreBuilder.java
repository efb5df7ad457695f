package io.redlock.driver;

import io.redlock.spi.LockNode;
import java.util.List;
import java.util.concurrent.Executor;

/** Reaches into a builder: what it was given, and what only simulations give it. */
public final class CoreBuilder {

  private CoreBuilder() {}

  public static List<LockNode> nodes(RedlockBuilder builder) {
    return builder.nodes;
  }

  /**
   * Sets what starts the threads on which a lock service runs what its callback executor refuses.
   */
  public static void startRefusedWith(RedlockBuilder builder, Executor starter) {
    builder.losses = threads(starter);
    builder.others = threads(starter);
  }

  private static WorkerPool threads(Executor starter) {
    return new WorkerPool(Thread::new) {
      @Override
      public void execute(Runnable task) {
        starter.execute(task);
      }
    };
  }
}
