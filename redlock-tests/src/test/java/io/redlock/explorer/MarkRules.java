package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.explorer.MarkScope.Adopting;
import io.redlock.explorer.MarkScope.Agreeing;
import io.redlock.explorer.MarkScope.Client;
import io.redlock.explorer.MarkScope.Job;
import io.redlock.explorer.MarkScope.Next;
import io.redlock.explorer.MarkScope.Operator;
import io.redlock.explorer.MarkScope.Resizing;
import io.redlock.explorer.MarkScope.Sight;
import io.redlock.explorer.MarkWorld.Running;
import io.redlock.explorer.MarkWorld.Sent;
import io.redlock.explorer.MarkedNode.Kind;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.Membership;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.membership.Verdict.Stand;
import io.redlock.jedis.membership.Waiver;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What the rules of a scope say of a state. They are asked once of each combination of marks. */
final class MarkRules {

  static final Comparator<MarkedNode> ORDER =
      Comparator.comparing(MarkedNode::kind)
          .thenComparing(MarkedNode::mark)
          .thenComparingInt(MarkedNode::history)
          .thenComparing(MarkedNode::age);

  private final MarkScope scope;
  private final Map<Asked, Look> looks = new HashMap<>();
  private final Map<Asked, Heard> heard = new HashMap<>();
  private final Map<Stepped, Next> steps = new HashMap<>();

  private record Asked(int client, List<@Nullable MarkedNode> view, String known) {}

  private record Stepped(
      Operator operator, String drawn, Running running, List<MarkedNode> nodes) {}

  /**
   * What a client makes of the nodes that answer.
   *
   * @param votes the nodes that vote for it
   * @param reasons why others do not
   */
  record Look(String label, List<Sent> writes, int votes, Set<String> reasons) {}

  /**
   * What a client makes of its nodes, whichever of them answer.
   *
   * @param learnt what it may learn, with the first nodes, as bits, whose answers tell it that
   * @param votes the nodes that vote for it, as bits, for each label that it may know
   */
  record Heard(Map<Learnt, Integer> learnt, Map<String, Integer> votes) {}

  /** The label that a client knows once nodes have answered, and a mark that it writes then. */
  record Learnt(String label, @Nullable Sent mark) {}

  MarkRules(MarkScope scope) {
    this.scope = scope;
  }

  // Clients.

  private Asked asked(int client, MarkWorld world) {
    List<@Nullable MarkedNode> view = new ArrayList<>();
    scope.clients.get(client).list().forEach(node -> view.add(world.nodes().get(node)));
    return new Asked(client, view, world.known().get(client));
  }

  /** Returns what a client makes of its nodes if all answer. */
  Look look(int client, MarkWorld world) {
    return look(asked(client, world));
  }

  private Look look(Asked asked) {
    return looks.computeIfAbsent(
        asked, each -> look(scope.clients.get(each.client), each.view, each.known));
  }

  private Look look(Client client, List<@Nullable MarkedNode> view, String known) {
    if (client.isLate() && view.stream().noneMatch(node -> isMember(node, client))) {
      return new Look("", List.of(), 0, Set.of());
    }
    List<@Nullable NodeAudit> audits = new ArrayList<>();
    for (int i = 0; i < view.size(); i++) {
      MarkedNode node = view.get(i);
      audits.add(node == null ? null : scope.heard(node, client.list().get(i)));
    }
    Membership membership = scope.membership(client, audits, known);
    List<Sent> writes = new ArrayList<>();
    Set<String> reasons = new TreeSet<>();
    int voting = 0;
    for (int i = 0; i < view.size(); i++) {
      MarkedNode node = view.get(i);
      NodeAudit audit = audits.get(i);
      if (node == null || audit == null) {
        continue;
      }
      int index = client.list().get(i);
      Surroundings around = MarkScope.around(audit, scope.advice(client, membership, audits, i));
      Verdict verdict = client.rules().judge(Membership.Node.of(i, "", audit), around);
      Refresh refresh = verdict.refresh();
      if (refresh != null) {
        writes.add(new Sent(index, node, node.marked(refresh.mark())));
      }
      if (verdict.stand() == Stand.VOTES) {
        if (node.kind() != Kind.VALID && client.rules().terms().guarded()) {
          throw new Violated(ExplorerInvariant.I8, MarkScope.name(index) + " has " + node);
        }
        voting |= 1 << index;
      } else {
        reasons.add(verdict.reason());
      }
    }
    return new Look(membership.label(), writes, voting, reasons);
  }

  private static boolean isMember(@Nullable MarkedNode node, Client client) {
    BirthMark mark = node == null ? null : node.birth();
    return mark != null
        && mark.sets().stream().anyMatch(set -> set.isOf(MarkScope.names(client.present())));
  }

  /** Returns what a client makes of its nodes, whichever of them answer. */
  Heard heard(int client, MarkWorld world) {
    return heard.computeIfAbsent(asked(client, world), this::heard);
  }

  private Heard heard(Asked all) {
    Map<Learnt, Integer> learnt = new LinkedHashMap<>();
    Map<String, Integer> votes = new TreeMap<>();
    for (int answering = 1; answering < 1 << all.view.size(); answering++) {
      List<@Nullable MarkedNode> view = new ArrayList<>(all.view);
      for (int i = 0; i < view.size(); i++) {
        view.set(i, (answering & 1 << i) == 0 ? null : view.get(i));
      }
      for (String knows : all.known.isEmpty() ? List.of("") : List.of(all.known, "")) {
        Look look = look(new Asked(all.client, view, knows));
        learnt.putIfAbsent(new Learnt(look.label, null), answering);
        for (Sent mark : look.writes) {
          learnt.putIfAbsent(new Learnt(look.label, mark), answering);
        }
        if (look.votes != 0) {
          votes.merge(look.label, look.votes, (a, b) -> a | b);
        }
      }
    }
    return new Heard(learnt, votes);
  }

  /** Returns true if a client that hears of all its nodes marks this one. */
  boolean marks(int client, MarkWorld world, int node) {
    return look(client, world).writes.stream().anyMatch(mark -> mark.node() == node);
  }

  /** Returns the clients that have a quorum, as bits. */
  private int withQuorum(MarkWorld world) {
    int clients = 0;
    for (int client = 0; client < scope.clients.size(); client++) {
      for (int voting : heard(client, world).votes.values()) {
        boolean has = scope.clients.get(client).ofAll().isReachedBy(voting);
        clients |= has ? 1 << client : 0;
      }
    }
    return clients;
  }

  /** Returns true if a client that hears of all its nodes has a quorum. */
  boolean serves(int client, MarkWorld world) {
    return scope.clients.get(client).ofAll().isReachedBy(look(client, world).votes);
  }

  /** Returns true if enough nodes are not gone for each client that does not move. */
  boolean areEnoughLeft(MarkWorld world) {
    int left = 0;
    for (int node = 0; node < scope.nodes; node++) {
      left |= world.nodes().get(node).kind() == Kind.GONE ? 0 : 1 << node;
    }
    int all = left;
    return scope.clients.stream()
        .filter(each -> each.future().isEmpty())
        .allMatch(each -> each.ofAll().isReachedBy(all));
  }

  /** Returns true if this client has a quorum; some client, if it is −1. */
  boolean isGood(MarkWorld world, int client) {
    return client < 0 ? withQuorum(world) != 0 : (withQuorum(world) & 1 << client) != 0;
  }

  /** Returns the same state with the leases that are possible in it, if they matter. */
  MarkWorld leasing(MarkWorld world) {
    return scope.agrees ? world.leasing(withQuorum(world)) : world;
  }

  // What must hold.

  private record Holder(Client client, String label, int voting) {}

  void check(MarkWorld world) {
    List<Holder> holders = new ArrayList<>();
    for (int client = 0; client < scope.clients.size(); client++) {
      Client its = scope.clients.get(client);
      heard(client, world)
          .votes
          .forEach(
              (label, voting) -> {
                if (its.ofAll().isReachedBy(voting)) {
                  holders.add(new Holder(its, label, voting));
                }
              });
    }
    for (Holder one : holders) {
      for (Holder other : holders) {
        boolean differ =
            one.client.rules().terms().guarded() != other.client.rules().terms().guarded();
        if (differ || haveQuorums(one, other)) {
          throw new Violated(
              ExplorerInvariant.I1, one.client.name() + " and " + other.client.name());
        }
      }
    }
  }

  /** Returns true if both may have a quorum, without a node in common. */
  private static boolean haveQuorums(Holder one, Holder other) {
    for (int some = one.voting; some > 0; some = some - 1 & one.voting) {
      if (one.client.ofAll().isReachedBy(some)
          && other.client.ofAll().isReachedBy(other.voting & ~some)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Checks that a node which is marked after it lost its data, or which gets a shorter abstention,
   * abstains until every lease has ended that it may have forgotten.
   */
  void checkAbstention(MarkWorld before, MarkWorld after) {
    for (int node = 0; node < scope.nodes; node++) {
      MarkedNode was = before.nodes().get(node);
      MarkedNode is = after.nodes().get(node);
      if (was.equals(is) || is.kind() != Kind.VALID || before.leases() == 0) {
        continue;
      }
      long millis = is.parsed().agreement().abstentionMillis();
      boolean isKept =
          was.kind() == Kind.VALID && millis >= was.parsed().agreement().abstentionMillis();
      for (int client = 0; client < scope.clients.size(); client++) {
        Client its = scope.clients.get(client);
        boolean mayHold = (before.leases() & 1 << client) != 0 && its.list().contains(node);
        if (!isKept && mayHold && millis < its.rules().terms().abstentionMillis()) {
          throw new Violated(
              ExplorerInvariant.I27, MarkScope.name(node) + " has " + is + ", not " + its.name());
        }
      }
    }
  }

  /** Checks what a command says that has nothing left to do. */
  void checkDone(Operator operator, Job job, List<MarkedNode> nodes) {
    List<String> present = MarkScope.names(operator.client().present());
    for (int node : operator.list()) {
      MarkedNode its = nodes.get(node);
      if (its.kind() == Kind.GONE) {
        continue;
      }
      if (job instanceof Agreeing agreeing) {
        if (its.kind() != Kind.VALID
            || !its.parsed().agreement().equals(agreeing.terms().terms())) {
          throw new Violated(ExplorerInvariant.I25, MarkScope.name(node) + " has " + its);
        }
        continue;
      }
      boolean finishes = job instanceof Resizing resizing && resizing.command() == Command.FINISH;
      if (!finishes || its.kind() != Kind.VALID) {
        continue;
      }
      BirthMark mark = its.parsed();
      for (MasterSet set : mark.sets()) {
        if (mark.serves().includes(set.id()) && set.isOf(present)) {
          throw new Violated(ExplorerInvariant.I25, MarkScope.name(node) + " has " + its);
        }
      }
    }
  }

  // Operators.

  /** Returns what an operator types, who knows which masters are gone for good. */
  Job typed(Job job, Operator its, List<MarkedNode> nodes) {
    Set<String> gone = new TreeSet<>();
    its.list().stream()
        .filter(node -> nodes.get(node).kind() == Kind.GONE)
        .forEach(node -> gone.add(MarkScope.name(node)));
    return job.with(new Waiver(gone, job.word().replaced()));
  }

  /** Returns what a command does next. */
  Next next(Operator its, Running running, List<MarkedNode> nodes) {
    Job job = Objects.requireNonNull(running.job());
    boolean replaces = !job.word().replaced().isEmpty();
    List<MarkedNode> seen = replaces ? nodes : its.list().stream().map(nodes::get).toList();
    Stepped asked = new Stepped(its, drawn(its, nodes), running, seen);
    Next next = steps.get(asked);
    if (next == null) {
      List<@Nullable NodeAudit> audits = new ArrayList<>();
      for (int node : its.list()) {
        audits.add(nodes.get(node).audit(node));
      }
      Map<String, MarkedNode> beside = new TreeMap<>();
      for (int node = 0; node < scope.nodes && replaces; node++) {
        if (!its.list().contains(node)) {
          beside.put(MarkScope.name(node), nodes.get(node));
        }
      }
      next = scope.step(new Sight(its, job, asked.drawn, audits, running.progress(), beside));
      steps.put(asked, next);
    }
    return next;
  }

  /** Returns a short name for the set that an operator draws, which no mark shows. */
  private String drawn(Operator operator, List<MarkedNode> nodes) {
    String drawn = MarkScope.FUTURE + (scope.operators.indexOf(operator) + 1);
    while (isShown(drawn, nodes)) {
      drawn += "x";
    }
    return drawn;
  }

  private static boolean isShown(String id, List<MarkedNode> nodes) {
    return nodes.stream()
        .map(MarkedNode::birth)
        .filter(Objects::nonNull)
        .flatMap(mark -> mark.sets().stream())
        .anyMatch(set -> set.id().equals(id));
  }

  /** Returns what a step writes: a mark that was founded keeps the age of the founding one. */
  List<Sent> written(Operator operator, Job job, List<MarkedNode> nodes, Step.Write step) {
    boolean founds = job instanceof Adopting;
    List<Sent> written = new ArrayList<>();
    step.marks()
        .forEach(
            (index, refresh) -> {
              int node = operator.list().get(index);
              BirthMark mark = refresh.mark();
              MarkedNode was = nodes.get(node);
              MarkedNode is = was.marked(mark, founds && mark.isAdopted());
              written.add(
                  new Sent(node, was, founds && mark.isFounded() ? is.aged(was.age()) : is));
            });
    return List.copyOf(written);
  }

  /** Returns the nodes that are in the same lists, where there are several. */
  List<List<Integer>> alike() {
    if (!scope.operators.isEmpty() || scope.delays || scope.histories > 1) {
      return List.of();
    }
    Map<List<Boolean>, List<Integer>> groups = new HashMap<>();
    for (int node = 0; node < scope.nodes; node++) {
      List<Boolean> lists = new ArrayList<>();
      for (Client client : scope.clients) {
        lists.add(client.present().contains(node));
        lists.add(client.future().contains(node));
      }
      groups.computeIfAbsent(lists, each -> new ArrayList<>()).add(node);
    }
    return groups.values().stream().filter(group -> group.size() > 1).toList();
  }
}
