package io.redlock.driver;

import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A question that changes no lease: the same request to every node, and what each has answered
 * within a node timeout. An operator wants to know about each node; a call that looks for a free
 * name waits only until enough have answered. No lock is held while nodes are called.
 */
final class Poll extends Agenda.Item implements LockNode.ReplyHandler {

  /** A node's answer, null if there was none in time, and how long it was awaited. */
  record Answer(String node, @Nullable NodeReply reply, Duration took) {}

  private final ServiceContext context;
  private final Predicate<List<@Nullable NodeReply>> isEnough;
  private final long startNanos;
  private final CompletableFuture<List<Answer>> result = new CompletableFuture<>();
  private final @Nullable Pending[] pending; // guarded by this
  private final @Nullable Answer[] answers; // guarded by this

  private Poll(ServiceContext context, Predicate<List<@Nullable NodeReply>> isEnough) {
    super(context.agenda);
    this.context = context;
    this.isEnough = isEnough;
    this.startNanos = context.ticker.monotonicNanos();
    this.pending = new Pending[context.nodes.size()];
    this.answers = new Answer[pending.length];
  }

  /**
   * Asks every node until their answers are enough; returns the future answers, in their order.
   *
   * @param isEnough gets each node's answer, null for none yet, under a lock
   */
  static CompletableFuture<List<Answer>> ask(
      ServiceContext context, NodeRequest request, Predicate<List<@Nullable NodeReply>> isEnough) {
    Poll poll = new Poll(context, isEnough);
    poll.enter();
    poll.drain();
    for (int node = 0; node < poll.pending.length && !poll.result.isDone(); node++) {
      try {
        poll.keep(node, context.nodes.get(node).send(request, node, poll));
      } catch (Throwable e) { // the others are asked all the same
        poll.onReply(node, NodeReply.unknown("not sent"));
        Log.LOG.error("A question failed; this is a defect of the lock library", e);
      }
    }
    return poll.result;
  }

  private synchronized void keep(int node, Pending sent) {
    pending[node] = sent;
  }

  @Override
  public void onReply(int node, NodeReply reply) {
    synchronized (this) {
      take(node, reply);
      List<@Nullable Answer> all = Arrays.asList(answers);
      if (all.contains(null) && !isEnough.test(replies(all))) {
        return;
      }
    }
    conclude();
    drain();
  }

  static List<@Nullable NodeReply> replies(List<? extends @Nullable Answer> answers) {
    List<@Nullable NodeReply> replies = new ArrayList<>();
    answers.forEach(answer -> replies.add(answer == null ? null : answer.reply()));
    return replies;
  }

  private void take(int node, @Nullable NodeReply reply) {
    assert Thread.holdsLock(this);
    if (answers[node] == null) {
      Duration took = Duration.ofNanos(context.ticker.monotonicNanos() - startNanos);
      answers[node] = new Answer(context.nodes.get(node).name(), reply, took);
    }
  }

  @Override
  boolean step(long nowNanos, long nowWallMicros) {
    synchronized (this) {
      long leftNanos = startNanos + context.settings.nodeTimeoutNanos() - nowNanos;
      if (result.isDone()) {
        return leaves();
      }
      if (leftNanos > 0 && !isClosing()) {
        return rests(nowNanos, leftNanos);
      }
    }
    conclude();
    return true;
  }

  private void conclude() {
    List<Answer> all = new ArrayList<>();
    synchronized (this) {
      for (int node = 0; node < answers.length; node++) {
        Pending request = pending[node];
        boolean isUnsent = request != null && request.withdraw();
        take(node, isUnsent ? NodeReply.unreachable("not sent in time") : null);
        all.add(answers[node]);
      }
    }
    result.complete(all);
  }
}
