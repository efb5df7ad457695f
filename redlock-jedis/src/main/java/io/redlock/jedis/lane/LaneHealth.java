package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneSettings.LOG;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.Script;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.StatusOfNode;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A node's state, since when and why; and what requests are answered while that state forbids
 * sending them. Reports each change of state once. A part of the {@link LaneMachine}, and guarded
 * like it.
 */
final class LaneHealth {

  /** A shorter silence is one line of information, at its end; a longer one is a warning. */
  private static final Duration LONG_SILENCE = Duration.ofSeconds(1);

  /** So many connections in a row that end within a second are logged; the others are counted. */
  private static final int FLAPS_LOGGED = 3;

  private final String node;
  private final LockNode.Observer observer;
  private final Consumer<Runnable> reports;
  private final RoundTrips roundTrips = new RoundTrips();
  private Condition condition;
  private String lastError = "";
  private boolean silenceIsLong;
  private boolean isLate; // the answer at hand
  private int flaps; // connections in a row that ended within a second
  private boolean allowsAName; // of those that this connection has asked for
  private boolean deniesNames;
  private final Set<Script> failed = EnumSet.noneOf(Script.class); // unexplained, and not since

  /**
   * The part of the state that follows from the last audit, while the node answers.
   *
   * @param toGrant the answer to grants; null if they are sent
   * @param toExtend the answer to extends; null if they are sent
   */
  private record Standing(
      State state, String reason, @Nullable NodeReply toGrant, @Nullable NodeReply toExtend) {

    static final Standing VOTES = new Standing(State.UP, "", null, null);

    static Standing of(Verdict verdict) {
      String reason = verdict.reason();
      return switch (verdict.stand()) {
        case VOTES -> reason.isEmpty() ? VOTES : new Standing(State.UP, reason, null, null);
        case ABSTAINS -> abstains(verdict.remainingMillis(), reason);
        case REFUSED -> {
          NodeReply refused = NodeReply.misconfigured(reason);
          yield new Standing(
              State.MISCONFIGURED, reason, refused, verdict.isForeign() ? null : refused);
        }
      };
    }

    static Standing abstains(long remainingMillis, String reason) {
      NodeReply abstains = NodeReply.abstain(remainingMillis, reason);
      return new Standing(State.ABSTAINING, reason, abstains, null);
    }
  }

  /**
   * @param refusal the answer to all requests except releases (and except removals of tickets if
   *     the node is silent); null if it depends on the standing
   * @param denied the scripts that the node denies although its audit is good
   */
  private record Condition(
      State state,
      long sinceNanos,
      String reason,
      @Nullable NodeReply refusal,
      Standing standing,
      Set<Script> denied) {

    /** Returns true if the state follows from an audit or an answer, so the node is connected. */
    boolean isConnected() {
      return state == standing.state || !denied.isEmpty();
    }

    boolean grants() {
      return state == State.UP && reason.isEmpty();
    }
  }

  LaneHealth(String node, LockNode.Observer observer, Consumer<Runnable> reports, long nowNanos) {
    this.node = node;
    this.observer = observer;
    this.reports = reports;
    this.condition = new Condition(State.CONNECTING, nowNanos, "", null, Standing.VOTES, Set.of());
  }

  /**
   * Returns the answer to a request that is not sent; null if it is sent or queued. The removal of
   * a ticket is sent to a silent node, too: it arrives when the node wakes up, and no caller waits
   * for the answer.
   */
  @Nullable NodeReply refusal(NodeRequest request) {
    if (request instanceof NodeRequest.Release) {
      return null;
    }
    if (request instanceof NodeRequest.RemoveTicket) {
      return condition.state == State.SILENT ? null : condition.refusal;
    }
    if (condition.refusal != null) {
      return condition.refusal;
    }
    Standing standing = condition.standing;
    return request instanceof NodeRequest.Extend
        ? standing.toExtend
        : request instanceof NodeRequest.Grant || standing.state == State.MISCONFIGURED
            ? standing.toGrant
            : null;
  }

  /** Returns the answer to all requests except releases; null if there is no such answer. */
  @Nullable NodeReply refusal() {
    return condition.refusal;
  }

  /** Returns the answer to grants that the last audit demands; null if they are sent. */
  @Nullable NodeReply toGrant() {
    return condition.standing.toGrant;
  }

  /** Returns what counts of an answer: a node that is refused may at most deny a lease (E10). */
  NodeReply counting(Script script, NodeReply answer) {
    Standing standing = condition.standing;
    boolean isDenial = answer.kind() == NodeReply.Kind.NOT_HELD && standing.toExtend == null;
    return standing.state == State.MISCONFIGURED && script.isExtend() && !isDenial
        ? NodeReply.of(NodeReply.Kind.DENIED, standing.reason)
        : answer;
  }

  NodeStatus status(long nowNanos, int queued) {
    return new StatusOfNode(
        node,
        condition.state,
        Duration.ofNanos(Math.max(0, nowNanos - condition.sinceNanos)),
        StatusOfNode.ifAny(condition.reason),
        StatusOfNode.ifAny(lastError),
        roundTrips.percentile(50),
        roundTrips.percentile(99),
        queued);
  }

  /** Takes the first verdict on a new connection. */
  void connected(Verdict verdict, long nowNanos) {
    isLate = false;
    allowsAName = false;
    deniesNames = false;
    failed.clear();
    become(asStanding(Standing.of(verdict), nowNanos));
  }

  /** Takes a later verdict on a connection. */
  void audited(Verdict verdict, long nowNanos) {
    Standing standing = Standing.of(verdict);
    become(
        !condition.denied.isEmpty() && condition.standing.state == standing.state
            ? denying(condition.denied, condition.reason, standing, nowNanos)
            : asStanding(standing, nowNanos));
  }

  /** Stops the node from voting, because its last successful audit is too old. */
  void unaudited(String reason, long nowNanos) {
    if (condition.standing.toGrant == null) {
      Standing standing = Standing.abstains(-1, reason);
      become(
          condition.isConnected()
              ? asStanding(standing, nowNanos)
              : to(condition.state, condition.reason, condition.refusal, standing, nowNanos));
    }
  }

  /** Takes note of how long the answer at hand took: a silence ends with one that is in time. */
  void took(long roundTripNanos, long timeoutNanos, long nowNanos) {
    isLate = roundTripNanos >= timeoutNanos;
    if (isLate && condition.state == State.SILENT) {
      String reason =
          "answers after "
              + Brief.duration(Duration.ofNanos(roundTripNanos))
              + ", the node timeout is "
              + Brief.duration(Duration.ofNanos(timeoutNanos))
              + ": raise it";
      NodeReply refusal = NodeReply.unreachable(reason);
      become(to(State.SILENT, reason, refusal, condition.standing, nowNanos));
    }
  }

  void answered(long nowNanos) {
    if (condition.state == State.SILENT) {
      become(asStanding(condition.standing, nowNanos));
    }
  }

  /**
   * Takes the answer to a request. A script that was denied before and is executed now is no longer
   * denied. If the server denied every write, that ends with the first script that is executed.
   */
  void answered(Script script, NodeReply reply, long roundTripNanos, long nowNanos) {
    roundTrips.add(roundTripNanos);
    if (script == Script.INSPECT || script == Script.LOOK) {
      answered(nowNanos); // a right that only these need is no fault of the node
      return;
    }
    switch (reply.kind()) {
      case GRANTED, EXTENDED, JOINED, RELEASED -> executed(script, nowNanos);
      case MISCONFIGURED, DENIED -> misconfigured(script, reply, nowNanos);
      case UNKNOWN -> unexplained(script, reply, nowNanos);
      case UNREACHABLE, OUT_OF_MEMORY -> {
        lastError = reply.detail();
        answered(nowNanos);
      }
      case HELD, WAIT, STALE, NOT_HELD -> {
        if (script.isExtend()) { // perhaps this client extends nothing else for long
          executed(script, nowNanos);
        } else {
          allowsAName(nowNanos);
          answered(nowNanos);
        }
      }
      default -> answered(nowNanos);
    }
  }

  private void executed(Script script, long nowNanos) {
    failed.remove(script);
    allowsAName(nowNanos);
    if (condition.state == State.SILENT || condition.denied.contains(script)) {
      become(asStanding(condition.standing, nowNanos));
    }
  }

  /** A script that fails twice and is not executed in between is denied, whatever the words. */
  private void unexplained(Script script, NodeReply reply, long nowNanos) {
    if (failed.add(script)) {
      lastError = reply.detail();
      answered(nowNanos);
    } else {
      misconfigured(
          script, NodeReply.of(reply.kind(), ReplyMapper.repeated(reply.detail())), nowNanos);
    }
  }

  /** Takes note that a script has read a lock: not all names are denied. */
  private void allowsAName(long nowNanos) {
    allowsAName = true;
    if (deniesNames) {
      become(asStanding(condition.standing, nowNanos));
    }
    deniesNames = false;
  }

  /**
   * Marks the node as misconfigured until an operator fixes it; requests are still sent. A name
   * that is denied is no fault of the node if another is allowed. If none is, the prefix is wrong.
   */
  private void misconfigured(Script script, NodeReply reply, long nowNanos) {
    lastError = reply.detail();
    boolean isKnown =
        condition.standing.state == State.MISCONFIGURED; // the audit has the better reason
    boolean isDeniedName = ReplyMapper.deniesName(reply);
    if (isKnown || (isDeniedName ? allowsAName : ReplyMapper.concernsOneName(reply))) {
      answered(nowNanos);
    } else {
      Set<Script> denied =
          isDeniedName || ReplyMapper.concernsAllWrites(reply)
              ? EnumSet.allOf(Script.class)
              : Set.of(script);
      deniesNames = isDeniedName;
      become(denying(denied, reply.detail(), condition.standing, nowNanos));
    }
  }

  /** Marks the node as silent. Returns true if it counted as connected until now. */
  boolean silent(NodeReply refusal, long nowNanos) {
    if (!condition.isConnected()) {
      return false;
    }
    become(to(State.SILENT, refusal.detail(), refusal, condition.standing, nowNanos));
    return true;
  }

  /** Takes note of the time: warns once of what has lasted. */
  void tick(long nowNanos) {
    boolean isLong = nowNanos - condition.sinceNanos >= LONG_SILENCE.toNanos();
    if (condition.state == State.SILENT && isLong && !silenceIsLong) {
      silenceIsLong = true;
      String reason = condition.reason;
      reports.accept(() -> LOG.warn("node {} is SILENT: {}", node, reason));
    } else if (condition.state == State.UP && isLong && flaps > 0) {
      int lost = flaps;
      flaps = 0;
      if (lost >= FLAPS_LOGGED) {
        reports.accept(() -> LOG.warn("node {} is UP again, and lost {} connections", node, lost));
      }
    }
  }

  /** Takes note that the connection is lost; requests wait for the next one. */
  void lost(String reason, long nowNanos) {
    lastError = reason;
    boolean isSoon = nowNanos - condition.sinceNanos < LONG_SILENCE.toNanos();
    flaps = isSoon ? flaps + 1 : 0;
    become(to(State.DOWN, reason, null, Standing.VOTES, nowNanos));
  }

  /** Takes note that no connection could be made; requests do not wait. */
  void down(NodeReply refusal, long nowNanos) {
    lastError = refusal.detail();
    State state = refusal.kind() == NodeReply.Kind.MISCONFIGURED ? State.MISCONFIGURED : State.DOWN;
    become(to(state, refusal.detail(), refusal, Standing.VOTES, nowNanos));
  }

  /** Stops requests from waiting for the connection; returns their answer. */
  NodeReply connectingTooLong(long nowNanos) {
    NodeReply refusal =
        NodeReply.unreachable(condition.reason.isEmpty() ? "not yet connected" : condition.reason);
    become(to(condition.state, condition.reason, refusal, condition.standing, nowNanos));
    return refusal;
  }

  void closed(long nowNanos) {
    NodeReply refusal = NodeReply.unreachable("closed");
    become(to(State.CLOSED, "", refusal, condition.standing, nowNanos));
  }

  private Condition asStanding(Standing standing, long nowNanos) {
    return isLate && condition.state == State.SILENT
        ? to(State.SILENT, condition.reason, condition.refusal, standing, nowNanos)
        : to(standing.state, standing.reason, null, standing, nowNanos);
  }

  private Condition to(
      State state, String reason, @Nullable NodeReply refusal, Standing standing, long nowNanos) {
    return new Condition(state, since(state, nowNanos), reason, refusal, standing, Set.of());
  }

  private Condition denying(Set<Script> denied, String reason, Standing standing, long nowNanos) {
    State state = State.MISCONFIGURED;
    return new Condition(state, since(state, nowNanos), reason, null, standing, denied);
  }

  private long since(State state, long nowNanos) {
    return condition.state == state ? condition.sinceNanos : nowNanos;
  }

  private void become(Condition after) {
    State before = condition.state;
    long sinceBefore = condition.sinceNanos;
    boolean isOther = before != after.state || condition.grants() != after.grants();
    condition = after;
    if (isOther) {
      NodeStatus status = status(after.sinceNanos, 0);
      boolean isShort = before == State.SILENT && !silenceIsLong;
      Duration silence = Duration.ofNanos(after.sinceNanos - sinceBefore);
      int lost = flaps;
      silenceIsLong = false;
      reports.accept(
          () -> {
            if (isShort && after.state == State.UP) {
              LOG.info("node {} was SILENT for {}", node, Brief.duration(silence));
            } else {
              log(before, status, lost);
            }
            observer.onStateChange(status);
          });
    }
  }

  private void log(State before, NodeStatus after, int lost) {
    State state = after.state();
    boolean isDown = state == State.DOWN;
    boolean isCounted = isDown ? lost > FLAPS_LOGGED : state == State.UP && lost >= FLAPS_LOGGED;
    boolean isToldLater = state == State.SILENT || isCounted; // by the tick, or when it ends
    if (isDown && lost == FLAPS_LOGGED) {
      LOG.warn("node {} comes and goes: {}", node, after.reason().orElse(""));
    } else if (isToldLater
        || state == State.CLOSED
        || before == State.CONNECTING && state == State.UP) {
      LOG.debug("node {} is {}", node, state);
    } else if (state == State.UP && after.reason().isPresent()) {
      LOG.warn("node {} {}", node, after.reason().get());
    } else if (state == State.UP) {
      LOG.warn(
          before == state ? "node {} grants again" : "node {} is UP again, was {}", node, before);
    } else {
      LOG.warn("node {} is {}: {}", node, state, after.reason().orElse(""));
    }
  }
}
