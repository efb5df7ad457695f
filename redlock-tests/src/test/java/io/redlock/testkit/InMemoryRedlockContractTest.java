package io.redlock.testkit;

import io.redlock.RealTime;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

class InMemoryRedlockContractTest extends RedlockContract {

  @Override
  protected DeploymentUnderTest open() {
    return new InMemory();
  }

  private static final class InMemory implements DeploymentUnderTest {
    private final Ticker ticker = RealTime.ticker();
    private final List<InMemoryServer> servers = new ArrayList<>();
    private final List<Boolean> dead = new ArrayList<>();
    private final List<InMemoryNode> nodes = new ArrayList<>();
    private final List<Redlock> clients = new ArrayList<>();

    InMemory() {
      for (int i = 0; i < NODES; i++) {
        servers.add(new InMemoryServer(ticker));
        dead.add(false);
      }
    }

    @Override
    public Redlock connect(Duration nodeTimeout, RedlockListener listener) {
      List<InMemoryNode> connections = new ArrayList<>();
      for (int i = 0; i < NODES; i++) {
        InMemoryNode node = new InMemoryNode("node-" + i, servers.get(i));
        if (dead.get(i)) {
          node.down("refused connection");
        }
        connections.add(node);
      }
      nodes.addAll(connections);
      Redlock client =
          Redlock.builder(connections)
              .ticker(ticker)
              .nodeTimeout(nodeTimeout)
              .listener(listener)
              .build();
      clients.add(client);
      return client;
    }

    @Override
    public int holders(String resource) {
      int holders = 0;
      for (int i = 0; i < NODES; i++) {
        if (!dead.get(i) && servers.get(i).owner(resource).isPresent()) {
          holders++;
        }
      }
      return holders;
    }

    @Override
    public void set(int node, String resource, String owner, Duration ttl) {
      servers.get(node).set(resource, owner, ttl.toMillis());
    }

    @Override
    public void takeDown(int node) {
      dead.set(node, true);
      for (int i = node; i < nodes.size(); i += NODES) {
        nodes.get(i).down("refused connection");
      }
    }

    @Override
    public void close() {
      clients.forEach(Redlock::close);
    }
  }
}
