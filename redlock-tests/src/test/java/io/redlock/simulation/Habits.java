package io.redlock.simulation;

import static io.redlock.simulation.Habit.NOT_PENDING;

import io.redlock.NodeStatus.State;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The bad habits of clients of other libraries, and the defects that a lane may have. */
final class Habits {

  private Habits() {}

  // Of clients.

  /** A grant that fails with an error counts as a yes. */
  static Habit countsErrors() {
    return Habit.answering(
        (request, reply) ->
            request instanceof Grant
                    && (reply.kind() == Kind.UNKNOWN || reply.kind() == Kind.UNREACHABLE)
                ? NodeReply.GRANTED
                : reply);
  }

  /** Grants and extensions are not asked for. */
  static Habit takesForGranted() {
    return (lane, request, answer) -> {
      if (request instanceof Grant) {
        return answered(answer, NodeReply.GRANTED);
      }
      return request instanceof Extend
          ? answered(answer, NodeReply.EXTENDED)
          : lane.send(request, answer);
    };
  }

  /** Answers in the node's place, which hears nothing of it. */
  private static Pending answered(Consumer<NodeReply> answer, NodeReply reply) {
    answer.accept(reply);
    return NOT_PENDING;
  }

  /** Who has seen that a name is taken does not look again. */
  static Habit remembersWhatIsTaken() {
    Map<String, Long> takenMillis = new HashMap<>();
    return Habit.answering(
        (request, reply) -> remembering(takenMillis, name -> true, request.names(), reply));
  }

  /** Who looks at names leaves out the one that this client released last. */
  static Habit leavesOutWhatWasReleased() {
    Map<String, Long> takenMillis = new HashMap<>();
    String[] released = {""};
    return (lane, request, answer) -> {
      if (request instanceof Release) {
        released[0] = request.names().get(0);
      }
      return lane.send(
          request,
          reply ->
              answer.accept(remembering(takenMillis, released[0]::equals, request.names(), reply)));
    };
  }

  private static NodeReply remembering(
      Map<String, Long> takenMillis,
      Predicate<String> leavesOut,
      List<String> names,
      NodeReply reply) {
    NodeLook look = reply.look();
    if (look == null) {
      return reply;
    }
    List<Long> millis = new ArrayList<>();
    for (String name : names) {
      long now = look.remainingMillis().get(millis.size());
      millis.add(leavesOut.test(name) ? takenMillis.getOrDefault(name, now) : now);
      if (now != NodeLook.FREE) {
        takenMillis.put(name, now);
      }
    }
    return NodeReply.looked(new NodeLook(millis, look.doubt()));
  }

  /** A release does not go where the owner still waits for an answer. */
  static Habit releasesWhereAnswered() {
    Map<String, Integer> unanswered = new HashMap<>();
    return (lane, request, answer) -> {
      String owner = request.owner();
      if (request instanceof Release) {
        return unanswered.getOrDefault(owner, 0) > 0
            ? answered(answer, NodeReply.NOT_HELD)
            : lane.send(request, answer);
      }
      unanswered.merge(owner, 1, Integer::sum);
      return lane.send(
          request,
          reply -> {
            unanswered.merge(owner, reply.kind() == Kind.UNKNOWN ? 0 : -1, Integer::sum);
            answer.accept(reply);
          });
    };
  }

  /** A release does not go where the owner joined, or where only an extend has an unknown fate. */
  static Habit releasesWhereGranted() {
    Set<String> extendedOnly = new HashSet<>();
    return (lane, request, answer) -> {
      if (request instanceof Release && extendedOnly.contains(request.owner())) {
        return answered(answer, NodeReply.NOT_HELD);
      }
      return lane.send(
          request,
          reply -> {
            if (request instanceof Grant && reply.kind() != Kind.GRANTED) {
              extendedOnly.add(request.owner());
            }
            answer.accept(reply);
          });
    };
  }

  /** A node that granted an earlier round is not asked again. */
  static Habit countsAllRounds() {
    Set<String> granted = new HashSet<>();
    return (lane, request, answer) -> {
      if (request instanceof Grant && granted.contains(request.owner())) {
        return answered(answer, NodeReply.GRANTED);
      }
      return lane.send(
          request,
          reply -> {
            if (reply.kind() == Kind.GRANTED) {
              granted.add(request.owner());
            }
            answer.accept(reply);
          });
    };
  }

  /** As soon as one node has extended, all nodes of the client have: its lanes share this. */
  static Habit extendsByAnyNode() {
    Map<NodeRequest, List<Runnable>> waiting = new IdentityHashMap<>();
    Set<NodeRequest> extended = Collections.newSetFromMap(new IdentityHashMap<>());
    return (lane, request, answer) -> {
      if (!(request instanceof Extend)) {
        return lane.send(request, answer);
      }
      Consumer<NodeReply> once = once(answer);
      waiting
          .computeIfAbsent(request, each -> new ArrayList<>())
          .add(() -> once.accept(NodeReply.EXTENDED));
      return lane.send(
          request,
          reply -> {
            if (reply.kind() == Kind.EXTENDED) {
              extended.add(request);
              waiting.replace(request, new ArrayList<>()).forEach(Runnable::run);
            }
            if (extended.contains(request)) { // else another node may say yes, or it times out
              once.accept(NodeReply.EXTENDED);
            }
          });
    };
  }

  private static Consumer<NodeReply> once(Consumer<NodeReply> answer) {
    boolean[] isOver = {false};
    return reply -> {
      if (!isOver[0]) {
        isOver[0] = true;
        answer.accept(reply);
      }
    };
  }

  /** A request is handed over only when the node before has answered, or after its timeout. */
  static Habit oneAfterTheOther() {
    return (lane, request, answer) -> {
      boolean[] answered = {false};
      Pending pending =
          lane.send(
              request,
              reply -> {
                answered[0] = true;
                answer.accept(reply);
              });
      SimProcess process = lane.process();
      process.await(() -> answered[0], process.world.plan.nodeTimeoutNanos);
      return pending;
    };
  }

  /** An extend that races a release loses the race: it goes out behind it. */
  static Habit extendsAfterRelease() {
    Map<String, @Nullable Runnable> held = new HashMap<>();
    return (lane, request, answer) -> {
      if (request instanceof Extend && !held.containsKey(request.owner())) {
        held.put(request.owner(), () -> lane.send(request, answer));
        return NOT_PENDING;
      }
      Pending pending = lane.send(request, answer);
      Runnable behind = request instanceof Release ? held.put(request.owner(), null) : null;
      if (behind != null) {
        behind.run();
      }
      return pending;
    };
  }

  /** The first node is told to release what it granted when others have not answered yet. */
  static Habit releasesStragglers() {
    return (lane, request, answer) ->
        lane.send(
            request,
            reply -> {
              answer.accept(reply);
              if (lane.node().name().equals("n0") && reply.kind() == Kind.GRANTED) {
                lane.send(
                    new Release(
                        request.names(), request.owner(), request.token(), 0, false, null, 0),
                    ignored -> {});
              }
            });
  }

  // Of lanes.

  static Habit releaseGoesLastAfterAReconnect() {
    List<Runnable> releases = new ArrayList<>();
    return (lane, request, answer) -> {
      State state = lane.node().status().state();
      if (request instanceof Release && state == State.DOWN) {
        releases.add(() -> lane.send(request, answer));
        return NOT_PENDING;
      }
      Pending pending = lane.send(request, answer);
      if (state == State.UP) {
        releases.forEach(Runnable::run);
        releases.clear();
      }
      return pending;
    };
  }

  static Habit releaseOvertakesItsGrant() {
    List<Runnable> grant = new ArrayList<>(1);
    return (lane, request, answer) -> {
      if (grant.isEmpty() && request instanceof Grant) {
        grant.add(() -> lane.send(request, answer));
        return NOT_PENDING;
      }
      List<Runnable> before = List.copyOf(grant);
      grant.clear();
      Pending pending = lane.send(request, answer);
      before.forEach(Runnable::run);
      return pending;
    };
  }

  static Habit answerGoesToTheNeighbour() {
    NodeReply[] last = new NodeReply[1];
    return Habit.answering(
        (request, reply) -> {
          NodeReply before = last[0];
          last[0] = reply;
          return before == null ? reply : before;
        });
  }

  static Habit answerIsGivenTwice() {
    return (lane, request, answer) -> lane.send(request, answer.andThen(answer));
  }

  static Habit writtenIsCalledUnsent() {
    return Habit.answering(
        (request, reply) ->
            reply.kind() == Kind.UNKNOWN ? NodeReply.unreachable(reply.detail()) : reply);
  }

  static Habit silenceNeverEnds() {
    boolean[] isSilent = {false};
    return (lane, request, answer) -> {
      isSilent[0] = isSilent[0] || lane.node().status().state() == State.SILENT;
      return isSilent[0] && !(request instanceof Release)
          ? answered(answer, NodeReply.unreachable("silent"))
          : lane.send(request, answer);
    };
  }

  static Habit answersWhereRefused(NodeReply reply) {
    return (lane, request, answer) ->
        request instanceof Extend && lane.node().status().state() == State.MISCONFIGURED
            ? answered(answer, reply)
            : lane.send(request, answer);
  }

  static Habit queueIsForgottenAtClose() {
    return Habit.swallowing(
        (process, reply) -> process.isClosing() && reply.kind() == Kind.UNREACHABLE);
  }

  static Habit lateAnswerIsDropped() {
    return (lane, request, answer) -> {
      SimWorld world = lane.process().world;
      long lateNanos = world.nowNanos() + 100 * SimPlan.MILLI;
      return lane.send(
          request,
          reply -> {
            if (world.nowNanos() < lateNanos) {
              answer.accept(reply);
            }
          });
    };
  }

  static Habit withdrawnIsSentAllTheSame() {
    return (lane, request, answer) -> {
      boolean[] isOver = {false};
      lane.send(
          request,
          reply -> {
            if (!isOver[0]) {
              isOver[0] = true;
              answer.accept(reply);
            }
          });
      return () -> {
        boolean isWithdrawn = !isOver[0];
        isOver[0] = true;
        return isWithdrawn;
      };
    };
  }

  static Habit unansweredIsForgottenWithItsConnection() {
    return Habit.swallowing(
        (process, reply) ->
            reply.kind() == Kind.UNKNOWN && reply.detail().startsWith("connection lost"));
  }
}
