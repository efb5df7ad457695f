package io.redlock.driver;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.RedlockListener;
import io.redlock.spi.NodeReply;
import io.redlock.text.Brief;
import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import jdk.jfr.Threshold;
import org.jspecify.annotations.Nullable;

/**
 * Records the events of a {@link RedlockListener}, and slow nodes, with the Flight Recorder. Costs
 * nothing without a recording, and does nothing if the module jdk.jfr is missing. In that case the
 * event classes cannot be loaded, so other classes only pass events on.
 */
final class FlightEvents {

  private static final boolean PRESENT = isPresent();

  private static volatile @Nullable Thread unrecorded; // set by that thread

  private FlightEvents() {}

  private static boolean isPresent() {
    try {
      Class.forName("jdk.jfr.Event");
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }

  private static boolean isRecording() {
    return PRESENT && FlightRecorder.isInitialized() && Thread.currentThread() != unrecorded;
  }

  /** Loads the classes for recording, then runs the task on this thread without recording it. */
  static void unrecorded(Runnable task) {
    if (isRecording()) {
      Types.ACQUIRE.isEnabled();
    }
    unrecorded = Thread.currentThread();
    try {
      task.run();
    } finally {
      unrecorded = null;
    }
  }

  /** The event types; loaded only after the recorder is initialized. */
  private static final class Types {
    static final EventType ACQUIRE = EventType.getEventType(Acquire.class);
    static final EventType EXTEND = EventType.getEventType(Extend.class);
    static final EventType LEASE = EventType.getEventType(LeaseEnded.class);
    static final EventType CALL = EventType.getEventType(NodeCall.class);

    private Types() {}
  }

  /** Begins the event of a call for a lease; null if it is not recorded. */
  static @Nullable Acquire acquiring() {
    return isRecording() && Types.ACQUIRE.isEnabled() ? new Acquire() : null;
  }

  static void acquired(@Nullable Acquire event, LeaseRequest request, AcquireResult result) {
    if (event != null && event.isDue()) {
      event.resource = (request.isAnyOf() ? "any of " : "") + Brief.names(request.resources());
      event.outcome = result.outcome().name();
      event.fencingToken = result.lease().map(Lease::fencingToken).orElse(0L);
      event.votes = result.votes().toString();
      event.holder = result.votes().holder().orElse("");
      event.commit();
    }
  }

  /** Begins the event of an extension; null if it is not recorded. */
  static @Nullable Extend extending() {
    return isRecording() && Types.EXTEND.isEnabled() ? new Extend() : null;
  }

  static void extended(@Nullable Extend event, Lease lease, ExtendResult result) {
    if (event != null && event.isDue()) {
      event.lease = lease.toString();
      event.outcome = result.outcome().name();
      event.votes = result.votes().toString();
      event.commit();
    }
  }

  /** Begins the event of a lease; null if it is not recorded. */
  static @Nullable LeaseEnded holding() {
    return isRecording() && Types.LEASE.isEnabled() ? new LeaseEnded() : null;
  }

  static void ended(@Nullable LeaseEnded begun, Lease lease, LeaseEnd end) {
    LeaseEnded event = begun == null ? holding() : begun; // the recording began later
    if (event != null) {
      event.lease = lease.toString();
      event.cause = end.cause().name();
      event.lost = end.lost();
      event.detail = end.detail();
      event.commit();
    }
  }

  /** Begins the events of a request to each node; null if they are not recorded. */
  static NodeCall @Nullable [] calling(int nodes) {
    if (!isRecording() || !Types.CALL.isEnabled()) {
      return null;
    }
    NodeCall[] events = new NodeCall[nodes];
    for (int node = 0; node < nodes; node++) {
      events[node] = new NodeCall();
    }
    return events;
  }

  static void answered(NodeCall @Nullable [] events, int index, String node, NodeReply reply) {
    if (events != null) {
      NodeCall event = events[index];
      event.node = node;
      event.answer = reply.kind().name();
      event.detail = reply.detail();
      event.commit();
    }
  }

  static void nodeState(NodeStatus status) {
    if (isRecording()) {
      NodeState event = new NodeState();
      event.node = status.name();
      event.state = status.state().name();
      event.reason = status.reason().orElse("");
      event.commit();
    }
  }

  static void nodeReset(String node, String reason) {
    if (isRecording()) {
      NodeReset event = new NodeReset();
      event.node = node;
      event.reason = reason;
      event.commit();
    }
  }

  @Category("Redlock")
  @StackTrace(false)
  private abstract static class Moment extends Event {}

  private abstract static class Span extends Moment {
    Span() {
      begin();
    }

    /** Ends it. Returns true if it is to be filled in and committed. */
    final boolean isDue() {
      end();
      return shouldCommit();
    }
  }

  @Name("redlock.Acquire")
  @Label("Acquire")
  @Description("A call for a lease, from its start to its result")
  static final class Acquire extends Span {
    String resource = "";
    String outcome = "";
    long fencingToken;
    String votes = "";
    String holder = "";
  }

  @Name("redlock.Extend")
  @Label("Extend")
  @Description("An extension of a lease, by its holder or by its renewal")
  static final class Extend extends Span {
    String lease = "";
    String outcome = "";
    String votes = "";
  }

  @Name("redlock.Lease")
  @Label("Lease")
  @Description("The life of a lease, recorded at its end")
  static final class LeaseEnded extends Span {
    String lease = "";
    String cause = "";
    boolean lost;
    String detail = "";
  }

  @Name("redlock.NodeCall")
  @Label("Node Call")
  @Description("A slow node, from sending a request to its answer, however late")
  @Threshold("10 ms")
  static final class NodeCall extends Span {
    String node = "";
    String answer = "";
    String detail = "";
  }

  @Name("redlock.NodeState")
  @Label("Node State")
  @Description("A node changed state")
  static final class NodeState extends Moment {
    String node = "";
    String state = "";
    String reason = "";
  }

  @Name("redlock.NodeReset")
  @Label("Node Reset")
  @Description("A node was restarted, emptied or replaced, or its clock was set")
  static final class NodeReset extends Moment {
    String node = "";
    String reason = "";
  }
}
