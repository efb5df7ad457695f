package io.redlock.spring.boot;

import io.redlock.jedis.JedisRedlock;
import io.redlock.settings.Setting;
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
 * @param nodes The addresses of the masters; the same for all clients.
 * @param movingTo The future masters, while the masters are being changed.
 * @param nodeTimeout How long a round waits for a master; must be below half of every ttl.
 * @param maxTtl The longest ttl, an hour at most; the same for all clients.
 * @param restartGuard A master that lost its data abstains; the same for all clients.
 * @param clockSkew The largest difference between the clocks of two masters; the same for all
 *     clients.
 * @param holder The label of this client, which refusals, lock keys and connections name; 1 to 64
 *     printable ASCII characters without blanks and slashes, not freed or shared; no secret.
 * @param keyPrefix The prefix of every lock key; the same for all clients.
 * @param driftPerSecond How much a master's clock may gain on this machine's in a second; 10 ms is
 *     1 %; the same for all clients.
 * @param lossMargin The time between the loss signal and the deadline of a lease.
 * @param minValidity The least validity of a lease that is acquired or extended; counts against
 *     every ttl.
 * @param fenceRetention How long masters keep an unused counter; the same for all clients.
 * @param silenceTimeout The time until a connection without answers is replaced.
 */
@ConfigurationProperties("redlock")
public record RedlockProperties(
    @Nullable List<String> nodes,
    @Nullable List<String> movingTo,
    @Nullable String nodeTimeout,
    @Nullable String maxTtl,
    @Nullable String restartGuard,
    @Nullable String clockSkew,
    @Nullable String holder,
    @Nullable String keyPrefix,
    @Nullable String driftPerSecond,
    @Nullable String lossMargin,
    @Nullable String minValidity,
    @Nullable String fenceRetention,
    @Nullable String silenceTimeout) {

  static final String PREFIX = Setting.PROPERTY;

  /** Returns the settings that are given, by the names of their properties. */
  Map<String, String> settings() {
    Map<String, String> settings = new LinkedHashMap<>();
    given(settings, Setting.NODES, joined(nodes));
    given(settings, Setting.MOVING_TO, joined(movingTo));
    given(settings, Setting.NODE_TIMEOUT, nodeTimeout);
    given(settings, Setting.MAX_TTL, maxTtl);
    given(settings, Setting.RESTART_GUARD, restartGuard);
    given(settings, Setting.CLOCK_SKEW, clockSkew);
    given(settings, Setting.HOLDER, holder);
    given(settings, Setting.KEY_PREFIX, keyPrefix);
    given(settings, Setting.DRIFT_PER_SECOND, driftPerSecond);
    given(settings, Setting.LOSS_MARGIN, lossMargin);
    given(settings, Setting.MIN_VALIDITY, minValidity);
    given(settings, Setting.FENCE_RETENTION, fenceRetention);
    given(settings, Setting.SILENCE_TIMEOUT, silenceTimeout);
    return settings;
  }

  private static @Nullable String joined(@Nullable List<String> values) {
    return values == null ? null : String.join(",", values);
  }

  private static void given(
      Map<String, String> settings, Setting<?> setting, @Nullable String value) {
    if (value != null) {
      settings.put(setting.property(), value);
    }
  }

  /** Returns true if the name of a property is that of a setting, perhaps of one in a list. */
  static boolean isKnown(String property) {
    String bare = bare(property.substring(PREFIX.length()).replaceFirst("\\[\\d+]$", ""));
    return Setting.ALL.stream().anyMatch(setting -> bare(setting.name()).equals(bare));
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
