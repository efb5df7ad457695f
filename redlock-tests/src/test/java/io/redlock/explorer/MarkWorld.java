package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.explorer.MarkRules.Learnt;
import io.redlock.explorer.MarkScope.Adopting;
import io.redlock.explorer.MarkScope.Client;
import io.redlock.explorer.MarkScope.Fault;
import io.redlock.explorer.MarkScope.Job;
import io.redlock.explorer.MarkScope.Next;
import io.redlock.explorer.MarkScope.Operator;
import io.redlock.explorer.MarkedNode.Age;
import io.redlock.explorer.MarkedNode.Kind;
import io.redlock.explorer.Search.Sink;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Step;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One state of the marks on all nodes, and all that can happen to them. What a client writes is
 * decided by the production rules, what an operator does by the production commands.
 *
 * <p>A node votes for a client as soon as it has a mark: without its abstention more can go wrong.
 * A client that restarts forgets its label, and there may be others that are alike, so what it does
 * with its label and without is searched.
 *
 * @param known the label that each client has known; empty if none
 * @param sent what each client has sent, and then each operator; null if nothing
 * @param running the command of each operator
 * @param faults how many there were, if they are counted
 * @param begun how many commands were begun
 * @param leases the clients, as bits, that may hold a lease, if the terms change
 * @param lease the lease that is held, if leases last
 * @param disks the marks with which each node may restart; empty if it restarts with its last one
 */
record MarkWorld(
    List<MarkedNode> nodes,
    List<String> known,
    List<@Nullable Sent> sent,
    List<Running> running,
    int faults,
    int begun,
    int leases,
    Lease lease,
    List<Set<String>> disks) {

  /**
   * A mark on its way, which arrives if the node is as it was.
   *
   * @param before the nodes, as bits, whose mark is younger, if it is a founding one or they
   *     abstain, and the operators that began to wait later: no more than three seconds have passed
   *     while this is on its way
   */
  record Sent(int node, MarkedNode seen, MarkedNode mark, int before) {
    Sent(int node, MarkedNode seen, MarkedNode mark) {
      this(node, seen, mark, 0);
    }

    Sent before(int younger) {
      return new Sent(node, seen, mark, before | 1 << younger);
    }
  }

  /**
   * The lease that is held.
   *
   * @param client −1 if none is
   * @param holds the nodes, as bits, that have its key
   * @param abstaining the nodes, as bits, that abstain
   * @param renewed the nodes, as bits, that were marked before it was acquired or renewed last; and
   *     the operators that began to wait before
   */
  record Lease(int client, int holds, int abstaining, int renewed) {
    static final Lease NONE = new Lease(-1, 0, 0, 0);

    /** The bits from here on are of operators, who wait. */
    static final int WAITS = 16;

    /** Leases are not searched. */
    static final Lease UNKNOWN = new Lease(-2, 0, 0, 0);

    Lease lost(int node) {
      return new Lease(client, holds & ~(1 << node), abstaining & ~(1 << node), renewed);
    }

    Lease marked(int node, boolean abstains) {
      int abstain = abstains ? abstaining | 1 << node : abstaining;
      return new Lease(client, holds & ~(1 << node), abstain, renewed & ~(1 << node));
    }

    /** Returns the same lease when an operator begins to wait for it. */
    Lease waiting(int operator) {
      return new Lease(client, holds, abstaining, renewed & ~(1 << WAITS + operator));
    }

    Lease abstained(int node) {
      return new Lease(client, holds, abstaining & ~(1 << node), renewed);
    }

    /** Returns what it is on a node. */
    int on(int node) {
      return holds >> node & 1 | (abstaining >> node & 1) << 1 | (renewed >> node & 1) << 2;
    }

    /** Returns the same lease on nodes in this order. */
    Lease sorted(List<Integer> order) {
      return new Lease(
          client, sorted(holds, order), sorted(abstaining, order), sorted(renewed, order));
    }

    private static int sorted(int bits, List<Integer> order) {
      int sorted = bits & -1 << order.size(); // those of operators stay
      for (int i = 0; i < order.size(); i++) {
        sorted |= (bits >> order.get(i) & 1) << i;
      }
      return sorted;
    }

    Lease ended() {
      return new Lease(-1, 0, abstaining, 0);
    }

    boolean hasEndedSince(int node) {
      return client < 0 || (renewed & 1 << node) != 0;
    }
  }

  /**
   * A command that is run.
   *
   * @param job null if none is
   * @param progress what it has done
   * @param since the clients, as bits, that may have got a lease since it began to wait; −1 if it
   *     does not wait
   * @param pending the marks that it writes one after the other
   */
  record Running(@Nullable Job job, Progress progress, int since, List<Sent> pending) {

    static final Running IDLE = of(null);

    static Running of(@Nullable Job job) {
      return new Running(job, Progress.NONE, -1, List.of());
    }

    /** Returns the same command after a step. */
    Running after(Progress done) {
      return new Running(job, done, -1, List.of());
    }

    Running since(int clients) {
      return new Running(job, progress, clients, pending);
    }

    Running writing(List<Sent> marks) {
      return new Running(job, progress, -1, marks);
    }
  }

  static MarkWorld first(MarkScope scope, List<MarkedNode> marks) {
    return new MarkWorld(
        marks,
        Collections.nCopies(scope.clients.size(), ""),
        Collections.nCopies(scope.clients.size() + scope.operators.size(), null),
        Collections.nCopies(scope.operators.size(), Running.IDLE),
        0,
        0,
        0,
        scope.leases ? Lease.NONE : Lease.UNKNOWN,
        scope.faults.contains(Fault.DUMP_LOADED)
            ? marks.stream().map(MarkWorld::onDisk).toList()
            : List.of());
  }

  private static <T> List<T> with(List<T> all, int at, T changed) {
    List<T> copy = new ArrayList<>(all);
    copy.set(at, changed);
    return Collections.unmodifiableList(copy);
  }

  private static Set<String> onDisk(MarkedNode node) {
    return node.mark().isEmpty() ? Set.of() : Set.of(node.mark());
  }

  /** Returns the same state, in which this node restarts with nothing older than its mark. */
  private MarkWorld saved(int node) {
    return disks.isEmpty() ? this : withDisk(node, onDisk(nodes.get(node)));
  }

  private MarkWorld withDisk(int node, Set<String> marks) {
    return withDisks(with(disks, node, marks));
  }

  private MarkWorld withDisks(List<Set<String>> all) {
    return new MarkWorld(nodes, known, sent, running, faults, begun, leases, lease, all);
  }

  private MarkWorld withNodes(List<MarkedNode> all) {
    return new MarkWorld(all, known, sent, running, faults, begun, leases, lease, disks);
  }

  private MarkWorld withSent(List<@Nullable Sent> all) {
    return new MarkWorld(nodes, known, all, running, faults, begun, leases, lease, disks);
  }

  /** Returns the same state with other commands, and with clients that may hold a lease. */
  private MarkWorld withRunning(List<Running> all, int clients) {
    return new MarkWorld(nodes, known, sent, all, faults, begun, clients, lease, disks);
  }

  MarkWorld node(int node, MarkedNode changed) {
    MarkWorld marked = changed(node, changed);
    if (changed.kind() == Kind.GONE) {
      return marked.saved(node);
    }
    if (disks.isEmpty() || changed.kind() != Kind.VALID) {
      return marked;
    }
    Set<String> more = new TreeSet<>(disks.get(node));
    more.add(changed.mark());
    return marked.withDisk(node, Collections.unmodifiableSet(more));
  }

  private MarkWorld changed(int node, MarkedNode changed) {
    MarkedNode was = nodes.get(node);
    boolean isNew = changed.kind() == Kind.VALID && (was.kind() != Kind.VALID || was.isFounding());
    boolean isKept = was.isFounding() && changed.age() != Age.YOUNG;
    if (!isNew || isKept) {
      return withNodes(with(nodes, node, changed))
          .leased(changed.kind() == Kind.VALID ? lease : lease.lost(node));
    }
    boolean abstains = !changed.parsed().isAdopted() && changed.parsed().agreement().guarded();
    MarkWorld marked =
        withNodes(with(nodes, node, changed.aged(Age.YOUNG))).leased(lease.marked(node, abstains));
    boolean isTimed = changed.isFounding() || (marked.lease.abstaining & 1 << node) != 0;
    return isTimed ? marked.younger(node) : marked;
  }

  /** Returns the same state, in which what is on its way is older than a mark or a wait. */
  private MarkWorld younger(int node) {
    List<@Nullable Sent> older = new ArrayList<>(sent);
    older.replaceAll(each -> each == null ? null : each.before(node));
    List<Running> commands = new ArrayList<>(running);
    commands.replaceAll(
        each ->
            each.writing(each.pending.stream().map(mark -> mark.before(node)).toList())
                .since(each.since));
    return withSent(Collections.unmodifiableList(older))
        .withRunning(Collections.unmodifiableList(commands), leases);
  }

  private MarkWorld leased(Lease changed) {
    return lease.equals(Lease.UNKNOWN)
        ? this
        : new MarkWorld(nodes, known, sent, running, faults, begun, leases, changed, disks);
  }

  MarkWorld knowing(int client, String label) {
    return label.isEmpty() || label.equals(known.get(client))
        ? this
        : new MarkWorld(
            nodes, with(known, client, label), sent, running, faults, begun, leases, lease, disks);
  }

  private MarkWorld sending(int sender, @Nullable Sent mark) {
    return withSent(with(sent, sender, mark));
  }

  private MarkWorld running(int operator, Running changed, int commands) {
    List<Running> all = with(running, operator, changed);
    return new MarkWorld(nodes, known, sent, all, faults, commands, leases, lease, disks);
  }

  /** Returns the same state, where these clients may get leases. */
  MarkWorld leasing(int clients) {
    List<Running> waiting = new ArrayList<>(running);
    waiting.replaceAll(each -> each.since < 0 ? each : each.since(each.since | clients));
    return withRunning(Collections.unmodifiableList(waiting), leases | clients);
  }

  // Everything that can happen next.

  void successors(MarkScope scope, MarkRules rules, Sink<MarkWorld> sink) {
    if (scope.mostFaults < 0 || faults < scope.mostFaults) {
      fail(scope, sink);
    }
    for (int client = 0; client < known.size(); client++) {
      hear(scope, rules, client, sink);
    }
    if (scope.leases) {
      lease(scope, rules, sink);
    }
    age(scope, rules, sink);
    for (int operator = 0; operator < running.size(); operator++) {
      operate(scope, rules, operator, sink);
    }
    for (int sender = 0; sender < sent.size(); sender++) {
      Sent mark = sent.get(sender);
      if (mark != null) {
        MarkWorld after = sending(sender, null);
        boolean arrives = scope.arrives(mark, nodes.get(mark.node));
        sink.found(
            () ->
                "what was sent to "
                    + MarkScope.name(mark.node)
                    + (arrives ? " arrives" : " is late"),
            arrives ? after.node(mark.node, mark.mark) : after);
      }
    }
  }

  /** Founding marks become older, when nothing may arrive any more that was sent before them. */
  private void age(MarkScope scope, MarkRules rules, Sink<MarkWorld> sink) {
    for (int n = 0; n < nodes.size(); n++) {
      int node = n;
      MarkedNode its = nodes.get(node);
      if (!its.isFounding() || !scope.writesLate && isAnyBefore(node)) {
        continue;
      }
      boolean isSeen =
          !scope.isAnyConnected
              || IntStream.range(0, known.size())
                  .noneMatch(client -> rules.marks(client, this, node));
      if (its.age() == Age.YOUNG && isSeen) {
        sink.found(
            () -> "ten seconds pass on " + MarkScope.name(node), node(node, its.aged(Age.SEEN)));
      } else if (its.age() == Age.SEEN && hasEnded(scope, node)) {
        sink.found(
            () -> "the wait on " + MarkScope.name(node) + " is over",
            node(node, its.aged(Age.WAITED)).leased(lease.abstained(node)));
      }
    }
  }

  /** Returns true if something may arrive yet that was sent before this mark or this wait. */
  private boolean isAnyBefore(int node) {
    return Stream.concat(
            running.stream().flatMap(each -> each.pending.stream()),
            sent.stream().filter(Objects::nonNull))
        .anyMatch(mark -> (mark.before & 1 << node) != 0);
  }

  /** Returns true if no lease from before the mark of this node can be alive when it is as old. */
  private boolean hasEnded(MarkScope scope, int node) {
    return lease.hasEndedSince(node)
        || scope.outlasts(scope.clients.get(lease.client), nodes.get(node));
  }

  private void lease(MarkScope scope, MarkRules rules, Sink<MarkWorld> sink) {
    for (int n = 0; n < nodes.size(); n++) {
      int node = n;
      boolean abstains = (lease.abstaining & 1 << n) != 0 && !nodes.get(n).isFounding();
      if (abstains && hasEnded(scope, node) && (scope.writesLate || !isAnyBefore(node))) {
        sink.found(() -> MarkScope.name(node) + " has abstained", leased(lease.abstained(node)));
      }
    }
    for (int c = 0; c < known.size(); c++) {
      int client = c;
      Client its = scope.clients.get(c);
      for (int voting : rules.heard(c, this).votes().values()) {
        if (c == lease.client
            && lease.renewed != -1
            && its.ofAll().isReachedBy(voting & lease.holds)) {
          Lease renewed = new Lease(c, lease.holds, lease.abstaining, -1);
          sink.found(() -> its.name() + " renews", leased(renewed));
        }
        int free = voting & ~lease.abstaining & ~lease.holds;
        if (!its.ofAll().isReachedBy(free)) {
          continue;
        }
        if (lease.client >= 0) {
          throw new Violated(
              ExplorerInvariant.I1,
              its.name() + " acquires what " + scope.clients.get(lease.client).name() + " holds");
        }
        for (int some = free; some > 0; some = some - 1 & free) {
          int quorum = some;
          if (its.isLeast(quorum)) {
            sink.found(
                () -> its.name() + " acquires on " + Integer.toBinaryString(quorum),
                leased(new Lease(client, quorum, lease.abstaining, -1)));
          }
        }
      }
    }
    if (lease.client >= 0) {
      sink.found(() -> "the lease ends", leased(lease.ended()));
    }
  }

  private void fail(MarkScope scope, Sink<MarkWorld> sink) {
    for (int node = 0; node < nodes.size(); node++) {
      MarkedNode its = nodes.get(node);
      String name = MarkScope.name(node);
      for (int history = its.history();
          history <= Math.min(its.history() + 1, scope.histories - 1);
          history++) {
        if (scope.faults.contains(Fault.EMPTIED)) {
          failed(
              scope,
              node,
              new MarkedNode(Kind.NONE, history, ""),
              () -> name + " is emptied",
              sink);
        }
        if (its.kind() == Kind.GONE) {
          continue;
        }
        if (scope.faults.contains(Fault.GONE)) {
          MarkedNode gone = new MarkedNode(Kind.GONE, history, "");
          failed(scope, node, gone, () -> name + " is gone for good", sink);
        }
        if (scope.faults.contains(Fault.RESTARTED) && its.kind() != Kind.NONE) {
          MarkedNode restarted = new MarkedNode(Kind.VOID, history, its.mark());
          failed(scope, node, restarted, () -> name + " restarts with its data", sink);
        }
        if (scope.faults.contains(Fault.DUMP_LOADED)) {
          for (String dump : dumps(scope, node)) {
            MarkedNode loaded = new MarkedNode(Kind.VOID, history, dump);
            failed(scope, node, loaded, () -> name + " loads " + dump, sink);
          }
        }
      }
      if (scope.faults.contains(Fault.EVICTED) && its.kind() == Kind.VALID) {
        MarkedNode evicted = new MarkedNode(Kind.EVICTED, its.history(), its.mark());
        failed(scope, node, evicted, () -> name + " evicts keys", sink);
      }
    }
  }

  private Set<String> dumps(MarkScope scope, int node) {
    Set<String> dumps = new TreeSet<>(disks.get(node));
    scope.dumps.get(node).forEach(dump -> dumps.add(dump.mark()));
    return dumps;
  }

  private void failed(
      MarkScope scope, int node, MarkedNode its, Supplier<String> event, Sink<MarkWorld> sink) {
    if (!nodes.get(node).equals(its)) {
      int counted = scope.mostFaults < 0 ? 0 : faults + 1;
      MarkWorld after = node(node, its);
      sink.found(
          event,
          new MarkWorld(
              after.nodes, known, sent, running, counted, begun, leases, after.lease, disks));
    }
  }

  /** A client hears of some nodes: it learns whose client it is, or marks one of them. */
  private void hear(MarkScope scope, MarkRules rules, int client, Sink<MarkWorld> sink) {
    String name = scope.clients.get(client).name();
    for (Map.Entry<Learnt, Integer> each : rules.heard(client, this).learnt().entrySet()) {
      MarkWorld heard = knowing(client, each.getKey().label());
      Sent mark = each.getKey().mark();
      Supplier<String> event =
          () -> name + " hears " + Integer.toBinaryString(each.getValue()) + ": " + each.getKey();
      if (mark == null && heard != this) {
        sink.found(event, heard);
      } else if (mark != null && !scope.delays) {
        sink.found(event, heard.node(mark.node, mark.mark));
      } else if (mark != null && sent.get(client) == null) {
        sink.found(event, heard.sending(client, mark));
      }
    }
  }

  private void operate(MarkScope scope, MarkRules rules, int operator, Sink<MarkWorld> sink) {
    Operator its = scope.operators.get(operator);
    Running now = running.get(operator);
    String who = "operator " + operator;
    int sender = known.size() + operator;
    if (now.job == null) {
      if (begun < scope.commands) {
        for (Job allowed : its.allowed()) {
          Job job = rules.typed(allowed, its, nodes);
          sink.found(() -> who + " runs " + job, running(operator, Running.of(job), begun + 1));
        }
      }
      return;
    }
    if (sent.get(sender) != null) {
      return;
    }
    if (!now.pending.isEmpty()) {
      Sent first = now.pending.get(0);
      MarkWorld after =
          running(operator, now.writing(now.pending.subList(1, now.pending.size())), begun);
      boolean arrives = scope.arrives(first, nodes.get(first.node));
      sink.found(
          () ->
              who
                  + (arrives ? " marks " : " is too late for ")
                  + MarkScope.name(first.node)
                  + ": "
                  + first.mark,
          arrives ? after.node(first.node, first.mark) : after);
    }
    if (begun < scope.commands) {
      sink.found(() -> who + " is interrupted", running(operator, Running.IDLE, begun));
    }
    if (!now.pending.isEmpty()) {
      return;
    }
    if (now.since >= 0) {
      int wait = Lease.WAITS + operator;
      if (!lease.hasEndedSince(wait) || !scope.writesLate && isAnyBefore(wait)) {
        return;
      }
      List<Running> after = with(running, operator, now.since(-1));
      sink.found(() -> who + " has waited", withRunning(after, leases & now.since));
      return;
    }
    Next next = rules.next(its, now, nodes);
    MarkWorld goesOn = running(operator, now.after(next.progress()), begun);
    if (next.step() instanceof Step.Write write && now.job instanceof Adopting) {
      Running writes = now.writing(rules.written(its, now.job, nodes, write));
      sink.found(() -> who + " writes its marks", running(operator, writes, begun));
    } else if (next.step() instanceof Step.Write write) {
      Sent mark = rules.written(its, now.job, nodes, write).get(0);
      sink.found(
          () -> who + " marks " + MarkScope.name(mark.node) + ": " + mark.mark,
          scope.delays ? goesOn.sending(sender, mark) : goesOn.node(mark.node, mark.mark));
    } else if (next.step() instanceof Step.Save) {
      for (int node : its.list()) {
        goesOn = goesOn.saved(node);
      }
      sink.found(() -> who + " has on disk what is on its masters", goesOn);
    } else if (!(next.step() instanceof Step.Wait)) {
      if (next.step() instanceof Step.Done) {
        rules.checkDone(its, now.job, nodes);
      }
      sink.found(() -> who + " ends: " + next.step(), running(operator, Running.IDLE, begun));
    } else if (!(now.job instanceof Adopting)) { // which goes on when the marks are older
      sink.found(
          () -> who + " begins to wait",
          running(operator, now.after(next.progress()).since(0), begun)
              .leased(lease.waiting(operator))
              .younger(Lease.WAITS + operator));
    }
  }

  /** Returns the same state with nodes that are alike in an order of their own. */
  MarkWorld sorted(List<List<Integer>> alike) {
    if (alike.isEmpty()) {
      return this;
    }
    List<Integer> order = new ArrayList<>();
    nodes.forEach(node -> order.add(order.size()));
    for (List<Integer> group : alike) {
      List<Integer> some = new ArrayList<>(group);
      some.sort(
          Comparator.<Integer, MarkedNode>comparing(nodes::get, MarkRules.ORDER)
              .thenComparing(node -> disks.isEmpty() ? "" : disks.get(node).toString())
              .thenComparing(lease::on));
      for (int i = 0; i < some.size(); i++) {
        order.set(group.get(i), some.get(i));
      }
    }
    return withNodes(order.stream().map(nodes::get).toList())
        .withDisks(disks.isEmpty() ? disks : order.stream().map(disks::get).toList())
        .leased(lease.sorted(order));
  }
}
