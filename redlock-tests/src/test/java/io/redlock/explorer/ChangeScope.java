package io.redlock.explorer;

import static io.redlock.explorer.MarkScope.RULES;
import static io.redlock.explorer.MarkScope.set;

import io.redlock.jedis.membership.MasterChange;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterChange.Master;
import io.redlock.jedis.membership.MasterChange.Role;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.Served;
import io.redlock.protocol.AcquireRound;
import io.redlock.spi.Quorum;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Standing;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * How much may happen in one search through a change of masters. Every setter returns the scope.
 */
final class ChangeScope {

  static final long TICK_MILLIS = 10;
  static final long START_MICROS = 1_000_000;
  static final long TOKENS_TO_PASS = 3;
  static final String PRESENT = "p";
  static final String FUTURE = "f";

  /** The clients of a change. */
  enum Client {
    OLD,
    MOVING,
    NEW
  }

  final String name;
  final List<Role> roles = new ArrayList<>();
  final List<Client> attempts;
  final MasterChange change =
      new MasterChange(set(PRESENT, List.of()), set(FUTURE, List.of()), RULES.terms());
  int ttlTicks = 1;
  int horizon = 4;
  int waitTicks = 1;
  int extensions;
  int rounds = 1;
  int commands = 4;
  int operators = 1;
  long counterAtFirst;
  List<Command> allowed = List.of(Command.values());
  boolean isPassing;
  private int readers;

  // The rules, which a test may break.

  Steps steps = change::next;
  @Nullable Client quorumOfMoving; // null: that of both sets
  boolean extendsForAll;
  boolean keepsWaited;
  boolean carriesCounters = true;
  boolean forgetsFloors = true;
  ToLongFunction<AcquireRound> firstToken = AcquireRound::token;

  /** What a command does next. */
  interface Steps {
    Step next(Command command, List<Master> masters, boolean waited);
  }

  /** So many masters leave, stay and join. Each of the clients tries once. */
  ChangeScope(String name, int leaving, int staying, int joining, Client... attempts) {
    this.name = name;
    this.attempts = List.of(attempts);
    for (int i = 0; i < leaving + staying + joining; i++) {
      roles.add(i < leaving ? Role.LEAVING : i < leaving + staying ? Role.STAYING : Role.JOINING);
    }
  }

  /** So many extends of each lease at most. */
  ChangeScope extensions(int most) {
    extensions = most;
    return this;
  }

  /** Leases live for so long, which an operator waits for. */
  ChangeScope ttlTicks(int ticks) {
    ttlTicks = ticks;
    waitTicks = ticks;
    return this;
  }

  /** Time ends after so many ticks. */
  ChangeScope horizon(int ticks) {
    horizon = ticks;
    return this;
  }

  /** The commands that are run, in any order. */
  ChangeScope commands(int most, Command... which) {
    commands = most;
    allowed = List.of(which);
    return this;
  }

  /** So many operators, who do not know of each other. */
  ChangeScope operators(int count) {
    operators = count;
    return this;
  }

  /**
   * The clocks of the present masters were ahead: a majority has granted a lease with this token.
   */
  ChangeScope counterAtFirst(long micros) {
    counterAtFirst = micros;
    rounds = 2;
    return this;
  }

  /** Leases are passed on: an owner has tokens of its own. The masters have near counters. */
  ChangeScope passing() {
    isPassing = true;
    firstToken = round -> round.firstToken(TOKENS_TO_PASS);
    return counterAtFirst(START_MICROS - 1);
  }

  /** These attempts are for shared leases. */
  ChangeScope readers(int... which) {
    for (int attempt : which) {
      readers |= 1 << attempt;
    }
    return this;
  }

  boolean isShared(int attempt) {
    return (readers >>> attempt & 1) != 0;
  }

  int nodes() {
    return roles.size();
  }

  /** Returns the name of the clients in marks. */
  String label(Client client) {
    return switch (client) {
      case OLD -> PRESENT;
      case MOVING -> Served.label(List.of(PRESENT, FUTURE));
      case NEW -> FUTURE;
    };
  }

  /** Returns the masters of a client, as it numbers them. */
  List<Integer> masters(Client client) {
    List<Integer> masters = new ArrayList<>();
    for (int node = 0; node < nodes(); node++) {
      boolean isIts =
          switch (client) {
            case OLD -> roles.get(node) != Role.JOINING;
            case MOVING -> true;
            case NEW -> roles.get(node) != Role.LEAVING;
          };
      if (isIts) {
        masters.add(node);
      }
    }
    return masters;
  }

  Quorum quorum(Client client) {
    return client == Client.MOVING ? joint() : Quorum.of(masters(client).size());
  }

  private Quorum joint() {
    return quorumOfMoving == null
        ? new Quorum(mask(Client.OLD), mask(Client.NEW))
        : new Quorum(mask(quorumOfMoving), 0);
  }

  int mask(Client client) {
    return masters(client).stream().mapToInt(node -> 1 << node).sum();
  }

  long ttlMillis() {
    return ttlTicks * TICK_MILLIS - 1;
  }

  NodeModel nodeModel() {
    return new NodeModel(1_000, 1L << 40);
  }

  /** Breaks a rule. */
  ChangeScope breaking(Consumer<ChangeScope> rule) {
    rule.accept(this);
    return this;
  }

  Step next(Command command, List<Master> masters, boolean waited) {
    return steps.next(command, masters, waited);
  }

  Standing standing(boolean isServed, boolean isExtend) {
    boolean votes = isServed || isExtend && extendsForAll;
    return votes ? Standing.VOTING : Standing.UNSERVING;
  }

  @Override
  public String toString() {
    return name;
  }
}
