package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.explorer.MarkScope.Agreeing;
import io.redlock.explorer.MarkScope.Client;
import io.redlock.explorer.MarkScope.Job;
import io.redlock.explorer.MarkScope.Next;
import io.redlock.explorer.MarkScope.Operator;
import io.redlock.explorer.MarkScope.Resizing;
import io.redlock.explorer.MarkWorld.Running;
import io.redlock.explorer.MarkWorld.Sent;
import io.redlock.explorer.MarkedNode.Age;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.Founding;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.Membership;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.Waiver;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

/**
 * Whether there is a way out of each state: when all nodes answer and nothing goes wrong any more,
 * the clients by themselves, or an operator with one command, get masters that vote.
 */
final class WayOut {

  private static final int MOST_STEPS = 100;
  private static final Pattern REPLACE = Pattern.compile("--replace (\\w+)=(\\w+)");
  private static final Pattern WITHOUT = Pattern.compile("add --without (\\w+)");

  private final MarkScope scope;
  private final MarkRules rules;
  private final Set<List<Object>> fine = new HashSet<>();

  WayOut(MarkScope scope, MarkRules rules) {
    this.scope = scope;
    this.rules = rules;
  }

  void check(MarkWorld world) {
    if (!scope.needsWayOut || !fine.add(List.of(world.nodes(), world.known()))) {
      return;
    }
    MarkWorld quiet = clients(world);
    for (int client = -1; client < scope.clients.size(); client++) {
      boolean isAgreed =
          client < 0
              ? scope.agreed.isEmpty()
              : scope.agreed.contains(scope.clients.get(client).name());
      if (isAgreed && !rules.isGood(quiet, client) && !isLedOut(world, client)) {
        fine.remove(List.of(world.nodes(), world.known()));
        throw new Violated(ExplorerInvariant.I26, quiet.nodes().toString());
      }
    }
  }

  private boolean isLedOut(MarkWorld world, int client) {
    for (UnaryOperator<MarkWorld> command : commands(world, client)) {
      if (rules.isGood(clients(command.apply(world)), client)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the state after all clients have heard of all nodes, until they write nothing. */
  private MarkWorld clients(MarkWorld world) {
    MarkWorld now = world;
    for (int step = 0; step < MOST_STEPS; step++) {
      MarkWorld before = now;
      for (int client = 0; client < scope.clients.size(); client++) {
        MarkRules.Look look = rules.look(client, now);
        now = now.knowing(client, look.label());
        for (Sent mark : look.writes()) {
          now = now.node(mark.node(), mark.mark());
        }
      }
      if (now.equals(before)) {
        break;
      }
    }
    return now;
  }

  private List<UnaryOperator<MarkWorld>> commands(MarkWorld world, int only) {
    List<UnaryOperator<MarkWorld>> all = new ArrayList<>();
    for (Operator its : scope.operators) {
      if (!its.client().future().isEmpty()) {
        for (Command command : Command.values()) {
          all.add(before -> run(before, its, new Resizing(command)));
        }
        for (Operator other : changing(world)) {
          all.add(before -> run(before, other, new Resizing(Command.ABORT)));
        }
      }
      for (Job job : its.allowed()) {
        if (job instanceof Agreeing) {
          all.add(before -> run(before, its, job));
        }
      }
    }
    for (int index = 0; index < scope.clients.size(); index++) {
      Client client = scope.clients.get(index);
      if (!client.quorum().isJoint() && (only < 0 || only == index)) {
        all.add(before -> adopt(before, client));
      }
    }
    return all;
  }

  /** Returns operators with the lists of each change that is under way, as messages name them. */
  private static Set<Operator> changing(MarkWorld world) {
    Set<Operator> changing = new LinkedHashSet<>();
    for (MarkedNode node : world.nodes()) {
      BirthMark mark = node.birth();
      if (mark != null && mark.agreement().sets().size() > 1) {
        List<List<Integer>> lists =
            mark.agreement().sets().stream().map(set -> MarkScope.numbers(set.names())).toList();
        changing.add(new Operator(lists.get(0), lists.get(1), List.of()));
      }
    }
    return changing;
  }

  private MarkWorld run(MarkWorld world, Operator operator, Job job) {
    MarkWorld now = world;
    Running running = Running.of(job);
    for (int at = 0; at < MOST_STEPS; at++) {
      Next next = rules.next(operator, running, now.nodes());
      if (next.step() instanceof Step.Done || next.step() instanceof Step.Refuse) {
        return now;
      }
      if (next.step() instanceof Step.Write write) {
        Sent mark = rules.sent(operator, now.nodes(), write);
        now = now.node(mark.node(), mark.mark());
      }
      running = running.after(next.progress());
    }
    throw new AssertionError("a command has no end: " + job + " " + world);
  }

  /** An operator adopts masters, as messages advise, and waits. */
  private MarkWorld adopt(MarkWorld world, Client client) {
    MarkWorld now = world;
    for (int node = 0; node < scope.nodes; node++) {
      MarkedNode its = now.nodes().get(node);
      now = its.isFounding() ? now.node(node, its.aged(Age.FORGOTTEN)) : now;
    }
    List<String> names = MarkScope.names(client.list());
    Map<String, String> replaced = new TreeMap<>();
    Set<String> gone = new TreeSet<>();
    for (int at = 0; at < MOST_STEPS; at++) {
      List<NodeAudit> audits = new ArrayList<>();
      Map<String, Membership.Node> beside = new TreeMap<>();
      for (int node = 0; node < scope.nodes; node++) {
        NodeAudit audit = now.nodes().get(node).audit(node);
        if (client.list().contains(node)) {
          audits.add(audit);
        } else {
          beside.put(MarkScope.name(node), Membership.Node.of(MarkScope.name(node), audit));
        }
      }
      Founding founding =
          new Founding(client.quorum(), client.rules(), false, new Waiver(gone, replaced), "w");
      Step step = MarkScope.next(founding, names, audits, Progress.NONE, beside);
      if (step instanceof Step.Write write) {
        for (Sent mark : rules.pending(operator(client), now.nodes(), write)) {
          now = now.node(mark.node(), mark.mark());
        }
      } else if (step instanceof Step.Wait) {
        for (int node : client.list()) {
          MarkedNode its = now.nodes().get(node);
          now = its.isFounding() ? now.node(node, its.aged(Age.WAITED)) : now;
        }
      } else {
        int typed = replaced.size() + gone.size();
        REPLACE
            .matcher(step.toString())
            .results()
            .forEach(advised -> replaced.put(advised.group(1), advised.group(2)));
        WITHOUT.matcher(step.toString()).results().forEach(advised -> gone.add(advised.group(1)));
        if (step instanceof Step.Done || typed == replaced.size() + gone.size()) {
          return now;
        }
      }
    }
    throw new AssertionError("a command has no end: adopt " + names + " " + world);
  }

  private static Operator operator(Client client) {
    return new Operator(client.list(), List.of(), List.of());
  }
}
