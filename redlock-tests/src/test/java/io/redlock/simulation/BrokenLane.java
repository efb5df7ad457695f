package io.redlock.simulation;

import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.ForwardingNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** A lane with one bad habit: what clients of other libraries do to their nodes. */
abstract class BrokenLane extends ForwardingNode {

  private static final Pending NOT_PENDING = () -> false;

  final SimNode lane;

  BrokenLane(SimNode lane) {
    super(lane);
    this.lane = lane;
  }

  static List<BrokenLane> all(List<SimNode> lanes, Function<SimNode, BrokenLane> habit) {
    return lanes.stream().map(habit).toList();
  }

  /** Answers in the node's place, which hears nothing of it. */
  static Pending answer(NodeReply reply, int slot, ReplyHandler handler) {
    handler.onReply(slot, reply);
    return NOT_PENDING;
  }

  /** Hands the request over, and looks at each reply before its handler does. */
  final Pending send(
      NodeRequest request, int slot, ReplyHandler handler, Consumer<NodeReply> looking) {
    return lane.send(
        request,
        slot,
        (node, reply) -> {
          looking.accept(reply);
          handler.onReply(node, reply);
        });
  }

  /** A grant that fails with an error counts as a yes. */
  static final class CountsErrors extends BrokenLane {
    CountsErrors(SimNode lane) {
      super(lane);
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      return lane.send(
          request,
          slot,
          (node, reply) -> {
            boolean error = reply.kind() == Kind.UNKNOWN || reply.kind() == Kind.UNREACHABLE;
            handler.onReply(node, request instanceof Grant && error ? NodeReply.GRANTED : reply);
          });
    }
  }

  /** Grants and extensions are not asked for. */
  static final class TakesForGranted extends BrokenLane {
    TakesForGranted(SimNode lane) {
      super(lane);
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      if (request instanceof Grant) {
        return answer(NodeReply.GRANTED, slot, handler);
      }
      return request instanceof Extend
          ? answer(NodeReply.EXTENDED, slot, handler)
          : lane.send(request, slot, handler);
    }
  }

  /** Who has seen that a name is taken does not look again. */
  static class RemembersWhatIsTaken extends BrokenLane {
    private final Map<String, Long> takenMillis = new HashMap<>();

    RemembersWhatIsTaken(SimNode lane) {
      super(lane);
    }

    boolean leavesOut(String name) {
      return true;
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      return lane.send(
          request,
          slot,
          (node, reply) ->
              handler.onReply(
                  node, reply.look() == null ? reply : remembering(request.names(), reply.look())));
    }

    private NodeReply remembering(List<String> names, NodeLook look) {
      List<Long> millis = new ArrayList<>();
      for (String name : names) {
        long now = look.remainingMillis().get(millis.size());
        millis.add(leavesOut(name) ? takenMillis.getOrDefault(name, now) : now);
        if (now != NodeLook.FREE) {
          takenMillis.put(name, now);
        }
      }
      return NodeReply.looked(new NodeLook(millis, look.doubt()));
    }
  }

  /** Who looks at names leaves out the one that this client released last. */
  static final class LeavesOutWhatWasReleased extends RemembersWhatIsTaken {
    private String released = "";

    LeavesOutWhatWasReleased(SimNode lane) {
      super(lane);
    }

    @Override
    boolean leavesOut(String name) {
      return name.equals(released);
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      if (request instanceof Release) {
        released = request.names().get(0);
      }
      return super.send(request, slot, handler);
    }
  }

  /** A second name for a node that is there already. */
  static final class Twin extends BrokenLane {
    Twin(SimNode lane) {
      super(lane);
    }

    @Override
    public String name() {
      return lane.name() + "-again";
    }

    @Override
    public void start(Ticker ticker, Scheduler scheduler, Observer observer) {}
  }

  /** A release does not go where the owner still waits for an answer. */
  static final class ReleasesWhereAnswered extends BrokenLane {
    private final Map<String, Integer> unanswered = new HashMap<>();

    ReleasesWhereAnswered(SimNode lane) {
      super(lane);
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      String owner = request.owner();
      if (request instanceof Release) {
        return unanswered.getOrDefault(owner, 0) > 0
            ? answer(NodeReply.NOT_HELD, slot, handler)
            : lane.send(request, slot, handler);
      }
      unanswered.merge(owner, 1, Integer::sum);
      return send(
          request,
          slot,
          handler,
          reply -> unanswered.merge(owner, reply.kind() == Kind.UNKNOWN ? 0 : -1, Integer::sum));
    }
  }

  /** A release does not go where the owner joined, or where only an extend has an unknown fate. */
  static final class ReleasesWhereGranted extends BrokenLane {
    private final Set<String> extendedOnly = new HashSet<>();

    ReleasesWhereGranted(SimNode lane) {
      super(lane);
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      if (request instanceof Release && extendedOnly.contains(request.owner())) {
        return answer(NodeReply.NOT_HELD, slot, handler);
      }
      return send(
          request,
          slot,
          handler,
          reply -> {
            if (request instanceof Grant && reply.kind() != Kind.GRANTED) {
              extendedOnly.add(request.owner());
            }
          });
    }
  }

  /** A node that granted an earlier round is not asked again. */
  static final class CountsAllRounds extends BrokenLane {
    private final Set<String> granted = new HashSet<>();

    CountsAllRounds(SimNode lane) {
      super(lane);
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      if (request instanceof Grant && granted.contains(request.owner())) {
        return answer(NodeReply.GRANTED, slot, handler);
      }
      return send(
          request,
          slot,
          handler,
          reply -> {
            if (reply.kind() == Kind.GRANTED) {
              granted.add(request.owner());
            }
          });
    }
  }

  /** As soon as one node has extended, all nodes of the client have. */
  static final class ExtendsByAnyNode extends BrokenLane {
    /** What the lanes of one client share: who waits for an answer to an extend. */
    static final class Shared {
      private final Map<NodeRequest, List<Runnable>> waiting = new IdentityHashMap<>();
      private final Map<NodeRequest, Boolean> extended = new IdentityHashMap<>();
    }

    private final Shared shared;

    ExtendsByAnyNode(SimNode lane, Shared shared) {
      super(lane);
      this.shared = shared;
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      if (!(request instanceof Extend)) {
        return lane.send(request, slot, handler);
      }
      boolean[] answered = {false};
      ReplyHandler once =
          (node, reply) -> {
            if (!answered[0]) {
              answered[0] = true;
              handler.onReply(node, reply);
            }
          };
      shared
          .waiting
          .computeIfAbsent(request, r -> new ArrayList<>())
          .add(() -> once.onReply(slot, NodeReply.EXTENDED));
      Pending pending =
          lane.send(
              request,
              slot,
              (node, reply) -> {
                if (reply.kind() == Kind.EXTENDED) {
                  shared.extended.put(request, true);
                  shared.waiting.remove(request).forEach(Runnable::run);
                  shared.waiting.put(request, new ArrayList<>());
                } else if (!shared.extended.containsKey(request)) {
                  return; // another node may say yes; else the round times out
                }
                once.onReply(node, NodeReply.EXTENDED);
              });
      return pending;
    }
  }

  /** A request is handed over only when the node before has answered, or after its timeout. */
  static final class OneAfterTheOther extends BrokenLane {
    private final SimProcess process;
    private final long nodeTimeoutNanos;

    OneAfterTheOther(SimNode lane, SimProcess process, long nodeTimeoutNanos) {
      super(lane);
      this.process = process;
      this.nodeTimeoutNanos = nodeTimeoutNanos;
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      boolean[] answered = {false};
      Pending pending = send(request, slot, handler, reply -> answered[0] = true);
      process.await(() -> answered[0], nodeTimeoutNanos);
      return pending;
    }
  }

  /** An extend that races a release loses the race: it goes out behind it. */
  static final class ExtendsAfterRelease extends BrokenLane {
    private final Map<String, @Nullable Runnable> held = new HashMap<>();

    ExtendsAfterRelease(SimNode lane) {
      super(lane);
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      if (request instanceof Extend && !held.containsKey(request.owner())) {
        held.put(request.owner(), () -> lane.send(request, slot, handler));
        return NOT_PENDING;
      }
      Pending pending = lane.send(request, slot, handler);
      Runnable behind = request instanceof Release ? held.put(request.owner(), null) : null;
      if (behind != null) {
        behind.run();
      }
      return pending;
    }
  }

  /** A node that granted is told to release when others of the client have not answered yet. */
  static final class ReleasesStragglers extends BrokenLane {
    ReleasesStragglers(SimNode lane) {
      super(lane);
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      return lane.send(
          request,
          slot,
          (node, reply) -> {
            handler.onReply(node, reply);
            boolean last = lane.index() == 0;
            if (last && reply.kind() == Kind.GRANTED) {
              lane.send(
                  new Release(request.names(), request.owner(), request.token()),
                  slot,
                  (ignoredNode, ignoredReply) -> {});
            }
          });
    }
  }
}
