package io.redlock.explorer;

import io.redlock.cli.Typed;
import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.explorer.MarkScope.Adopting;
import io.redlock.explorer.MarkScope.Agreeing;
import io.redlock.explorer.MarkScope.Client;
import io.redlock.explorer.MarkScope.Job;
import io.redlock.explorer.MarkScope.Next;
import io.redlock.explorer.MarkScope.Operator;
import io.redlock.explorer.MarkScope.Resizing;
import io.redlock.explorer.MarkWorld.Running;
import io.redlock.explorer.MarkWorld.Sent;
import io.redlock.explorer.MarkedNode.Age;
import io.redlock.explorer.MarkedNode.Kind;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.Waiver;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import picocli.CommandLine.ParseResult;

/**
 * Whether there is a way out of each state when all nodes answer and nothing goes wrong any more:
 * the clients by themselves, or an operator who types one command and then what its messages
 * advise, get masters that vote. No command of a change, and none that changes terms, leads
 * elsewhere or round in a circle.
 */
final class WayOut {

  private static final int MOST_STEPS = 100;

  /** A command that a message tells to run. */
  private static final Pattern COMMAND =
      Pattern.compile(
          "(?<!see )redlock (?:resize|adopt|agree)"
              + "(?: (?:prepare|commit|finish|abort|--[a-z-]+ [\\w=,]+|m\\d+)\\b)*");

  private static final Pattern AGAIN = Pattern.compile("last redlock resize command again");
  private static final Pattern WITHOUT = // of a master that is alive, it would be a false word
      Pattern.compile("(?:(?<!stop it and )add|for good, with) --without (\\w+)");
  private static final Pattern REPLACE = Pattern.compile("add --replace (\\w+)=(\\w+)");
  private static final Map<List<Object>, Typed> READ = new ConcurrentHashMap<>();

  private final MarkScope scope;
  private final MarkRules rules;
  private final Set<List<Object>> fine = new HashSet<>();
  private final Set<List<Object>> ways = new HashSet<>(); // that were checked
  private final Map<At, Boolean> led = new HashMap<>();
  private String said = ""; // on the last way that did not lead out

  /** A command that is typed in some state, so that this client is served in the end. */
  private record At(List<MarkedNode> nodes, List<String> known, Typing typed, int client) {}

  WayOut(MarkScope scope, MarkRules rules) {
    this.scope = scope;
    this.rules = rules;
  }

  void check(MarkWorld world) {
    List<Object> seen = List.of(world.nodes(), world.known());
    if (!scope.needsWayOut || fine.contains(seen) || !rules.areEnoughLeft(world)) {
      return;
    }
    checkWays(world);
    boolean isOfOneSet = // else one sees little of what another one left behind
        scope.operators.stream().map(its -> Set.copyOf(its.client().present())).distinct().count()
            == 1;
    for (Typing typed : isOfOneSet ? commands(-1) : List.<Typing>of()) {
      if (typed.job instanceof Adopting) {
        continue;
      }
      if (!leads(world, typed, -1)) {
        throw new Violated(ExplorerInvariant.I26, said);
      }
      if (typed.job instanceof Agreeing) { // nobody types it in most scopes
        checkWays(run(world, typed).world);
      }
    }
    fine.add(seen);
  }

  /** Checks that one command, or a second one after it, leads each client of the agreed set out. */
  private void checkWays(MarkWorld world) {
    List<Object> seen = List.of(world.nodes(), world.known());
    if (ways.contains(seen)) {
      return;
    }
    MarkWorld quiet = clients(world);
    for (int client = -1; client < scope.clients.size(); client++) {
      int its = client;
      boolean isAgreed =
          client < 0
              ? scope.agreed.isEmpty()
              : scope.agreed.contains(scope.clients.get(client).name());
      if (isAgreed
          && !rules.isGood(quiet, client)
          && !leadsAny(world, client)
          && commands(-1).stream()
              .noneMatch(typed -> leadsAny(clients(run(world, typed).world), its))) {
        throw new Violated(ExplorerInvariant.I26, quiet.nodes().toString());
      }
    }
    ways.add(seen);
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

  // What operators type.

  /** A command, and by its lists and settings, who types it. */
  private record Typing(Operator operator, Job job) {

    static Typing of(Client by, Job job) {
      Client operator = new Client("operator", by.present(), by.future(), by.rules(), false);
      return new Typing(new Operator(operator, List.of()), job);
    }

    Client client() {
      return operator.client();
    }

    @Override
    public String toString() {
      return job + " of " + client().present() + client().future();
    }
  }

  /** Returns the commands of operators, and of each client, or of this one. */
  private List<Typing> commands(int only) {
    List<Typing> all = new ArrayList<>();
    if (!scope.isAttended) {
      return all;
    }
    for (Operator its : scope.operators) {
      if (!its.client().future().isEmpty()) {
        for (Command command : Command.values()) {
          all.add(Typing.of(its.client(), new Resizing(command, MarkScope.NO_WORD)));
        }
        Client present = new Client("", its.client().present(), List.of(), MarkScope.LONGER, false);
        all.add(Typing.of(present, new Agreeing(MarkScope.LONGER, MarkScope.NO_WORD)));
      }
      for (Job job : its.allowed()) {
        if (job instanceof Agreeing) {
          all.add(Typing.of(its.client(), job));
        }
      }
    }
    for (int index = 0; index < scope.clients.size(); index++) {
      Client client = scope.clients.get(index);
      if (!client.quorum().isJoint() && (only < 0 || only == index)) {
        all.add(Typing.of(client, new Adopting(client.rules(), false, MarkScope.NO_WORD)));
      }
    }
    return all;
  }

  private boolean leadsAny(MarkWorld world, int client) {
    return commands(client).stream().anyMatch(typed -> leads(world, typed, client));
  }

  private boolean leads(MarkWorld world, Typing first, int client) {
    return leads(new At(world.nodes(), world.known(), first, client), world, new LinkedHashSet<>());
  }

  private boolean leads(At at, MarkWorld world, Set<At> path) {
    Boolean known = led.get(at);
    if (known != null) {
      return known;
    }
    if (!path.add(at)) {
      said = "round in a circle: " + path;
      return false;
    }
    Ended ended = run(world, at.typed);
    MarkWorld after = clients(ended.world);
    List<Typing> advised = advised(ended.last, at.typed, path);
    boolean isLed =
        advised.isEmpty()
            ? rules.isGood(after, at.client) || isToldByClients(after, at.client, path)
            : lead(advised, after, at.client, path);
    said = isLed || !advised.isEmpty() ? said : path + " ends with " + ended.last;
    path.remove(at);
    led.put(at, isLed);
    return isLed;
  }

  /** Returns true if each of these commands leads out. */
  private boolean lead(List<Typing> all, MarkWorld world, int client, Set<At> path) {
    return all.stream()
        .allMatch(typed -> leads(new At(world.nodes(), world.known(), typed, client), world, path));
  }

  /** Returns true if some client is told what leads out. */
  private boolean isToldByClients(MarkWorld world, int client, Set<At> path) {
    for (int index = 0; index < scope.clients.size(); index++) {
      Typing typed =
          Typing.of(scope.clients.get(index), new Resizing(Command.PREPARE, MarkScope.NO_WORD));
      String told = String.join("; ", rules.look(index, world).reasons());
      List<Typing> advised = advised(Operation.Step.refuse(-1, told), typed, path);
      if (!advised.isEmpty() && lead(advised, world, client, path)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the commands that the message advises which this one ended with. */
  private List<Typing> advised(Step end, Typing typed, Set<At> path) {
    List<Typing> all = new ArrayList<>();
    String message = end instanceof Step.Done done ? done.message() : end.toString();
    Set<String> gone = new TreeSet<>(typed.job.word().gone());
    Map<String, String> replaced = new TreeMap<>(typed.job.word().replaced());
    WITHOUT.matcher(message).results().forEach(advised -> gone.add(advised.group(1)));
    REPLACE
        .matcher(message)
        .results()
        .forEach(advised -> replaced.put(advised.group(1), advised.group(2)));
    Waiver more = new Waiver(gone, replaced);
    if (!more.equals(typed.job.word())) {
      return List.of(new Typing(typed.operator, typed.job.with(more)));
    }
    if (AGAIN.matcher(message).find()) {
      path.stream()
          .map(At::typed)
          .filter(each -> each.job instanceof Resizing)
          .reduce((before, last) -> last)
          .ifPresentOrElse(all::add, () -> all.addAll(changes(typed.client(), Command.values())));
    }
    COMMAND
        .matcher(AGAIN.matcher(message).replaceAll(""))
        .results()
        .map(found -> read(found.group(), typed))
        .forEach(
            next ->
                all.addAll(
                    typed.job instanceof Agreeing && next.job instanceof Resizing its
                        ? changes(typed.client(), its.command())
                        : List.of(next)));
    return all;
  }

  /** Returns these commands of the operators who change from or to the masters of that client. */
  private List<Typing> changes(Client client, Command... commands) {
    return scope.operators.stream()
        .map(Operator::client)
        .filter(its -> !its.future().isEmpty())
        .filter(its -> List.of(its.present(), its.future()).contains(client.present()))
        .flatMap(
            its ->
                Stream.of(commands)
                    .map(each -> Typing.of(its, new Resizing(each, MarkScope.NO_WORD))))
        .toList();
  }

  /** Reads a command as the program does, with the lists and terms of who typed another. */
  private static Typing read(String line, Typing before) {
    Client by = before.client();
    Map<String, String> environment = new TreeMap<>();
    environment.put("REDLOCK_NODES", String.join(" ", MarkScope.names(by.present())));
    environment.put("REDLOCK_MOVING_TO", String.join(" ", MarkScope.names(by.future())));
    Typed typed =
        READ.computeIfAbsent(List.of(line, environment), key -> Typed.of(line, environment));
    ParseResult read = typed.read();
    TrustRules terms = before.job instanceof Agreeing its ? its.terms() : by.rules();
    Waiver word =
        new Waiver(
            Set.copyOf(read.matchedOptionValue("--without", List.of())),
            read.matchedOptionValue("--replace", Map.of()));
    Job job =
        switch (read.commandSpec().name()) {
          case "resize" -> new Resizing(read.matchedPositionalValue(0, Command.PREPARE), word);
          case "agree" -> new Agreeing(terms, word);
          default -> new Adopting(terms, false, word);
        };
    List<Integer> present = listed(typed.settings().get("REDLOCK_NODES"));
    List<Integer> future = listed(typed.settings().getOrDefault("REDLOCK_MOVING_TO", ""));
    return Typing.of(new Client("operator", present, future, by.rules(), false), job);
  }

  private static List<Integer> listed(String names) {
    return names.isEmpty() ? List.of() : MarkScope.numbers(List.of(names.split("[ ,]")));
  }

  /** The end of a command. */
  private record Ended(MarkWorld world, Step last) {}

  private Ended run(MarkWorld world, Typing typed) {
    Operator operator = typed.operator;
    boolean founds = typed.job instanceof Adopting;
    MarkWorld now = founds ? aged(world, Age.FORGOTTEN) : world;
    List<MarkWorld> passed = new ArrayList<>(List.of(now));
    Running running = Running.of(typed.job);
    for (int at = 0; at < MOST_STEPS; at++) {
      Next next = rules.next(operator, running, now.nodes());
      Step step = next.step();
      if (step instanceof Step.Done || step instanceof Step.Refuse) {
        if (!founds) {
          checkService(typed, passed);
        }
        return new Ended(now, step);
      }
      if (step instanceof Step.Write write) {
        for (Sent mark : rules.written(operator, typed.job, now.nodes(), write)) {
          now = now.node(mark.node(), mark.mark());
        }
        passed.add(now);
      } else if (step instanceof Step.Wait && founds) {
        now = aged(now, Age.WAITED);
      }
      running = running.after(next.progress());
    }
    throw new AssertionError("a command has no end: " + typed + " " + world);
  }

  /**
   * Checks that each client which is served before and after a command is served during it, also
   * while a master restarts.
   */
  private void checkService(Typing typed, List<MarkWorld> passed) {
    for (int restarting = -1; restarting < scope.nodes; restarting++) {
      List<MarkWorld> worlds = new ArrayList<>(passed);
      int node = restarting;
      if (node >= 0 && passed.get(0).nodes().get(node).kind() != Kind.GONE) {
        worlds.replaceAll(world -> world.node(node, world.nodes().get(node).isVoid()));
      }
      for (int c = 0; c < scope.clients.size(); c++) {
        int client = c;
        List<Boolean> served = worlds.stream().map(each -> rules.serves(client, each)).toList();
        if (served.get(0) && served.get(served.size() - 1) && served.contains(false)) {
          throw new Violated(
              ExplorerInvariant.I31, scope.clients.get(client).name() + " by " + typed);
        }
      }
    }
  }

  private MarkWorld aged(MarkWorld world, Age age) {
    MarkWorld now = world;
    for (int node = 0; node < scope.nodes; node++) {
      MarkedNode its = now.nodes().get(node);
      now = its.isFounding() ? now.node(node, its.aged(age)) : now;
    }
    return now;
  }
}
