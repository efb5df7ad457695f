package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.Script;
import io.redlock.spi.NodeReply;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a lane in order: those that wait to be sent, and those that were sent and not yet
 * answered. Looks go behind other requests, and few names at a time: many callers that look for a
 * free name must not delay the extends of those who hold one. On a lane that is never idle, one
 * look goes after so many requests. A part of the {@link LaneMachine}, and guarded like it.
 */
final class LaneCalls {

  /**
   * The largest number of withdrawn calls in the queue; the others are removed when they are
   * reached.
   */
  private static final int MAX_WITHDRAWN = 4_096;

  /**
   * The number of names in unanswered looks beyond which looks wait: a request waits less than a
   * millisecond of the node's time for them.
   */
  static final int MOST_NAMES = 1_000;

  /** The number of requests that are sent before a look that waits. */
  static final int REQUESTS_A_LOOK = 32;

  private final long releaseLifeNanos;
  private final Consumer<Runnable> effects;
  private Queue<Call> queue = new ArrayDeque<>();
  private final Queue<Call> looks = new ArrayDeque<>(); // sent after the queue
  private int queued; // calls in these two that are not over
  private final Queue<Call> ahead = new ArrayDeque<>(); // sent before the queue
  private final Queue<Call> unanswered = new ArrayDeque<>();
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

  /** Returns the number of calls that wait to be sent. */
  int queued() {
    return queued;
  }

  /** Returns the number of calls that were sent and not yet answered. */
  int unanswered() {
    return unanswered.size();
  }

  /** Returns the call whose answer comes next; null if none is due. */
  @Nullable Call oldest() {
    return unanswered.peek();
  }

  /** Returns true if no call waits to be sent or to be answered. */
  boolean isIdle() {
    return queued == 0 && ahead.isEmpty() && unanswered.isEmpty();
  }

  /** Returns true if the thread that has just read an answer has something to write. */
  boolean hasMore() {
    return !ahead.isEmpty() || (unanswered.isEmpty() && queued > 0);
  }

  /** Returns true if the call was answered or will be. */
  boolean knows(@Nullable Call call) {
    return call != null
        && (call.state == Call.State.OVER
            || queue.contains(call)
            || looks.contains(call)
            || unanswered.contains(call));
  }

  /** Takes note that a new connection is in use: the first call of each script carries its text. */
  void begin() {
    untold.addAll(EnumSet.allOf(Script.class));
  }

  // Before a call is sent.

  /** Queues a call. */
  void add(Call call, long nowNanos) {
    call.sinceNanos = nowNanos;
    (call.isLook() ? looks : queue).add(call);
    queued++;
  }

  /** Adds a call that is sent before the queue. */
  void addAhead(Call call) {
    ahead.add(call);
  }

  /** Withdraws a call. Returns true if it will certainly never be executed. */
  boolean withdraw(Call call) {
    if (call.state != Call.State.QUEUED) {
      return false;
    }
    call.state = Call.State.OVER;
    queued--;
    if (queue.size() + looks.size() - queued > MAX_WITHDRAWN) {
      queue.removeIf(each -> each.state == Call.State.OVER);
      looks.removeIf(each -> each.state == Call.State.OVER);
    }
    return true;
  }

  /** Moves the releases to the front of the queue. */
  void putReleasesFirst() {
    queue =
        queue.stream()
            .sorted(Comparator.comparing(call -> !call.isRelease()))
            .collect(Collectors.toCollection(ArrayDeque::new));
  }

  /** Answers the queued calls, except releases that are not yet pointless. */
  void refuseQueued(NodeReply refusal, long nowNanos) {
    queue.removeIf(
        call -> {
          boolean isKept = call.isRelease() && nowNanos - call.sinceNanos < releaseLifeNanos;
          if (!isKept) {
            refuse(call, refusal);
          }
          return !isKept;
        });
    refuseAll(looks, refusal);
  }

  /** Answers all queued calls. */
  void refuseAll(NodeReply refusal) {
    refuseAll(queue, refusal);
    refuseAll(looks, refusal);
  }

  private void refuseAll(Queue<Call> calls, NodeReply refusal) {
    calls.forEach(call -> refuse(call, refusal));
    calls.clear();
  }

  private void refuse(Call call, NodeReply refusal) {
    if (call.state == Call.State.QUEUED) {
      queued--;
      decide(call, refusal);
    }
  }

  // Sending.

  /** Sends the calls that go before the queue. */
  void sendAhead(List<Call> batch, long nowNanos) {
    for (Call call = ahead.peek(); call != null; call = ahead.peek()) {
      send(call, batch, nowNanos);
      ahead.remove();
    }
  }

  /** Sends what waits until so many bytes are unanswered. */
  void sendQueued(List<Call> batch, long mostBytes, long nowNanos) {
    for (Queue<Call> from = next(); from != null && unansweredBytes < mostBytes; from = next()) {
      Call call = from.element();
      if (call.state == Call.State.QUEUED) {
        send(call, batch, nowNanos);
        queued--;
        sentBeforeLook = from == looks || looks.isEmpty() ? 0 : sentBeforeLook + 1;
      }
      from.remove();
    }
  }

  /** Returns the queue whose first call goes next; null if none may. */
  private @Nullable Queue<Call> next() {
    boolean mayLook = !looks.isEmpty() && unansweredNames < MOST_NAMES;
    if (queue.isEmpty()) {
      return mayLook ? looks : null;
    }
    return mayLook && sentBeforeLook >= REQUESTS_A_LOOK ? looks : queue;
  }

  void send(Call call, List<Call> batch, long nowNanos) {
    batch.add(call);
    unanswered.add(call);
    call.byText |= untold.remove(call.script());
    unansweredBytes += call.bytes();
    unansweredNames += call.isLook() ? call.invocation.names() : 0;
    call.state = Call.State.SENT;
    call.sinceNanos = nowNanos;
  }

  // After a call was sent.

  /** Removes the oldest unanswered call, which was answered. */
  void removeOldest() {
    Call oldest = unanswered.remove();
    unansweredBytes -= oldest.bytes();
    unansweredNames -= oldest.isLook() ? oldest.invocation.names() : 0;
  }

  /** Answers the sent requests, except releases; their late answers are still read. */
  void answerLate(NodeReply unknown) {
    for (Call call : unanswered) {
      if (!call.isAudit() && !call.isRelease()) {
        decide(call, unknown);
      }
    }
  }

  /** Answers all calls that were sent, because no more answers are read. */
  void answerSent(NodeReply unknown) {
    unanswered.addAll(ahead); // sent before, or commands of the lane itself
    ahead.clear();
    for (Call call = unanswered.peek(); call != null; call = unanswered.peek()) {
      decide(call, unknown);
      unanswered.remove();
    }
    unansweredBytes = 0;
    unansweredNames = 0;
  }

  private void decide(Call call, NodeReply reply) {
    if (call.state != Call.State.OVER) {
      effects.accept(call::deliver); // first, because it may run out of memory
      call.decide(reply);
    }
  }
}
