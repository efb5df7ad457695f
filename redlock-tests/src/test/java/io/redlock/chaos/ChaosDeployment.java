package io.redlock.chaos;

import io.redlock.chaos.ChaosMasters.Known;
import io.redlock.chaos.client.ClientSettings;
import io.redlock.chaos.client.Heartbeat;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.RunSettings;
import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.settings.Setting;
import io.redlock.spi.HolderLabel;
import io.redlock.testkit.GateProxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Masters, client processes, a proxy on each way between them, and the store that the locks
 * protect: everything that takes part in a run. Ends with {@link #close()}, whatever happened.
 */
class ChaosDeployment extends DeploymentUnderFaults {

  final List<ChaosNode> nodes;
  private final List<NodeWatch> watches = new ArrayList<>();
  private final Heartbeat heartbeat;

  /** Starts everything and waits until it is up. */
  ChaosDeployment(ChaosTerms terms, Path folder) {
    super(terms, folder);
    boolean isGuarded = terms.variant().guarded();
    journal.write(
        RunSettings.event(
            terms.nodes(), terms.maxTtl(), terms.skew(), isGuarded, terms.keepsTime()));
    nodes =
        IntStream.range(0, terms.nodes())
            .parallel()
            .mapToObj(node -> new ChaosNode("n" + node, !terms.keepsTime(), journal))
            .toList();
    heartbeat = Heartbeat.start("harness", journal);
    try {
      begin();
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private void begin() {
    List<ChaosNode> present = terms.masters().present().stream().map(nodes::get).toList();
    adopt(present, terms, JedisRedlock.Builder::adoptNew);
    for (ChaosNode node : nodes) {
      journal.note("%s up", node.name);
      watches.add(new NodeWatch(node, RESOURCES, journal));
    }
    for (int i = 0; i < terms.clients(); i++) {
      start(Known.PRESENT);
    }
    clients.forEach(client -> client.process().awaitReady());
    clients.forEach(client -> client.process().awaitMasters(20_000));
  }

  /** Starts one more client without waiting for it. */
  ClientProcess start(Known known) {
    List<GateProxy> links =
        nodes.stream()
            .map(node -> GateProxy.to(node.server, new Tap(node.name, terms.variant(), journal)))
            .toList();
    List<Integer> ports = nodes.stream().map(node -> node.server.port()).toList();
    return start(links, ports, launcher(links, known));
  }

  /** What an operator of a change of masters has in the environment. */
  DeploymentSettings operatorSettings() {
    DeploymentSettings settings = new DeploymentSettings();
    terms.masters().present().forEach(node -> settings.set(Setting.NODES, address(node)));
    terms.masters().future().forEach(node -> settings.set(Setting.MOVING_TO, address(node)));
    settings.set(Setting.NODE_TIMEOUT, terms.nodeTimeout());
    settings.set(Setting.MAX_TTL, terms.maxTtl());
    settings.set(Setting.CLOCK_SKEW, terms.skew());
    return settings;
  }

  private String address(int node) {
    return nodes.get(node).server.address();
  }

  /** Starts processes of this library that know these masters. */
  ChaosClient.Launcher launcher(List<GateProxy> links, Known known) {
    List<Integer> present = terms.masters().nodes(known);
    List<Integer> future = terms.masters().movingTo(known);
    return (life, lifeJournal, lifeFolder) -> {
      journal.note("%s knows nodes=%s movingTo=%s", life, names(present), names(future));
      return ClientProcess.of(
          new ClientSettings(
              life,
              lifeJournal.toString(),
              store.port(),
              terms.variant(),
              terms.nodeTimeout(),
              terms.maxTtl(),
              terms.skew(),
              addresses(present),
              addresses(future),
              ways(links)),
          lifeFolder);
    };
  }

  private String names(List<Integer> some) {
    return some.stream().map(node -> nodes.get(node).name).collect(Collectors.joining(","));
  }

  private List<String> addresses(List<Integer> some) {
    return some.stream().map(node -> ChaosNode.address(nodes.get(node).server.port())).toList();
  }

  private Map<Integer, Integer> ways(List<GateProxy> links) {
    Map<Integer, Integer> ways = new TreeMap<>();
    for (int node = 0; node < links.size(); node++) {
      ways.put(nodes.get(node).server.port(), links.get(node).port());
    }
    return ways;
  }

  /** Founds the set again, and waits, if all masters lost their data faster than it was copied. */
  @Override
  void repair() {
    boolean isLost =
        nodes.stream().allMatch(node -> node.server.command("EXISTS", BirthMark.KEY).equals(0L));
    if (isLost) {
      adopt(nodes, terms, JedisRedlock.Builder::adopt);
    }
  }

  static void adopt(
      List<ChaosNode> nodes,
      ChaosTerms terms,
      Function<JedisRedlock.Builder, AdoptReport> command) {
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .maxTtl(terms.maxTtl())
            .clockSkew(terms.skew())
            .restartGuard(terms.variant().guarded())
            .silenceTimeout(Duration.ofSeconds(30)); // longer than a machine stands still
    nodes.forEach(node -> builder.node(node.server.address()));
    AdoptReport report = command.apply(builder);
    if (!report.isComplete()) {
      throw new IllegalStateException("not adopted:\n" + report);
    }
  }

  ClientProcess client(int client) {
    return clients.get(client).process();
  }

  GateProxy link(int client, int node) {
    return clients.get(client).links.get(node);
  }

  /** The owner under which the resource is locked on a node; empty if it is free there. */
  String owner(int node, String resource) {
    Object owner = nodes.get(node).server.command("GET", resource);
    return owner == null ? "" : HolderLabel.owner(owner.toString());
  }

  /** Ends all clients in good order. */
  void stopClients() {
    clients.forEach(client -> client.process().stop());
  }

  @Override
  List<ChaosNode> servers() {
    return nodes;
  }

  @Override
  void awaitServers(ChaosClient client) {
    client.process().awaitMasters(terms.patienceMillis());
  }

  @Override
  List<HistoryEvent> left() {
    List<HistoryEvent> left = new ArrayList<>();
    for (int node = 0; node < nodes.size(); node++) {
      for (String resource : nodes.get(node).isRunning() ? RESOURCES : List.<String>of()) {
        String owner = owner(node, resource);
        if (!owner.isEmpty()) {
          left.add(left(node, resource, owner));
        }
        String readers = readers(node, resource);
        if (!readers.equals("[]")) {
          left.add(left(node, resource, "readers " + readers));
        }
      }
    }
    return left;
  }

  private static HistoryEvent left(int node, String resource, String owner) {
    return HistoryEvent.now("n%s left resource=%s owner=%s", node, resource, owner);
  }

  /** The entries of readers that have not ended, counted by the server's clock. */
  private String readers(int node, String resource) {
    String script =
        "return redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. redis.call('TIME')[1] .. '000', '+inf')";
    String set = "redlock:readers:" + resource;
    return nodes.get(node).server.command("EVAL", script, "1", set).toString();
  }

  @Override
  History history() {
    watches.forEach(NodeWatch::close);
    return super.history();
  }

  @Override
  public void close() {
    heartbeat.close();
    watches.forEach(NodeWatch::close);
    clients.forEach(ChaosClient::close);
    nodes.parallelStream().forEach(ChaosNode::close);
    super.close();
  }
}
