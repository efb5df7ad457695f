package io.redlock.jedis;

import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeStatus;
import io.redlock.spi.NodeStatus.State;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a node is now, since when and why, and what a request that cannot be sent is told. Every
 * change of the state is logged once. Thread-safe.
 */
final class LaneHealth {

  private static final Logger LOG = LoggerFactory.getLogger("io.redlock.jedis.NodeLane");

  /** Closed is the end. */
  private static final Set<State> ANY = EnumSet.complementOf(EnumSet.of(State.CLOSED));

  /**
   * @param refusal what everything but a release is told; null if requests are accepted
   */
  private record Condition(
      State state, long sinceNanos, String reason, @Nullable NodeReply refusal) {}

  private final String node;
  private final Ticker ticker;
  private final LockNode.Observer observer;
  private final AtomicReference<Condition> now;

  LaneHealth(String node, Ticker ticker, LockNode.Observer observer) {
    this.observer = observer;
    this.node = node;
    this.ticker = ticker;
    this.now =
        new AtomicReference<>(new Condition(State.CONNECTING, ticker.monotonicNanos(), "", null));
  }

  /** What everything but a release is told at once; null while requests are accepted. */
  @Nullable NodeReply refusal() {
    return now.get().refusal;
  }

  State state() {
    return now.get().state;
  }

  NodeStatus status() {
    Condition condition = now.get();
    Duration ago = Duration.ofNanos(ticker.monotonicNanos() - condition.sinceNanos);
    return new NodeStatus(node, condition.state, ago, condition.reason);
  }

  /** The node answered. */
  void up() {
    become(ANY, State.UP, "", null);
  }

  /** The node answered: if it was thought silent, it is not. */
  void answered() {
    if (state() == State.SILENT) {
      become(EnumSet.of(State.SILENT), State.UP, "", null);
    }
  }

  /** The node answered a request; one that it executed shows that nothing hinders it any more. */
  void answered(NodeReply reply) {
    switch (reply.kind()) {
      case MISCONFIGURED -> misconfigured(reply);
      case GRANTED, EXTENDED, JOINED, RELEASED -> {
        if (state() != State.UP) {
          up();
        }
      }
      default -> answered();
    }
  }

  /** The node will not serve before a person has mended it; it goes on being asked. */
  private void misconfigured(NodeReply reply) {
    if (ReplyMapper.isForeignKey(reply)) {
      answered(); // one name is at fault, not the node
    } else {
      become(ANY, State.MISCONFIGURED, reply.detail(), null);
    }
  }

  /** The node has not answered for too long; true if it was thought up until now. */
  boolean silent(NodeReply refusal) {
    return become(
        EnumSet.of(State.UP, State.MISCONFIGURED), State.SILENT, refusal.detail(), refusal);
  }

  /** The connection is gone; requests wait for the next one, which is being made now. */
  void lost(String reason) {
    become(ANY, State.DOWN, reason, null);
  }

  /** There is no connection and, for a while, none to wait for. */
  void down(NodeReply refusal) {
    State state = refusal.kind() == NodeReply.Kind.MISCONFIGURED ? State.MISCONFIGURED : State.DOWN;
    become(ANY, state, refusal.detail(), refusal);
  }

  /** Tells callers to stop waiting for a connection, if they do; what they are told, or null. */
  @Nullable NodeReply connectingTooLong() {
    Condition before = now.get();
    boolean waiting = before.state == State.CONNECTING || before.state == State.DOWN;
    if (!waiting || before.refusal != null) {
      return null;
    }
    NodeReply refusal =
        NodeReply.unreachable(before.reason.isEmpty() ? "not yet connected" : before.reason);
    Condition after = new Condition(before.state, before.sinceNanos, before.reason, refusal);
    return now.compareAndSet(before, after) ? refusal : null;
  }

  /** Nothing changes any more. */
  void closed() {
    become(ANY, State.CLOSED, "", NodeReply.unreachable("closed"));
  }

  /** True if that changed the state; nothing happens unless it was one of the first. */
  private boolean become(Set<State> from, State state, String reason, @Nullable NodeReply refusal) {
    while (true) {
      Condition before = now.get();
      if (!from.contains(before.state)) {
        return false;
      }
      boolean changed = before.state != state;
      long since = changed ? ticker.monotonicNanos() : before.sinceNanos;
      if (now.compareAndSet(before, new Condition(state, since, reason, refusal))) {
        if (changed) {
          log(before.state, state, reason);
          observer.onStateChange(new NodeStatus(node, state, Duration.ZERO, reason));
        }
        return changed;
      }
    }
  }

  private void log(State before, State state, String reason) {
    if (state == State.CLOSED || (before == State.CONNECTING && state == State.UP)) {
      LOG.debug("node {} is {}", node, state);
    } else if (state == State.UP) {
      LOG.warn("node {} is UP again, was {}", node, before);
    } else {
      LOG.warn("node {} is {}: {}", node, state, reason);
    }
  }
}
