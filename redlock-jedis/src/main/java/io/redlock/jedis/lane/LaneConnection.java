package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.trust.NodeTrust;
import io.redlock.spi.NodeReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The connection of a lane, while there is one: what is written when, what the answers mean, and
 * when the node is silent. A part of the {@link LaneMachine}, and guarded like it.
 *
 * <p>Writing has rules, so that a lone caller pays for no change of threads and many callers share
 * system calls. Whoever finds at most one call unanswered writes at once; otherwise calls collect,
 * and go out as one batch with the last answer to the batch before. If nothing was read or written
 * for 3 ms, the node is slow: then callers, and the tick, write past what is unanswered. One thread
 * writes at a time; the next batch is handed to it when it comes back. An audit that is due goes
 * out with the next batch, ahead of the requests; the tick sees to it that there is one.
 */
final class LaneConnection {

  /** With more unanswered calls than this, requests collect. */
  private static final int BUSY = 1;

  /** The roles in which a thread writes. */
  enum Writer {
    /** A thread that must not block. */
    ANYBODY,
    /** The thread that reads the answers, and has read the last that was due. */
    READER
  }

  /** Calls to be written to a connection, in order, by one thread. */
  record Batch(Wire wire, List<Call> calls, Argument birth) {}

  private final LaneSettings settings;
  private final NodeClock clock;
  private final LaneHealth health;
  private final LaneCalls calls;
  private final Audits audits;
  private final LaneTicks ticks;
  private final Consumer<Effect> effects;
  private final ObjLongConsumer<NodeReply> abandon;
  private final Introduction introduction;
  private final NodeReply silence;

  private @Nullable Wire wire;
  private boolean open; // introduced
  private boolean answered; // anything, since it was introduced
  private boolean writing;
  private long lastReadNanos;
  private long lastWriteNanos;
  private long quorumByNanos;

  /**
   * @param abandon takes the reason why the connection is of no more use
   */
  LaneConnection(
      LaneSettings settings,
      NodeTrust trust,
      NodeClock clock,
      LaneHealth health,
      LaneCalls calls,
      Audits audits,
      LaneTicks ticks,
      Consumer<Effect> effects,
      ObjLongConsumer<NodeReply> abandon) {
    this.settings = settings;
    this.clock = clock;
    this.health = health;
    this.calls = calls;
    this.audits = audits;
    this.ticks = ticks;
    this.effects = effects;
    this.abandon = abandon;
    this.introduction = new Introduction(trust, audits, calls);
    this.silence =
        NodeReply.unreachable(
            "silent for more than "
                + Duration.ofNanos(settings.nodeTimeoutNanos()).toMillis()
                + "ms");
  }

  /** Returns true if this is the connection in use. */
  boolean isOver(@Nullable Wire other) {
    return other != null && other == wire;
  }

  /** Returns true if there is a connection and it carries requests. */
  boolean isOpen() {
    return open;
  }

  /** Returns true if the connection has answered anything since it was introduced. */
  boolean hasAnswered() {
    return answered;
  }

  // From its begin to its end.

  /** There is a connection: introduces it. */
  void begin(Wire fresh, long nowNanos) {
    wire = fresh;
    writing = false;
    answered = false;
    lastReadNanos = nowNanos;
    lastWriteNanos = nowNanos;
    introduction.begin();
    ticks.watch(nowNanos);
  }

  /** The connection is introduced: it carries what has waited for it, releases first. */
  private void open(long nowNanos) {
    open = true;
    health.connected(audits.verdict(), nowNanos);
    planAudit(nowNanos);
    if (!audits.isFavorable()) {
      audits.hasten(nowNanos); // there may be a quorum since
    }
    calls.putReleasesFirst();
    effects.accept(new Effect.FirstAttempt());
  }

  /** A quorum of nodes is known from now on: nodes that abstained for lack of one may vote. */
  void quorum(long nowNanos) {
    if (open) {
      auditNow(nowNanos);
    } else if (wire != null) {
      introduction.quorum();
    }
  }

  /** Ends the connection, so that it may serve others if everything was answered. */
  void close() {
    leave(!writing && calls.isIdle());
  }

  /** Gives the connection up. */
  void leave() {
    leave(false);
  }

  private void leave(boolean isWhole) {
    Wire old = wire;
    if (old != null) {
      effects.accept(new Effect.End(old, isWhole));
    }
    wire = null;
    open = false;
    audits.left();
  }

  // Writing.

  /** Returns the calls to write now; null if there are none, or somebody else writes. */
  @Nullable Batch nextBatch(Writer writer, long nowNanos) {
    Wire target = wire;
    if (target == null || writing) {
      return null;
    }
    List<Call> batch = new ArrayList<>();
    calls.sendAhead(batch, nowNanos);
    if (open && mayWrite(writer, nowNanos)) {
      Call audit = audits.due(nowNanos);
      if (audit != null) {
        calls.send(audit, batch, nowNanos);
        audits.sent(nowNanos);
      }
      long mostBytes =
          writer == Writer.READER
              ? LaneSettings.MAX_UNANSWERED_BYTES
              : LaneSettings.MAX_UNANSWERED_BYTES_OF_OTHERS;
      calls.sendQueued(batch, mostBytes, nowNanos);
    }
    if (batch.isEmpty()) {
      return null;
    }
    writing = true;
    lastWriteNanos = nowNanos;
    ticks.watch(nowNanos);
    return new Batch(target, batch, audits.birth());
  }

  private boolean mayWrite(Writer writer, long nowNanos) {
    return writer == Writer.READER
        ? calls.unanswered() == 0
        : calls.unanswered() <= BUSY
            || (nowNanos - lastWriteNanos > LaneSettings.PATIENCE_NANOS
                && nowNanos - silentSinceNanos(nowNanos) > LaneSettings.PATIENCE_NANOS);
  }

  /** A batch was written. */
  void written() {
    writing = false;
  }

  // Answers.

  /** Takes the next answer. Returns the call whose answer it decided; null if there is none. */
  @Nullable Call received(@Nullable Object reply, long nowNanos) {
    lastReadNanos = nowNanos;
    Call call = calls.oldest();
    if (call == null) {
      outOfStep("an answer that nobody waits for", nowNanos);
      return null;
    }
    if (reply instanceof JedisNoScriptException && !call.byText) {
      calls.removeOldest();
      if (call.state != Call.State.OVER) {
        call.byText = true;
        calls.addAhead(call);
      }
      return null;
    }
    Call decided = null;
    boolean inStep =
        switch (call.purpose) {
          case REQUEST -> {
            NodeReply answer = answer(reply, call, nowNanos);
            if (answer != null) {
              calls.removeOldest();
              decided = call.decide(answer) ? call : null;
            }
            yield answer != null;
          }
          case AUDIT -> audited(call, reply, nowNanos);
          case LOAD_SCRIPT -> loaded(reply, nowNanos);
        };
    if (!inStep) {
      outOfStep("an answer to something else", nowNanos);
    }
    return decided;
  }

  private void outOfStep(String what, long nowNanos) {
    abandon.accept(NodeReply.unreachable("out of step: " + what), nowNanos);
  }

  /** Returns the meaning of an answer to a request; null if it is none. */
  private @Nullable NodeReply answer(@Nullable Object reply, Call call, long nowNanos) {
    NodeReply answer =
        reply instanceof JedisDataException error
            ? ReplyMapper.error(error)
            : ReplyMapper.reply(reply, call.invocation());
    if (answer == null) {
      return null;
    }
    answered = true;
    if (answer.kind() == NodeReply.Kind.CLOCK && reply instanceof byte[] clockReply) {
      clock.learn(ReplyMapper.nodeMicros(clockReply), call.sinceNanos, nowNanos);
    } else if (answer.kind() == NodeReply.Kind.ABSTAIN) {
      answer = abstention(answer, nowNanos);
    }
    if (call.script == Script.FAIR_GRANT
        && (answer.kind() == NodeReply.Kind.TAKEN || answer.kind() == NodeReply.Kind.WAIT)) {
      effects.accept(new Effect.Listen());
    }
    health.answered(call.script, answer, nowNanos - call.sinceNanos, nowNanos);
    return answer;
  }

  /** The node says that its data is not what was judged; returns why, if this is known by now. */
  private NodeReply abstention(NodeReply answer, long nowNanos) {
    NodeReply known = health.toGrant();
    if (known == null) {
      auditNow(nowNanos);
    }
    return known == null ? answer : known;
  }

  private void auditNow(long nowNanos) {
    audits.hasten(nowNanos);
    ticks.by(nowNanos);
  }

  /** Returns false if this is not the answer to the loading of a script. */
  private boolean loaded(@Nullable Object reply, long nowNanos) {
    if (!(reply instanceof byte[]) && !(reply instanceof JedisDataException)) {
      return false;
    }
    calls.removeOldest();
    if (introduction.loaded()) {
      open(nowNanos);
    } else if (introduction.awaitsQuorum()) {
      quorumByNanos = nowNanos + settings.nodeTimeoutNanos();
    }
    return true;
  }

  /** Returns false if this is not the answer to that audit. */
  private boolean audited(Call audit, @Nullable Object reply, long nowNanos) {
    Audits.Answer answer = audits.answered(audit, reply, nowNanos);
    if (answer == Audits.Answer.FOREIGN) {
      return false;
    }
    calls.removeOldest();
    answered = open;
    boolean isVerdict = answer == Audits.Answer.VERDICT;
    if (open && isVerdict) {
      health.audited(audits.verdict(), nowNanos);
      planAudit(nowNanos);
    } else if (open) {
      health.answered(nowNanos);
    } else if (isVerdict && introduction.audited()) {
      open(nowNanos);
    } else if (reply instanceof JedisDataException error && !isVerdict) {
      abandon.accept(ReplyMapper.connectFailure(error), nowNanos);
    }
    return true;
  }

  private void planAudit(long nowNanos) {
    audits.plan(nowNanos);
    ticks.by(audits.dueNanos());
  }

  // Time.

  /** Looks after what nothing else may look after: silence, audits, the wait for a quorum. */
  void tick(long nowNanos) {
    if (open) {
      judgeSilence(nowNanos);
      if (audits.isStale(ticks.awakeSinceNanos(), nowNanos)) {
        health.unaudited("it was not audited for more than 3s", nowNanos);
      }
    } else if (wire != null && introduction.awaitsQuorum() && nowNanos - quorumByNanos >= 0) {
      open(nowNanos);
    }
    if (silentNanos(nowNanos) >= settings.silenceTimeoutNanos()) {
      abandon.accept(NodeReply.unreachable("no answer for too long"), nowNanos);
    }
  }

  /** Plans the next tick of a connection that there is. */
  void planTick(long nowNanos) {
    long auditNanos = audits.dueOrStaleNanos(nowNanos);
    if (open && calls.isIdle() && auditNanos - nowNanos > 0) {
      ticks.by(auditNanos);
    } else {
      ticks.watch(nowNanos);
    }
  }

  /** Calls the node silent if it has not answered for a node timeout. */
  void judgeSilence(long nowNanos) {
    if (silentNanos(nowNanos) >= settings.nodeTimeoutNanos() && health.silent(silence, nowNanos)) {
      calls.refuseQueued(silence, nowNanos);
      calls.answerLate(NodeReply.unknown(silence.detail()));
    }
  }

  /** Silence counts only while this process was not held up itself. */
  private long silentNanos(long nowNanos) {
    return nowNanos - later(silentSinceNanos(nowNanos), ticks.awakeSinceNanos());
  }

  /**
   * Returns since when the oldest unanswered call waits, or the time of the last answer if later.
   */
  private long silentSinceNanos(long nowNanos) {
    Call oldest = calls.oldest();
    return oldest == null ? nowNanos : later(oldest.sinceNanos, lastReadNanos);
  }

  private static long later(long a, long b) {
    return a - b > 0 ? a : b;
  }
}
