package io.redlock.chaos.client;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.JedisCore;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.lane.TestLanes;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;

/**
 * What a client process is told on its command line.
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
    Path journal,
    int storePort,
    Variant variant,
    Duration nodeTimeout,
    Duration maxTtl,
    Duration skew,
    List<String> addresses,
    List<String> movingTo,
    Map<Integer, Integer> ways) {

  public List<String> arguments() {
    return List.of(
        name,
        journal.toString(),
        Integer.toString(storePort),
        variant.name(),
        nodeTimeout.toString(),
        maxTtl.toString(),
        skew.toString(),
        String.join(",", addresses),
        String.join(",", movingTo),
        ways.entrySet().stream()
            .map(way -> way.getKey() + ">" + way.getValue())
            .collect(Collectors.joining(",")));
  }

  static ClientSettings of(String... arguments) {
    return new ClientSettings(
        arguments[0],
        Path.of(arguments[1]),
        Integer.parseInt(arguments[2]),
        Variant.valueOf(arguments[3]),
        Duration.parse(arguments[4]),
        Duration.parse(arguments[5]),
        Duration.parse(arguments[6]),
        List.of(arguments[7].split(",")),
        arguments[8].isEmpty() ? List.of() : List.of(arguments[8].split(",")),
        Stream.of(arguments[9].split(","))
            .map(way -> way.split(">"))
            .collect(
                Collectors.toMap(
                    way -> Integer.parseInt(way[0]), way -> Integer.parseInt(way[1]))));
  }

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
          RedlockBuilder.over(
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
      JedisCore.with(builder, core -> core.ownerIds(() -> "always-" + name));
    }
    return builder.build();
  }
}
