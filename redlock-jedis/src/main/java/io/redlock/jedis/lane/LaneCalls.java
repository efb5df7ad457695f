package io.redlock.jedis.lane;

import io.redlock.spi.NodeReply;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.List;
import java.util.Queue;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The calls of a lane in their order: those that wait to be sent, and those that were sent and have
 * no answer. A part of the {@link LaneMachine}, and guarded like it.
 */
final class LaneCalls {

  /** Withdrawn calls stay in the queue until they are met, but no more than so many. */
  private static final int MAX_WITHDRAWN = 4_096;

  private final long releaseLifeNanos;
  private final Consumer<Effect> effects;
  private Queue<Call> queue = new ArrayDeque<>();
  private int queued; // calls in the queue that are not over
  private final Queue<Call> ahead = new ArrayDeque<>(); // sent before the queue
  private final Queue<Call> unanswered = new ArrayDeque<>();
  private long unansweredBytes;

  /**
   * @param releaseLifeNanos the time after which a release that could not be sent is pointless
   * @param effects takes the answers to deliver
   */
  LaneCalls(long releaseLifeNanos, Consumer<Effect> effects) {
    this.releaseLifeNanos = releaseLifeNanos;
    this.effects = effects;
  }

  /** Returns how many calls wait in the queue. */
  int queued() {
    return queued;
  }

  /** Returns how many calls were sent and have no answer. */
  int unanswered() {
    return unanswered.size();
  }

  /** Returns the call whose answer comes next; null if none is due. */
  @Nullable Call oldest() {
    return unanswered.peek();
  }

  /** Returns true if nothing waits to be sent or to be answered. */
  boolean isIdle() {
    return queued == 0 && ahead.isEmpty() && unanswered.isEmpty();
  }

  /** Returns true if the thread that has just read an answer has something to write. */
  boolean hasMore() {
    return !ahead.isEmpty() || (unanswered.isEmpty() && queued > 0);
  }

  /** Returns true if the call will be answered, or is. */
  boolean knows(@Nullable Call call) {
    return call != null
        && (call.state == Call.State.OVER || queue.contains(call) || unanswered.contains(call));
  }

  // Before a call is sent.

  /** Queues a call. */
  void add(Call call, long nowNanos) {
    call.sinceNanos = nowNanos;
    queue.add(call);
    queued++;
  }

  /** Adds a call that goes out before the queue. */
  void addAhead(Call call) {
    ahead.add(call);
  }

  /** Takes a call back. Returns true if it will certainly never be executed. */
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

  /** Moves the releases in the queue before everything else. */
  void putReleasesFirst() {
    queue =
        queue.stream()
            .sorted(Comparator.comparing(call -> !call.isRelease()))
            .collect(Collectors.toCollection(ArrayDeque::new));
  }

  /** Answers what is queued, all but the releases that can still be of use. */
  void refuseQueued(NodeReply refusal, long nowNanos) {
    queue.removeIf(
        call -> {
          boolean isKept = call.isRelease() && nowNanos - call.sinceNanos < releaseLifeNanos;
          if (!isKept) {
            refuse(call, refusal);
          }
          return !isKept;
        });
  }

  /** Answers what is queued. */
  void refuseAll(NodeReply refusal) {
    queue.forEach(call -> refuse(call, refusal));
    queue.clear();
  }

  private void refuse(Call call, NodeReply refusal) {
    if (call.state == Call.State.QUEUED) {
      queued--;
      decide(call, refusal);
    }
  }

  // Sending.

  /** Sends what goes out before the queue. */
  void sendAhead(List<Call> batch, long nowNanos) {
    for (Call call = ahead.peek(); call != null; call = ahead.peek()) {
      send(call, batch, nowNanos);
      ahead.remove();
    }
  }

  /** Sends from the queue until so many bytes are unanswered. */
  void sendQueued(List<Call> batch, long mostBytes, long nowNanos) {
    for (Call call = queue.peek();
        call != null && unansweredBytes < mostBytes;
        call = queue.peek()) {
      if (call.state == Call.State.QUEUED) {
        send(call, batch, nowNanos);
        queued--;
      }
      queue.remove();
    }
  }

  void send(Call call, List<Call> batch, long nowNanos) {
    batch.add(call);
    unanswered.add(call);
    unansweredBytes += call.bytes();
    call.state = Call.State.SENT;
    call.sinceNanos = nowNanos;
  }

  // After a call was sent.

  /** The oldest call without an answer was answered. */
  void removeOldest() {
    unansweredBytes -= unanswered.remove().bytes();
  }

  /** Answers requests whose answers are late, but for releases; late answers are still read. */
  void answerLate(NodeReply unknown) {
    for (Call call : unanswered) {
      if (call.purpose == Call.Purpose.REQUEST && !call.isRelease()) {
        decide(call, unknown);
      }
    }
  }

  /** Answers everything that was sent: no answer is read any more. */
  void answerSent(NodeReply unknown) {
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
      effects.accept(new Effect.Answer(call)); // before: memory may be short
      call.decide(reply);
    }
  }
}
