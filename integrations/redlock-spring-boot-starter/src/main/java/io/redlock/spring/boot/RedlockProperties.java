package io.redlock.spring.boot;

import io.redlock.jedis.JedisRedlock;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The settings of a lock service. A setting that is left out has the default of {@link
 * JedisRedlock.Builder}.
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
    @Nullable Duration nodeTimeout,
    @Nullable Duration silenceTimeout,
    @Nullable Duration maxTtl,
    @Nullable Double driftFactor,
    @Nullable Duration clockSkew,
    @Nullable Boolean restartGuard,
    @Nullable Duration fenceRetention,
    @Nullable Duration lossMargin,
    @Nullable Duration minValidity,
    @Nullable String holder,
    @Nullable String keyPrefix) {

  /** Applies the settings that are given. */
  void applyTo(JedisRedlock.Builder builder) {
    if (nodes != null) {
      nodes.forEach(builder::node);
    }
    if (movingTo != null) {
      movingTo.forEach(builder::movingTo);
    }
    given(nodeTimeout, builder::nodeTimeout);
    given(silenceTimeout, builder::silenceTimeout);
    given(maxTtl, builder::maxTtl);
    given(driftFactor, builder::driftFactor);
    given(clockSkew, builder::clockSkew);
    given(restartGuard, builder::restartGuard);
    given(fenceRetention, builder::fenceRetention);
    given(lossMargin, builder::lossMargin);
    given(minValidity, builder::minValidity);
    given(holder, builder::holder);
    given(keyPrefix, builder::keyPrefix);
  }

  private static <T> void given(@Nullable T value, Consumer<T> setting) {
    if (value != null) {
      setting.accept(value);
    }
  }

  /** Returns the number of masters only: addresses may contain passwords. */
  @Override
  public String toString() {
    return "RedlockProperties of " + (nodes == null ? 0 : nodes.size()) + " masters";
  }
}
