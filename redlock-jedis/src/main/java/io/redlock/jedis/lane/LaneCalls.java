package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.Script;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a lane in order: those that wait to be sent, and those that were sent and not yet
 * answered. Looks go behind other requests, and few names at a time: many callers that look for a
 * free name must not delay the extends of those who hold one. On a lane that is never idle, one
 * look goes after so many requests. A part of the {@link LaneMachine}, and guarded like it.
 */
final class LaneCalls {

  /**
   * The number of names in unanswered looks beyond which looks wait: a request waits less than a
   * millisecond of the node's time for them.
   */
  static final int MOST_NAMES = 1_000;

  /** The number of requests that are sent before a look that waits. */
  static final int REQUESTS_A_LOOK = 32;

  private final long releaseLifeNanos;
  private final Consumer<Runnable> effects;
  final CallQueue queue = new CallQueue();
  final CallQueue looks = new CallQueue(); // sent after the queue
  private final CallQueue ahead = new CallQueue(); // sent before the queue
  private final CallQueue unanswered = new CallQueue();
  private long unansweredBytes;
  private int unansweredNames; // of looks
  private int sentBeforeLook; // requests since the last look, while one waits
  final Set<Script> untold = EnumSet.allOf(Script.class); // by the connection in use

  /**
   * @param releaseLifeNanos the time after which a release that could not be sent is pointless
   * @param effects receives the answers to deliver
   */
  LaneCalls(long releaseLifeNanos, Consumer<Runnable> effects) {
    this.releaseLifeNanos = releaseLifeNanos;
    this.effects = effects;
  }

  int queued() {
    return queue.size() + looks.size();
  }

  int unanswered() {
    return unanswered.size();
  }

  /** Returns the call whose answer comes next; null if none is due. */
  @Nullable Call oldest() {
    return unanswered.first();
  }

  /** Returns true if no call waits to be sent or to be answered. */
  boolean isIdle() {
    return queued() == 0 && ahead.isEmpty() && unanswered.isEmpty();
  }

  /** Returns true if the thread that has just read an answer has something to write. */
  boolean hasMore() {
    return !ahead.isEmpty() || (unanswered.isEmpty() && queued() > 0);
  }

  /** Takes note that a new connection is in use: the first call of each script carries its text. */
  void begin() {
    untold.addAll(EnumSet.allOf(Script.class));
  }

  // Before a call is sent.

  void add(Call call, long nowNanos) {
    call.state = Call.State.QUEUED;
    call.sinceNanos = nowNanos;
    queueOf(call).add(call);
  }

  private CallQueue queueOf(Call call) {
    return call.isLook() ? looks : queue;
  }

  void addAhead(Call call) {
    ahead.add(call);
  }

  /** Withdraws a call. Returns true if it will certainly never be executed. */
  boolean withdraw(Call call) {
    if (call.state != Call.State.QUEUED) {
      return false;
    }
    call.state = Call.State.OVER;
    queueOf(call).remove(call);
    return true;
  }

  void putReleasesFirst() {
    queue.forEach(
        call -> {
          if (!call.isRelease()) {
            queue.remove(call);
            queue.add(call);
          }
        });
  }

  /** Answers the queued calls that are refused by now, and releases that are pointless. */
  void refuseQueued(LaneHealth health, long nowNanos) {
    for (CallQueue calls : List.of(queue, looks)) {
      calls.forEach(
          call -> {
            NodeRequest request = call.invocation().request; // null: the audit before the end
            boolean isPointless =
                call.isRelease() && nowNanos - call.sinceNanos >= releaseLifeNanos;
            NodeReply refusal =
                request == null || isPointless ? health.refusal() : health.refusal(request);
            if (refusal != null) {
              answer(calls, call, refusal);
            }
          });
    }
  }

  /** Answers all queued calls. */
  void refuseAll(NodeReply refusal) {
    answerAll(queue, refusal);
    answerAll(looks, refusal);
  }

  // Sending.

  void sendAhead(List<Call> batch, long nowNanos) {
    for (Call call = ahead.first(); call != null; call = ahead.first()) {
      send(ahead, call, batch, nowNanos);
    }
  }

  /** Sends what waits until so many bytes are unanswered. */
  void sendQueued(List<Call> batch, long mostBytes, long nowNanos) {
    for (Call call = next(); call != null && unansweredBytes < mostBytes; call = next()) {
      send(queueOf(call), call, batch, nowNanos);
      sentBeforeLook = call.isLook() || looks.isEmpty() ? 0 : sentBeforeLook + 1;
    }
  }

  /** Returns the call that goes next; null if none may. */
  private @Nullable Call next() {
    boolean mayLook = !looks.isEmpty() && unansweredNames < MOST_NAMES;
    boolean looksNext = queue.isEmpty() || sentBeforeLook >= REQUESTS_A_LOOK;
    return mayLook && looksNext ? looks.first() : queue.first();
  }

  private void send(CallQueue from, Call call, List<Call> batch, long nowNanos) {
    batch.add(call); // first, because it may run out of memory
    from.remove(call);
    unanswered.add(call);
    call.byText |= untold.remove(call.script());
    unansweredBytes += call.bytes();
    unansweredNames += call.isLook() ? call.invocation().names() : 0;
    call.state = Call.State.SENT;
    call.sinceNanos = nowNanos;
  }

  // After a call was sent.

  /** Removes the oldest unanswered call, which was answered. */
  void removeOldest(Call oldest) {
    unanswered.remove(oldest);
    unansweredBytes -= oldest.bytes();
    unansweredNames -= oldest.isLook() ? oldest.invocation().names() : 0;
  }

  /** Answers the sent requests, except releases; their late answers are still read. */
  void answerLate(NodeReply unknown) {
    unanswered.forEach(
        call -> {
          if (!call.isAudit() && !call.isRelease()) {
            decide(call, unknown);
          }
        });
  }

  /** Answers all calls that were sent, because no more answers are read. */
  void answerSent(NodeReply unknown) {
    answerAll(unanswered, unknown);
    answerAll(ahead, unknown); // sent before, or audits
    unansweredBytes = 0;
    unansweredNames = 0;
  }

  private void answerAll(CallQueue calls, NodeReply reply) {
    calls.forEach(call -> answer(calls, call, reply));
  }

  private void answer(CallQueue from, Call call, NodeReply reply) {
    decide(call, reply);
    from.remove(call);
  }

  /** Answers a call, unless it is answered. */
  void decide(Call call, NodeReply reply) {
    if (call.state != Call.State.OVER) {
      effects.accept(call::deliver); // first, because it may run out of memory
      call.decide(reply);
    }
  }
}
