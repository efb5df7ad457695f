package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.trust.NodeAudit.Renewal;
import io.redlock.jedis.trust.Verdict;
import io.redlock.spi.LockNode.ReplyHandler;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Looks after a lane from outside, because its worker may be blocked in a read: declares the node
 * silent, writes what waits behind a slow reply, and pings. Runs on the scheduler; looks often only
 * while something is unanswered.
 */
final class LaneWatch {

  /** No user's: names that begin like this are refused. All clients share it. */
  private static final List<String> TRIAL = List.of("redlock:trial");

  private static final long TRIAL_MILLIS = 1_000;
  private static final ReplyHandler HEALTH_HEARS = (slot, reply) -> {};

  private final NodeLane lane;
  private final LaneHealth health;
  private final LaneSettings settings;
  private final Ticker ticker;
  private final Scheduler scheduler;
  private final NodeReply silence;
  private final AtomicBoolean looking = new AtomicBoolean();
  private final AtomicBoolean auditing = new AtomicBoolean();
  private final AtomicLong audits = new AtomicLong();
  private volatile boolean closed;

  /** When the next look is due. Handed from look to look by the scheduler. */
  private volatile long dueNanos;

  /** Silence counts from here at the earliest. Handed on like {@link #dueNanos}. */
  private volatile long awakeSinceNanos;

  LaneWatch(
      NodeLane lane, LaneHealth health, LaneSettings settings, Ticker ticker, Scheduler scheduler) {
    this.lane = lane;
    this.health = health;
    this.settings = settings;
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.silence =
        NodeReply.unreachable(
            "silent for more than "
                + Duration.ofNanos(settings.nodeTimeoutNanos()).toMillis()
                + "ms");
    this.awakeSinceNanos = ticker.monotonicNanos();
  }

  void start() {
    connecting();
    scheduler.schedule(this::ping, settings.pingNanos());
  }

  void close() {
    closed = true;
  }

  /** A connection is being made: callers wait for it no longer than for a reply. */
  void connecting() {
    scheduler.schedule(
        () -> {
          NodeReply refusal = health.connectingTooLong();
          if (refusal != null) {
            lane.refuseQueued(refusal);
          }
        },
        settings.nodeTimeoutNanos());
  }

  /** Something is due: look until it has come. Any thread. */
  void look() {
    if (!looking.get() && looking.compareAndSet(false, true)) {
      again();
    }
  }

  private void again() {
    dueNanos = ticker.monotonicNanos() + settings.watchNanos();
    scheduler.schedule(this::lookNow, settings.watchNanos());
  }

  private void lookNow() {
    LaneConnection connection = lane.connection();
    if (closed || connection == null || isIdle(connection)) {
      looking.set(false);
      if (!closed && connection != null && !isIdle(connection)) {
        look(); // it became busy in between
      }
      return;
    }
    long nowNanos = ticker.monotonicNanos();
    if (nowNanos - dueNanos > settings.watchNanos()) {
      // This process was held up itself: what has arrived meanwhile is read first.
      awakeSinceNanos = nowNanos;
    }
    long silentNanos = judge(connection, nowNanos);
    if (lane.hasQueued() && silentNanos > LaneSettings.PATIENCE_NANOS) {
      lane.write(connection, LaneSettings.MAX_UNANSWERED_BYTES_OF_OTHERS);
    }
    again();
  }

  /**
   * Judges the node now, because a request is about to join those that it leaves unanswered: a
   * caller that comes just after another has waited in vain must not wait as long for the next
   * look.
   */
  void judge(long nowNanos) {
    LaneConnection connection = lane.connection();
    if (connection != null && nowNanos - dueNanos <= settings.watchNanos()) {
      judge(connection, nowNanos);
    }
  }

  /** For how long the node has left something unanswered; long enough, and it is silent. */
  private long judge(LaneConnection connection, long nowNanos) {
    long silentNanos = nowNanos - connection.silentSinceNanos(nowNanos);
    long judgedNanos = Math.min(silentNanos, nowNanos - awakeSinceNanos);
    if (judgedNanos >= settings.nodeTimeoutNanos() && health.silent(silence)) {
      lane.refuseQueued(silence);
      connection.stopWaiting(NodeReply.unknown(silence.detail()));
    }
    return silentNanos;
  }

  private boolean isIdle(LaneConnection connection) {
    return connection.unanswered() == 0 && !lane.hasQueued();
  }

  /** Once a second, while the node answers: is it there, and is it what it was? */
  private void ping() {
    if (!closed) {
      audit(null);
      tryWhatWasDenied();
      scheduler.schedule(this::ping, settings.pingNanos());
    }
  }

  /**
   * What an audit needs is granted to a node's user, or it fails itself; that other commands are
   * denied, or all that write, only shows where they are called. So whether they still are is seen
   * without waiting for the next caller.
   */
  private void tryWhatWasDenied() {
    Script denied = health.denied();
    OptionalLong offsetMicros = lane.clockOffsetMicros();
    if (denied == null || offsetMicros.isEmpty()) {
      return;
    }
    long token = ticker.monotonicNanos() / 1_000 + offsetMicros.getAsLong();
    String owner = TRIAL.get(0);
    Ticket ticket = denied == Script.FAIR_GRANT ? new Ticket(owner, 0, token, TRIAL_MILLIS) : null;
    List<NodeRequest> requests =
        List.of(
            new NodeRequest.Grant(TRIAL, owner, token, TRIAL_MILLIS, ticket),
            new NodeRequest.Extend(TRIAL, owner, token, 2 * TRIAL_MILLIS, token),
            new NodeRequest.Release(TRIAL, owner, token, true, ticket));
    requests.forEach(request -> lane.send(request, 0, HEALTH_HEARS));
  }

  /** Audits the node now, unless an audit is on its way. Any thread. */
  void audit(@Nullable Renewal renewal) {
    if (!closed
        && lane.connection() != null
        && health.refusal() == null
        && auditing.compareAndSet(false, true)) {
      long nowNanos = ticker.monotonicNanos();
      Invocation audit = AuditCall.invocation(audits.incrementAndGet(), renewal);
      lane.ping(new Call(audit, 0, null, nowNanos), nowNanos);
      look();
    }
  }

  /** The audit is answered, or will never be: what has to happen next? Worker only. */
  void audited(@Nullable Verdict verdict) {
    auditing.set(false);
    if (verdict == null || closed) {
      return;
    }
    long remainingNanos = TimeUnit.MILLISECONDS.toNanos(verdict.remainingMillis());
    if (verdict.renewal() != null) {
      audit(verdict.renewal());
    } else if (verdict.stand() == Verdict.Stand.ABSTAINS
        && remainingNanos >= 0
        && remainingNanos < settings.pingNanos()) {
      scheduler.schedule(() -> audit(null), remainingNanos);
    }
  }
}
