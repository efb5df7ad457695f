package io.redlock.explorer;

import io.redlock.explorer.MarkWorld.Sent;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.Founding;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.Membership;
import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.Served;
import io.redlock.jedis.membership.TermsChange;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.jedis.membership.Waiver;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How much may happen to the marks of some masters in one search. Every setter returns the scope.
 * Not final, so that a test can break one rule.
 */
class MarkScope {

  /** What may happen to a node. */
  enum Fault {
    /** It loses its data and its mark. */
    EMPTIED,
    /** It is gone for good, so that it comes back only empty. */
    GONE,
    /** It restarts with its data. */
    RESTARTED,
    /** It restarts with data from before. */
    DUMP_LOADED,
    /** It evicts keys. */
    EVICTED
  }

  static final TrustRules RULES = rules(true, 30_000);

  /** Other terms, under which leases last longer. */
  static final TrustRules LONGER = rules(true, 3_600_000);

  /** The sets of a change: before it and after it. */
  static final String PRESENT = "p";

  static final String FUTURE = "f";

  static final Waiver NO_WORD = new Waiver(Set.of(), Map.of());

  final String name;
  final int nodes;
  final List<Client> clients = new ArrayList<>();
  final List<Operator> operators = new ArrayList<>();
  final List<List<MarkedNode>> starts = new ArrayList<>();
  final List<List<MarkedNode>> dumps = new ArrayList<>(); // by node
  final Set<Fault> faults = EnumSet.noneOf(Fault.class);
  int mostFaults = -1;
  int histories = 1;
  int commands;
  boolean delays;
  boolean needsWayOut = true;
  boolean isAttended = true;
  int mostChanges; // 0: marks have no dates
  boolean agrees; // so leases under several terms may last at the same time
  boolean leases; // last while marks change
  boolean writesLate; // more than three seconds after the audit
  boolean isAnyConnected = true; // so that clients see a founding mark in time
  Set<String> agreed = Set.of(); // the clients that need a way out
  private UnaryOperator<Sight> seeing = sight -> sight;
  private UnaryOperator<Next> doing = next -> next;
  private BiFunction<Integer, @Nullable NodeAudit, @Nullable NodeAudit> hearing =
      (node, audit) -> audit;

  /**
   * A client, or many that are alike.
   *
   * @param future the masters to which it moves; empty if it does not move
   * @param isLate true if it begins when a node is a master of its list
   */
  record Client(
      String name,
      List<Integer> present,
      List<Integer> future,
      TrustRules rules,
      boolean isLate,
      List<Integer> list,
      Quorum ofAll) {

    /**
     * The list has its masters in the order of production, and the quorum is by the numbers of the
     * scope.
     */
    Client(
        String name,
        List<Integer> present,
        List<Integer> future,
        TrustRules rules,
        boolean isLate) {
      this(
          name,
          present,
          future,
          rules,
          isLate,
          Stream.concat(present.stream(), future.stream()).distinct().toList(),
          new Quorum(mask(present), mask(future)));
    }

    /** Returns true if these nodes are enough, and none of them is left over. */
    boolean isLeast(int nodes) {
      boolean isLeast = ofAll.isReachedBy(nodes);
      for (int rest = nodes; isLeast && rest > 0; rest &= rest - 1) {
        isLeast = !ofAll.isReachedBy(nodes & ~Integer.lowestOneBit(rest));
      }
      return isLeast;
    }

    /** Returns the quorum by the numbers of this client. */
    Quorum quorum() {
      return Quorum.of(names(present), names(future));
    }
  }

  /** What an operator may type, with a word about masters. */
  sealed interface Job {
    Waiver word();

    /** Returns the same with another word. */
    Job with(Waiver other);
  }

  /** A command of a change of masters. */
  record Resizing(Command command, Waiver word) implements Job {
    @Override
    public Job with(Waiver other) {
      return new Resizing(command, other);
    }
  }

  /** The command that changes the terms of all clients to these. */
  record Agreeing(TrustRules terms, Waiver word) implements Job {
    @Override
    public Job with(Waiver other) {
      return new Agreeing(terms, other);
    }
  }

  /** The command that founds a set under these terms. */
  record Adopting(TrustRules terms, boolean isNew, Waiver word) implements Job {
    @Override
    public Job with(Waiver other) {
      return new Adopting(terms, isNew, other);
    }
  }

  /** An operator, who has a change of their own. */
  record Operator(Client client, List<Job> allowed) {

    Operator(List<Integer> present, List<Integer> future, List<Job> allowed) {
      this(new Client("operator", present, future, RULES, false), allowed);
    }

    List<Integer> list() {
      return client.list();
    }
  }

  /**
   * A command that runs, and what it sees.
   *
   * @param drawn the id of a set that it founds
   * @param progress what it has done
   * @param beside the nodes that are not in its list, by their names
   */
  record Sight(
      Operator operator,
      Job job,
      String drawn,
      List<@Nullable NodeAudit> audits,
      Progress progress,
      Map<String, MarkedNode> beside) {

    Sight seeing(int index, UnaryOperator<String> birth) {
      List<@Nullable NodeAudit> seen = new ArrayList<>(audits);
      NodeAudit audit = seen.get(index);
      seen.set(index, audit == null ? null : MarkedNode.with(audit, birth.apply(audit.birth())));
      return new Sight(operator, job, drawn, seen, progress, beside);
    }

    Sight doing(Progress done) {
      return new Sight(operator, job, drawn, audits, done, beside);
    }

    Sight besides(Map<String, MarkedNode> others) {
      return new Sight(operator, job, drawn, audits, progress, others);
    }

    /** Returns what is shown, by the master. */
    Map<Integer, String> marks() {
      Map<Integer, String> marks = new TreeMap<>();
      for (int master = 0; master < audits.size(); master++) {
        NodeAudit audit = audits.get(master);
        if (audit != null) {
          marks.put(master, audit.birth());
        }
      }
      return marks;
    }
  }

  /** What a command does next, and what it has done then. */
  record Next(Step step, Progress progress) {

    Next with(Step other) {
      return new Next(other, progress);
    }

    /** Returns the same, with a change of the marks that it writes. */
    Next marking(UnaryOperator<BirthMark> change) {
      return step instanceof Step.Write write ? with(changed(write, change)) : this;
    }
  }

  MarkScope(String name, int nodes) {
    this.name = name;
    this.nodes = nodes;
    for (int node = 0; node < nodes; node++) {
      dumps.add(new ArrayList<>());
    }
  }

  static TrustRules rules(boolean guarded, long maxTtlMillis) {
    return TrustRules.of(guarded, Duration.ofMillis(maxTtlMillis), 0, 0, "");
  }

  static List<Integer> range(int first, int last) {
    return IntStream.rangeClosed(first - 1, last - 1).boxed().toList();
  }

  static String name(int node) {
    return "m" + (node + 1);
  }

  static List<String> names(List<Integer> nodes) {
    return nodes.stream().map(MarkScope::name).toList();
  }

  static List<Integer> numbers(List<String> names) {
    return names.stream().map(name -> Integer.parseInt(name.substring(1)) - 1).toList();
  }

  static int mask(List<Integer> nodes) {
    return nodes.stream().mapToInt(node -> 1 << node).sum();
  }

  static MasterSet set(String id, List<Integer> members) {
    return new MasterSet(id, names(members));
  }

  /** The mark of a member of this set. */
  static MarkedNode member(String id, List<Integer> members) {
    return MarkedNode.of(Served.of(id), List.of(set(id, members)));
  }

  MarkScope client(String who, List<Integer> present, List<Integer> future, TrustRules rules) {
    clients.add(new Client(who, present, future, rules, false));
    return this;
  }

  MarkScope client(String who, List<Integer> present) {
    return client(who, present, List.of(), RULES);
  }

  MarkScope operator(List<Integer> present, List<Integer> future, Command... allowed) {
    List<Job> jobs =
        Stream.of(allowed).<Job>map(command -> new Resizing(command, NO_WORD)).toList();
    operators.add(new Operator(present, future, jobs));
    return this;
  }

  /** An operator, who changes the terms of the clients of these masters. */
  MarkScope agreeing(List<Integer> list, TrustRules terms) {
    operators.add(new Operator(list, List.of(), List.of(new Agreeing(terms, NO_WORD))));
    agrees = true;
    return this;
  }

  /** An operator, who founds the set of these masters. */
  MarkScope adopting(List<Integer> list, TrustRules terms, boolean isNew) {
    operators.add(new Operator(list, List.of(), List.of(new Adopting(terms, isNew, NO_WORD))));
    return this;
  }

  MarkScope adopting(List<Integer> list) {
    return adopting(list, RULES, false);
  }

  /** An operator, who founds the set of these masters and replaces marks of others. */
  MarkScope replacing(List<Integer> list, Map<String, String> others) {
    Job job = new Adopting(RULES, false, new Waiver(Set.of(), others));
    operators.add(new Operator(list, List.of(), List.of(job)));
    return this;
  }

  /** Marks arrive at any time after their audits. */
  MarkScope late() {
    writesLate = true;
    return delays();
  }

  /** Leases last while marks change, so that a master which forgot one must abstain. */
  MarkScope leases() {
    leases = true;
    return this;
  }

  /** No client sees a founding mark before it is old. */
  MarkScope unconnected() {
    isAnyConnected = false;
    return this;
  }

  /** Each of these clients needs a way out. */
  MarkScope agreed(String... names) {
    agreed = Set.of(names);
    return this;
  }

  /** So many commands of all operators. */
  MarkScope commands(int most) {
    commands = most;
    return this;
  }

  MarkScope start(List<MarkedNode> marks) {
    starts.add(List.copyOf(marks));
    return this;
  }

  /** These nodes have dumps with this mark. */
  MarkScope dumps(List<Integer> which, MarkedNode mark) {
    which.forEach(node -> dumps.get(node).add(mark.isVoid()));
    faults.add(Fault.DUMP_LOADED);
    return this;
  }

  MarkScope faults(Fault... which) {
    faults.addAll(List.of(which));
    return this;
  }

  /** So many faults at most. */
  MarkScope mostFaults(int most) {
    mostFaults = most;
    return this;
  }

  /** A restart gives a node another history, so many in all. */
  MarkScope histories(int most) {
    histories = most;
    return this;
  }

  /** Nobody types anything: the clients find a way out by themselves. */
  MarkScope unattended() {
    isAttended = false;
    return this;
  }

  /** A state without a way out counts for nothing. */
  MarkScope withoutWayOut() {
    needsWayOut = false;
    return this;
  }

  /** What a client or an operator writes arrives at any later moment. */
  MarkScope delays() {
    delays = true;
    return this;
  }

  /** Marks have dates, and operators change the terms of each so often at most. */
  MarkScope dated(int most) {
    mostChanges = most;
    return this;
  }

  /** A change from one list to another that is finished, with dumps from before its end. */
  MarkScope finished(List<Integer> present, List<Integer> future) {
    List<MasterSet> both = List.of(set(PRESENT, present), set(FUTURE, future));
    MarkedNode open =
        MarkedNode.of(Served.of(Served.label(List.of(PRESENT, FUTURE)), FUTURE), both);
    MarkedNode after = member(FUTURE, future);
    MarkedNode left = MarkedNode.of(Served.NOBODY, both);
    List<MarkedNode> marks = new ArrayList<>();
    for (int node = 0; node < nodes; node++) {
      marks.add(future.contains(node) ? after : present.contains(node) ? left : MarkedNode.EMPTY);
    }
    return start(marks)
        .dumps(future, open)
        .faults(Fault.EMPTIED, Fault.RESTARTED)
        .client("forgotten", present)
        .client("new", future)
        .agreed("new");
  }

  /** A change from one list to another that may begin. Clients of the new list come later. */
  MarkScope changing(List<Integer> present, List<Integer> future, Command... allowed) {
    before(present)
        .client("old", present)
        .client("moving", present, future, RULES)
        .operator(present, future, allowed)
        .agreed("new");
    clients.add(new Client("new", future, List.of(), RULES, true));
    return this;
  }

  /** Another operator, who lists the same masters in another order. */
  MarkScope second(Command... allowed) {
    List<Integer> present = new ArrayList<>(operators.get(0).client.present);
    List<Integer> future = new ArrayList<>(operators.get(0).client.future);
    Collections.reverse(present);
    Collections.reverse(future);
    return operator(present, future, allowed);
  }

  /** A founded set, whose terms an operator changes while there are clients with either. */
  MarkScope agreeing(List<Integer> list, TrustRules from, TrustRules to) {
    return before(list, from)
        .client("before", list, List.of(), from)
        .client("after", list, List.of(), to)
        .agreeing(list, to)
        .agreed("after")
        .commands(2);
  }

  /** A founded set. */
  MarkScope before(List<Integer> present) {
    return before(present, RULES);
  }

  MarkScope before(List<Integer> present, TrustRules rules) {
    MarkedNode member =
        MarkedNode.of(Served.of(PRESENT), List.of(set(PRESENT, present)), rules.terms());
    List<MarkedNode> marks = new ArrayList<>();
    for (int node = 0; node < nodes; node++) {
      marks.add(present.contains(node) ? member : MarkedNode.EMPTY);
    }
    return start(marks);
  }

  /** Every combination of these marks. */
  MarkScope everyStart(List<MarkedNode> known) {
    int all = (int) Math.pow(known.size(), nodes);
    for (int at = 0; at < all; at++) {
      List<MarkedNode> marks = new ArrayList<>();
      for (int node = 0, rest = at; node < nodes; node++, rest /= known.size()) {
        marks.add(known.get(rest % known.size()));
      }
      start(marks);
    }
    return this;
  }

  // The rules, which a test may break.

  /** Every command sees this instead. */
  MarkScope seeing(UnaryOperator<Sight> instead) {
    seeing = instead;
    return this;
  }

  /** Every command does this instead. */
  MarkScope doing(UnaryOperator<Next> instead) {
    doing = instead;
    return this;
  }

  /** Clients compare this with the others, instead of what a node shows; null is a silent node. */
  MarkScope hearing(BiFunction<Integer, @Nullable NodeAudit, @Nullable NodeAudit> instead) {
    hearing = instead;
    return this;
  }

  /** Returns true if what was sent is written: the script compares the whole mark. */
  boolean arrives(Sent mark, MarkedNode at) {
    return at.equals(mark.seen());
  }

  /** Returns what a client hears of a node. */
  @Nullable NodeAudit heard(MarkedNode node, int index) {
    return node.audit(index);
  }

  /** Returns the marks as a client understands them; null is a node that is silent. */
  Membership membership(Client client, List<@Nullable NodeAudit> view, String known) {
    List<Membership.Node> all = new ArrayList<>();
    for (int i = 0; i < view.size(); i++) {
      int node = client.list().get(i);
      all.add(Membership.Node.of(i, name(node), hearing.apply(node, view.get(i))));
    }
    return new Membership(all, client.quorum(), client.rules, known, Optional.empty());
  }

  Advice advice(Client client, Membership membership, List<@Nullable NodeAudit> view, int index) {
    return membership.advice(index);
  }

  /** Returns true if a lease of its client outlasts the abstention of a node with this mark. */
  boolean outlasts(Client client, MarkedNode node) {
    return client.rules.terms().abstentionMillis() > node.parsed().agreement().abstentionMillis();
  }

  /** Returns what a command does next. */
  Next step(Sight shown) {
    Sight sight = seeing.apply(shown);
    List<String> names = names(sight.operator.list());
    Map<String, Membership.Node> beside = new TreeMap<>();
    sight.beside.forEach(
        (name, node) ->
            beside.put(
                name,
                Membership.Node.of(0, name, node.audit(Integer.parseInt(name.substring(1))))));
    Step step = next(operation(sight), names, sight.audits, sight.progress, beside);
    if (sight.job instanceof Agreeing && step instanceof Step.Write write) {
      step = changed(write, mark -> mostChanges > 0 ? mark : mark.dated(0));
      if (write.marks().values().stream()
          .anyMatch(each -> mostChanges > 0 && each.mark().firstSeenMillis() > mostChanges)) {
        step = Step.refuse(-1, "interrupted");
      }
    }
    return doing.apply(new Next(step, sight.progress.after(step, shown(step, sight))));
  }

  /** Returns the marks that masters show after a step that is about them. */
  private static Map<Integer, String> shown(Step step, Sight sight) {
    Map<Integer, String> shown = step instanceof Step.Save ? sight.marks() : new TreeMap<>();
    if (step instanceof Step.Write write) {
      write
          .marks()
          .forEach(
              (master, refresh) -> {
                BirthMark mark = refresh.mark();
                BirthMark dated = mark.dated(Math.max(0, mark.firstSeenMillis())); // 0: now
                shown.put(master, dated.toString());
              });
    }
    return shown;
  }

  /** Returns the same step with other marks. */
  private static Step changed(Step.Write write, UnaryOperator<BirthMark> change) {
    Map<Integer, Refresh> marks = new TreeMap<>();
    write
        .marks()
        .forEach(
            (master, refresh) ->
                marks.put(
                    master,
                    new Refresh(
                        refresh.seen(), refresh.seenMicros(), change.apply(refresh.mark()), 0)));
    return new Step.Write(
        marks, write.carries(), write.isWaitedFor(), write.isSaved(), write.told());
  }

  private Operation operation(Sight sight) {
    Quorum quorum = sight.operator.client.quorum();
    Waiver word = sight.job.word();
    if (sight.job instanceof Resizing resizing) {
      return new Resize(resizing.command, quorum, RULES, word, "", sight.drawn);
    } else if (sight.job instanceof Agreeing agreeing) {
      return new TermsChange(quorum, agreeing.terms, word.gone(), false);
    }
    Adopting adopting = (Adopting) sight.job;
    return new Founding(quorum, adopting.terms, adopting.isNew, word, sight.drawn);
  }

  /** Returns the next step of a command on masters with good clocks. */
  static Step next(
      Operation operation,
      List<String> names,
      List<@Nullable NodeAudit> audits,
      Progress progress,
      Map<String, Membership.Node> beside) {
    List<Audited> found = new ArrayList<>();
    Map<Integer, String> nothing = new TreeMap<>();
    for (NodeAudit audit : audits) {
      int index = found.size();
      nothing.put(index, "");
      Membership.Node node = Membership.Node.of(index, names.get(index), audit);
      found.add(
          audit == null
              ? new Audited(node, null, null, NodeReply.unreachable("it does not answer"))
              : new Audited(node, around(audit, new Advice.Keep()), null, null));
    }
    Map<Question, Map<Integer, String>> answers = new EnumMap<>(Question.class);
    for (Question question : Question.values()) {
      answers.put(question, nothing);
    }
    return operation.next(found, new Known(progress, Map.of(), Map.of(), answers, beside));
  }

  /** Returns what is known beside a node that answers, with good clocks. */
  static Surroundings around(NodeAudit audit, Advice advice) {
    return new Surroundings(audit.nodeMicros(), true, OptionalLong.of(0), 0, advice, "");
  }

  @Override
  public String toString() {
    return name;
  }
}
