package io.redlock.simulation;

import io.redlock.Inspection;
import io.redlock.Inspection.Held;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.spi.NodeRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** What holders were told: I1, I2, I3, I6, I9, I11. */
final class HoldChecks {

  /**
   * Later than this after its time, with nobody held up, an end is late: a coarse tick and more.
   */
  private static final long GRACE_NANOS = 60_000_000;

  /** One round of one attempt, or one extend: when it began, and until when it can be good. */
  private record Round(
      NodeRequest request, long beganNanos, long monotonicEndNanos, long wallEndMicros) {}

  private record RoundKey(SimProcess process, List<String> names) {}

  /** How far the token of a lease may lie below that of the round that it rests on. */
  private static final long TOKENS_BELOW = 4_095;

  /** Leases in the order in which they were acquired. */
  private static final class Sequence {
    final TreeMap<Long, Long> highestTokens = new TreeMap<>(); // so far, by the time of the lease
    final Set<Long> tokens = new HashSet<>();
    @Nullable SimHold last; // the one with the highest token

    long highestTokenBefore(long nanos) {
      Map.Entry<Long, Long> before = highestTokens.lowerEntry(nanos);
      return before == null ? -1 : before.getValue();
    }

    void add(SimHold hold) {
      SimHold highest = last == null || last.token < hold.token ? hold : last;
      last = highest;
      tokens.add(hold.token);
      highestTokens.put(hold.doneNanos, highest.token);
    }
  }

  /** What is known of the leases on one name. */
  private static final class History {
    final Sequence all = new Sequence();
    final Sequence writers = new Sequence();
    final List<SimHold> live = new ArrayList<>();

    /** The leases that exclude this one. */
    Sequence excluding(SimHold hold) {
      return hold.shared ? writers : all;
    }

    void add(SimHold hold) {
      all.add(hold);
      if (!hold.shared) {
        writers.add(hold);
      }
    }
  }

  private final SimWorld world;
  private final SimPlan plan;
  private final NodeChecks nodes;
  private final FairChecks fair;
  private final Map<RoundKey, NavigableMap<Long, List<Round>>> rounds = new HashMap<>(); // by token
  private final Map<String, Round> lastExtends = new HashMap<>();
  private @Nullable NodeRequest lastRequest;
  private final Map<String, Long> lastAsked = new HashMap<>();
  private final Map<String, History> histories = new HashMap<>();
  private final List<History> contested = new ArrayList<>();
  final List<SimHold> all = new ArrayList<>();
  private final Map<String, SimHold> byOwner = new HashMap<>();
  private final List<SimHold> leading = new ArrayList<>();
  private long passed;

  HoldChecks(SimWorld world, NodeChecks nodes, FairChecks fair) {
    this.world = world;
    this.plan = world.plan;
    this.nodes = nodes;
    this.fair = fair;
  }

  /** A client is about to hand this request to the first or the next of its nodes. */
  void asked(SimProcess process, NodeRequest request) {
    if (request == lastRequest) {
      return;
    }
    fair.asked(process, request);
    lastRequest = request;
    lastAsked.put(request.owner(), world.nowNanos());
    if (request instanceof NodeRequest.Grant grant) {
      List<Round> known = // callers may agree by chance
          rounds
              .computeIfAbsent(new RoundKey(process, request.names()), k -> new TreeMap<>())
              .computeIfAbsent(request.token(), token -> new ArrayList<>(1));
      if (known.isEmpty() || known.get(known.size() - 1).request != request) {
        known.add(round(process, request, grant.ttlMillis()));
      }
    } else if (request instanceof NodeRequest.Extend extend) {
      Round known = lastExtends.get(request.owner());
      if (known == null || known.request != request) {
        Round next = round(process, request, extend.ttlMillis());
        lastExtends.put(request.owner(), known == null ? next : later(known, next));
      }
    }
  }

  private Round round(SimProcess process, NodeRequest request, long ttlMillis) {
    long goodNanos = ttlMillis * SimPlan.MILLI - plan.driftNanos(ttlMillis);
    return new Round(
        request,
        world.nowNanos(),
        process.monotonic.nanos() + goodNanos,
        process.wall.micros() + goodNanos / 1_000);
  }

  private static Round later(Round one, Round next) {
    return new Round(
        next.request,
        next.beganNanos,
        Math.max(one.monotonicEndNanos, next.monotonicEndNanos),
        Math.max(one.wallEndMicros, next.wallEndMicros));
  }

  /** When a request of this owner was last handed to a node; −1 if none ever was. */
  long lastAskedNanos(String owner) {
    return lastAsked.getOrDefault(owner, -1L);
  }

  /** The lease of that owner, if it became one. */
  @Nullable SimHold of(String owner) {
    return byOwner.get(owner);
  }

  /** How many leases were passed on to. */
  long passed() {
    return passed;
  }

  /** Takes note of a new lease now, and of its end later. */
  SimHold acquired(SimProcess process, Lease lease) {
    SimHold hold =
        acquired(
            process,
            List.copyOf(lease.resources()),
            lease.fencingToken(),
            lease.isShared(),
            () -> lease.remaining().toNanos());
    lease.ended().thenAccept(end -> ended(hold, end));
    return hold;
  }

  /** A caller got a lease. */
  SimHold acquired(
      SimProcess process,
      List<String> names,
      long token,
      boolean shared,
      LongSupplier remainingNanos) {
    Round round = bestRound(process, names, token);
    String owner = round == null ? "nobody" : round.request.owner();
    long granting = round == null ? token : round.request.token();
    SimHold hold =
        new SimHold(
            process, names, owner, token, granting, shared, world.nowNanos(), remainingNanos);
    all.add(hold);
    SimHold former = byOwner.put(owner, hold);
    if (former != null) {
      hold.freedNanos = former.freedNanos;
      passed++;
    }
    world.note(token, () -> hold + " begins");
    int granted = nodes.grants(owner, granting);
    if (round == null || !process.quorum.isReachedBy(granted)) {
      world.violated(
          SimInvariant.I9,
          () -> hold + " rests on " + Integer.bitCount(granted) + " servers of " + plan.nodes);
    }
    // One that was passed on is in order with all others as long as it is valid.
    boolean isInOrder = former != null && plan.keepsTimingAssumptions() && hold.isValid();
    long beganNanos = round == null || isInOrder ? world.nowNanos() : round.beganNanos;
    for (String name : names) {
      History history = histories.computeIfAbsent(name, n -> new History());
      checkToken(history, hold, beganNanos);
      enter(history, hold);
    }
    fair.acquired(owner, hold, beganNanos);
    look(hold);
    return hold;
  }

  /**
   * Of the rounds that a lease may rest on, the one that most servers granted, and of these the one
   * with the lowest token; two readers of a process may have the same token.
   */
  private @Nullable Round bestRound(SimProcess process, List<String> names, long token) {
    Round best = null;
    int most = -1;
    for (Round round : rounds(process, names, token)) {
      int granting = nodes.grants(round.request.owner(), round.request.token());
      int granted = Integer.bitCount(granting);
      boolean isReader = round.request.shared(); // whose lease is never passed on
      boolean isTaken = isReader && byOwner.containsKey(round.request.owner());
      boolean mayRest =
          round.request.token() == token
              || !isReader && process.quorum.isReachedBy(granting); // passed on
      if (mayRest && granted > most && !isTaken) {
        most = granted;
        best = round;
      }
    }
    return best;
  }

  private List<Round> rounds(SimProcess process, List<String> names, long token) {
    NavigableMap<Long, List<Round>> all = rounds.get(new RoundKey(process, names));
    return all == null
        ? List.of()
        : all.subMap(token, true, token + TOKENS_BELOW, true).values().stream()
            .flatMap(List::stream)
            .toList();
  }

  private void checkToken(History history, SimHold hold, long beganNanos) {
    Sequence others = history.excluding(hold);
    long before = others.highestTokenBefore(beganNanos);
    boolean inOrder = !others.tokens.contains(hold.token) && before < hold.token;
    if (!inOrder && nodes.keepsTokensInOrder()) {
      world.violated(
          SimInvariant.I3, () -> hold + " comes after one with token " + before + " or the same");
    }
  }

  private void enter(History history, SimHold hold) {
    history.add(hold);
    history.live.removeIf(other -> other.ends > 0 || other.process.isDead());
    history.live.add(hold);
    if (history.live.size() > 1 && !contested.contains(history)) {
      contested.add(history);
    }
  }

  /** After every event: of the leases on one name that exclude each other one is valid. */
  void checkOverlaps() {
    if (contested.isEmpty() || !plan.keepsTimingAssumptions()) {
      return;
    }
    contested.removeIf(
        history -> {
          history.live.removeIf(hold -> hold.ends > 0 || hold.process.isDead());
          checkOverlap(history.live);
          return history.live.size() < 2;
        });
  }

  private void checkOverlap(List<SimHold> live) {
    SimHold valid = null; // one that is not shared, if there is one
    for (SimHold hold : live) {
      if (hold.isValid()) {
        SimHold other = valid;
        if (other != null && other.excludes(hold)) {
          world.violated(SimInvariant.I1, () -> hold + " and " + other + " are valid at once");
        }
        valid = other == null || other.shared ? hold : other;
      }
    }
  }

  /**
   * No majority has the leases from before that time any more, and every client had time to ask.
   */
  void areForgotten(long nanos) {
    for (SimHold hold : all) {
      if (hold.ends == 0 && hold.doneNanos < nanos && hold.isValid()) {
        world.violated(SimInvariant.I11, () -> hold + " goes on, and a majority has forgotten it");
      }
    }
  }

  /** The lease on this name that is valid now. */
  @Nullable SimHold valid(String name) {
    History history = histories.get(name);
    return history == null
        ? null
        : history.live.stream().filter(SimHold::isValid).findFirst().orElse(null);
  }

  /**
   * A caller was told who holds a name.
   *
   * @param before the lease that was valid when he asked
   */
  void inspected(String name, @Nullable SimHold before, Inspection inspection) {
    boolean mayBeFreed = plan.has(SimFault.SET_FREE); // the holder learns it later
    if (mayBeFreed || before == null || !plan.keepsTimingAssumptions() || !before.isValid()) {
      return;
    }
    boolean right =
        inspection.held() == Held.UNKNOWN
            || inspection.ownerId().filter(before.owner::equals).isPresent()
            || before.shared && inspection.holder().filter("readers"::equals).isPresent();
    if (!right) {
      world.violated(SimInvariant.I21, () -> before + " is held, but: " + inspection);
    }
  }

  /** The token of the owner of the last lease on a name; 0 if there was none. */
  long lastToken(String name) {
    SimHold last = histories.computeIfAbsent(name, n -> new History()).all.last;
    return last == null ? 0 : last.ownerToken;
  }

  /** An operator was told that no majority holds the name for the leases there were. */
  void setFree(String name, long askedNanos, long token) {
    for (SimHold hold : histories.computeIfAbsent(name, n -> new History()).live) {
      boolean isMeant = token == 0 || token == hold.ownerToken;
      if (isMeant && hold.doneNanos < askedNanos && hold.freedNanos < 0) {
        hold.freedNanos = world.nowNanos();
      }
    }
  }

  /** A caller was told that his lease was extended, which it began to ask for at that time. */
  void extended(SimHold hold, long beganNanos) {
    if (hold.freedNanos >= 0 && beganNanos > hold.freedNanos && nodes.keepData()) {
      world.violated(SimInvariant.I22, () -> hold + " is extended though it was set free");
    }
    world.note(hold.token, () -> hold + " was extended");
    if (!plan.keepsTimingAssumptions() || !hold.isValid()) {
      return; // by now somebody else may rightly have come
    }
    checkGoodUntil(hold);
    for (String name : hold.names) {
      History history = histories.computeIfAbsent(name, n -> new History());
      SimHold last = history.excluding(hold).last;
      if (last != null && last.token > hold.token) {
        world.violated(
            SimInvariant.I6, () -> hold + " is extended though " + last + " was acquired");
      }
    }
  }

  /** Its holder has locked once more, and this is the token now. */
  void lockedAgain(SimHold hold, long token) {
    if (token != hold.token) {
      world.violated(SimInvariant.I10, () -> "locking " + hold + " again gives the token " + token);
    }
  }

  /** Its holder has unlocked once; so many times it still has it locked. */
  void unlocked(SimHold hold, int times, boolean isHeld) {
    if (isHeld != times > 0) {
      world.violated(
          SimInvariant.I10,
          () -> hold + " is locked " + times + " times more, but held: " + isHeld);
    }
  }

  /** A holder was told that his lease has ended. */
  void ended(SimHold hold, LeaseEnd how) {
    world.note(hold.token, () -> hold + " ends: " + how);
    hold.endedNanos = world.nowNanos();
    hold.lost = how.lost();
    fair.ended(hold);
    if (++hold.ends > 1) {
      world.violated(SimInvariant.I11, () -> hold + " ends for the second time: " + how);
    }
    if (hold.isValid()) {
      world.violated(SimInvariant.I11, () -> hold + " is valid after its end: " + how);
    }
  }

  /** The work of a leader begins. Other work goes on only without its lease. */
  void leads(SimHold hold) {
    for (SimHold other : leading) {
      boolean isReleased = other.ends > 0 && !other.lost;
      boolean isKept = other.isValid() && plan.keepsTimingAssumptions();
      if (!other.process.isDead() && (isReleased || isKept)) {
        world.violated(SimInvariant.I30, () -> hold + " leads while " + other + " is at work");
      }
    }
    leading.add(hold);
  }

  void stops(SimHold hold) {
    leading.remove(hold);
  }

  private void look(SimHold hold) {
    if (hold.ends > 0 || hold.process.isDead()) {
      return;
    }
    long remainingNanos = hold.remainingNanos();
    if (remainingNanos > 0) {
      checkGoodUntil(hold);
      long trueNanos = hold.process.monotonic.trueDelayNanos(remainingNanos);
      world.after(trueNanos + GRACE_NANOS, () -> look(hold));
      return;
    }
    boolean heldUp =
        !hold.process.isIdle() || hold.stoodStillNanos != hold.process.stoodStillNanos();
    hold.lateLooks = heldUp ? 0 : hold.lateLooks + 1;
    hold.stoodStillNanos = hold.process.stoodStillNanos();
    if (hold.lateLooks > 1) {
      world.violated(SimInvariant.I11, () -> hold + " is over and its holder was not told");
    }
    world.after(GRACE_NANOS, () -> look(hold));
  }

  /** The lease must not call itself valid beyond what the rounds behind it can carry. */
  private void checkGoodUntil(SimHold hold) {
    Round best = null;
    for (Round round : rounds(hold.process, hold.names, hold.token)) {
      boolean isAlike = hold.shared && round.request.token() == hold.token;
      if (isAlike || round.request.owner().equals(hold.owner)) {
        Round extend = lastExtends.get(round.request.owner());
        Round its = extend == null ? round : later(round, extend);
        best = best == null ? its : later(best, its);
      }
    }
    if (best == null) {
      return;
    }
    long leftNanos = best.monotonicEndNanos - hold.process.monotonic.nanos();
    long leftMicros = best.wallEndMicros - hold.process.wall.micros();
    long remainingNanos = hold.remainingNanos();
    if (remainingNanos > leftNanos || remainingNanos / 1_000 > leftMicros + 1) {
      world.violated(
          SimInvariant.I2,
          () ->
              hold
                  + " says that "
                  + remainingNanos
                  + " ns are left, but its rounds are good for "
                  + Math.min(leftNanos, leftMicros * 1_000)
                  + " ns");
    }
  }
}
