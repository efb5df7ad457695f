package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.jedis.connection.NodeAddress;
import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.spi.LockNode;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.JedisClientConfig;

/** The lanes of a whole lock service, for tests that stand between it and them. */
public final class TestLanes {

  private TestLanes() {}

  /** The lanes that a lock service with such settings would have. */
  public static List<LockNode> of(
      List<String> addresses,
      JedisClientConfig config,
      Duration nodeTimeout,
      Duration maxTtl,
      Duration skew) {
    List<String> faults = new ArrayList<>();
    LaneSettings settings = LaneSettings.derive(nodeTimeout, null, maxTtl, skew, null, faults);
    assertEquals(List.of(), faults);
    TrustRules rules = TrustRules.of(true, maxTtl, 10_000, settings.skewMicros(), "");
    List<NodeAddress> parsed = addresses.stream().map(LaneFixture::address).toList();
    List<String> names = parsed.stream().map(NodeAddress::name).toList();
    Peers peers = new Peers(names, Quorum.of(names.size()));
    List<LockNode> lanes = new ArrayList<>();
    for (NodeAddress address : parsed) {
      NodeTrust trust = new NodeTrust(address.name(), lanes.size(), peers, rules, 10_000);
      lanes.add(
          NodeLane.of(
              NodePool.open(address, config, "test", settings.silenceTimeout()), settings, trust));
    }
    return lanes;
  }

  /** Whether nothing waits to be sent to this master, or for its answer. */
  public static boolean isIdle(LockNode node) {
    return ((NodeLane) node).isIdle();
  }
}
