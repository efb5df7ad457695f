package io.redlock.spring.boot;

import io.redlock.jedis.JedisRedlock;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The settings of a lock service, as text: {@link JedisRedlock.Builder#configure} reads them, as it
 * reads them elsewhere. A setting that is left out has the default of the builder.
 *
 * @param nodes Addresses of the masters, as redis[s]://[user[:password]@]host:port or host:port.
 * @param movingTo Addresses of the future masters, while the masters are being changed.
 * @param nodeTimeout Time that a round waits for a master; must be below half of every ttl.
 * @param silenceTimeout Time until a connection without answers is replaced.
 * @param maxTtl Longest ttl, an hour at most. The same for all clients.
 * @param driftFactor How much faster a master's clock may run than this machine's: 0.01 is 1 %.
 * @param clockSkew Largest difference between the clocks of two masters. The same for all clients.
 * @param restartGuard Whether a master that lost its data abstains. The same for all clients.
 * @param fenceRetention Time that masters keep an unused counter. The same for all clients.
 * @param lossMargin Time between the loss signal and the deadline of a lease.
 * @param minValidity Least validity of a lease that is acquired.
 * @param holder Label of this application instance, which names the holder of its locks.
 * @param keyPrefix Prefix of every lock key. The same for all clients.
 */
@ConfigurationProperties("redlock")
public record RedlockProperties(
    @Nullable List<String> nodes,
    @Nullable List<String> movingTo,
    @Nullable String nodeTimeout,
    @Nullable String silenceTimeout,
    @Nullable String maxTtl,
    @Nullable String driftFactor,
    @Nullable String clockSkew,
    @Nullable String restartGuard,
    @Nullable String fenceRetention,
    @Nullable String lossMargin,
    @Nullable String minValidity,
    @Nullable String holder,
    @Nullable String keyPrefix) {

  static final String PREFIX = "redlock.";

  /** Returns the settings that are given, by the names of their properties. */
  Map<String, String> settings() {
    Map<String, String> settings = new LinkedHashMap<>();
    given(settings, "nodes", joined(nodes));
    given(settings, "moving-to", joined(movingTo));
    given(settings, "node-timeout", nodeTimeout);
    given(settings, "silence-timeout", silenceTimeout);
    given(settings, "max-ttl", maxTtl);
    given(settings, "drift-factor", driftFactor);
    given(settings, "clock-skew", clockSkew);
    given(settings, "restart-guard", restartGuard);
    given(settings, "fence-retention", fenceRetention);
    given(settings, "loss-margin", lossMargin);
    given(settings, "min-validity", minValidity);
    given(settings, "holder", holder);
    given(settings, "key-prefix", keyPrefix);
    return settings;
  }

  private static @Nullable String joined(@Nullable List<String> values) {
    return values == null ? null : String.join(",", values);
  }

  private static void given(Map<String, String> settings, String name, @Nullable String value) {
    if (value != null) {
      settings.put(PREFIX + name, value);
    }
  }

  /** Returns true if the name of a property is that of a setting, perhaps of one in a list. */
  static boolean isKnown(String property) {
    String bare = bare(property.substring(PREFIX.length()).replaceFirst("\\[\\d+]$", ""));
    return Arrays.stream(RedlockProperties.class.getRecordComponents())
        .anyMatch(setting -> bare(setting.getName()).equals(bare));
  }

  private static String bare(String name) {
    return name.replaceAll("[-_]", "").toLowerCase(Locale.ROOT);
  }

  /** Returns the number of masters only: addresses may contain passwords. */
  @Override
  public String toString() {
    return "RedlockProperties of " + (nodes == null ? 0 : nodes.size()) + " masters";
  }
}
