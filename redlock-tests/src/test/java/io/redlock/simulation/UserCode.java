package io.redlock.simulation;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.driver.RedlockBuilder;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/** What users give to a lock service, and what is wrong with it now and then. */
record UserCode(SimProcess process, SimRandom random) {

  private static final int PERCENT = 5;

  /** What user code does instead of what it should. */
  private enum Misdeed {
    NULL,
    EXCEPTION,
    ERROR,
    BLOCK
  }

  /** Gives the lock service code that misbehaves. */
  void configure(RedlockBuilder builder, Supplier<String> ownerIds, Executor callbacks) {
    RetryStrategy usual = RetryStrategy.jitteredBackoff();
    builder
        .retryStrategy(
            (failures, cause, drawn) -> orNull(() -> usual.delay(failures, cause, drawn)))
        .ownerIds(() -> orThrow(ownerIds))
        .listener(new Listener())
        .callbackExecutor(task -> execute(callbacks, task));
  }

  /** Perhaps refuses the task, or takes it and fails after all. */
  private void execute(Executor right, Runnable task) {
    boolean fails = strikes();
    if (!fails || random.percent(50)) {
      right.execute(task);
    }
    if (fails) {
      throw new RejectedExecutionException("the user's executor is full");
    }
  }

  private boolean strikes() {
    return process.world.strikes(SimFault.USER_CODE, random, PERCENT, 100);
  }

  private String orThrow(Supplier<String> right) {
    if (misbehaves()) {
      throw new IllegalStateException("a source of ids throws");
    }
    return right.get();
  }

  private <T> T orNull(Supplier<T> right) {
    return misbehaves() ? null : right.get();
  }

  /** Perhaps throws or takes long; true if it is to return null. */
  private boolean misbehaves() {
    if (!strikes()) {
      return false;
    }
    Misdeed misdeed = Misdeed.values()[random.nextInt(Misdeed.values().length)];
    switch (misdeed) {
      case EXCEPTION -> throw new IllegalStateException("user code throws");
      case ERROR -> throw new AssertionError("user code fails");
      case BLOCK ->
          process.standStill(random.spread(SimPlan.MILLI, process.world.plan.maxTtlNanos()));
      default -> {}
    }
    return misdeed == Misdeed.NULL;
  }

  private final class Listener implements RedlockListener {
    private final Set<Lease> ended = new HashSet<>();

    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      misbehaves();
    }

    @Override
    public void onGiveUp(LeaseRequest request, Duration waited) {
      misbehaves();
    }

    @Override
    public void onExtend(Lease lease, ExtendResult result, Duration took) {
      misbehaves();
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      if (!ended.add(lease)) {
        process.world.violated(
            SimInvariant.I11, () -> process + " is told twice that " + lease + " has ended");
      }
      misbehaves();
    }

    @Override
    public void onNodeState(NodeStatus status) {
      misbehaves();
    }

    @Override
    public void onNodeReset(String node, String reason) {
      misbehaves();
    }
  }
}
