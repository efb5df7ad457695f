package io.redlock.chaos.client;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.JedisCore;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.lane.TestLanes;
import java.io.Serializable;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * What a client process is told.
 *
 * @param name who it is in the history
 * @param journal the file it writes
 * @param storePort where the store listens
 * @param addresses the masters, written alike on every client
 * @param movingTo the future masters; empty if it does not move
 * @param ways the port of its own link to each master, by the port of the master
 */
public record ClientSettings(
    String name,
    String journal,
    int storePort,
    Variant variant,
    Duration nodeTimeout,
    Duration maxTtl,
    Duration skew,
    List<String> addresses,
    List<String> movingTo,
    Map<Integer, Integer> ways)
    implements Serializable {

  /** Leads each connection to the link of this client: by their names the masters are the same. */
  private JedisClientConfig links() {
    return DefaultJedisClientConfig.builder()
        .hostAndPortMapper(
            master ->
                new HostAndPort(
                    master.getHost(), ways.getOrDefault(master.getPort(), master.getPort())))
        .build();
  }

  /** Leases stay good until their deadline: no margin hides what goes wrong close to it. */
  Redlock build(RedlockListener listener) {
    if (variant == Variant.RELEASES_WHERE_GRANTED) {
      RedlockBuilder core =
          new RedlockBuilder()
              .over(
                  TestLanes.of(addresses, links(), nodeTimeout, maxTtl, skew).stream()
                      .map(ReleasesWhereGranted::new)
                      .toList());
      return core.nodeTimeout(nodeTimeout)
          .maxTtl(maxTtl)
          .clockSkew(skew)
          .lossMargin(Duration.ZERO)
          .listener(listener)
          .build();
    }
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .nodeTimeout(nodeTimeout)
            .maxTtl(maxTtl)
            .clockSkew(skew)
            .lossMargin(Duration.ZERO)
            .clientConfig(links())
            .restartGuard(variant.guarded())
            .listener(listener);
    addresses.forEach(builder::node);
    movingTo.forEach(builder::movingTo);
    if (variant == Variant.REUSES_OWNER_IDS) {
      JedisCore.of(builder).ownerIds(() -> "always-" + name);
    }
    return builder.build();
  }
}
