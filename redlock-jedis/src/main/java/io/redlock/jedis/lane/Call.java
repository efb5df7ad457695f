package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.jedis.scripts.Guard;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.spi.LockNode.ReplyHandler;
import io.redlock.spi.NodeReply;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;

/**
 * A command on its way through a lane: a request of the lock service, or a command of the lane
 * itself. All fields are guarded by the lane, unless a comment says otherwise.
 */
class Call {

  /** The progress of a call. */
  enum State {
    NEW,
    QUEUED,
    SENT,
    OVER
  }

  final Invocation invocation;

  /** The time at which the call was queued or, once it was sent, the time at which it was sent. */
  long sinceNanos;

  State state = State.NEW;

  /** True if the server gets the text of the script instead of its digest. */
  boolean byText;

  @Nullable Call before; // in its queue
  @Nullable Call next; // in its queue

  private final int slot;
  private final @Nullable ReplyHandler handler; // null for an audit
  private @Nullable NodeReply answer;

  /**
   * @param handler receives the answer; null for an audit
   */
  Call(Invocation invocation, int slot, @Nullable ReplyHandler handler) {
    this.invocation = invocation;
    this.slot = slot;
    this.handler = handler;
  }

  Script script() {
    return invocation.script;
  }

  boolean isAudit() {
    return script() == Script.AUDIT;
  }

  boolean isRelease() {
    return script().isRelease();
  }

  /** Returns true if it only asks for the state of names, which can wait. */
  boolean isLook() {
    return script() == Script.INSPECT || script() == Script.LOOK;
  }

  /** Returns the approximate size of the command in a socket's buffer. */
  int bytes() {
    return byText ? invocation.bytes + script().text.getRaw().length : invocation.bytes;
  }

  /**
   * Returns the command to send. Called by the thread that writes, without the lock.
   *
   * @param reused the command to reuse
   * @param guard for scripts that compare birth marks
   */
  CommandArguments command(ScriptCommand reused, Guard guard) {
    return byText ? reused.byText(invocation, guard) : reused.bySha(invocation, guard);
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
