package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.explorer.MarkScope.Client;
import io.redlock.explorer.MarkWorld.Running;
import io.redlock.explorer.MarkWorld.Sent;
import io.redlock.jedis.deployment.ResizeStep;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.Roll;
import io.redlock.jedis.trust.Roll.Advice;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;

/**
 * Whether there is a way out of each state: when all nodes answer and nothing goes wrong any more,
 * the clients by themselves, or an operator with one command, get masters that vote.
 */
final class WayOut {

  private static final int MOST_STEPS = 100;

  private final MarkScope scope;
  private final MarkRules rules;
  private final Set<List<Object>> fine = new HashSet<>();

  WayOut(MarkScope scope, MarkRules rules) {
    this.scope = scope;
    this.rules = rules;
  }

  void check(MarkWorld world) {
    if (!scope.needsWayOut
        || !fine.add(List.of(world.nodes(), world.known()))
        || isGood(clients(world))) {
      return;
    }
    for (UnaryOperator<MarkWorld> command : commands(world)) {
      if (isGood(clients(command.apply(world)))) {
        return;
      }
    }
    throw new Violated(ExplorerInvariant.I26, clients(world).nodes().toString());
  }

  private boolean isGood(MarkWorld world) {
    return rules.isGood(world);
  }

  /** Returns the state after all clients have heard of all nodes, until they write nothing. */
  private MarkWorld clients(MarkWorld world) {
    MarkWorld now = world;
    for (int step = 0; step < MOST_STEPS; step++) {
      MarkWorld before = now;
      for (int client = 0; client < scope.clients.size() && !isGood(now); client++) {
        int all = (1 << scope.clients.get(client).list().size()) - 1;
        MarkRules.Look look = rules.look(client, now.nodes(), all, now.known().get(client));
        now = look.label().isEmpty() ? now : now.knowing(client, look.label());
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

  private List<UnaryOperator<MarkWorld>> commands(MarkWorld world) {
    List<UnaryOperator<MarkWorld>> all = new ArrayList<>();
    for (int operator = 0; operator < scope.operators.size(); operator++) {
      int its = operator;
      for (Command command : Command.values()) {
        all.add(before -> run(before, its, command, ""));
      }
      for (String change : changes(world)) {
        all.add(before -> run(before, its, Command.ABORT, change));
      }
    }
    for (Client client : scope.clients) {
      if (!client.quorum().isJoint()) {
        all.add(before -> adopt(before, client));
      }
    }
    return all;
  }

  private static Set<String> changes(MarkWorld world) {
    Set<String> changes = new TreeSet<>();
    for (MarkedNode node : world.nodes()) {
      BirthMark mark = BirthMark.parse(node.mark());
      if (mark != null) {
        mark.serves().changes().forEach(label -> changes.add(label.replaceFirst(".*>", "")));
      }
    }
    return changes;
  }

  private MarkWorld run(MarkWorld world, int operator, Command command, String wanted) {
    MarkWorld now = world;
    boolean waited = false;
    for (int at = 0; at < MOST_STEPS; at++) {
      ResizeStep step = rules.step(operator, new Running(command, waited), now.nodes(), wanted);
      if (step.refresh() != null) {
        Sent mark = rules.sent(scope.operators.get(operator), now.nodes(), step);
        now = now.node(mark.node(), mark.mark());
      } else if (!step.waits()) {
        return now;
      }
      waited = step.waits() || waited && step.carries();
    }
    throw new AssertionError("a command has no end: " + command + " " + world);
  }

  private static List<Roll.Node> roll(MarkWorld world, Client client) {
    List<Roll.Node> all = new ArrayList<>();
    for (int node : client.list()) {
      NodeAudit audit = world.nodes().get(node).audit(node);
      all.add(Roll.Node.of(MarkScope.name(node), audit));
    }
    return all;
  }

  private static MarkWorld written(MarkWorld world, Client client, List<Advice> advice) {
    MarkWorld now = world;
    for (int i = 0; i < advice.size(); i++) {
      int node = client.list().get(i);
      if (advice.get(i) instanceof Advice.Write write) {
        MarkedNode its = now.nodes().get(node);
        BirthMark mark = BirthMark.fresh(its.audit(node), true, write);
        now = now.node(node, its.marked(mark));
      }
    }
    return now;
  }

  /** An operator adopts masters: those of sets that were never founded, too. */
  private static MarkWorld adopt(MarkWorld world, Client client) {
    MarkWorld now = world;
    for (int round = 0; round < 3; round++) {
      List<Roll.Node> nodes = roll(now, client);
      Roll roll = Roll.adopting(nodes, client.quorum(), client.rules());
      List<Advice> advice = new ArrayList<>();
      for (int i = 0; i < nodes.size(); i++) {
        advice.add(roll.advice(i));
      }
      if (roll.isDivided()) {
        return declare(now, client);
      }
      if (advice.stream().anyMatch(Advice.Refuse.class::isInstance)) {
        return now;
      }
      now = written(now, client, advice);
    }
    return now;
  }

  private static MarkWorld declare(MarkWorld world, Client client) {
    List<Advice> advice =
        Roll.without(roll(world, client), client.quorum(), client.rules(), Set.of());
    return advice.stream().anyMatch(Advice.Refuse.class::isInstance)
        ? world
        : written(world, client, advice);
  }
}
