package io.redlock.explorer;

import io.redlock.explorer.MarkScope.Agreeing;
import io.redlock.explorer.MarkScope.Client;
import io.redlock.explorer.MarkScope.Fault;
import io.redlock.explorer.MarkScope.Job;
import io.redlock.explorer.MarkScope.Operator;
import io.redlock.explorer.MarkedNode.Kind;
import io.redlock.explorer.Search.Sink;
import io.redlock.jedis.deployment.OperatorStep;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Supplier;
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
 */
record MarkWorld(
    List<MarkedNode> nodes,
    List<String> known,
    List<@Nullable Sent> sent,
    List<Running> running,
    int faults,
    int begun,
    int leases) {

  /** A mark on its way, which arrives if the node is as it was. */
  record Sent(int node, MarkedNode seen, MarkedNode mark) {}

  /**
   * A command that is run.
   *
   * @param job null if none is
   * @param waited the marks for which it has waited; empty if it has not
   * @param since the clients, as bits, that may have got a lease since it began to wait; −1 if it
   *     does not wait
   */
  record Running(@Nullable Job job, List<String> waited, int since) {
    private static final List<String> ANY = List.of("any");

    static final Running IDLE = new Running(null, List.of(), -1);

    static Running of(Job job, boolean waited) {
      return new Running(job, waited ? ANY : List.of(), -1);
    }

    /** Returns the same command after a step that wrote a mark. */
    Running written(OperatorStep step) {
      List<String> still = step.carries() ? waited : List.of();
      return new Running(job, job instanceof Agreeing ? step.waited() : still, -1);
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
        0);
  }

  private static <T> List<T> with(List<T> all, int at, T changed) {
    List<T> copy = new ArrayList<>(all);
    copy.set(at, changed);
    return Collections.unmodifiableList(copy);
  }

  MarkWorld node(int node, MarkedNode changed) {
    return new MarkWorld(with(nodes, node, changed), known, sent, running, faults, begun, leases);
  }

  MarkWorld knowing(int client, String label) {
    return new MarkWorld(nodes, with(known, client, label), sent, running, faults, begun, leases);
  }

  private MarkWorld sending(int sender, @Nullable Sent mark) {
    return new MarkWorld(nodes, known, with(sent, sender, mark), running, faults, begun, leases);
  }

  private MarkWorld running(int operator, Running changed, int commands) {
    return new MarkWorld(
        nodes, known, sent, with(running, operator, changed), faults, commands, leases);
  }

  /** Returns the same state, where these clients may get leases. */
  MarkWorld leasing(int clients) {
    List<Running> waiting = new ArrayList<>(running);
    waiting.replaceAll(
        each -> each.since < 0 ? each : new Running(each.job, each.waited, each.since | clients));
    return new MarkWorld(
        nodes, known, sent, Collections.unmodifiableList(waiting), faults, begun, leases | clients);
  }

  // Everything that can happen next.

  void successors(MarkScope scope, MarkRules rules, Sink<MarkWorld> sink) {
    if (scope.mostFaults < 0 || faults < scope.mostFaults) {
      fail(scope, sink);
    }
    for (int client = 0; client < known.size(); client++) {
      hear(scope, rules, client, sink);
    }
    for (int operator = 0; operator < running.size(); operator++) {
      operate(scope, rules, operator, sink);
    }
    for (int sender = 0; sender < sent.size(); sender++) {
      Sent mark = sent.get(sender);
      if (mark != null) {
        MarkWorld after = sending(sender, null);
        boolean arrives = nodes.get(mark.node).equals(mark.seen);
        sink.found(
            () ->
                "what was sent to "
                    + MarkScope.name(mark.node)
                    + (arrives ? " arrives" : " is late"),
            arrives ? after.node(mark.node, mark.mark) : after);
      }
    }
  }

  private void fail(MarkScope scope, Sink<MarkWorld> sink) {
    for (int node = 0; node < nodes.size(); node++) {
      MarkedNode its = nodes.get(node);
      String name = MarkScope.name(node);
      for (int history = its.history();
          history <= Math.min(its.history() + 1, scope.histories - 1);
          history++) {
        boolean isSpared = scope.spared.contains(node);
        if (scope.faults.contains(Fault.EMPTIED) && !isSpared) {
          failed(
              scope,
              node,
              new MarkedNode(Kind.NONE, history, ""),
              () -> name + " is emptied",
              sink);
        }
        if (scope.faults.contains(Fault.RESTARTED) && its.kind() != Kind.NONE) {
          MarkedNode restarted = new MarkedNode(Kind.VOID, history, its.mark());
          failed(scope, node, restarted, () -> name + " restarts with its data", sink);
        }
        if (scope.faults.contains(Fault.DUMP_LOADED) && !isSpared) {
          for (MarkedNode dump : scope.dumps.get(node)) {
            MarkedNode loaded = new MarkedNode(Kind.VOID, history, dump.mark());
            failed(scope, node, loaded, () -> name + " loads an old dump", sink);
          }
        }
      }
      if (scope.faults.contains(Fault.EVICTED) && its.kind() == Kind.VALID) {
        MarkedNode evicted = new MarkedNode(Kind.EVICTED, its.history(), its.mark());
        failed(scope, node, evicted, () -> name + " evicts keys", sink);
      }
    }
  }

  private void failed(
      MarkScope scope, int node, MarkedNode its, Supplier<String> event, Sink<MarkWorld> sink) {
    if (!nodes.get(node).equals(its)) {
      int counted = scope.mostFaults < 0 ? 0 : faults + 1;
      MarkWorld after = node(node, its);
      sink.found(event, new MarkWorld(after.nodes, known, sent, running, counted, begun, leases));
    }
  }

  private void hear(MarkScope scope, MarkRules rules, int client, Sink<MarkWorld> sink) {
    Client its = scope.clients.get(client);
    for (int answering = 1; answering < 1 << its.list().size(); answering++) {
      hear(scope, rules, client, answering, known.get(client), sink);
      if (!known.get(client).isEmpty()) {
        hear(scope, rules, client, answering, "", sink);
      }
    }
  }

  /** A client hears of some nodes, and marks one of them. */
  void hear(
      MarkScope scope,
      MarkRules rules,
      int client,
      int answering,
      String knows,
      Sink<MarkWorld> sink) {
    Client its = scope.clients.get(client);
    MarkRules.Look look = rules.look(client, nodes, answering, knows);
    MarkWorld heard = look.label().isEmpty() ? this : knowing(client, look.label());
    if (!heard.known.equals(known)) {
      sink.found(() -> its.name() + " learns whose client it is: " + look.label(), heard);
    }
    for (Sent mark : look.writes()) {
      Supplier<String> event =
          () ->
              its.name()
                  + " marks "
                  + MarkScope.name(mark.node)
                  + ", hearing "
                  + Integer.toBinaryString(answering)
                  + ": "
                  + mark.mark;
      if (!scope.delays) {
        sink.found(event, heard.node(mark.node, mark.mark));
      } else if (sent.get(client) == null) {
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
        for (Job job : its.allowed()) {
          sink.found(
              () -> who + " runs " + job, running(operator, Running.of(job, false), begun + 1));
        }
      }
      return;
    }
    if (sent.get(sender) != null) {
      return;
    }
    if (begun < scope.commands) {
      sink.found(() -> who + " is interrupted", running(operator, Running.IDLE, begun));
    }
    if (now.since >= 0) {
      MarkWorld after = running(operator, new Running(now.job, now.waited, -1), begun);
      sink.found(
          () -> who + " has waited",
          new MarkWorld(nodes, known, sent, after.running, faults, begun, leases & now.since));
      return;
    }
    OperatorStep step = rules.step(operator, now, nodes, "");
    if (step.waits() && now.job instanceof Agreeing) {
      sink.found(
          () -> who + " begins to wait",
          running(operator, new Running(now.job, step.waited(), 0), begun));
    } else if (step.waits()) {
      sink.found(() -> who + " waits", running(operator, Running.of(now.job, true), begun));
    } else if (step.refresh() == null) {
      if (step.succeeded()) {
        rules.checkDone(its, now.job, nodes);
      }
      sink.found(() -> who + " ends: " + step.told(), running(operator, Running.IDLE, begun));
    } else {
      Sent mark = rules.sent(its, nodes, step);
      MarkWorld goesOn = running(operator, now.written(step), begun);
      sink.found(
          () -> who + " marks " + MarkScope.name(mark.node) + ": " + mark.mark,
          scope.delays ? goesOn.sending(sender, mark) : goesOn.node(mark.node, mark.mark));
    }
  }

  /** Returns the same state with nodes that are alike in an order of their own. */
  MarkWorld sorted(List<List<Integer>> alike) {
    List<MarkedNode> sorted = new ArrayList<>(nodes);
    for (List<Integer> group : alike) {
      List<MarkedNode> some = new ArrayList<>();
      group.forEach(node -> some.add(nodes.get(node)));
      some.sort(MarkRules.ORDER);
      for (int i = 0; i < some.size(); i++) {
        sorted.set(group.get(i), some.get(i));
      }
    }
    return new MarkWorld(
        Collections.unmodifiableList(sorted), known, sent, running, faults, begun, leases);
  }
}
