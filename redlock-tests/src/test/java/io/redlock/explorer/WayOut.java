package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.explorer.MarkScope.Agreeing;
import io.redlock.explorer.MarkScope.Client;
import io.redlock.explorer.MarkScope.Job;
import io.redlock.explorer.MarkScope.Resizing;
import io.redlock.explorer.MarkWorld.Running;
import io.redlock.explorer.MarkWorld.Sent;
import io.redlock.jedis.TableAdoption;
import io.redlock.jedis.deployment.OperatorStep;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.MasterChange.Command;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
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
      if (!scope.operators.get(operator).future().isEmpty()) {
        for (Command command : Command.values()) {
          all.add(before -> run(before, its, new Resizing(command), ""));
        }
        for (String change : changes(world)) {
          all.add(before -> run(before, its, new Resizing(Command.ABORT), change));
        }
      }
      for (Job job : scope.operators.get(operator).allowed()) {
        if (job instanceof Agreeing) {
          all.add(before -> run(before, its, job, ""));
        }
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

  private MarkWorld run(MarkWorld world, int operator, Job job, String wanted) {
    MarkWorld now = world;
    Running running = Running.of(job, false);
    for (int at = 0; at < MOST_STEPS; at++) {
      OperatorStep step = rules.step(operator, running, now.nodes(), wanted);
      if (step.refresh() != null) {
        Sent mark = rules.sent(scope.operators.get(operator), now.nodes(), step);
        now = now.node(mark.node(), mark.mark());
        running = running.written(step);
      } else if (step.waits()) {
        running =
            job instanceof Agreeing ? new Running(job, step.waited(), -1) : Running.of(job, true);
      } else {
        return now;
      }
    }
    throw new AssertionError("a command has no end: " + job + " " + world);
  }

  /** An operator adopts masters: those of sets that were never founded, too. */
  private static MarkWorld adopt(MarkWorld world, Client client) {
    AtomicReference<MarkWorld> now = new AtomicReference<>(world);
    TableAdoption.run(
        MarkScope.names(client.list()),
        client.quorum(),
        client.rules(),
        master -> {
          int node = client.list().get(master);
          return now.get().nodes().get(node).audit(node);
        },
        (master, refresh) -> {
          int node = client.list().get(master);
          MarkedNode marked = now.get().nodes().get(node).marked(refresh.mark());
          now.set(now.get().node(node, marked));
        });
    return now.get();
  }
}
