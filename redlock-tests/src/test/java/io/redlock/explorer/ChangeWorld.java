package io.redlock.explorer;

import io.redlock.explorer.ChangeScope.Client;
import io.redlock.explorer.Search.Sink;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterChange.Master;
import io.redlock.jedis.membership.MasterChange.Role;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.Served;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Ballot;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.ExtendRound.Purpose;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.Rivals;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Reading;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One state of a change of masters, and all that can happen in it. The rounds of clients, the rules
 * of nodes and the steps of operators are those of production.
 *
 * <p>Some things are left out because they could only prevent a violation: an answer is heard as
 * soon as its request is executed; nothing is released; what an attempt has sent and is not
 * executed when it is decided never is. A node that serves a client grants to it whatever its mark
 * was when the request was sent.
 *
 * @param now in ticks
 * @param operators what each operator does
 * @param commands how many commands were begun
 * @param attempts what is known of each attempt besides its nodes
 * @param nodes what each node is, and what lies between it and each attempt
 */
record ChangeWorld(
    int now, List<Operator> operators, int commands, List<Attempt> attempts, List<Node> nodes) {

  private static final List<Role> ROLES = List.of(Role.values());

  /**
   * @param command null if none is run
   * @param waitsUntil in ticks; −1 if it does not wait
   */
  record Operator(@Nullable Command command, boolean waited, int waitsUntil) {
    static final Operator IDLE = new Operator(null, false, -1);
  }

  enum Phase {
    IDLE,
    ACQUIRING,
    HOLDING,
    ENDED
  }

  /**
   * @param acquire the round under way, without its answers
   * @param extend the extend under way, without its answers
   * @param tag the number of the round or extend that was sent last
   * @param floor the highest token of all leases acquired before the round began
   * @param held the token of its lease, the highest of its owner; 0 if it had none
   * @param first the first token of its owner
   */
  record Attempt(
      Phase phase,
      @Nullable AcquireRound acquire,
      @Nullable ExtendRound extend,
      @Nullable Deadline deadline,
      int tag,
      int extensions,
      long floor,
      long held,
      long first) {
    static final Attempt NEW = new Attempt(Phase.IDLE, null, null, null, 0, 0, 0, 0, 0);

    Attempt ended() {
      return new Attempt(Phase.ENDED, null, null, null, 0, 0, 0, held, first);
    }
  }

  /** A request on its way. */
  record Message(int tag, NodeRequest request) {}

  /**
   * @param lane the requests under way, in order
   * @param vote the answer to the round under way; null if there is none
   */
  record Link(List<Message> lane, @Nullable Kind vote) {
    static final Link NONE = new Link(List.of(), null);
  }

  /**
   * @param serves the clients that its mark names
   */
  record Node(Cell cell, Served serves, List<Link> links) {

    Node with(int attempt, Link link) {
      List<Link> changed = new ArrayList<>(links);
      changed.set(attempt, link);
      return new Node(cell, serves, List.copyOf(changed));
    }
  }

  static ChangeWorld first(ChangeScope scope) {
    int attempts = scope.attempts.size();
    List<Link> links = IntStream.range(0, attempts).mapToObj(i -> Link.NONE).toList();
    int majority = scope.masters(Client.OLD).size() / 2 + 1;
    List<Node> nodes = new ArrayList<>();
    for (int node = 0; node < scope.nodes(); node++) {
      boolean isPresent = scope.roles.get(node) != Role.JOINING;
      boolean counts = node < majority && scope.counterAtFirst > 0;
      Cell cell = counts ? Cell.EMPTY.counting(scope.counterAtFirst, Long.MAX_VALUE) : Cell.EMPTY;
      Served serves = isPresent ? Served.of(ChangeScope.PRESENT) : Served.UNMARKED;
      nodes.add(new Node(cell, serves, links));
    }
    return new ChangeWorld(
        0,
        IntStream.range(0, scope.operators).mapToObj(i -> Operator.IDLE).toList(),
        0,
        IntStream.range(0, attempts).mapToObj(i -> Attempt.NEW).toList(),
        List.copyOf(nodes));
  }

  // Everything that can happen next.

  void successors(ChangeScope scope, NodeModel model, Sink<ChangeWorld> sink) {
    if (now < scope.horizon) {
      sink.found(() -> "time passes", tick(scope));
    }
    for (int operator = 0; operator < operators.size(); operator++) {
      operate(scope, operator, sink);
    }
    for (int attempt = 0; attempt < attempts.size(); attempt++) {
      int each = attempt;
      Supplier<String> who = () -> "client " + each + " (" + scope.attempts.get(each) + ")";
      Attempt its = attempts.get(attempt);
      if (its.phase == Phase.IDLE && isNext(scope, attempt)) {
        sink.found(() -> who.get() + " begins", begin(scope, attempt));
      }
      if (its.phase == Phase.HOLDING && its.extend == null && its.extensions < scope.extensions) {
        sink.found(() -> who.get() + " extends", extend(scope, attempt));
      }
      for (int node = 0; node < nodes.size(); node++) {
        if (!nodes.get(node).links.get(attempt).lane.isEmpty()) {
          int at = node;
          ChangeWorld next = execute(scope, model, attempt, node);
          sink.found(() -> who.get() + "'s request at node " + at, next);
        }
      }
    }
  }

  /** Of those that are alike the first begins first. */
  private boolean isNext(ChangeScope scope, int attempt) {
    return IntStream.range(0, attempt)
        .noneMatch(
            other ->
                attempts.get(other).phase == Phase.IDLE
                    && scope.isShared(other) == scope.isShared(attempt)
                    && scope.attempts.get(other) == scope.attempts.get(attempt));
  }

  private long nanos() {
    return now * ChangeScope.TICK_MILLIS * 1_000_000;
  }

  private long micros() {
    return ChangeScope.START_MICROS + now * ChangeScope.TICK_MILLIS * 1_000;
  }

  private ChangeWorld tick(ChangeScope scope) {
    ChangeWorld later = new ChangeWorld(now + 1, operators, commands, attempts, nodes);
    List<Attempt> aged = new ArrayList<>();
    List<Node> agedNodes = new ArrayList<>(nodes);
    for (int attempt = 0; attempt < attempts.size(); attempt++) {
      Attempt its = attempts.get(attempt);
      boolean isOver =
          its.deadline != null && its.deadline.remainingNanos(later.nanos(), later.micros()) <= 0;
      aged.add(isOver ? its.ended() : its);
      for (int node = 0; node < nodes.size() && isOver; node++) {
        agedNodes.set(node, agedNodes.get(node).with(attempt, Link.NONE));
      }
    }
    agedNodes.replaceAll(
        node ->
            new Node(node.cell.at(Math.floorDiv(later.micros(), 1_000L)), node.serves, node.links));
    return new ChangeWorld(now + 1, operators, commands, List.copyOf(aged), List.copyOf(agedNodes));
  }

  // Operators.

  private void operate(ChangeScope scope, int operator, Sink<ChangeWorld> sink) {
    Operator its = operators.get(operator);
    String who = "operator " + operator;
    Command command = its.command;
    if (command == null) {
      if (commands < scope.commands && isFirstIdle(operator)) {
        for (Command next : scope.allowed) {
          sink.found(
              () -> who + " runs " + next,
              with(operator, new Operator(next, false, -1), commands + 1));
        }
      }
      return;
    }
    if (commands < scope.commands) {
      sink.found(() -> who + " is interrupted", with(operator, Operator.IDLE, commands));
    }
    if (its.waitsUntil >= 0) {
      if (now >= its.waitsUntil) {
        sink.found(
            () -> who + " has waited", with(operator, new Operator(command, true, -1), commands));
      }
      return;
    }
    Step step = scope.next(command, masters(scope), its.waited);
    if (step instanceof Step.Wait) {
      Operator waits = new Operator(command, false, now + scope.waitTicks);
      sink.found(() -> who + " waits", with(operator, waits, commands));
    } else if (step instanceof Step.Let let) {
      List<Node> changed = new ArrayList<>(nodes);
      Node old = nodes.get(let.master());
      Cell cell = let.carries() && scope.carriesCounters ? carried(scope, old.cell) : old.cell;
      changed.set(let.master(), new Node(cell, let.serves(), old.links));
      sink.found(
          () -> who + " lets node " + let.master() + " serve " + let.serves(),
          new ChangeWorld(
              now,
              with(
                      operator,
                      new Operator(
                          command, its.waited && (let.isWaitedFor() || scope.keepsWaited), -1),
                      commands)
                  .operators,
              commands,
              attempts,
              List.copyOf(changed)));
    } else {
      sink.found(() -> who + " ends: " + step, with(operator, Operator.IDLE, commands));
    }
  }

  private boolean isFirstIdle(int operator) {
    return operators.stream().limit(operator).noneMatch(other -> other.command == null);
  }

  private ChangeWorld with(int operator, Operator changed, int begun) {
    List<Operator> all = new ArrayList<>(operators);
    all.set(operator, changed);
    return new ChangeWorld(now, List.copyOf(all), begun, attempts, nodes);
  }

  private List<Master> masters(ChangeScope scope) {
    List<Master> masters = new ArrayList<>();
    for (int node = 0; node < nodes.size(); node++) {
      Served serves = nodes.get(node).serves;
      masters.add(new Master(node, scope.roles.get(node), serves, serves));
    }
    return masters;
  }

  private Cell carried(ChangeScope scope, Cell cell) {
    long highest = cell.counter();
    for (int node = 0; node < nodes.size(); node++) {
      if (scope.roles.get(node) != Role.JOINING) {
        highest = Math.max(highest, nodes.get(node).cell.counter());
      }
    }
    Cell counted = highest == cell.counter() ? cell : cell.counting(highest, Long.MAX_VALUE);
    return scope.forgetsFloors ? floored(counted, 0, 0) : counted;
  }

  private static Cell floored(Cell cell, long counter, long floor) {
    long untilMillis = counter == 0 ? 0 : Long.MAX_VALUE;
    return cell.read(new Reading(cell.reading().all(), counter, floor, untilMillis));
  }

  // Clients.

  private LeaseTerms terms(ChangeScope scope, int attempt) {
    return new LeaseTerms(scope.quorum(scope.attempts.get(attempt)), scope.ttlMillis(), 0, 0, 0);
  }

  private ChangeWorld begin(ChangeScope scope, int attempt) {
    long begun = attempts.stream().filter(each -> each.phase != Phase.IDLE).count();
    AcquireRound round =
        AcquireRound.first(terms(scope, attempt), micros() + 2 * begun, nanos(), micros());
    return acquiring(scope, attempt, round);
  }

  private ChangeWorld acquiring(ChangeScope scope, int attempt, AcquireRound round) {
    long floor =
        Math.max(scope.counterAtFirst, Arrays.stream(excluding(scope, attempt)).max().orElse(0));
    int tag = round.number();
    NodeRequest request =
        new NodeRequest.Grant(
            List.of("r"),
            owner(attempt),
            round.token(),
            round.highestSeen(),
            scope.ttlMillis(),
            null,
            scope.isShared(attempt) ? micros() : 0);
    Attempt asks = new Attempt(Phase.ACQUIRING, round, null, null, tag, 0, floor, 0, 0);
    return sent(scope, attempt, asks, new Message(tag, request));
  }

  private ChangeWorld extend(ChangeScope scope, int attempt) {
    Attempt its = attempts.get(attempt);
    int tag = its.tag + 1;
    NodeRequest request =
        new NodeRequest.Extend(
            List.of("r"),
            owner(attempt),
            its.held,
            scope.ttlMillis(),
            micros(),
            scope.isShared(attempt));
    Attempt asks =
        new Attempt(
            its.phase,
            null,
            new ExtendRound(
                tag,
                Purpose.CALLED,
                terms(scope, attempt),
                new Deadline(nanos(), micros()),
                Ballot.empty(terms(scope, attempt).quorum().nodes())),
            its.deadline,
            tag,
            its.extensions + 1,
            0,
            its.held,
            its.first);
    return sent(scope, attempt, asks, new Message(tag, request));
  }

  private static String owner(int attempt) {
    return Catalog.OWNERS.get(attempt);
  }

  private ChangeWorld sent(ChangeScope scope, int attempt, Attempt asks, Message message) {
    List<Node> sent = new ArrayList<>(nodes);
    for (int node : scope.masters(scope.attempts.get(attempt))) {
      List<Message> lane = new ArrayList<>(nodes.get(node).links.get(attempt).lane);
      lane.add(message);
      sent.set(node, sent.get(node).with(attempt, new Link(List.copyOf(lane), null)));
    }
    return with(attempt, asks, sent);
  }

  private ChangeWorld with(int attempt, Attempt changed, List<Node> changedNodes) {
    List<Attempt> all = new ArrayList<>(attempts);
    all.set(attempt, changed);
    return new ChangeWorld(now, operators, commands, List.copyOf(all), List.copyOf(changedNodes));
  }

  private ChangeWorld execute(ChangeScope scope, NodeModel model, int attempt, int node) {
    Node asked = nodes.get(node);
    Link link = asked.links.get(attempt);
    Message message = link.lane.get(0);
    String label = scope.label(scope.attempts.get(attempt));
    boolean isServed = asked.serves.includes(label);
    boolean isExtend = message.request instanceof NodeRequest.Extend;
    Outcome outcome =
        model.execute(
            List.of(asked.cell), message.request, scope.standing(isServed, isExtend), micros());
    NodeReply reply = outcome.reply();
    Attempt its = attempts.get(attempt);
    boolean counts = message.tag == its.tag;
    Link after =
        new Link(
            List.copyOf(link.lane.subList(1, link.lane.size())), counts ? reply.kind() : link.vote);
    List<Node> changed = new ArrayList<>(nodes);
    changed.set(
        node,
        new Node(forever(outcome.cells().get(0)), asked.serves, asked.links).with(attempt, after));
    ChangeWorld heard = with(attempt, its, changed);
    return counts ? heard.decide(scope, attempt, reply) : heard;
  }

  /** Counters and floors do not expire here. */
  private static Cell forever(Cell cell) {
    if (cell.counter() == 0) {
      return cell;
    }
    Cell counts = cell.counting(cell.counter(), Long.MAX_VALUE);
    long floored = cell.reading().floored();
    return floored == 0 ? counts : floored(counts, floored, cell.floor());
  }

  private Ballot ballot(ChangeScope scope, int attempt) {
    List<Integer> masters = scope.masters(scope.attempts.get(attempt));
    Ballot ballot = Ballot.empty(masters.size());
    for (int i = 0; i < masters.size(); i++) {
      Kind vote = nodes.get(masters.get(i)).links.get(attempt).vote;
      ballot = vote == null ? ballot : ballot.with(i, vote);
    }
    return ballot;
  }

  private ChangeWorld decide(ChangeScope scope, int attempt, NodeReply reply) {
    Attempt its = attempts.get(attempt);
    AcquireRound acquire = its.acquire;
    if (acquire != null) {
      AcquireRound heard = acquire.answered(0, reply);
      AcquireRound kept = with(scope, heard, Ballot.empty(acquire.ballot().nodes()));
      AcquireRound full = with(scope, heard, ballot(scope, attempt));
      Attempt goesOn = new Attempt(its.phase, kept, null, null, its.tag, 0, its.floor, 0, 0);
      return switch (full.decide(nanos(), micros())) {
        case NOTHING -> with(attempt, goesOn, nodes);
        case HELD -> held(scope, attempt, full);
        case PROPOSED ->
            full.number() < scope.rounds
                ? with(attempt, goesOn, nodes)
                    .acquiring(scope, attempt, full.next(nanos(), micros()))
                : cleared(attempt, its.ended());
        default -> cleared(attempt, its.ended());
      };
    }
    ExtendRound extend = its.extend;
    if (extend == null || its.deadline == null) {
      return this;
    }
    ExtendRound full =
        new ExtendRound(
            extend.tag(), extend.purpose(), extend.terms(), extend.start(), ballot(scope, attempt));
    return switch (full.decide(its.deadline, nanos(), micros())) {
      case NOTHING -> this;
      case EXTENDED -> cleared(attempt, holding(its, its.deadline.max(full.deadline())));
      case UNKNOWN -> cleared(attempt, holding(its, its.deadline));
      default -> cleared(attempt, its.ended());
    };
  }

  private static AcquireRound with(ChangeScope scope, AcquireRound round, Ballot ballot) {
    return TenureColumns.with(
        round,
        round.highestSeen(),
        scope.isPassing ? round.highestBefore() : 0,
        ballot,
        Rivals.NONE);
  }

  private static Attempt holding(Attempt its, Deadline deadline) {
    return new Attempt(
        Phase.HOLDING, null, null, deadline, its.tag, its.extensions, 0, its.held, its.first);
  }

  private ChangeWorld held(ChangeScope scope, int attempt, AcquireRound round) {
    Attempt its = attempts.get(attempt);
    long first = scope.firstToken.applyAsLong(round);
    long last = round.token();
    Invariants.tokenIsNewAndHighest(owner(attempt), first, its.floor, excluding(scope, attempt));
    for (Attempt other : attempts) {
      if (scope.isPassing && other.held > 0) {
        Invariants.tokenIsOfNoOther(owner(attempt), first, other.first, other.held);
        Invariants.tokenIsOfNoOther(owner(attempt), other.held, first, last);
      }
    }
    Attempt holds =
        new Attempt(Phase.HOLDING, null, null, round.deadline(), its.tag, 0, 0, last, first);
    return cleared(attempt, holds);
  }

  /** The tokens of all leases that exclude the attempt's. */
  private long[] excluding(ChangeScope scope, int attempt) {
    return IntStream.range(0, attempts.size())
        .filter(other -> !(scope.isShared(attempt) && scope.isShared(other)))
        .mapToLong(other -> attempts.get(other).held)
        .toArray();
  }

  private ChangeWorld cleared(int attempt, Attempt changed) {
    List<Node> cleared = new ArrayList<>(nodes);
    cleared.replaceAll(node -> node.with(attempt, Link.NONE));
    return with(attempt, changed, cleared);
  }

  /** Checks what must hold in every state. */
  void check(ChangeScope scope) {
    int writers = 0;
    int readers = 0;
    for (int attempt = 0; attempt < attempts.size(); attempt++) {
      Deadline deadline = attempts.get(attempt).deadline;
      if (deadline != null && deadline.remainingNanos(nanos(), micros()) > 0) {
        writers += scope.isShared(attempt) ? 0 : 1;
        readers = scope.isShared(attempt) ? 1 : readers;
      }
    }
    Invariants.leasesDoNotOverlap(writers + readers);
  }

  /** Returns the state with like nodes in an order of their own. */
  List<Integer> sorted(ChangeScope scope, Interner<Node> known) {
    List<Integer> numbers = new ArrayList<>(nodes.size());
    for (Role role : ROLES) {
      int first = numbers.size();
      for (int node = 0; node < nodes.size(); node++) {
        if (scope.roles.get(node) == role) {
          numbers.add(known.of(nodes.get(node)));
        }
      }
      numbers.subList(first, numbers.size()).sort(Comparator.naturalOrder());
    }
    return numbers;
  }
}
