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

/**
 * What a client process is told on its command line.
 *
 * @param name who it is in the history
 * @param journal the file it writes
 * @param storePort where the store listens
 * @param addresses its way to each master
 * @param movingTo its way to each future master; empty if it does not move
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
    List<String> movingTo) {

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
        String.join(",", movingTo));
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
        arguments[8].isEmpty() ? List.of() : List.of(arguments[8].split(",")));
  }

  /** Leases stay good until their deadline: no margin hides what goes wrong close to it. */
  Redlock build(RedlockListener listener) {
    if (variant == Variant.RELEASES_WHERE_GRANTED) {
      RedlockBuilder core =
          RedlockBuilder.over(
              TestLanes.of(addresses, nodeTimeout, maxTtl, skew).stream()
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
