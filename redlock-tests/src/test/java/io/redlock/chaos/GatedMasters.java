package io.redlock.chaos;

import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Five masters, a gate in front of each, and the clients that were connected through them. */
final class GatedMasters implements AutoCloseable {

  static final int NODES = 5;

  private final RedisServers servers = RedisServers.start(NODES);
  private final List<GateProxy> gates = new ArrayList<>();
  private final List<Redlock> clients = new ArrayList<>();

  GatedMasters() {
    servers.forEach(server -> gates.add(GateProxy.to(server)));
  }

  RedisServer server(int node) {
    return servers.get(node);
  }

  List<GateProxy> gates() {
    return gates;
  }

  GateProxy gate(int node) {
    return gates.get(node);
  }

  /** A client whose every request passes a gate. */
  Redlock connect(Duration nodeTimeout) {
    return connect(nodeTimeout, gates.stream().map(GateProxy::address).toArray(String[]::new));
  }

  /** A client without gates, to which a dead server is a refused connection. */
  Redlock connectDirectly(Duration nodeTimeout) {
    return connect(nodeTimeout, servers.addresses());
  }

  private Redlock connect(Duration nodeTimeout, String... addresses) {
    Redlock client =
        JedisRedlock.builder().node(String.join(",", addresses)).nodeTimeout(nodeTimeout).build();
    clients.add(client);
    for (int i = 0; i < NODES; i++) {
      int node = i;
      if (server(node).isAlive()) {
        Await.until(
            "node " + node + " is up",
            () -> client.operations().nodes().get(node).state() == State.UP);
      }
    }
    return client;
  }

  /** Kills them at once: a container takes seconds to die. */
  void kill(int... nodes) {
    IntStream.of(nodes).parallel().forEach(node -> server(node).kill());
  }

  boolean isHeld(int node, String resource) {
    return (Long) server(node).command("EXISTS", resource) == 1;
  }

  void awaitFree(int node, String resource) {
    Await.until("node " + node + " does not hold " + resource, () -> !isHeld(node, resource));
  }

  /** Waits until no living node holds the resource. */
  void awaitFree(String resource) {
    for (int node = 0; node < NODES; node++) {
      if (server(node).isAlive()) {
        awaitFree(node, resource);
      }
    }
  }

  /** The counter of a resource on a node, 0 if there is none. */
  long fence(int node, String resource) {
    Object fence = server(node).command("GET", "redlock:fence:" + resource);
    return fence == null ? 0 : Long.parseLong((String) fence);
  }

  @Override
  public void close() {
    clients.forEach(Redlock::close);
    gates.forEach(GateProxy::close);
    servers.close();
  }
}
