package io.redlock.simulation;

/** I7 and I12: every call returns, in its time. */
final class CallChecks {

  /** What a callback may take to reach the caller. */
  private static final long GRACE_NANOS = 5_000_000;

  private final World world;
  private final long nodeTimeoutNanos;
  private int open;

  CallChecks(World world, Plan plan) {
    this.world = world;
    this.nodeTimeoutNanos = plan.nodeTimeoutNanos;
  }

  /** One call that must return. */
  final class Call {
    private final SimProcess process;
    private final Object what;
    private long stoodStillNanos;
    private long closingNanos;
    private boolean over;

    private Call(SimProcess process, Object what) {
      this.process = process;
      this.what = what;
      this.stoodStillNanos = process.stoodStillNanos();
      this.closingNanos = nodeTimeoutNanos;
      open++;
    }

    void done() {
      if (!over) {
        over = true;
        open--;
      }
    }

    private void due() {
      if (over) {
        return;
      }
      if (process.isDead()) {
        done();
        return;
      }
      long heldUpNanos = process.stoodStillNanos() - stoodStillNanos;
      stoodStillNanos = process.stoodStillNanos();
      if (process.isClosing()) {
        heldUpNanos += closingNanos; // what is under way ends when its nodes have ended
        closingNanos = 0;
      }
      if (heldUpNanos > 0 || process.isHeldUp()) {
        world.after(heldUpNanos + GRACE_NANOS, this::due);
      } else {
        world.violated(Invariant.I7, () -> process + ": " + what + " does not return in its time");
      }
    }
  }

  /**
   * A call begins.
   *
   * @param what what was called, for a person
   * @param nanos for how long it may last, on its client's monotonic clock
   */
  Call begins(SimProcess process, Object what, long nanos) {
    Call call = new Call(process, what);
    world.after(process.monotonic.trueDelayNanos(nanos) + GRACE_NANOS, call::due);
    return call;
  }

  /** Calls that have not returned. */
  int open() {
    return open;
  }
}
