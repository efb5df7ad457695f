package io.redlock.chaos;

import io.redlock.chaos.ChaosMasters.Known;
import io.redlock.chaos.client.ClientSettings;
import io.redlock.chaos.client.Heartbeat;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import io.redlock.chaos.history.RunSettings;
import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.settings.Setting;
import io.redlock.spi.HolderLabel;
import io.redlock.testbed.Await;
import io.redlock.testkit.GateProxy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Masters, client processes, a proxy on each way between them, and the store that the locks
 * protect: everything that takes part in a run. Ends with {@link #close()}, whatever happened.
 */
final class ChaosDeployment implements AutoCloseable {

  static final List<String> RESOURCES = List.of("r0", "r1");

  final List<ChaosNode> nodes;
  final List<ChaosClient> clients = new ArrayList<>();
  final Journal journal;
  private final ChaosTerms terms;
  private final Path folder;
  private final List<NodeWatch> watches = new ArrayList<>();
  private final Heartbeat heartbeat;
  private final Store store;

  /**
   * Starts everything and waits until it is up.
   *
   * @param keepsTime whether nothing will be done that leases assume not to happen; only where
   *     something will be can the masters' clocks be set
   */
  ChaosDeployment(ChaosTerms terms, Path folder, boolean keepsTime) {
    this.terms = terms;
    this.folder = folder;
    delete(folder);
    try {
      Files.createDirectories(folder);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    journal = new Journal(folder.resolve("harness.tsv"));
    journal.write(
        RunSettings.of(
                terms.nodes(), terms.maxTtl(), terms.skew(), terms.variant().guarded(), keepsTime)
            .event());
    nodes =
        IntStream.range(0, terms.nodes())
            .parallel()
            .mapToObj(node -> new ChaosNode("n" + node, !keepsTime, journal))
            .toList();
    store = new Store(journal);
    heartbeat = Heartbeat.start("harness", journal);
    try {
      begin();
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  private void begin() {
    if (terms.variant().guarded()) {
      adopt(terms.masters().present().stream().map(nodes::get).toList(), terms);
    }
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
    String name = "c" + clients.size();
    ChaosClient client =
        new ChaosClient(
            name,
            links,
            nodes.stream().map(node -> node.server.port()).toList(),
            launcher(links, known),
            folder,
            journal);
    clients.add(client);
    return client.start();
  }

  /** What an operator of a change of masters has in the environment. */
  DeploymentSettings operatorSettings() {
    DeploymentSettings settings = new DeploymentSettings();
    terms.masters().present().forEach(node -> settings.node(nodes.get(node).server.address()));
    terms.masters().future().forEach(node -> settings.movingTo(nodes.get(node).server.address()));
    settings.set(Setting.NODE_TIMEOUT, terms.nodeTimeout());
    settings.set(Setting.MAX_TTL, terms.maxTtl());
    settings.set(Setting.CLOCK_SKEW, terms.skew());
    return settings;
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
              lifeJournal,
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

  /** Vouches for masters that are empty. */
  static void adopt(List<ChaosNode> nodes, ChaosTerms terms) {
    String[] addresses = nodes.stream().map(node -> node.server.address()).toArray(String[]::new);
    JedisRedlock.Builder builder =
        JedisRedlock.builder().maxTtl(terms.maxTtl()).clockSkew(terms.skew());
    for (String address : addresses) {
      builder.node(address);
    }
    AdoptReport report = builder.adopt();
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

  /** Waits until no lock key is left, for so long at most, and writes down those that are. */
  void awaitFree(Duration patience) {
    try {
      Await.until("all is free", patience, () -> held().isEmpty());
    } catch (AssertionError e) {
      held().forEach(journal::write);
    }
  }

  private List<HistoryEvent> held() {
    List<HistoryEvent> held = new ArrayList<>();
    for (int node = 0; node < nodes.size(); node++) {
      for (String resource : RESOURCES) {
        String owner = nodes.get(node).isRunning() ? owner(node, resource) : "";
        if (!owner.isEmpty()) {
          held.add(left(node, resource, owner));
        }
        if (nodes.get(node).isRunning() && !readers(node, resource).equals("[]")) {
          held.add(left(node, resource, "readers " + readers(node, resource)));
        }
      }
    }
    return held;
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

  /** What has been written so far. */
  History soFar() {
    return History.read(parts());
  }

  private List<Path> parts() {
    List<Path> parts = new ArrayList<>(List.of(folder.resolve("harness.tsv")));
    clients.forEach(client -> parts.addAll(client.journals()));
    return parts;
  }

  /** Everything that was written, in one file; the parts are deleted. */
  History history() {
    watches.forEach(NodeWatch::close);
    journal.note("harness end");
    List<Path> parts = parts();
    History history = History.read(parts);
    history.save(folder.resolve("history.tsv"));
    parts.forEach(ChaosDeployment::delete);
    clients.forEach(
        client ->
            client
                .journals()
                .forEach(part -> delete(Path.of(part.toString().replace(".tsv", "")))));
    return history;
  }

  @Override
  public void close() {
    heartbeat.close();
    watches.forEach(NodeWatch::close);
    clients.forEach(ChaosClient::close);
    nodes.parallelStream().forEach(ChaosNode::close);
    store.close();
    journal.close();
  }

  static void delete(Path path) {
    if (!Files.exists(path)) {
      return;
    }
    try (Stream<Path> files = Files.walk(path)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
