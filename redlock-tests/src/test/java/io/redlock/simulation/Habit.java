package io.redlock.simulation;

import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.ForwardingNode;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.Consumer;

/** What stands between a lane and its callers, and does what a mistake in one of them would do. */
interface Habit {

  Pending NOT_PENDING = () -> false;

  /**
   * Hands a request over, or does not.
   *
   * @param answer where its answer goes
   */
  Pending send(Lane lane, NodeRequest request, Consumer<NodeReply> answer);

  /** The lane of a process, and how a request goes on to it. */
  record Lane(LockNode node, SimProcess process, int slot) {

    Pending send(NodeRequest request, Consumer<NodeReply> answer) {
      return node.send(request, slot, (sameSlot, reply) -> answer.accept(reply));
    }
  }

  /** A habit that hands every request over, and answers something else. */
  static Habit answering(BiFunction<NodeRequest, NodeReply, NodeReply> habit) {
    return (lane, request, answer) ->
        lane.send(request, reply -> answer.accept(habit.apply(request, reply)));
  }

  /** A habit that hands every request over, and swallows such answers. */
  static Habit swallowing(BiPredicate<SimProcess, NodeReply> swallows) {
    return (lane, request, answer) ->
        lane.send(
            request,
            reply -> {
              if (!swallows.test(lane.process, reply)) {
                answer.accept(reply);
              }
            });
  }

  /** Returns a lane that has this habit. */
  default LockNode of(LockNode lane, SimProcess process) {
    return new ForwardingNode(lane) {
      @Override
      public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
        return Habit.this.send(
            new Lane(lane, process, slot), request, reply -> handler.onReply(slot, reply));
      }
    };
  }
}
