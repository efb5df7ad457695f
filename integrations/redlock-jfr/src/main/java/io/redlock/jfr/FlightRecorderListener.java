package io.redlock.jfr;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.RedlockListener;
import java.time.Duration;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Timespan;

/**
 * Records acquires, extensions, ends of leases, states and resets of masters with the Flight
 * Recorder. An event has the time at which the listener was notified, and a field for a duration.
 * While no recording runs, nothing is written. Thread-safe.
 */
public final class FlightRecorderListener implements RedlockListener {

  /** Creates a listener for one lock service or for several. */
  public FlightRecorderListener() {}

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    Acquire event = new Acquire();
    if (event.shouldCommit()) {
      event.request = request.toString();
      event.outcome = result.outcome().name();
      event.fencingToken = result.lease().map(Lease::fencingToken).orElse(0L);
      event.votes = result.votes().toString();
      event.holder = result.votes().holder().orElse("");
      event.took = took.toNanos();
      event.commit();
    }
  }

  @Override
  public void onGiveUp(LeaseRequest request, Duration waited) {
    Acquire event = new Acquire();
    if (event.shouldCommit()) {
      event.request = request.toString();
      event.outcome = "GIVEN_UP";
      event.took = waited.toNanos();
      event.commit();
    }
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    Extend event = new Extend();
    if (event.shouldCommit()) {
      event.lease = lease.toString();
      event.outcome = result.outcome().name();
      event.votes = result.votes().toString();
      event.took = took.toNanos();
      event.commit();
    }
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration held) {
    LeaseEnded event = new LeaseEnded();
    if (event.shouldCommit()) {
      event.lease = lease.toString();
      event.cause = end.cause().name();
      event.lost = end.lost();
      event.detail = end.detail();
      event.held = held.toNanos();
      event.commit();
    }
  }

  @Override
  public void onNodeState(NodeStatus status) {
    NodeState event = new NodeState();
    event.node = status.name();
    event.state = status.state().name();
    event.reason = status.reason().orElse("");
    event.commit();
  }

  @Override
  public void onNodeReset(String node, String reason) {
    NodeReset event = new NodeReset();
    event.node = node;
    event.reason = reason;
    event.commit();
  }

  @Category("Redlock")
  @StackTrace(false)
  private abstract static class Told extends Event {}

  @Name("redlock.Acquire")
  @Description("A call for a lease, at its end")
  static final class Acquire extends Told {
    String request = "";
    String outcome = "";
    long fencingToken;
    String votes = "";
    String holder = "";
    @Timespan long took;
  }

  @Name("redlock.Extend")
  @Description("An extension of a lease, by its holder or by its renewal")
  static final class Extend extends Told {
    String lease = "";
    String outcome = "";
    String votes = "";
    @Timespan long took;
  }

  @Name("redlock.Lease")
  @Description("A lease, at its end")
  static final class LeaseEnded extends Told {
    String lease = "";
    String cause = "";
    boolean lost;
    String detail = "";
    @Timespan long held;
  }

  @Name("redlock.NodeState")
  @Description("A node changed state")
  static final class NodeState extends Told {
    String node = "";
    String state = "";
    String reason = "";
  }

  @Name("redlock.NodeReset")
  @Description("A node was restarted, emptied or replaced, or its clock was set")
  static final class NodeReset extends Told {
    String node = "";
    String reason = "";
  }
}
