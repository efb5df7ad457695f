package io.redlock.driver;

import io.redlock.Leadership;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.spi.LockNode;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;

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
    builder.losses = builder.others = task -> new Started(task, starter);
    builder.idleMillis = 0;
  }

  /** The same as {@link Redlock#lead}, with the threads of its work. */
  public static Leadership lead(
      Redlock redlock, LeaseRequest request, Leadership.Work work, ThreadFactory threads) {
    ServiceContext context = ((QuorumRedlock) redlock).context;
    LeaderCandidate candidate =
        new LeaderCandidate(
            context, request, work, patient -> new AcquireCall(context, patient), threads);
    candidate.begin();
    return candidate;
  }

  private static final class Started extends Thread {
    private final Executor starter;

    Started(Runnable task, Executor starter) {
      super(task);
      this.starter = starter;
    }

    @Override
    public void start() {
      starter.execute(this);
    }
  }
}
