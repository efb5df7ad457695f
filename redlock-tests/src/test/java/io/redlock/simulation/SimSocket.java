package io.redlock.simulation;

import io.redlock.jedis.lane.Dialer;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;

/** Makes the connections of one lane, and lets faults strike them. */
final class SimSocket implements Dialer {

  /** So soon a machine notices that a connection of its own is over. */
  static final long NOTICE_NANOS = 50_000;

  private static final long NEVER = Long.MIN_VALUE;

  final SimServer server;
  final SimProcess process;
  final SimWorld world;
  final SimRandom random;
  final Adversary adversary;
  final LaneChecks checks;
  private final SimPlan plan;
  private final SimLink link;
  private final SimProcess.Strand[] readers; // of one connection and the next
  private int dials;
  private @Nullable SimConnection latest;
  private long stalledUntilNanos;
  private boolean isClosed;
  private long auditedNanos = NEVER; // and says what it is
  private long auditAnsweredNanos = NEVER; // by an error perhaps

  SimSocket(SimServer server, SimLink link, SimProcess process, SimRandom random) {
    this.server = server;
    this.link = link;
    this.process = process;
    this.random = random;
    world = process.world;
    plan = world.plan;
    checks = world.checker.lanes;
    adversary = new Adversary(server, random);
    readers = new SimProcess.Strand[] {process.strand(), process.strand()};
  }

  boolean strikes(SimFault fault) {
    boolean strikes = world.strikes(fault, random, plan.socketPerMillion, 1_000_000);
    if (strikes) {
      world.note(fault.ordinal(), () -> "** " + fault + ": " + this);
    }
    return strikes;
  }

  /** Everything, or only the first few. */
  int partOf(int count) {
    return random.percent(50) ? count : random.nextInt(count + 1);
  }

  @Override
  public void dial(Reader line) {
    if (isClosed || process.isDead()) {
      return;
    }
    SimConnection before = latest;
    if (before != null && before.isLive()) {
      checks.violated(() -> this + " is dialled again while there is a connection");
    }
    SimConnection fresh = new SimConnection(this, link, line, readers[dials++ % readers.length]);
    latest = fresh;
    auditedNanos = NEVER;
    auditAnsweredNanos = NEVER;
    long longestNanos = plan.connectTimeoutNanos;
    if (strikes(SimFault.CONNECT_HANGS)) {
      world.after(random.spread(SimPlan.MILLI, 2 * longestNanos), fresh::knock);
    } else {
      fresh.knock();
    }
    world.after(process.monotonic.trueDelayNanos(longestNanos), fresh::timedOut);
  }

  @Override
  public void close() {
    isClosed = true;
  }

  /** The connection in use; null if there is none. */
  @Nullable SimConnection current() {
    SimConnection current = latest;
    return current != null && current.isConnected() ? current : null;
  }

  // Faults.

  /** The connection breaks, if there is one; what it carries may arrive in part, or altogether. */
  void cut() {
    strike(SimFault.CUT, SimConnection::cut);
  }

  /** The connection leads nowhere any more, which nobody notices. */
  void forget() {
    strike(SimFault.HALF_OPEN, SimConnection::forget);
  }

  private void strike(SimFault fault, ObjIntConsumer<SimConnection> how) {
    SimConnection current = current();
    if (current != null) {
      world.struck(fault);
      world.note(4, () -> "** " + fault + ": " + this);
      how.accept(current, partOf(current.onTheWay()));
    }
  }

  /** The socket takes no more for a while. */
  void stall(long nanos) {
    stalledUntilNanos = Math.max(stalledUntilNanos, world.nowNanos() + nanos);
  }

  /** Whoever writes stands still for as long as the socket takes no more. */
  void holdUpWriter() {
    process.standStill(stalledUntilNanos - world.nowNanos());
  }

  /** The process is gone, its machine closes what it had open. */
  void orphan() {
    isClosed = true;
    SimConnection current = latest;
    if (current != null) {
      current.requests.keepFirst(partOf(current.onTheWay()));
      server.disconnected(current);
    }
  }

  // Audits.

  /** An audit of the connection in use has been answered. */
  void audited(boolean isError) {
    auditAnsweredNanos = process.monotonic.nanos();
    auditedNanos = isError ? auditedNanos : auditAnsweredNanos;
  }

  /**
   * For how long the connection in use has not been audited; without end if it never was. After a
   * pause of the process it counts from the first tick: a tick that was being planned in the pause
   * comes up to a period after it.
   */
  long sinceAuditNanos() {
    return sinceNanos(auditedNanos);
  }

  /** For how long no audit has been answered in any way. */
  long sinceAuditAnswerNanos() {
    return sinceNanos(auditAnsweredNanos);
  }

  private long sinceNanos(long nanos) {
    if (nanos == NEVER) {
      return Long.MAX_VALUE;
    }
    long awakeNanos = process.awakeSinceNanos();
    boolean stoodStill = awakeNanos - nanos > 0;
    return process.monotonic.nanos() - (stoodStill ? awakeNanos + plan.auditPeriodNanos() : nanos);
  }

  @Override
  public String toString() {
    return process + "'s lane to " + server;
  }
}
