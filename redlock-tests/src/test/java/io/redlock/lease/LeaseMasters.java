package io.redlock.lease;

import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.spi.HolderLabel;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Five real masters for the tests of one class if the field is static, or else for one test,
 * clients of them, and a look at what they store. The clients have no restart guard: a master that
 * comes back empty takes part at once. After each test the clients are closed, and what was stopped
 * or killed is running again.
 */
public final class LeaseMasters
    implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, AfterAllCallback {

  public static final int NODES = 5;

  /** No call fails because the machine stands still for 3 s; ttls are more than twice as long. */
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(4);

  private final List<Redlock> clients = new CopyOnWriteArrayList<>();
  private final List<GateProxy> proxies = new ArrayList<>();
  private RedisServers servers;
  private boolean isForOneTest;

  @Override
  public void beforeAll(ExtensionContext context) {
    start();
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    if (servers == null) {
      isForOneTest = true;
      start();
    }
  }

  private void start() {
    servers = RedisServers.startBrandNew(NODES);
    servers.adopt(settings -> settings.restartGuard(false)); // founded, though a test kills some
  }

  @Override
  public void afterEach(ExtensionContext context) {
    if (servers == null) {
      return; // without a server to run there is no test either
    }
    for (RedisServer server : servers) {
      if (server.isAlive()) {
        server.resume();
      }
    }
    clients.forEach(Redlock::close);
    clients.clear();
    proxies.forEach(GateProxy::close);
    proxies.clear();
    if (isForOneTest) {
      servers.close();
    } else {
      servers.restartDead();
    }
  }

  @Override
  public void afterAll(ExtensionContext context) {
    if (servers != null) {
      servers.close();
    }
  }

  /** The settings of a client of all masters. */
  public JedisRedlock.Builder settings() {
    return settings(servers.addresses());
  }

  /** The same through a proxy before each master. */
  public JedisRedlock.Builder settingsThroughProxies() {
    servers.forEach(server -> proxies.add(GateProxy.to(server)));
    return settings(proxies.stream().map(GateProxy::address).toArray(String[]::new));
  }

  private static JedisRedlock.Builder settings(String... addresses) {
    return JedisRedlock.builder()
        .node(String.join(",", addresses))
        .nodeTimeout(NODE_TIMEOUT)
        .restartGuard(false);
  }

  /** One more client, connected to every master that is alive. */
  public Redlock connect() {
    return connect(UnaryOperator.identity());
  }

  /** One more client with changed settings, connected to every master that is alive. */
  public Redlock connect(UnaryOperator<JedisRedlock.Builder> change) {
    return open(change.apply(settings()));
  }

  /** One more client, connected to every master that is alive. */
  public Redlock open(JedisRedlock.Builder settings) {
    Redlock client = settings.build();
    clients.add(client);
    awaitUp(client);
    return client;
  }

  /** Waits until the client has a connection to every master that is alive. */
  public void awaitUp(Redlock client) {
    for (int node = 0; node < NODES; node++) {
      if (servers.get(node).isAlive()) {
        NodeView.await(client, node, State.UP);
      }
    }
  }

  public RedisServer get(int node) {
    return servers.get(node);
  }

  public String[] addresses() {
    return servers.addresses();
  }

  /** The ways from the clients to the masters, if they go through proxies. */
  public List<GateProxy.Gate> requests() {
    return proxies.stream().map(GateProxy::requests).toList();
  }

  /** The ways back. */
  public List<GateProxy.Gate> replies() {
    return proxies.stream().map(GateProxy::replies).toList();
  }

  public void pause(int... nodes) {
    IntStream.of(nodes).mapToObj(servers::get).forEach(RedisServer::pause);
  }

  public void resume(int... nodes) {
    IntStream.of(nodes).mapToObj(servers::get).forEach(RedisServer::resume);
  }

  public void kill(int... nodes) {
    IntStream.of(nodes).mapToObj(servers::get).forEach(RedisServer::kill);
  }

  /** Who holds the resource on this node; empty if nobody does. */
  public String owner(int node, String resource) {
    Object owner = get(node).command("GET", resource);
    return owner == null ? "" : HolderLabel.owner(owner.toString());
  }

  /** On how many of the masters that are alive the resource is locked, by whomever. */
  public long holders(String resource) {
    return IntStream.range(0, NODES)
        .filter(node -> get(node).isAlive() && !owner(node, resource).isEmpty())
        .count();
  }

  /** Waits until so many masters hold the resource. */
  public void awaitHolders(int count, String resource) {
    Await.until(count + " masters hold " + resource, () -> holders(resource) == count);
  }

  /** How long the lock lives on this node, in milliseconds; −2 if it is not there. */
  public long pttl(int node, String resource) {
    return (Long) get(node).command("PTTL", resource);
  }

  /** The counter of the resource on this node. */
  public long fence(int node, String resource) {
    Object fence = get(node).command("GET", "redlock:fence:" + resource);
    return fence == null ? 0 : Long.parseLong(fence.toString());
  }

  /** All locks on all masters that are alive: every key but the counters and marks. */
  public List<String> locks() {
    List<String> locks = new ArrayList<>();
    for (RedisServer server : servers) {
      if (server.isAlive()) {
        server.keys("*").stream().filter(key -> !key.startsWith("redlock:")).forEach(locks::add);
      }
    }
    return locks;
  }
}
