package io.redlock.jedis.lane;

import io.redlock.NodeStatus;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Ticker;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The state machine of a lane. It decides what is written when, which requests are not sent, when
 * the node is silent or lost, when it is audited, and what an answer means. Events in, effects out:
 * it uses no thread and no socket, and gets the time as an argument. {@link LockedShell} is the
 * shell around it. Not thread-safe.
 *
 * <p>The machine itself decides when to connect, how long requests wait for that, and how the lane
 * ends. Its parts decide the rest: {@link LaneCalls}, {@link LaneConnection}, {@link Handshake},
 * {@link Audits}, {@link Wakes}, {@link LaneHealth} and {@link LaneTicks}.
 */
final class LaneMachine {

  private static final long FIRST_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long LONGEST_BACKOFF_NANOS = TimeUnit.SECONDS.toNanos(1);

  private enum Phase {
    DIALING,
    CONNECTED,
    PAUSING,
    CLOSED
  }

  private final LaneSettings settings;
  private final RandomGenerator random;
  private final LaneShell shell;
  private final LaneHealth health;
  final LaneCalls calls;
  private final Audits audits;
  private final LaneTicks ticks;
  final LaneConnection connection;

  private Phase phase = Phase.DIALING;
  private int failures;
  private long connectByNanos; // requests wait no longer for a connection
  private long dialNanos;

  private boolean closing;
  private long closeByNanos;

  LaneMachine(
      String node,
      LaneSettings settings,
      NodeTrust trust,
      NodeClock clock,
      Ticker ticker,
      RandomGenerator random,
      LockNode.Observer observer,
      LaneShell shell,
      long nowNanos) {
    this.settings = settings;
    this.random = random;
    this.shell = shell;
    InOrder reports = new InOrder(node, shell::add);
    this.health = new LaneHealth(node, observer, reports::add, nowNanos);
    this.calls = new LaneCalls(settings.releaseLifeNanos(), shell::add);
    this.audits =
        new Audits(
            trust,
            clock,
            ticker,
            reason -> reports.add(() -> observer.onReset(reason)),
            settings.pingNanos());
    this.ticks = new LaneTicks(settings.watchNanos(), nowNanos);
    this.connection =
        new LaneConnection(
            settings,
            trust,
            clock,
            health,
            calls,
            audits,
            new Wakes(node, observer, calls, reports::add),
            ticks,
            shell,
            this::abandon);
  }

  // Queries of the shell.

  long tickNanos() {
    return ticks.nextNanos();
  }

  NodeStatus status(long nowNanos) {
    return health.status(nowNanos, calls.queued());
  }

  // Requests.

  /** Returns the answer to a request that is not sent; null if it is to be queued. */
  private @Nullable NodeReply refusal(NodeRequest request, long nowNanos) {
    if (phase == Phase.CLOSED || closing) {
      return NodeReply.unreachable("closed");
    }
    // A caller must not wait as long as the one before it that waited in vain. If the tick is late,
    // this process was paused, and reads first what has arrived meanwhile.
    if (ticks.isInTime(nowNanos)) {
      connection.judgeSilence(nowNanos);
    }
    NodeReply refusal = health.refusal(request);
    boolean full =
        calls.queued() >= LaneSettings.MAX_QUEUED && !(request instanceof NodeRequest.Release);
    return refusal == null && full
        ? NodeReply.unreachable(
            "lane busy: " + LaneSettings.MAX_QUEUED + " requests are waiting to be sent")
        : refusal;
  }

  /** Queues the call of a request, or answers it at once. Returns true if it is queued. */
  boolean enqueue(Call call, long nowNanos) {
    NodeReply refusal = refusal(Objects.requireNonNull(call.invocation().request), nowNanos);
    if (refusal != null) {
      calls.decide(call, refusal);
      return false;
    }
    calls.add(call, nowNanos);
    ticks.watch(nowNanos);
    return true;
  }

  /** Returns true if the call has no answer, and the node answers those before it. */
  boolean awaitsItsTurn(Call call, long nowNanos) {
    return call.state != Call.State.OVER && connection.isAnswering(nowNanos);
  }

  // The connection.

  void start(long nowNanos) {
    dial();
    waitForConnection(nowNanos);
  }

  private void dial() {
    phase = Phase.DIALING;
    shell.add(shell::dial);
  }

  private void waitForConnection(long nowNanos) {
    connectByNanos = nowNanos + settings.nodeTimeoutNanos();
    ticks.by(connectByNanos, nowNanos);
  }

  /** Begins the handshake of a new connection, unless it comes too late. */
  void connected(Wire fresh, long nowNanos) {
    if (phase != Phase.DIALING) {
      shell.add(() -> fresh.end());
      return;
    }
    phase = Phase.CONNECTED;
    connection.begin(fresh, nowNanos);
  }

  private void unreachable(NodeReply refusal, long nowNanos) {
    health.down(refusal, nowNanos);
    calls.refuseQueued(health, nowNanos);
    shell.add(shell::attempted);
    failures++;
    pause(nowNanos);
  }

  private void pause(long nowNanos) {
    if (closing) {
      end(nowNanos);
      return;
    }
    phase = Phase.PAUSING;
    long mostNanos = Math.min(LONGEST_BACKOFF_NANOS, FIRST_BACKOFF_NANOS << Math.min(failures, 10));
    dialNanos = nowNanos + random.nextLong(mostNanos / 2, mostNanos);
    ticks.by(dialNanos, nowNanos);
  }

  /** Takes note that the connection has ended, or that none could be made: then there is none. */
  void lost(@Nullable Wire from, Throwable why, long nowNanos) {
    if (from == null && phase == Phase.DIALING) {
      unreachable(ReplyMapper.connectFailure(why), nowNanos);
    } else if (connection.uses(from)) {
      abandon(
          connection.isOpen()
              ? NodeReply.unreachable(ReplyMapper.lost(why))
              : ReplyMapper.connectFailure(why),
          nowNanos);
    }
  }

  /** Gives the connection up and makes a new one, at once if this one answered requests. */
  private void abandon(NodeReply why, long nowNanos) {
    if (connection.isOpen()) {
      lose(why.detail(), nowNanos);
    } else {
      giveUp(why, nowNanos);
    }
  }

  private void giveUp(NodeReply refusal, long nowNanos) {
    connection.leave();
    calls.answerSent(NodeReply.unknown(refusal.detail()));
    unreachable(refusal, nowNanos);
  }

  private void lose(String why, long nowNanos) {
    connection.leave();
    health.lost(why, nowNanos);
    waitForConnection(nowNanos);
    calls.answerSent(NodeReply.unknown(why));
    boolean hasLasted = connection.hasLasted(nowNanos);
    if (closing) {
      end(nowNanos);
    } else if (connection.hasAnswered() && (hasLasted || failures == 0)) {
      failures = hasLasted ? 0 : 1;
      dial();
    } else {
      failures++;
      pause(nowNanos);
    }
  }

  /**
   * Takes the next answer that was read.
   *
   * @return the call whose answer is to be {@link Call#deliver delivered}; null if there is none
   */
  @Nullable Call received(@Nullable Wire from, @Nullable Object reply, long nowNanos) {
    if (!connection.uses(from)) {
      return null; // it was given up
    }
    Call decided = connection.received(reply, nowNanos);
    if (closing && calls.isIdle()) {
      end(nowNanos);
    }
    return decided;
  }

  // Time.

  /** Checks for silence, stale audits and the end of pauses. */
  void tick(long nowNanos) {
    connection.paused(ticks.come(nowNanos), nowNanos);
    if (closing && nowNanos - closeByNanos >= 0) {
      end(nowNanos);
    }
    if (phase == Phase.PAUSING && nowNanos - dialNanos >= 0) {
      dial();
    }
    connection.tick(nowNanos);
    waitNoLonger(nowNanos);
    planTick(nowNanos);
  }

  private void planTick(long nowNanos) {
    switch (phase) {
      case CLOSED -> {
        return;
      }
      case DIALING -> ticks.watch(nowNanos); // so that the dialer can give up
      case PAUSING -> ticks.by(dialNanos, nowNanos);
      case CONNECTED -> connection.planTick(nowNanos);
    }
    if (connectByNanos - nowNanos > 0 && !connection.isOpen()) {
      ticks.by(connectByNanos, nowNanos);
    }
    if (closing) {
      ticks.by(closeByNanos, nowNanos);
    }
  }

  private void waitNoLonger(long nowNanos) {
    if (!connection.isOpen() && nowNanos - connectByNanos >= 0 && health.refusal() == null) {
      health.connectingTooLong(nowNanos);
      calls.refuseQueued(health, nowNanos);
    }
  }

  // The end.

  /**
   * Takes no more requests. Earlier ones are still sent and answered, for a node timeout at most.
   * An audit goes last, so that the reading thread gets an answer after them.
   */
  void close(long nowNanos) {
    if (closing || phase == Phase.CLOSED) {
      return;
    }
    closing = true;
    closeByNanos = nowNanos + settings.nodeTimeoutNanos();
    ticks.by(closeByNanos, nowNanos);
    if (connection.isOpen()) {
      calls.add(audits.call(null), nowNanos);
    } else if (calls.queued() == 0 || phase == Phase.PAUSING) {
      end(nowNanos);
    }
  }

  /** Closes at once: requests in flight are answered with <i>unknown</i>. */
  void end(long nowNanos) {
    if (phase == Phase.CLOSED) {
      return;
    }
    phase = Phase.CLOSED;
    shell.add(shell::closing); // first: a pool replaces a connection that is given up
    connection.leave();
    health.closed(nowNanos);
    calls.answerSent(NodeReply.unknown("closed before the answer came"));
    calls.refuseAll(NodeReply.unreachable("closed"));
    shell.add(shell::attempted);
    shell.add(shell::closed);
  }

  /**
   * Starts again with a new connection after a step failed, by a defect or for lack of memory.
   * Requests in flight are answered with <i>unknown</i>.
   */
  void fail(Throwable why, long nowNanos) {
    if (phase != Phase.CLOSED) {
      giveUp(NodeReply.unreachable("the lane failed: " + why), nowNanos);
    }
  }
}
