package io.redlock.jedis.lane;

import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The current connection of a lane. It decides what is written when, what the answers mean, and
 * when the node is silent. A part of the {@link LaneMachine}, and guarded like it.
 *
 * <p>The rules of writing save a lone caller a change of threads, and let many callers share system
 * calls. A caller that finds at most one unanswered call writes at once. Otherwise calls collect,
 * and are sent as one batch after the last answer to the previous batch. If nothing was read or
 * written for 3 ms, the node is slow: then callers and the tick write without waiting for answers.
 * If no round trip took less than 0.5 ms, the node is distant, and a request would wait for half a
 * round trip on average: then they also write a quarter of a round trip after the last batch. One
 * thread writes at a time, and gets the next batch when it has finished. An audit that is due is
 * sent with the next batch, ahead of the requests; the tick makes sure that there is one.
 */
final class LaneConnection {

  /** The number of unanswered calls beyond which requests collect. */
  private static final int BUSY = 1;

  /** The shortest round trip of a distant node, in nanoseconds. */
  private static final long DISTANT_NANOS = TimeUnit.MICROSECONDS.toNanos(500);

  /** The least time between two batches that do not wait for answers, in nanoseconds. */
  private static final long LEAST_PACE_NANOS = TimeUnit.MICROSECONDS.toNanos(250);

  /** The life of a connection after which its end does not count as a failure to connect. */
  private static final long LASTING_NANOS = TimeUnit.SECONDS.toNanos(1);

  /**
   * The calls that one thread writes to a connection, in order. There is one batch for each
   * connection, and it belongs to the thread that got it until it is written.
   */
  static final class Batch {
    final Wire wire;
    final List<Call> calls = new ArrayList<>();
    private volatile boolean isWritten = true; // set by the thread that got it
    private final ScriptCommand reused = new ScriptCommand();
    private List<Argument> guard = ScriptCommand.NO_GUARD;

    private Batch(Wire wire) {
      this.wire = wire;
    }

    /** Returns the command of one of these calls, valid until the next is asked for. */
    CommandArguments command(Call call) {
      return call.command(reused, guard);
    }

    /** Takes note that it was written, before the thread that got it asks for the next. */
    void written() {
      isWritten = true;
    }
  }

  private final LaneSettings settings;
  private final long nodeTimeoutNanos;
  private final NodeClock clock;
  private final LaneHealth health;
  private final LaneCalls calls;
  private final Audits audits;
  private final Wakes wakes;
  private final LaneTicks ticks;
  private final LaneShell shell;
  private final ObjLongConsumer<NodeReply> abandon;
  private final Handshake handshake;
  private final NodeReply silence;

  private @Nullable Batch batch; // of the connection in use; null if there is none
  private boolean open; // carries requests
  private boolean answered; // anything, since it is open
  private long openSinceNanos;
  private boolean mayHasten; // an audit, since the node is silent
  private long silentSinceNanos; // while calls are unanswered; later by the pauses of this process
  private long lastWriteNanos;
  private long leastRoundTripNanos; // of this connection

  /**
   * @param abandon takes the reason why the connection can no longer be used
   */
  LaneConnection(
      LaneSettings settings,
      NodeTrust trust,
      NodeClock clock,
      LaneHealth health,
      LaneCalls calls,
      Audits audits,
      Wakes wakes,
      LaneTicks ticks,
      LaneShell shell,
      ObjLongConsumer<NodeReply> abandon) {
    this.settings = settings;
    this.nodeTimeoutNanos = settings.nodeTimeoutNanos();
    this.clock = clock;
    this.health = health;
    this.calls = calls;
    this.audits = audits;
    this.wakes = wakes;
    this.ticks = ticks;
    this.shell = shell;
    this.abandon = abandon;
    this.handshake = new Handshake(trust, audits, calls, nodeTimeoutNanos);
    this.silence =
        NodeReply.unreachable(
            "silent for more than " + Duration.ofNanos(nodeTimeoutNanos).toMillis() + "ms");
  }

  boolean uses(@Nullable Wire other) {
    return batch != null && batch.wire == other;
  }

  boolean isOpen() {
    return open;
  }

  /** Returns true if the connection has answered anything since its handshake. */
  boolean hasAnswered() {
    return answered;
  }

  /** Returns true if the connection is not one of those that something ends again and again. */
  boolean hasLasted(long nowNanos) {
    return nowNanos - openSinceNanos >= LASTING_NANOS;
  }

  /** Returns true if it carries requests, and the node has answered within a node timeout. */
  boolean isAnswering(long nowNanos) {
    return open && silentNanos(nowNanos) < nodeTimeoutNanos;
  }

  // Begin and end.

  void begin(Wire fresh, long nowNanos) {
    batch = new Batch(fresh);
    answered = false;
    lastWriteNanos = nowNanos;
    leastRoundTripNanos = Long.MAX_VALUE;
    calls.begin();
    handshake.begin();
    ticks.watch(nowNanos);
  }

  /** Opens the connection for requests. Those that wait are sent, releases first. */
  private void open(long nowNanos) {
    open = true;
    openSinceNanos = nowNanos;
    health.connected(audits.verdict(), nowNanos);
    calls.refuseQueued(health, nowNanos);
    planAudit(nowNanos);
    if (!audits.isFavorable()) {
      audits.hasten(nowNanos); // there may be a quorum by now
    }
    calls.putReleasesFirst();
    wakes.open(Objects.requireNonNull(batch).wire, nowNanos);
    shell.add(shell::attempted);
  }

  /** Audits the node again when another one was accepted, for which it may wait. */
  void told(long nowNanos) {
    if (open) {
      auditNow(nowNanos);
    } else if (batch != null) {
      handshake.told();
    }
  }

  void leave() {
    if (batch != null) {
      shell.add(batch.wire::end);
    }
    batch = null;
    open = false;
    audits.left();
  }

  // Writing.

  /**
   * Returns the calls to write now; null if there are none or another thread writes. The thread
   * that gets a batch writes it and then calls {@link Batch#written} or {@link LaneMachine#lost}.
   *
   * @param asReader true for the thread that reads the answers, and has read the last one that was
   *     due; false for a thread that must not block
   */
  @Nullable Batch nextBatch(boolean asReader, long nowNanos) {
    Batch next = batch;
    if (next == null || !next.isWritten) {
      return null;
    }
    next.calls.clear();
    if (calls.unanswered() == 0) {
      silentSinceNanos = nowNanos;
    }
    calls.sendAhead(next.calls, nowNanos);
    if (open) {
      sendWaiting(next, asReader, nowNanos);
    }
    if (next.calls.isEmpty()) {
      return null;
    }
    lastWriteNanos = nowNanos;
    ticks.watch(nowNanos);
    next.guard = audits.guard();
    next.isWritten = false;
    return next;
  }

  private void sendWaiting(Batch next, boolean asReader, long nowNanos) {
    if (!mayWrite(asReader, nowNanos)) {
      planBatch(nowNanos);
      return;
    }
    Call audit = audits.due(nowNanos);
    if (audit != null) {
      calls.addAhead(audit);
      calls.sendAhead(next.calls, nowNanos);
      audits.sent(nowNanos);
    }
    long mostBytes =
        asReader ? LaneSettings.MAX_UNANSWERED_BYTES : LaneSettings.MAX_UNANSWERED_BYTES_OF_OTHERS;
    calls.sendQueued(next.calls, mostBytes, nowNanos);
  }

  private boolean mayWrite(boolean asReader, long nowNanos) {
    if (asReader) {
      return calls.unanswered() == 0;
    }
    long sinceWriteNanos = nowNanos - lastWriteNanos;
    return calls.unanswered() <= BUSY
        || (sinceWriteNanos > LaneSettings.PATIENCE_NANOS
            && silentNanos(nowNanos) > LaneSettings.PATIENCE_NANOS)
        || (isDistant() && sinceWriteNanos >= paceNanos());
  }

  private boolean isDistant() {
    return leastRoundTripNanos >= DISTANT_NANOS;
  }

  private long paceNanos() {
    return Math.max(LEAST_PACE_NANOS, leastRoundTripNanos / 4);
  }

  /** Plans a tick that writes what waits, if the node is distant. */
  private void planBatch(long nowNanos) {
    if (isDistant() && calls.queued() > 0) {
      ticks.by(lastWriteNanos + paceNanos(), nowNanos);
    }
  }

  // Answers.

  /** Takes the next answer. Returns the call whose answer it decided; null if there is none. */
  @Nullable Call received(@Nullable Object reply, long nowNanos) {
    if (reply instanceof List<?> message && wakes.heard(message)) {
      return null;
    }
    silentSinceNanos = nowNanos;
    Call call = calls.oldest();
    if (call == null) {
      outOfStep("an answer that nobody waits for", nowNanos);
      return null;
    }
    leastRoundTripNanos = Math.min(leastRoundTripNanos, nowNanos - call.sinceNanos);
    long awakeNanos = nowNanos - ticks.awakeSinceNanos();
    long tookNanos = Math.min(nowNanos - call.sinceNanos, awakeNanos);
    health.took(tookNanos, nodeTimeoutNanos, nowNanos);
    if (reply instanceof JedisNoScriptException && !call.byText) {
      calls.removeOldest(call);
      if (call.state != Call.State.OVER) {
        call.byText = true;
        calls.addAhead(call);
      }
      return null;
    }
    Call decided = null;
    boolean inStep;
    if (call instanceof Wakes.Subscription) {
      inStep = wakes.answered(reply, nowNanos);
      calls.removeOldest(call);
    } else if (call.isAudit()) {
      inStep = audited(call, reply, nowNanos);
    } else {
      NodeReply answer = answer(reply, call, nowNanos);
      inStep = answer != null;
      if (answer != null) {
        calls.removeOldest(call);
        decided = call.decide(answer) ? call : null;
      }
    }
    if (!inStep) {
      outOfStep("an answer to something else", nowNanos);
    } else if (mayHasten && !audits.isUnderWay()) {
      mayHasten = false; // what still answers late is not asked again and again
      auditNow(nowNanos);
    }
    return decided;
  }

  private void outOfStep(String what, long nowNanos) {
    abandon.accept(NodeReply.unreachable("out of step: " + what), nowNanos);
  }

  /** Returns the meaning of an answer to a request; null if it does not answer this request. */
  private @Nullable NodeReply answer(@Nullable Object reply, Call call, long nowNanos) {
    NodeReply answer =
        reply instanceof JedisDataException error
            ? ReplyMapper.error(error)
            : ReplyMapper.reply(reply, call.invocation());
    if (answer == null) {
      return null;
    }
    answered = true;
    Script script = call.invocation().script;
    if (answer.kind() == NodeReply.Kind.CLOCK && reply instanceof byte[] clockReply) {
      clock.learn(ReplyMapper.nodeMicros(clockReply), call.sinceNanos, nowNanos);
    } else if (answer.kind() == NodeReply.Kind.ABSTAIN) {
      answer = abstention(script, answer, nowNanos);
    } else if (answer.report() != null) {
      NodeReport report = answer.report();
      String doubt = doubt(script, report.doubt(), nowNanos);
      answer = NodeReply.inspected(report.doubted(doubt));
    } else if (answer.look() != null) {
      NodeLook look = answer.look();
      answer = NodeReply.looked(look.doubted(doubt(script, look.doubt(), nowNanos)));
    }
    if (answer.kind() == NodeReply.Kind.HELD || answer.kind() == NodeReply.Kind.WAIT) {
      String client = call.invocation().waitingClient();
      if (client != null) {
        wakes.need(client, nowNanos);
      }
    }
    health.answered(script, answer, nowNanos - call.sinceNanos, nowNanos);
    return health.counting(script, answer);
  }

  /**
   * Returns the answer for a node that reports other data than was audited, with the reason if it
   * is known.
   */
  private NodeReply abstention(Script script, NodeReply answer, long nowNanos) {
    NodeReply known = script.isExtend() ? null : health.toGrant();
    if (known == null) {
      auditNow(nowNanos);
    }
    return known == null ? answer : known;
  }

  /** Returns why the node may have lost a key: it abstains, or has another mark. */
  private String doubt(Script script, String reported, long nowNanos) {
    NodeReply abstains =
        reported.isEmpty()
            ? health.toGrant()
            : abstention(script, NodeReply.abstain(-1, reported), nowNanos);
    return abstains == null ? "" : abstains.detail();
  }

  private void auditNow(long nowNanos) {
    audits.hasten(nowNanos);
    ticks.by(nowNanos, nowNanos);
  }

  /** Takes the answer to that audit. Returns false if this is none. */
  private boolean audited(Call audit, @Nullable Object reply, long nowNanos) {
    Audits.Answer answer = audits.answered(audit, reply, nowNanos);
    if (answer == Audits.Answer.FOREIGN) {
      return false;
    }
    calls.removeOldest(audit);
    answered = open;
    boolean isVerdict = answer == Audits.Answer.VERDICT;
    if (open && isVerdict) {
      health.audited(audits.verdict(), nowNanos);
      calls.refuseQueued(health, nowNanos);
      planAudit(nowNanos);
    } else if (open) {
      health.answered(nowNanos);
    } else if (isVerdict && handshake.audited(nowNanos)) {
      open(nowNanos);
    } else if (reply instanceof JedisDataException error && !isVerdict) {
      abandon.accept(ReplyMapper.connectFailure(error), nowNanos);
    }
    return true;
  }

  private void planAudit(long nowNanos) {
    audits.plan(nowNanos);
    ticks.by(audits.dueNanos(), nowNanos);
  }

  // Time.

  /** Takes note that this process was paused until now, which the node cannot be blamed for. */
  void paused(long nanos, long nowNanos) {
    silentSinceNanos = LaneTicks.later(silentSinceNanos, nanos, nowNanos);
    audits.paused(nanos, nowNanos);
  }

  /** Checks for silence, stale audits and the end of the wait for other nodes. */
  void tick(long nowNanos) {
    if (open) {
      judgeSilence(nowNanos);
      health.tick(nowNanos);
      if (audits.isStale(nowNanos)) {
        health.unaudited("it was not audited for more than 3s", nowNanos);
      }
    } else if (batch != null && handshake.isTired(nowNanos)) {
      open(nowNanos);
    }
    if (silentNanos(nowNanos) >= settings.silenceTimeoutNanos()) {
      abandon.accept(NodeReply.unreachable("no answer for too long"), nowNanos);
    }
  }

  void planTick(long nowNanos) {
    long auditNanos = audits.dueOrStaleNanos(nowNanos);
    boolean isAuditDue = auditNanos - nowNanos <= 0;
    if (open && !isAuditDue) {
      ticks.by(auditNanos, nowNanos);
    }
    if (!open || isAuditDue || !calls.isIdle()) {
      // A process that is too busy to read answers must not become busier by looking for them.
      long silentNanos = silentNanos(nowNanos);
      ticks.by(nowNanos + Math.max(settings.watchNanos(), silentNanos / 4), nowNanos);
      ticks.by(nowNanos + settings.silenceTimeoutNanos() - silentNanos, nowNanos);
    }
  }

  /** Marks the node as silent if it has not answered for a node timeout, nor since a pause. */
  void judgeSilence(long nowNanos) {
    long awakeNanos = nowNanos - ticks.awakeSinceNanos();
    if (Math.min(silentNanos(nowNanos), awakeNanos) >= nodeTimeoutNanos
        && health.silent(silence, nowNanos)) {
      mayHasten = true;
      calls.refuseQueued(health, nowNanos);
      calls.answerLate(NodeReply.unknown(silence.detail()));
    }
  }

  /** Returns for how long calls have been unanswered, without the pauses of this process. */
  private long silentNanos(long nowNanos) {
    return calls.unanswered() == 0 ? 0 : nowNanos - silentSinceNanos;
  }
}
