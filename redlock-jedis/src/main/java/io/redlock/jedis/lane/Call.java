package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.Script;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.LockNode.ReplyHandler;
import io.redlock.spi.NodeReply;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request on its way through a lane. It is answered at most once, whoever is first to do so.
 */
final class Call implements Pending {

  /** What a lane returns for a request that was answered at once. */
  static final Pending NOT_PENDING = () -> false;

  private static final Logger LOG = LoggerFactory.getLogger(NodeLane.LOGGER);
  private static final int QUEUED = 0;
  private static final int SENT = 1;
  private static final int OVER = 2;
  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Call.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final Invocation invocation;

  /** Since when it has been queued or, once written to a connection, since when it was written. */
  volatile long sinceNanos;

  /** Whether it was sent again as text. Touched by the lane's worker only. */
  boolean byText;

  private final int slot;
  private final @Nullable ReplyHandler handler;

  private @Nullable AtomicInteger waiting; // set before the call is shared

  @SuppressWarnings("unused") // through STATE
  private volatile int state = QUEUED;

  /**
   * @param handler where the answer goes; null for the lane's own pings
   */
  Call(Invocation invocation, int slot, @Nullable ReplyHandler handler, long nowNanos) {
    this.sinceNanos = nowNanos;
    this.invocation = invocation;
    this.slot = slot;
    this.handler = handler;
  }

  boolean isRelease() {
    return invocation.script == Script.RELEASE;
  }

  boolean isPing() {
    return handler == null;
  }

  boolean isQueued() {
    return state == QUEUED;
  }

  /** Counts the call as waiting until it is sent, withdrawn or answered. Before it is queued. */
  void countIn(AtomicInteger counter) {
    waiting = counter;
    counter.incrementAndGet();
  }

  private boolean leaveQueue(int next) {
    boolean left = STATE.compareAndSet(this, QUEUED, next);
    if (left && waiting != null) {
      waiting.decrementAndGet();
    }
    return left;
  }

  /** Claims the call for sending; false if it was withdrawn or answered. */
  boolean beginSending() {
    return leaveQueue(SENT);
  }

  @Override
  public boolean withdraw() {
    return leaveQueue(OVER);
  }

  /** Answers a call that has not been sent; does nothing if it has. */
  void answerUnsent(NodeReply reply) {
    if (leaveQueue(OVER)) {
      answer(reply);
    }
  }

  /** Answers a call that has been sent; does nothing if it was answered before. */
  void answerSent(NodeReply reply) {
    if (STATE.compareAndSet(this, SENT, OVER)) {
      answer(reply);
    }
  }

  private void answer(NodeReply reply) {
    if (handler == null) {
      return;
    }
    try {
      handler.onReply(slot, reply);
    } catch (RuntimeException e) {
      LOG.error("a reply handler threw, which it must not; the reply was {}", reply, e);
    }
  }
}
