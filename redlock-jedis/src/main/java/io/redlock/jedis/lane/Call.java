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
import redis.clients.jedis.Protocol;

/**
 * A command on its way through a lane: a request of the lock service, or a command of the lane
 * itself. All fields are guarded by the lane, unless a comment says otherwise.
 */
class Call {

  /** The purpose of a command. */
  enum Purpose {
    REQUEST,
    AUDIT,
    LOAD_SCRIPT
  }

  /** The progress of a call. */
  enum State {
    QUEUED,
    SENT,
    OVER
  }

  final Purpose purpose;
  final Script script;

  /** The time at which the call was queued or, once it was sent, the time at which it was sent. */
  long sinceNanos;

  State state = State.QUEUED;

  /** True if the server gets the text of the script instead of its digest. */
  boolean byText;

  private final @Nullable Invocation invocation; // null to load a script
  private final int slot;
  private final @Nullable ReplyHandler handler; // null for the lane's own commands
  private @Nullable NodeReply answer;

  private Call(
      Purpose purpose,
      Script script,
      @Nullable Invocation invocation,
      int slot,
      @Nullable ReplyHandler handler) {
    this.purpose = purpose;
    this.script = script;
    this.invocation = invocation;
    this.slot = slot;
    this.handler = handler;
  }

  /** Creates a call for a request of the lock service. */
  Call(Invocation invocation, int slot, ReplyHandler handler) {
    this(Purpose.REQUEST, invocation.script, invocation, slot, handler);
  }

  static Call audit(Invocation invocation) {
    return new Call(Purpose.AUDIT, Script.AUDIT, invocation, 0, null);
  }

  static Call loading(Script script) {
    return new Call(Purpose.LOAD_SCRIPT, script, null, 0, null);
  }

  boolean isRelease() {
    return script.isRelease() && purpose == Purpose.REQUEST;
  }

  /** Returns true if it only asks for the state of names, which can wait. */
  boolean isLook() {
    return script == Script.INSPECT || script == Script.LOOK;
  }

  /** Returns the script call; there is none if a script is loaded. */
  Invocation invocation() {
    if (invocation == null) {
      throw new IllegalStateException("no script is called");
    }
    return invocation;
  }

  /** Returns the approximate size of the command in a socket's buffer. */
  int bytes() {
    int body = invocation == null ? 64 : invocation.bytes;
    return byText || invocation == null ? body + script.text.getRaw().length : body;
  }

  /**
   * Returns the command to send. Called by the thread that writes, without the lock.
   *
   * @param reused the command to reuse for a script call
   * @param guard for scripts that compare birth marks
   */
  CommandArguments command(ScriptCommand reused, Guard guard) {
    if (invocation == null) {
      return new CommandArguments(Protocol.Command.SCRIPT).add("LOAD").add(script.text);
    }
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
