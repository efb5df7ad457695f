package io.redlock.chaos;

import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.peers.PeerLibrary;
import io.redlock.chaos.peers.PeerMain;
import io.redlock.chaos.peers.PeerSettings;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.GateProxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Servers, client processes that work with one library, a proxy on each way between them, and the
 * store that the locks protect. Ends with {@link #close()}, whatever happened.
 */
final class PeerDeployment extends DeploymentUnderFaults {

  private final List<ChaosServer> servers = new ArrayList<>();
  private final PeerLibrary peer;
  private final List<ChaosNode> masters = new ArrayList<>();
  private final List<ZooKeeperMember> members = new ArrayList<>();
  private @Nullable Sentinels sentinels;

  /** Starts everything and waits until it is up. */
  PeerDeployment(PeerLibrary peer, ChaosTerms terms, Path folder) {
    super(terms, folder);
    this.peer = peer;
    try {
      startServers();
      startClients();
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
  }

  /** How many servers a peer has in a schedule. */
  static int servers(PeerLibrary peer, Schedule schedule) {
    return switch (peer.servers) {
      case MASTERS -> schedule.terms().nodes();
      case ONE -> 1;
      case PAIR -> 2;
      case ENSEMBLE -> 3;
    };
  }

  private void startServers() {
    if (peer.servers == PeerLibrary.Servers.ENSEMBLE) {
      members.addAll(Unchecked.call(() -> ZooKeeperMember.start(terms.nodes(), folder, journal)));
      servers.addAll(members);
    } else {
      masters.addAll(
          IntStream.range(0, terms.nodes())
              .parallel()
              .mapToObj(node -> new ChaosNode("n" + node, false, journal))
              .toList());
      if (peer.servers == PeerLibrary.Servers.PAIR) {
        sentinels =
            Unchecked.call(
                () -> new Sentinels(masters.get(0).server, masters.get(1).server, folder));
        servers.add(new PairMember(masters.get(0), masters.get(1), sentinels));
        servers.add(new PairMember(masters.get(1), masters.get(0), sentinels));
      } else {
        servers.addAll(masters);
      }
      if (peer == PeerLibrary.REDLOCK) {
        ChaosDeployment.adopt(masters, terms, JedisRedlock.Builder::adoptNew);
      }
    }
    for (int node = 0; node < servers.size(); node++) {
      journal.note("n%s up", node);
    }
  }

  private void startClients() {
    for (int i = 0; i < terms.clients(); i++) {
      List<GateProxy> links = new ArrayList<>();
      masters.forEach(node -> links.add(GateProxy.to(node.server)));
      members.forEach(member -> links.add(GateProxy.toZooKeeper(member.port)));
      List<Integer> ports = links.stream().map(GateProxy::port).toList();
      start(links, ports, (life, journal, folder) -> process(life, journal, folder, links));
    }
    clients.forEach(client -> client.process().awaitReady());
  }

  private ClientProcess process(
      String life, Path lifeJournal, Path lifeFolder, List<GateProxy> links) {
    PeerSettings settings =
        new PeerSettings(
            peer,
            life,
            lifeJournal.toString(),
            store.port(),
            ChaosNode.USER,
            ChaosNode.PASSWORD,
            terms.nodeTimeout(),
            terms.maxTtl(),
            terms.skew(),
            links.stream().map(link -> "127.0.0.1:" + link.port()).toList(),
            masters.stream().map(node -> node.server.host() + ":" + node.server.port()).toList(),
            sentinels == null ? List.of() : sentinels.addresses);
    return new ClientProcess(life, PeerMain.class, settings, lifeFolder);
  }

  @Override
  List<ChaosServer> servers() {
    return servers;
  }

  @Override
  List<HistoryEvent> left() {
    List<HistoryEvent> left = new ArrayList<>();
    for (ChaosNode node : masters) {
      for (String key : node.server.keys("*r[01]*")) {
        if (!key.startsWith("redlock:")) { // this library's counters
          left.add(HistoryEvent.now("%s left resource=%s", node.name, key));
        }
      }
    }
    return left;
  }

  @Override
  public void close() {
    clients.forEach(ChaosClient::close);
    if (sentinels != null) {
      sentinels.close();
    }
    masters.parallelStream().forEach(ChaosNode::close);
    members.forEach(ZooKeeperMember::close);
    super.close();
  }
}
