package io.redlock.jedis.lane;

import io.redlock.NodeStatus;
import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.StatusOfNode;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.OptionalLong;
import java.util.concurrent.ThreadLocalRandom;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * The only path to a master: requests go over one connection in the order in which they were given,
 * and their answers arrive in that order.
 *
 * <p>From its start on it is a {@link LaneMachine}, which decides everything, in a {@link
 * LockedShell}. A lane survives every failure of a step: it answers everything in flight with
 * <i>unknown</i>, and starts again with a new connection.
 */
public final class NodeLane implements LockNode {

  private final String name;
  private final Dialer dialer;
  private final LaneSettings settings;
  private final NodeTrust trust;
  private final RandomGenerator random;
  private final NodeClock clock = new NodeClock();

  private volatile @Nullable LockedShell shell; // null until start
  private volatile boolean stopping;

  /**
   * @param dialer makes the connection; closed with the lane
   * @param trust judges the node's audits
   * @param random spreads the attempts to connect
   */
  public NodeLane(
      String name, Dialer dialer, LaneSettings settings, NodeTrust trust, RandomGenerator random) {
    this.name = name;
    this.dialer = dialer;
    this.settings = settings;
    this.trust = trust;
    this.random = random;
  }

  /** Returns a lane whose connections come from a pool, which it closes if that is our own. */
  public static NodeLane of(NodePool pool, LaneSettings settings, NodeTrust trust) {
    return new NodeLane(
        pool.name(),
        new JedisDialer("redlock-lane-" + pool.name(), pool, settings),
        settings,
        trust,
        () -> ThreadLocalRandom.current().nextLong());
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    LockedShell started =
        new LockedShell(
            name,
            dialer,
            settings.encoder(),
            ticker,
            scheduler,
            () -> stopping,
            made ->
                new LaneMachine(
                    name,
                    settings,
                    trust,
                    clock,
                    ticker,
                    random,
                    observer,
                    made,
                    ticker.monotonicNanos()));
    shell = started;
    Scheduler.Timer told =
        scheduler.timer(() -> started.event((each, nowNanos) -> each.connection.told(nowNanos)));
    trust.whenTold(() -> told.set(ticker.monotonicNanos()));
    started.event(LaneMachine::start);
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    LockedShell started = shell;
    return started == null
        ? LockedShell.refuse(
            NodeReply.unreachable(stopping ? "closed" : "not started"), slot, handler)
        : started.send(request, slot, handler);
  }

  @Override
  public OptionalLong clockOffsetMicros() {
    return clock.offsetMicros();
  }

  @Override
  public NodeStatus status() {
    LockedShell started = shell;
    return started == null
        ? new StatusOfNode(name, NodeStatus.State.CONNECTING, Duration.ZERO, "not started")
        : started.status();
  }

  boolean isIdle() {
    LockedShell started = shell;
    return started == null || started.isIdle();
  }

  /**
   * Waits for the first attempt to connect after the start. Returns true if it has succeeded or
   * failed.
   */
  public boolean awaitFirstAttempt(long nanos) throws InterruptedException {
    LockedShell started = shell;
    return started != null && started.awaitFirstAttempt(nanos);
  }

  @Override
  public void stop() {
    stopping = true;
    LockedShell started = shell;
    if (started != null) {
      started.event(LaneMachine::close);
    }
  }

  @Override
  public void close() {
    stop();
    LockedShell started = shell;
    if (started == null) {
      dialer.close();
    } else {
      started.awaitEnd();
    }
  }
}
