package io.redlock.simulation;

import io.redlock.LeaseRequest;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** I7 and I12: every call returns, in its time. */
final class CallChecks {

  /** What a callback may take to reach the caller. */
  private static final long GRACE_NANOS = 5_000_000;

  private final SimWorld world;
  private final long nodeTimeoutNanos;
  private final Map<Asked, Long> clockRefusals = new HashMap<>(); // the true time of the last
  private int open;

  private record Asked(SimProcess process, List<String> names) {}

  CallChecks(SimWorld world) {
    this.world = world;
    this.nodeTimeoutNanos = world.plan.nodeTimeoutNanos;
  }

  /** One call that must return. */
  final class Call {
    private final SimProcess process;
    private final Object what;
    private final List<List<String>> names; // that it is to acquire, in each way
    private final long attemptNanos;
    private long stoodStillNanos;
    private long closingNanos;
    private long endsNanos; // true time
    private boolean isExtended;
    private boolean over;

    private Call(SimProcess process, Object what, List<List<String>> names, long attemptNanos) {
      this.process = process;
      this.what = what;
      this.names = names;
      this.attemptNanos = attemptNanos;
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

    private void endsIn(long nanos) {
      long trueNanos = process.monotonic.trueDelayNanos(nanos) + GRACE_NANOS;
      endsNanos = world.nowNanos() + trueNanos;
      world.after(trueNanos, this::due);
    }

    /** True if the nodes refused a token of the last attempt, which began before the wait ended. */
    private boolean wasJustRefusedByClocks() {
      long sinceNanos = endsNanos - nodeTimeoutNanos - attemptNanos - GRACE_NANOS;
      return names.stream()
          .map(each -> clockRefusals.get(new Asked(process, each)))
          .anyMatch(refusedNanos -> refusedNanos != null && refusedNanos >= sinceNanos);
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
      } else if (!isExtended && wasJustRefusedByClocks()) {
        isExtended = true;
        endsIn(attemptNanos);
      } else {
        world.violated(
            SimInvariant.I7, () -> process + ": " + what + " does not return in its time");
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
    return begins(process, what, List.of(), nanos, nodeTimeoutNanos);
  }

  /**
   * A call for a lease begins. It lasts for its wait and one attempt, or two if nodes refuse the
   * token of its last attempt because of their clocks. An attempt lasts one node timeout, or three
   * for any one of several names.
   */
  Call beginsToAcquire(SimProcess process, LeaseRequest request) {
    long attemptNanos = nodeTimeoutNanos * (request.isAnyOf() ? 3 : 1);
    List<List<String>> names =
        request.isAnyOf()
            ? request.resources().stream().map(List::of).toList()
            : List.of(List.copyOf(request.resources()));
    long waitNanos = request.waitUpTo().orElse(Duration.ZERO).toNanos();
    return begins(process, request, names, waitNanos + attemptNanos, attemptNanos);
  }

  private Call begins(
      SimProcess process, Object what, List<List<String>> names, long nanos, long attemptNanos) {
    Call call = new Call(process, what, names, attemptNanos);
    call.endsIn(nanos);
    return call;
  }

  /** A client hears that a node refuses a token for these names because of its clock. */
  void clockRefused(SimProcess process, List<String> names) {
    clockRefusals.put(new Asked(process, names), world.nowNanos());
  }

  /** Calls that have not returned. */
  int open() {
    return open;
  }
}
