package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.trust.Verdict;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeStatus;
import io.redlock.spi.NodeStatus.State;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a node is now, since when and why, and what a request that cannot be sent is told. Every
 * change of the state is logged once. Thread-safe.
 */
final class LaneHealth {

  private static final Logger LOG = LoggerFactory.getLogger(NodeLane.LOGGER);

  private final String node;
  private final Ticker ticker;
  private final LockNode.Observer observer;
  private final IntSupplier queued;
  private final RoundTrips roundTrips = new RoundTrips();
  private final AtomicReference<Condition> now;
  private volatile String lastError = "";
  private volatile boolean outOfMemory;

  /**
   * What the last audit made of the node, while it answers.
   *
   * @param toGrant what a grant is told at once; null if grants are sent
   * @param toExtend the same for extends
   */
  private record Standing(
      State state, String reason, @Nullable NodeReply toGrant, @Nullable NodeReply toExtend) {

    static final Standing VOTES = new Standing(State.UP, "", null, null);

    static Standing of(Verdict verdict) {
      String reason = verdict.reason();
      return switch (verdict.stand()) {
        case VOTES -> VOTES;
        case ABSTAINS -> {
          NodeReply abstains = NodeReply.abstain(verdict.remainingMillis(), reason);
          yield new Standing(State.ABSTAINING, reason, abstains, null);
        }
        case REFUSED -> {
          NodeReply refused = NodeReply.misconfigured(reason);
          yield new Standing(State.MISCONFIGURED, reason, refused, refused);
        }
      };
    }
  }

  /**
   * @param refusal what everything but a release is told at once, and but a withdrawal if the node
   *     is silent; null if it depends on the standing
   * @param denied the script that the node does not execute though its audit finds nothing wrong;
   *     null if there is none
   */
  private record Condition(
      State state,
      long sinceNanos,
      String reason,
      @Nullable NodeReply refusal,
      Standing standing,
      @Nullable Script denied) {

    /** What an audit or an answer has to say of the node: it is connected. */
    boolean isConnected() {
      return refusal == null && (state == standing.state || denied != null);
    }
  }

  /**
   * @param queued how many requests wait to be sent
   */
  LaneHealth(String node, Ticker ticker, LockNode.Observer observer, IntSupplier queued) {
    this.node = node;
    this.ticker = ticker;
    this.observer = observer;
    this.queued = queued;
    this.now =
        new AtomicReference<>(
            new Condition(
                State.CONNECTING, ticker.monotonicNanos(), "", null, Standing.VOTES, null));
  }

  /** What grants and extends are told at once, whatever the node would say to them. */
  @Nullable NodeReply refusal() {
    return current().refusal;
  }

  /**
   * What this request is told at once; null if it is sent, or waits to be. A withdrawal reaches a
   * silent node as soon as that wakes up, and until then nobody has to wait for its answer.
   */
  @Nullable NodeReply refusal(NodeRequest request) {
    Condition condition = current();
    if (request instanceof NodeRequest.Release) {
      return condition.state == State.CLOSED ? condition.refusal : null;
    }
    if (request instanceof NodeRequest.Withdraw) {
      return condition.state == State.SILENT ? null : condition.refusal;
    }
    if (condition.refusal != null) {
      return condition.refusal;
    }
    Standing standing = condition.standing;
    return request instanceof NodeRequest.Grant ? standing.toGrant : standing.toExtend;
  }

  /** Why the node does not grant; null if it does. */
  @Nullable NodeReply toGrant() {
    return current().standing.toGrant;
  }

  /** What the node denied last and has not executed since; null if there is nothing. */
  @Nullable Script denied() {
    return current().denied;
  }

  private Condition current() {
    return Objects.requireNonNull(now.get()); // never null; the reference's type cannot say so
  }

  State state() {
    return current().state;
  }

  NodeStatus status() {
    Condition condition = current();
    return status(condition, ticker.monotonicNanos() - condition.sinceNanos);
  }

  private NodeStatus status(Condition condition, long agoNanos) {
    return new NodeStatus(
        node,
        condition.state,
        Duration.ofNanos(agoNanos),
        condition.reason,
        lastError,
        roundTrips.percentile(50),
        roundTrips.percentile(99),
        queued.getAsInt());
  }

  /** There is a connection, and this is what its first audit says. */
  void connected(Verdict verdict) {
    Standing standing = Standing.of(verdict);
    become(before -> to(before, standing.state, standing.reason, null, standing));
  }

  /** What the next audit on a connection says. */
  void audited(Verdict verdict) {
    Standing standing = Standing.of(verdict);
    become(
        before ->
            before.denied != null && before.standing.state == standing.state
                ? denying(before, before.denied, before.reason, standing)
                : to(before, standing.state, standing.reason, null, standing));
  }

  /** The node answered: if it was thought silent, it is not. */
  void answered() {
    if (current().state == State.SILENT) {
      become(before -> before.state == State.SILENT ? asStanding(before) : before);
    }
  }

  /**
   * The node answered a request; where it did all that the script can ask of it, it denies that
   * script nothing any more.
   */
  void answered(Script script, NodeReply reply, long roundTripNanos) {
    roundTrips.add(roundTripNanos);
    switch (reply.kind()) {
      case GRANTED, EXTENDED, JOINED, RELEASED -> executed(script, reply);
      case MISCONFIGURED -> misconfigured(script, reply);
      case OUT_OF_MEMORY -> outOfMemory(reply);
      case UNREACHABLE, UNKNOWN -> {
        lastError = reply.detail();
        answered();
      }
      default -> answered();
    }
  }

  private void executed(Script script, NodeReply reply) {
    boolean created =
        reply.kind() == NodeReply.Kind.GRANTED || reply.kind() == NodeReply.Kind.JOINED;
    if (created && outOfMemory) {
      outOfMemory = false;
      LOG.warn("node {} grants again, it is no longer out of memory", node);
    }
    Condition condition = current();
    if (condition.state == State.SILENT || condition.denied == script) {
      become(
          before ->
              before.state == State.SILENT || before.denied == script
                  ? asStanding(before)
                  : before);
    }
  }

  private void outOfMemory(NodeReply reply) {
    lastError = reply.detail();
    answered();
    if (!outOfMemory) {
      outOfMemory = true;
      LOG.warn("node {} grants nothing: {}", node, reply.detail());
    }
  }

  /** The node will not serve before a person has mended it; it goes on being asked. */
  private void misconfigured(Script script, NodeReply reply) {
    lastError = reply.detail();
    boolean isKnown = current().standing.state == State.MISCONFIGURED; // the audit says it better
    if (isKnown || ReplyMapper.concernsOneName(reply)) {
      answered();
    } else {
      become(
          before ->
              before.isConnected() || before.state == State.SILENT
                  ? denying(before, script, reply.detail(), before.standing)
                  : before);
    }
  }

  /** The node has not answered for too long; true if it was thought to answer until now. */
  boolean silent(NodeReply refusal) {
    return become(
        before ->
            before.isConnected()
                ? to(before, State.SILENT, refusal.detail(), refusal, before.standing)
                : before);
  }

  /** The connection is gone; requests wait for the next one, which is being made now. */
  void lost(String reason) {
    lastError = reason;
    become(before -> to(before, State.DOWN, reason, null, Standing.VOTES));
  }

  /** There is no connection and, for a while, none to wait for. */
  void down(NodeReply refusal) {
    lastError = refusal.detail();
    State state = refusal.kind() == NodeReply.Kind.MISCONFIGURED ? State.MISCONFIGURED : State.DOWN;
    become(before -> to(before, state, refusal.detail(), refusal, Standing.VOTES));
  }

  /** Tells callers to stop waiting for a connection, if they do; what they are told, or null. */
  @Nullable NodeReply connectingTooLong() {
    Condition before = current();
    boolean waiting = before.state == State.CONNECTING || before.state == State.DOWN;
    if (!waiting || before.refusal != null) {
      return null;
    }
    NodeReply refusal =
        NodeReply.unreachable(before.reason.isEmpty() ? "not yet connected" : before.reason);
    Condition after = to(before, before.state, before.reason, refusal, before.standing);
    return now.compareAndSet(before, after) ? refusal : null;
  }

  /** Nothing changes any more. */
  void closed() {
    NodeReply refusal = NodeReply.unreachable("closed");
    become(before -> to(before, State.CLOSED, "", refusal, before.standing));
  }

  private Condition asStanding(Condition before) {
    return to(before, before.standing.state, before.standing.reason, null, before.standing);
  }

  private Condition to(
      Condition before,
      State state,
      String reason,
      @Nullable NodeReply refusal,
      Standing standing) {
    return new Condition(state, since(before, state), reason, refusal, standing, null);
  }

  private Condition denying(Condition before, Script script, String reason, Standing standing) {
    State state = State.MISCONFIGURED;
    return new Condition(state, since(before, state), reason, null, standing, script);
  }

  private long since(Condition before, State state) {
    return before.state == state ? before.sinceNanos : ticker.monotonicNanos();
  }

  /** True if that changed the state; closed is the end. */
  private boolean become(UnaryOperator<Condition> change) {
    while (true) {
      Condition before = current();
      Condition after = before.state == State.CLOSED ? before : change.apply(before);
      if (now.compareAndSet(before, after)) {
        boolean changed = before.state != after.state;
        if (changed) {
          log(before.state, after);
          observer.onStateChange(status(after, 0));
        }
        return changed;
      }
    }
  }

  private void log(State before, Condition after) {
    State state = after.state;
    if (state == State.CLOSED || (before == State.CONNECTING && state == State.UP)) {
      LOG.debug("node {} is {}", node, state);
    } else if (state == State.UP) {
      LOG.warn("node {} is UP again, was {}", node, before);
    } else {
      LOG.warn("node {} is {}: {}", node, state, after.reason);
    }
  }
}
