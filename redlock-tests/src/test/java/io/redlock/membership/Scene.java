package io.redlock.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.Lease;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.settings.SettingValues;
import io.redlock.testbed.Await;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Three masters. A holder has a lease on the first two of them and is cut off from all; rivals
 * reach all three, the second one, which will lose its data, by an address that can be moved. If
 * the second one votes before the lease has ended, a rival has a quorum with the third.
 */
final class Scene implements AutoCloseable {

  static final String RESOURCE = "resource";
  static final int FRAGILE = 1;

  /** Otherwise a master waits for more replicas before it begins. */
  private static final String[] FAST_SYNC = {"--repl-diskless-sync", "no"};

  private static final Duration NODE_TIMEOUT = Duration.ofMillis(400);
  private static final Duration SKEW = Duration.ofMillis(100);

  private final boolean guarded;
  private final @Nullable ClockShim clock;
  private final List<RedisServer> servers = new ArrayList<>();
  private final List<GateProxy> gates = new ArrayList<>();
  private final List<Redlock> clients = new ArrayList<>();

  /** Where rivals find the fragile master. */
  final GateProxy address;

  /** The way of rivals to the third master. */
  final GateProxy third;

  /**
   * @param clock by which the fragile master goes, if it can be set
   */
  Scene(boolean guarded, @Nullable ClockShim clock) {
    this.guarded = guarded;
    this.clock = clock;
    another();
    if (clock == null) {
      another();
    } else {
      servers.add(RedisServer.start(clock, FAST_SYNC));
    }
    another();
    servers.forEach(server -> gates.add(GateProxy.to(server)));
    address = GateProxy.to(fragile());
    third = GateProxy.to(servers.get(2));
  }

  /** Vouches for the masters, under the names that rivals give them. */
  void adopt(Duration maxTtl) {
    List<String> names =
        Stream.of(namesOfRivals()).map(name -> name.replaceFirst("^redis://", "")).toList();
    MasterSet set = new MasterSet("tested", names);
    long driftPpm = new SettingValues().driftPartsPerMillion();
    TrustRules rules = TrustRules.of(guarded, maxTtl, driftPpm, SKEW.toNanos() / 1_000, "");
    RedisServers.found(set, rules.terms(), servers.get(0), servers.get(FRAGILE), servers.get(2));
  }

  private String[] namesOfRivals() {
    return new String[] {servers.get(0).address(), address.address(), third.address()};
  }

  /** The master that will lose its data. */
  RedisServer fragile() {
    return servers.get(FRAGILE);
  }

  /** One more server, stopped with the scene. */
  RedisServer another() {
    RedisServer server = RedisServer.start(FAST_SYNC);
    servers.add(server);
    return server;
  }

  /** A replica of the fragile master that has all of its data. */
  RedisServer replica() {
    RedisServer replica = another();
    follow(replica, fragile());
    return replica;
  }

  /** Makes one server a replica of another and waits until it has all of its data. */
  static void follow(RedisServer replica, RedisServer master) {
    replica.command("REPLICAOF", master.host(), Integer.toString(master.port()));
    Await.until(
        "the replica has the data", () -> replica.infoOf("master_link_status").equals("up"));
  }

  /** Waits until what was written so far has reached the replica. */
  static void catchUp(RedisServer master) {
    assertEquals(1L, master.command("WAIT", "1", "10000"));
  }

  static void promote(RedisServer replica) {
    replica.command("REPLICAOF", "NO", "ONE");
  }

  /** A lease on the first two masters, whose holder reaches none of them any more. */
  Lease leaseOfAnIsolatedHolder(Duration ttl) throws InterruptedException {
    Redlock holder = connect(ttl, gates.stream().map(GateProxy::address).toArray(String[]::new));
    NodeView.await(holder, FRAGILE, State.UP);
    gates.get(2).requests().hold();
    Lease lease = holder.acquire(RESOURCE, ttl, Duration.ofMinutes(1)); // for a busy machine
    gates.forEach(gate -> gate.requests().hold());
    return lease;
  }

  /** A client that reaches all masters. */
  Redlock rival(Duration maxTtl) {
    return connect(maxTtl, namesOfRivals());
  }

  /** A client that reaches the first master and the fragile one, and the third perhaps later. */
  Redlock anyRival(Duration maxTtl) {
    return build(maxTtl, namesOfRivals());
  }

  private Redlock connect(Duration maxTtl, String... addresses) {
    Redlock client = build(maxTtl, addresses);
    for (int node : new int[] {0, 2}) {
      NodeView.await(client, node, State.UP);
    }
    return client;
  }

  private Redlock build(Duration maxTtl, String... addresses) {
    Redlock client = settings(maxTtl, addresses).build();
    clients.add(client);
    return client;
  }

  private JedisRedlock.Builder settings(Duration maxTtl, String... addresses) {
    return JedisRedlock.builder()
        .node(String.join(",", addresses))
        .nodeTimeout(NODE_TIMEOUT)
        .maxTtl(maxTtl)
        .clockSkew(SKEW)
        .restartGuard(guarded);
  }

  @Override
  public void close() {
    clients.forEach(Redlock::close);
    gates.forEach(GateProxy::close);
    address.close();
    third.close();
    servers.forEach(RedisServer::close);
    if (clock != null) {
      clock.close();
    }
  }
}
