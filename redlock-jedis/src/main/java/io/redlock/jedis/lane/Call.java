package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.Script;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.LockNode.ReplyHandler;
import io.redlock.spi.NodeReply;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;

/**
 * One command on its way through a lane: a request of the lock service, or one of the lane's own.
 * All fields are guarded by the lane, except where a comment says otherwise.
 */
final class Call implements Pending {

  /** What a command is for. */
  enum Purpose {
    REQUEST,
    AUDIT,
    LOAD_SCRIPT
  }

  /** Where a call stands. */
  enum State {
    QUEUED,
    SENT,
    OVER
  }

  final Purpose purpose;
  final Script script;

  /** The time at which the call was queued or, once it is sent, the time at which it was sent. */
  long sinceNanos;

  State state = State.QUEUED;

  /** Whether the server gets the text of the script instead of its digest. */
  boolean byText;

  private final @Nullable Invocation invocation; // null to load a script
  private final int slot;
  private final @Nullable ReplyHandler handler; // null for the lane's own commands
  private final Predicate<Call> withdrawal;
  private @Nullable NodeReply answer;

  private Call(
      Purpose purpose,
      Script script,
      @Nullable Invocation invocation,
      int slot,
      @Nullable ReplyHandler handler,
      Predicate<Call> withdrawal) {
    this.purpose = purpose;
    this.script = script;
    this.invocation = invocation;
    this.slot = slot;
    this.handler = handler;
    this.withdrawal = withdrawal;
  }

  /**
   * A request of the lock service.
   *
   * @param withdrawal takes the call back, under the lane's lock
   */
  static Call request(
      Invocation invocation, int slot, ReplyHandler handler, Predicate<Call> withdrawal) {
    return new Call(Purpose.REQUEST, invocation.script, invocation, slot, handler, withdrawal);
  }

  static Call audit(Invocation invocation) {
    return new Call(Purpose.AUDIT, Script.AUDIT, invocation, 0, null, call -> false);
  }

  static Call loading(Script script) {
    return new Call(Purpose.LOAD_SCRIPT, script, null, 0, null, call -> false);
  }

  @Override
  public boolean withdraw() {
    return withdrawal.test(this);
  }

  boolean isRelease() {
    return script == Script.RELEASE && purpose == Purpose.REQUEST;
  }

  /** The script call that is made; there is none where a script is loaded. */
  Invocation invocation() {
    if (invocation == null) {
      throw new IllegalStateException("no script is called");
    }
    return invocation;
  }

  /** About how many bytes the command occupies in a socket's buffer. */
  int bytes() {
    int body = invocation == null ? 64 : invocation.bytes;
    return byText || invocation == null ? body + script.text.getRaw().length : body;
  }

  /** The command as it is sent; the birth mark goes to scripts that compare it. Any thread. */
  CommandArguments command(Argument birth) {
    if (invocation == null) {
      return new CommandArguments(Protocol.Command.SCRIPT).add("LOAD").add(script.text);
    }
    return byText ? invocation.byText(birth) : invocation.bySha(birth);
  }

  /** Decides the answer, unless there is one. True if it has to be {@link #deliver delivered}. */
  boolean decide(NodeReply reply) {
    if (state == State.OVER) {
      return false;
    }
    state = State.OVER;
    answer = reply;
    return handler != null;
  }

  /** Gives the decided answer to whoever waits for it. By the thread that decided it, unlocked. */
  void deliver() {
    NodeReply reply = answer;
    if (handler != null && reply != null) {
      deliver(handler, slot, reply);
    }
  }

  /** Gives an answer to somebody who must not throw. */
  static void deliver(ReplyHandler handler, int slot, NodeReply reply) {
    try {
      handler.onReply(slot, reply);
    } catch (RuntimeException | Error e) {
      LOG.error("a reply handler threw, which it must not; the reply was {}", reply, e);
    }
  }
}
