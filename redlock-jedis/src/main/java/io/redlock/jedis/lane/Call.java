package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneSettings.LOG;

import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.spi.LockNode.ReplyHandler;
import io.redlock.spi.NodeReply;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;

/**
 * A command on its way through a lane: a request of the lock service, or a command of the lane
 * itself, which is an audit or a {@link Wakes.Subscription}. All fields are guarded by the lane,
 * unless a comment says otherwise.
 */
class Call {

  /** The progress of a call. */
  enum State {
    NEW,
    QUEUED,
    SENT,
    OVER
  }

  private final @Nullable Invocation invocation; // null for a subscription

  /** The time at which the call was queued or, once it was sent, the time at which it was sent. */
  long sinceNanos;

  State state = State.NEW;

  /** True if the server gets the text of the script instead of its digest. */
  boolean byText;

  @Nullable Call before; // in its queue
  @Nullable Call next; // in its queue

  private final int slot;
  private final @Nullable ReplyHandler handler; // null for a command of the lane
  private @Nullable NodeReply answer;

  /**
   * @param invocation the script and its arguments; null for a subscription
   * @param handler receives the answer; null for a command of the lane
   */
  Call(@Nullable Invocation invocation, int slot, @Nullable ReplyHandler handler) {
    this.invocation = invocation;
    this.slot = slot;
    this.handler = handler;
  }

  /** Returns the script and its arguments, which all calls but a subscription have. */
  Invocation invocation() {
    return Objects.requireNonNull(invocation, "a subscription calls no script");
  }

  /** Returns the script; null for a subscription. */
  @Nullable Script script() {
    return invocation == null ? null : invocation.script;
  }

  boolean isAudit() {
    return script() == Script.AUDIT;
  }

  boolean isRelease() {
    return invocation != null && invocation().script.isRelease();
  }

  /** Returns true if it only asks for the state of names, which can wait. */
  boolean isLook() {
    return script() == Script.INSPECT || script() == Script.LOOK;
  }

  /** Returns the approximate size of the command in a socket's buffer. */
  int bytes() {
    int bytes = invocation().bytes;
    return byText ? bytes + invocation().script.text.getRaw().length : bytes;
  }

  /**
   * Returns the command to send. Called by the thread that writes, without the lock.
   *
   * @param reused the command to reuse
   * @param guard for scripts that compare birth marks
   */
  CommandArguments command(ScriptCommand reused, List<Argument> guard) {
    return byText ? reused.byText(invocation(), guard) : reused.bySha(invocation(), guard);
  }

  /**
   * Decides the answer, unless there is one. Returns true if it must be {@link #deliver delivered}.
   */
  boolean decide(NodeReply reply) {
    if (state == State.OVER) {
      return false;
    }
    state = State.OVER;
    answer = reply;
    return handler != null;
  }

  /** Delivers the decided answer. Called by the thread that decided it, without the lock. */
  void deliver() {
    NodeReply reply = answer;
    if (handler != null && reply != null) {
      deliver(handler, slot, reply);
    }
  }

  /** Delivers an answer to a handler, which must not throw. */
  static void deliver(ReplyHandler handler, int slot, NodeReply reply) {
    try {
      handler.onReply(slot, reply);
    } catch (RuntimeException | Error e) {
      LOG.error("a reply handler threw, which it must not; the reply was {}", reply.kind(), e);
    }
  }
}
