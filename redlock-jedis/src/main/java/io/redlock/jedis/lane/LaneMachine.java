package io.redlock.jedis.lane;

import io.redlock.NodeStatus;
import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Renewal;
import io.redlock.jedis.trust.NodeTrust;
import io.redlock.jedis.trust.Verdict;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * All decisions of a lane: what is written when, what is refused, when the node is silent or lost,
 * when it is audited, what an answer means. Events in, effects out: it knows no thread and no
 * socket, and time is handed in. {@link NodeLane} is the shell around it. Not thread-safe.
 *
 * <p>A connection is introduced before it carries requests: the node is audited, gets its birth
 * mark if one is due, and loads the scripts. Then pending releases go out first, and everything
 * else in the order in which it was given.
 *
 * <p>Writing has rules, so that a lone caller pays for no change of threads and many callers share
 * system calls. Whoever finds at most one call unanswered writes at once; otherwise calls collect,
 * and go out as one batch with the last answer to the batch before. If nothing was read or written
 * for 3 ms, the node is slow: then callers, and the tick, write past what is unanswered. One thread
 * writes at a time; the next batch is handed to it when it comes back.
 *
 * <p>Audits stand in no queue. One is due a second after the last was sent, and goes out with the
 * next batch, ahead of the requests; the tick sees to it that there is one. So nothing that befalls
 * requests can end them.
 */
final class LaneMachine {

  /** Scripts that are loaded on each connection, so that no request needs a second try. */
  static final List<Script> LOADED =
      List.of(Script.GRANT, Script.FAIR_GRANT, Script.EXTEND, Script.RELEASE);

  /** With more unanswered calls than this, requests collect. */
  private static final int BUSY = 1;

  /** Clients that write the same birth mark at the same time need no more tries than this. */
  private static final int MAX_RENEWALS = 4;

  /** A node that was not audited for so long does not vote. */
  private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(3);

  private static final long FIRST_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long LONGEST_BACKOFF_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** Withdrawn calls stay in the queue until they are met, but no more than so many. */
  private static final int MAX_WITHDRAWN = 4_096;

  private enum Phase {
    NEW,
    DIALING,
    AUDITING,
    LOADING,
    AWAITING_QUORUM,
    AUDITING_AGAIN,
    OPEN,
    PAUSING,
    CLOSED
  }

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
  private final NodeTrust trust;
  private final NodeClock clock;
  private final Ticker ticker; // for the judgement of audits only
  private final RandomGenerator random;
  private final LaneHealth health;
  private final LockNode.Observer pastLost;
  private final NodeReply silence;

  private Phase phase = Phase.NEW;
  private List<Effect> effects = new ArrayList<>(4);

  private Queue<Call> queue = new ArrayDeque<>();
  private int queued; // calls in the queue that are not over
  private final Queue<Call> ahead = new ArrayDeque<>(); // sent before the queue
  private final Queue<Call> unanswered = new ArrayDeque<>();
  private long unansweredBytes;

  private @Nullable Wire wire;
  private boolean writing;
  private boolean answered; // anything, since the connection was introduced
  private Argument birth = Argument.EMPTY;
  private long lastReadNanos;
  private long lastWriteNanos;

  private boolean early; // no quorum of nodes was known when the connection was made
  private Verdict verdict = Verdict.refused("not audited");
  private int renewals;
  private int loads;
  private long quorumByNanos;

  private long audits;
  private boolean auditing;
  private @Nullable Renewal renewal; // due with the next audit
  private long auditDueNanos;
  private long auditSentNanos; // the last one that succeeded
  private long auditedNanos; // the last time at which an audit succeeded

  private int failures;
  private long connectByNanos; // requests wait no longer for a connection
  private boolean connectOverdue;
  private long dialNanos;

  private boolean ticks; // a tick is planned
  private long tickNanos;
  private boolean replanned;
  private long awakeSinceNanos; // this process was not held up since then
  private boolean closing;
  private long closeByNanos;

  LaneMachine(
      String node,
      LaneSettings settings,
      NodeTrust trust,
      NodeClock clock,
      Ticker ticker,
      RandomGenerator random,
      LockNode.Observer observer,
      long nowNanos) {
    this.settings = settings;
    this.trust = trust;
    this.clock = clock;
    this.ticker = ticker;
    this.random = random;
    this.health = new LaneHealth(node, observer, effect -> effects.add(effect), nowNanos);
    this.pastLost = new PastLost(observer);
    this.silence =
        NodeReply.unreachable(
            "silent for more than "
                + Duration.ofNanos(settings.nodeTimeoutNanos()).toMillis()
                + "ms");
    this.awakeSinceNanos = nowNanos;
  }

  /** Takes the report of a judgement, for the observer to get it once the step is over. */
  private final class PastLost implements LockNode.Observer {
    private final LockNode.Observer observer;

    PastLost(LockNode.Observer observer) {
      this.observer = observer;
    }

    @Override
    public void onStateChange(NodeStatus status) {
      throw new IllegalStateException("the state is not judged there");
    }

    @Override
    public void onPastLost(String reason) {
      effects.add(new Effect.Report(() -> observer.onPastLost(reason)));
    }
  }

  // What the shell asks.

  /** Takes what has to be done because of the events since the last time. */
  List<Effect> takeEffects() {
    if (effects.isEmpty()) {
      return List.of();
    }
    List<Effect> taken = effects;
    effects = new ArrayList<>(4);
    return taken;
  }

  /** Whether the next tick is at another time than the one that was {@link #planned}. */
  boolean isReplanned() {
    return replanned;
  }

  /** The next tick will come at its time. */
  void planned() {
    replanned = false;
  }

  /** The time of the next tick. */
  long tickNanos() {
    return tickNanos;
  }

  NodeStatus status(long nowNanos) {
    return health.status(nowNanos, queued);
  }

  /** Whether nothing waits to be sent or to be answered. */
  boolean isIdle() {
    return queued == 0 && ahead.isEmpty() && unanswered.isEmpty();
  }

  /** Whether the thread that has just read an answer has something to write. */
  boolean hasMore() {
    return !ahead.isEmpty() || (unanswered.isEmpty() && queued > 0);
  }

  /** Whether the call will be answered, or is. */
  boolean knows(@Nullable Call call) {
    return call != null
        && (call.state == Call.State.OVER || queue.contains(call) || unanswered.contains(call));
  }

  // Requests.

  /** Returns the answer to a request that is not taken; null if it is to be {@link #enqueue}d. */
  @Nullable NodeReply refusal(NodeRequest request, long nowNanos) {
    if (phase == Phase.NEW || phase == Phase.CLOSED || closing) {
      return NodeReply.unreachable(phase == Phase.NEW ? "not started" : "closed");
    }
    // A caller that comes just after another has waited in vain must not wait as long. If the tick
    // is late, this process was held up itself, and what has arrived meanwhile is read first.
    if (ticks && nowNanos - tickNanos <= settings.watchNanos()) {
      judgeSilence(nowNanos);
    }
    NodeReply refusal = health.refusal(request);
    boolean full = queued >= LaneSettings.MAX_QUEUED && !(request instanceof NodeRequest.Release);
    return refusal == null && full
        ? NodeReply.unreachable(
            "lane busy: " + LaneSettings.MAX_QUEUED + " requests are waiting to be sent")
        : refusal;
  }

  /** Queues a call. */
  void enqueue(Call call, long nowNanos) {
    call.sinceNanos = nowNanos;
    queue.add(call);
    queued++;
    tickBy(nowNanos + settings.watchNanos());
  }

  /** Takes a call back. True if it will certainly never be executed. */
  boolean withdraw(Call call) {
    if (call.state != Call.State.QUEUED) {
      return false;
    }
    call.state = Call.State.OVER;
    queued--;
    if (queue.size() - queued > MAX_WITHDRAWN) {
      queue.removeIf(each -> each.state == Call.State.OVER);
    }
    return true;
  }

  /**
   * Returns the calls to write now; null if there are none, or somebody else writes. Whoever gets a
   * batch writes it and then says so, by {@link #written} or {@link #writeFailed}.
   */
  @Nullable Batch nextBatch(Writer writer, long nowNanos) {
    Wire target = wire;
    if (target == null || writing) {
      return null;
    }
    List<Call> calls = null;
    if (!ahead.isEmpty()) {
      calls = new ArrayList<>(ahead.size());
      for (Call call = ahead.peek(); call != null; call = ahead.peek()) {
        calls.add(call);
        send(call, nowNanos);
        ahead.remove();
      }
    }
    if (phase == Phase.OPEN && mayWrite(writer, nowNanos)) {
      if (!auditing && nowNanos - auditDueNanos >= 0) {
        calls = calls == null ? new ArrayList<>(4) : calls;
        Call audit = audit(renewal);
        calls.add(audit);
        send(audit, nowNanos);
        auditing = true;
        renewal = null;
        auditDueNanos = nowNanos + settings.pingNanos();
      }
      long mostBytes =
          writer == Writer.READER
              ? LaneSettings.MAX_UNANSWERED_BYTES
              : LaneSettings.MAX_UNANSWERED_BYTES_OF_OTHERS;
      for (Call call = queue.peek();
          call != null && unansweredBytes < mostBytes;
          call = queue.peek()) {
        if (call.state == Call.State.QUEUED) {
          calls = calls == null ? new ArrayList<>(4) : calls;
          calls.add(call);
          send(call, nowNanos);
          queued--;
        }
        queue.remove();
      }
    }
    if (calls == null) {
      return null;
    }
    writing = true;
    lastWriteNanos = nowNanos;
    tickBy(nowNanos + settings.watchNanos());
    return new Batch(target, calls, birth);
  }

  private boolean mayWrite(Writer writer, long nowNanos) {
    return writer == Writer.READER
        ? unanswered.isEmpty()
        : unanswered.size() <= BUSY
            || (nowNanos - lastWriteNanos > LaneSettings.PATIENCE_NANOS
                && nowNanos - silentSinceNanos(nowNanos) > LaneSettings.PATIENCE_NANOS);
  }

  private void send(Call call, long nowNanos) {
    unanswered.add(call);
    unansweredBytes += call.bytes();
    call.state = Call.State.SENT;
    call.sinceNanos = nowNanos;
  }

  /** A batch was written. */
  void written(Wire to) {
    if (to == wire) {
      writing = false;
    }
  }

  /** A batch could not be written, or only in part. */
  void writeFailed(Wire to, Throwable why, long nowNanos) {
    if (to == wire) {
      lose(ReplyMapper.lost(why), nowNanos);
    }
  }

  // The connection.

  /** Begins to work. */
  void start(long nowNanos) {
    dial();
    waitForConnection(nowNanos);
  }

  private void dial() {
    phase = Phase.DIALING;
    effects.add(new Effect.Dial());
  }

  private void waitForConnection(long nowNanos) {
    connectOverdue = false;
    connectByNanos = nowNanos + settings.nodeTimeoutNanos();
    tickBy(connectByNanos);
  }

  /** There is a connection: introduces it, unless it comes too late. */
  void connected(Wire fresh, long nowNanos) {
    if (phase != Phase.DIALING) {
      effects.add(new Effect.End(fresh, false));
      return;
    }
    wire = fresh;
    writing = false;
    answered = false;
    lastReadNanos = nowNanos;
    lastWriteNanos = nowNanos;
    early = !trust.hasQuorum();
    phase = Phase.AUDITING;
    introduce(null, 0);
    tickBy(nowNanos + settings.watchNanos());
  }

  private void introduce(@Nullable Renewal due, int renewed) {
    renewals = renewed;
    Call audit = audit(due);
    audit.byText = true;
    ahead.add(audit);
  }

  private Call audit(@Nullable Renewal due) {
    return Call.audit(AuditCall.invocation(audits++, due));
  }

  /** No connection could be made. */
  void failed(Throwable why, long nowNanos) {
    if (phase == Phase.DIALING) {
      unreachable(ReplyMapper.connectFailure(why), nowNanos);
    }
  }

  private void unreachable(NodeReply refusal, long nowNanos) {
    trust.left();
    health.down(refusal, nowNanos);
    refuseQueued(refusal, nowNanos);
    effects.add(new Effect.FirstAttempt());
    failures++;
    pause(nowNanos);
  }

  private void pause(long nowNanos) {
    if (closing) {
      end(nowNanos);
      return;
    }
    phase = Phase.PAUSING;
    long mostNanos = Math.min(LONGEST_BACKOFF_NANOS, FIRST_BACKOFF_NANOS << Math.min(failures, 10));
    dialNanos = nowNanos + random.nextLong(mostNanos / 2, mostNanos);
    tickBy(dialNanos);
  }

  /** The connection is introduced: it carries what has waited for it, releases first. */
  private void open(long nowNanos) {
    phase = Phase.OPEN;
    heed(verdict);
    health.connected(verdict, nowNanos);
    auditing = false;
    planAudit(auditSentNanos, nowNanos);
    if (health.state() != NodeStatus.State.UP) {
      auditDueNanos = nowNanos; // there may be a quorum since
    }
    Queue<Call> ordered = new ArrayDeque<>(queue.size() + 1);
    queue.stream().filter(Call::isRelease).forEach(ordered::add);
    queue.stream().filter(call -> !call.isRelease()).forEach(ordered::add);
    queue = ordered;
    effects.add(new Effect.FirstAttempt());
    tickBy(nowNanos + settings.watchNanos());
  }

  /** A quorum of nodes is known from now on: nodes that abstained for lack of one may vote. */
  void quorum(long nowNanos) {
    if (phase == Phase.AWAITING_QUORUM) {
      phase = Phase.AUDITING_AGAIN;
      introduce(null, 0);
    } else {
      auditNow(nowNanos);
    }
  }

  /** The connection has ended. */
  void lost(@Nullable Wire from, Throwable why, long nowNanos) {
    if (from != wire || from == null) {
      return;
    }
    if (phase == Phase.OPEN) {
      lose(ReplyMapper.lost(why), nowNanos);
    } else {
      giveUp(ReplyMapper.connectFailure(why), nowNanos);
    }
  }

  private void giveUp(NodeReply refusal, long nowNanos) {
    leave(false);
    answerUnanswered(NodeReply.unknown(refusal.detail()));
    unreachable(refusal, nowNanos);
  }

  private void lose(String why, long nowNanos) {
    if (phase != Phase.OPEN) {
      giveUp(NodeReply.unreachable(why), nowNanos);
      return;
    }
    leave(false);
    health.lost(why, nowNanos);
    waitForConnection(nowNanos);
    answerUnanswered(NodeReply.unknown(why));
    if (closing) {
      end(nowNanos);
    } else if (answered) {
      failures = 0;
      dial();
    } else {
      failures++;
      pause(nowNanos);
    }
  }

  private void leave(boolean isWhole) {
    Wire old = wire;
    if (old != null) {
      effects.add(new Effect.End(old, isWhole));
    }
    wire = null;
    writing = false;
    auditing = false;
    renewal = null;
    trust.left();
  }

  private void answerUnanswered(NodeReply unknown) {
    unanswered.addAll(ahead); // were sent before, or are the lane's own
    ahead.clear();
    for (Call call = unanswered.peek(); call != null; call = unanswered.peek()) {
      decide(call, unknown);
      unanswered.remove();
    }
    unansweredBytes = 0;
  }

  private void decide(Call call, NodeReply reply) {
    if (call.state != Call.State.OVER) {
      effects.add(new Effect.Answer(call)); // before: memory may be short
      call.decide(reply);
    }
  }

  /** Answers what is queued, all but the releases that can still be of use. */
  private void refuseQueued(NodeReply refusal, long nowNanos) {
    queue.removeIf(
        call -> {
          boolean isKept =
              phase != Phase.CLOSED
                  && call.isRelease()
                  && call.state == Call.State.QUEUED
                  && nowNanos - call.sinceNanos < settings.releaseLifeNanos();
          if (!isKept && call.state == Call.State.QUEUED) {
            queued--;
            decide(call, refusal);
          }
          return !isKept;
        });
  }

  // Answers.

  /**
   * Takes the next answer that was read.
   *
   * @return the call whose answer is to be {@link Call#deliver delivered}; null if there is none
   */
  @Nullable Call received(@Nullable Wire from, @Nullable Object reply, long nowNanos) {
    if (from != wire || from == null) {
      return null; // the connection was given up
    }
    lastReadNanos = nowNanos;
    Call call = unanswered.peek();
    if (call == null) {
      lose("out of step: an answer that nobody waits for", nowNanos);
      return null;
    }
    if (reply instanceof JedisNoScriptException && !call.byText) {
      removeOldest();
      if (call.state != Call.State.OVER) {
        call.byText = true;
        ahead.add(call);
      }
      return null;
    }
    Call decided = null;
    boolean inStep =
        switch (call.purpose) {
          case REQUEST -> {
            NodeReply answer = answer(reply, call, nowNanos);
            if (answer != null) {
              removeOldest();
              decided = call.decide(answer) ? call : null;
            }
            yield answer != null;
          }
          case AUDIT -> audited(call, reply, nowNanos);
          case LOAD_SCRIPT -> loaded(reply, nowNanos);
        };
    if (!inStep) {
      lose("out of step: an answer to something else", nowNanos);
    } else if (closing && phase == Phase.OPEN && isIdle()) {
      end(nowNanos);
    }
    return decided;
  }

  private void removeOldest() {
    Call call = unanswered.remove();
    unansweredBytes = unanswered.isEmpty() ? 0 : unansweredBytes - call.bytes();
  }

  /** The meaning of an answer to a request; null if it is none. */
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
      effects.add(new Effect.Listen());
    }
    health.answered(call.script, answer, nowNanos - call.sinceNanos, nowNanos);
    return answer;
  }

  /** The node says that its data is not what was judged; why, if this is known by now. */
  private NodeReply abstention(NodeReply answer, long nowNanos) {
    NodeReply known = health.toGrant();
    if (known == null) {
      auditNow(nowNanos);
    }
    return known == null ? answer : known;
  }

  private void auditNow(long nowNanos) {
    if (phase == Phase.OPEN) {
      auditDueNanos = nowNanos;
      tickBy(nowNanos);
    }
  }

  /** False if this is not the answer to the loading of a script. */
  private boolean loaded(@Nullable Object reply, long nowNanos) {
    if (!(reply instanceof byte[]) && !(reply instanceof JedisDataException)) {
      return false;
    }
    removeOldest();
    loads--;
    if (loads == 0 && phase == Phase.LOADING) {
      if (!early) {
        open(nowNanos);
      } else if (trust.hasQuorum()) {
        phase = Phase.AUDITING_AGAIN;
        introduce(null, 0);
      } else {
        // Lanes that start together wait for each other a moment: none votes before a quorum of
        // nodes has been audited.
        phase = Phase.AWAITING_QUORUM;
        quorumByNanos = nowNanos + settings.nodeTimeoutNanos();
        tickBy(quorumByNanos);
      }
    }
    return true;
  }

  /** False if this is not the answer to that audit. */
  private boolean audited(Call audit, @Nullable Object reply, long nowNanos) {
    Verdict made;
    if (reply instanceof JedisDataException error) {
      removeOldest();
      made = hindered(error);
      if (made == null && phase != Phase.OPEN) {
        giveUp(ReplyMapper.connectFailure(error), nowNanos);
        return true;
      }
    } else {
      NodeAudit told = AuditCall.parse(reply, audit.invocation());
      if (told == null) {
        return false;
      }
      removeOldest();
      clock.learn(told.nodeMicros(), audit.sinceNanos, nowNanos);
      made = trust.judge(told, audit.sinceNanos, nowNanos, ticker, pastLost);
    }
    if (made != null) {
      verdict = made;
      auditSentNanos = audit.sinceNanos;
      auditedNanos = nowNanos;
    }
    if (phase != Phase.OPEN) {
      introduced(nowNanos);
      return true;
    }
    auditing = false;
    answered = true;
    if (made == null) {
      health.answered(nowNanos);
    } else {
      heed(made);
      health.audited(made, nowNanos);
      planAudit(auditSentNanos, nowNanos);
    }
    return true;
  }

  /** An audit of a connection that carries nothing else yet was answered. */
  private void introduced(long nowNanos) {
    if (verdict.renewal() != null && renewals < MAX_RENEWALS) {
      introduce(verdict.renewal(), renewals + 1);
    } else if (phase == Phase.AUDITING) {
      phase = Phase.LOADING;
      loads = LOADED.size();
      LOADED.forEach(script -> ahead.add(Call.loading(script)));
    } else {
      open(nowNanos);
    }
  }

  /** The verdict that an error instead of an audit means; null if the error passes by itself. */
  private static @Nullable Verdict hindered(JedisDataException error) {
    NodeReply reply = ReplyMapper.error(error);
    return switch (reply.kind()) {
      case MISCONFIGURED, DENIED -> Verdict.refused(reply.detail());
      case OUT_OF_MEMORY ->
          Verdict.abstains(-1, "its birth mark cannot be written: " + reply.detail(), null);
      default -> null;
    };
  }

  private void heed(Verdict made) {
    birth = Argument.of(made.birth());
  }

  /** The next audit is due a second after the last, or as soon as there is a reason. */
  private void planAudit(long sentNanos, long nowNanos) {
    auditDueNanos = sentNanos + settings.pingNanos();
    long remainingNanos = TimeUnit.MILLISECONDS.toNanos(verdict.remainingMillis());
    if (verdict.renewal() != null) {
      renewal = verdict.renewal();
      auditDueNanos = nowNanos;
    } else if (verdict.stand() == Verdict.Stand.ABSTAINS
        && remainingNanos >= 0
        && remainingNanos < settings.pingNanos()) {
      auditDueNanos = nowNanos + remainingNanos;
    }
    tickBy(auditDueNanos);
  }

  // Time.

  /** Looks after everything that nothing else may look after: silence, audits, pauses. */
  void tick(long nowNanos) {
    if (ticks && nowNanos - tickNanos > settings.watchNanos()) {
      awakeSinceNanos = nowNanos;
    }
    ticks = false;
    if (closing && phase != Phase.CLOSED && nowNanos - closeByNanos >= 0) {
      end(nowNanos);
    }
    switch (phase) {
      case PAUSING -> {
        if (nowNanos - dialNanos >= 0) {
          dial();
        }
      }
      case AWAITING_QUORUM -> {
        if (nowNanos - quorumByNanos >= 0) {
          open(nowNanos);
        }
      }
      case OPEN -> {
        judgeSilence(nowNanos);
        judgeAudits(nowNanos);
      }
      default -> {}
    }
    abandonIfHopeless(nowNanos);
    waitNoLonger(nowNanos);
    planTick(nowNanos);
  }

  private void planTick(long nowNanos) {
    switch (phase) {
      case NEW, CLOSED -> {
        return;
      }
      case DIALING -> {}
      case PAUSING -> tickBy(dialNanos);
      case OPEN -> tickBy(isIdle() ? nextAuditNanos(nowNanos) : nowNanos + settings.watchNanos());
      default -> tickBy(nowNanos + settings.watchNanos());
    }
    if (!connectOverdue && phase != Phase.OPEN) {
      tickBy(connectByNanos);
    }
    if (closing) {
      tickBy(closeByNanos);
    }
  }

  /** The next audit is due, or the last that succeeded has become too old. */
  private long nextAuditNanos(long nowNanos) {
    long staleNanos = auditedNanos + FRESH_NANOS + 1;
    if (health.toGrant() == null && staleNanos - nowNanos > 0 && auditDueNanos - staleNanos > 0) {
      return staleNanos;
    }
    return auditDueNanos - nowNanos > 0 ? auditDueNanos : nowNanos + settings.watchNanos();
  }

  private void tickBy(long nanos) {
    if (!ticks || nanos - tickNanos < 0) {
      ticks = true;
      tickNanos = nanos;
      replanned = true;
    }
  }

  /** The time since which the oldest unanswered call waits, or of the last answer if later. */
  private long silentSinceNanos(long nowNanos) {
    Call oldest = unanswered.peek();
    return oldest == null ? nowNanos : later(oldest.sinceNanos, lastReadNanos);
  }

  private static long later(long a, long b) {
    return a - b > 0 ? a : b;
  }

  /** Silence counts only while this process was not held up itself. */
  private long silentNanos(long nowNanos) {
    return nowNanos - later(silentSinceNanos(nowNanos), awakeSinceNanos);
  }

  private void judgeSilence(long nowNanos) {
    if (phase == Phase.OPEN
        && silentNanos(nowNanos) >= settings.nodeTimeoutNanos()
        && health.silent(silence, nowNanos)) {
      refuseQueued(silence, nowNanos);
      NodeReply unknown = NodeReply.unknown(silence.detail());
      for (Call call : unanswered) {
        if (call.purpose == Call.Purpose.REQUEST && !call.isRelease()) {
          decide(call, unknown); // its answer is still read, to keep in step
        }
      }
    }
  }

  private void judgeAudits(long nowNanos) {
    if (nowNanos - later(auditedNanos, awakeSinceNanos) > FRESH_NANOS) {
      health.unaudited("it was not audited for more than 3s", nowNanos);
    }
  }

  private void abandonIfHopeless(long nowNanos) {
    if (wire != null && silentNanos(nowNanos) >= settings.laneTimeoutNanos()) {
      lose("no answer for too long", nowNanos);
    }
  }

  private void waitNoLonger(long nowNanos) {
    if (phase != Phase.OPEN
        && phase != Phase.CLOSED
        && !connectOverdue
        && nowNanos - connectByNanos >= 0) {
      connectOverdue = true;
      if (health.refusal() == null) {
        refuseQueued(health.connectingTooLong(nowNanos), nowNanos);
      }
    }
  }

  // The end.

  /**
   * Takes no more requests. What was given before is written and answered, for a node timeout at
   * most; an audit goes last, so that the thread that reads sees the end.
   */
  void close(long nowNanos) {
    if (closing || phase == Phase.CLOSED) {
      return;
    }
    closing = true;
    closeByNanos = nowNanos + settings.nodeTimeoutNanos();
    tickBy(closeByNanos);
    if (phase == Phase.OPEN) {
      Call farewell = audit(null);
      queue.add(farewell);
      queued++;
    } else if (queued == 0 || phase == Phase.NEW || phase == Phase.PAUSING) {
      end(nowNanos);
    }
  }

  /** Closes at once: what is in flight is unknown. */
  void end(long nowNanos) {
    if (phase == Phase.CLOSED) {
      return;
    }
    boolean isWhole = isIdle() && phase == Phase.OPEN && !writing;
    phase = Phase.CLOSED;
    leave(isWhole);
    health.closed(nowNanos);
    answerUnanswered(NodeReply.unknown("closed before the answer came"));
    refuseQueued(NodeReply.unreachable("closed"), nowNanos);
    effects.add(new Effect.FirstAttempt());
    effects.add(new Effect.Closed());
  }

  /**
   * A step failed by a defect, or for lack of memory: whatever was in flight is unknown, and a new
   * connection starts from the beginning.
   */
  void fail(Throwable why, long nowNanos) {
    if (phase != Phase.NEW && phase != Phase.CLOSED) {
      giveUp(NodeReply.unreachable("the lane failed: " + why), nowNanos);
    }
  }
}
