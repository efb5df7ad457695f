package io.redlock.jedis;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RedlockSettings;
import io.redlock.RetryStrategy;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.settings.Setting;
import io.redlock.spi.BackgroundLog;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executor;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.util.Pool;

/**
 * The entry point for Redis: builds a {@link Redlock} over independent masters, which it reaches
 * through Jedis.
 *
 * <pre>{@code
 * try (Redlock redlock = JedisRedlock.connect("10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379")) {
 *   ...
 * }
 * }</pre>
 *
 * <p>The masters must be independent: no replication between them, no Redis Cluster, no server
 * listed twice. Use an odd number, three or five.
 */
public final class JedisRedlock {

  private static final BackgroundLog LOG = BackgroundLog.of(JedisRedlock.class.getName());

  private JedisRedlock() {}

  /**
   * Connects to masters with the default settings.
   *
   * <p>Succeeds even if some or all masters are down. They are connected as soon as they are up;
   * {@link io.redlock.RedlockOperations#nodes()} returns their states. Waits at most half a second
   * for the first connections, so that the first acquire finds the masters that are up. An
   * interrupt ends that wait early and stays set.
   *
   * @param addresses one to fifteen addresses, {@code redis[s]://[user[:password]@]host:port} or
   *     {@code host:port}; one text may list several, separated by commas or white space; special
   *     characters in user and password are written {@code %xx}; {@code rediss} is TLS; an IPv6
   *     literal is written in brackets
   * @return the lock service; close it when it is no longer needed
   * @throws IllegalArgumentException if an address is null, blank or does not parse, the same one
   *     is given twice, or there is none; lists every fault with its fix, without passwords
   */
  public static Redlock connect(String... addresses) {
    return masters(addresses).build();
  }

  /**
   * Founds the set of these masters: tells them that they belong together. Call it where the
   * masters are started, never in a service that uses them; see {@link Builder#adopt}.
   *
   * @param addresses all masters of the deployment, written as for {@link #connect}
   * @return the outcome for each master
   * @throws IllegalArgumentException if an address is not valid; lists every fault with its fix
   */
  public static AdoptReport adopt(String... addresses) {
    return masters(addresses).adopt();
  }

  /**
   * Founds the set of masters that were never used, which then vote at once; see {@link
   * Builder#adoptNew}.
   *
   * @param addresses all masters of the deployment, written as for {@link #connect}
   * @return the outcome for each master
   * @throws IllegalArgumentException if an address is not valid; lists every fault with its fix
   */
  public static AdoptReport adoptNew(String... addresses) {
    return masters(addresses).adoptNew();
  }

  private static Builder masters(String... addresses) {
    Objects.requireNonNull(addresses, "addresses is null: name at least one, better three or five");
    Builder builder = builder();
    for (String address : addresses) {
      builder.node(address);
    }
    return builder;
  }

  /**
   * Returns a new builder.
   *
   * @return a builder with the default settings and no nodes
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * A builder of a lock service over Redis masters. Every setting has a default, except the nodes.
   * Not thread-safe; call {@link #build()} once.
   */
  public static final class Builder implements RedlockSettings {

    private final DeploymentSettings deployment = new DeploymentSettings();

    private Builder() {}

    /**
     * Adds a master, or several separated by commas or white space: one to fifteen masters in all,
     * present and future ones together.
     *
     * @param address {@code redis[s]://[user[:password]@]host:port} or {@code host:port}
     * @return this
     */
    public Builder node(String address) {
      return set(Setting.NODES, address);
    }

    /**
     * Adds a master that is reached through a user-supplied pool. The lock service does not close
     * the pool, and bounds neither the replies nor the time to connect: a master that lies about
     * the size of a reply can exhaust the heap. It keeps one connection for as long as that is
     * healthy, changes it to RESP3, and returns it as broken. It asks each connection for its
     * database ({@code CLIENT INFO}, Redis 6.2 or newer); the node is misconfigured if that is not
     * 0.
     *
     * @param name the node's name in results and logs
     * @param pool connections to database 0 of one master
     * @return this
     */
    public Builder node(String name, Pool<Connection> pool) {
      deployment.add(Setting.NODES, name, pool);
      return this;
    }

    /**
     * Adds a future master, or several separated by commas or white space: the service moves from
     * the present masters to these. While it moves, each lease needs a majority of the present
     * masters and a majority of the future ones. Name all future masters; they may overlap with the
     * present ones, and are at most fifteen together with them. Needs the {@linkplain #restartGuard
     * restart guard}. First run {@code redlock resize prepare}.
     *
     * @param address {@code redis[s]://[user[:password]@]host:port} or {@code host:port}
     * @return this
     */
    public Builder movingTo(String address) {
      return set(Setting.MOVING_TO, address);
    }

    /**
     * Adds a future master that is reached through a user-supplied pool. If a present master has
     * this name, it is that master, and the pool is not used.
     *
     * @param name the node's name in results and logs
     * @param pool connections to database 0 of one master
     * @return this
     */
    public Builder movingTo(String name, Pool<Connection> pool) {
      deployment.add(Setting.MOVING_TO, name, pool);
      return this;
    }

    /**
     * Reads settings from properties such as {@code redlock.max-ttl}, or from environment variables
     * such as {@code REDLOCK_MAX_TTL}: {@code configure(System.getenv())}. Ignores entries whose
     * names begin with neither {@code redlock.} nor {@code REDLOCK_}, and unknown variables; an
     * unknown property is a fault. Durations are written {@code 500ms}, {@code 30s}, {@code 5m},
     * {@code 2h}, {@code 1d} or {@code PT30S}. Later calls on this builder override these settings,
     * and add to the nodes.
     *
     * @param settings for example a {@link java.util.Properties}; names and values as text
     * @return this; {@link #build()} reports what cannot be parsed, with all other faults
     */
    public Builder configure(Map<?, ?> settings) {
      deployment.configure(settings);
      return this;
    }

    /**
     * Sets what the addresses leave open: TLS, credentials, client name, connect timeouts.
     * Credentials in an address take precedence. User-supplied pools are not affected.
     *
     * @param clientConfig a configuration for database 0; default Jedis's own, with the silence
     *     timeout for connecting
     * @return this
     */
    public Builder clientConfig(JedisClientConfig clientConfig) {
      deployment.clientConfig(clientConfig);
      return this;
    }

    private <T> Builder set(Setting<T> setting, T value) {
      deployment.set(setting, value);
      return this;
    }

    @Override
    public Builder nodeTimeout(Duration nodeTimeout) {
      return set(Setting.NODE_TIMEOUT, nodeTimeout);
    }

    /**
     * Sets how long a connection may stay without any answer before it is replaced. Until then late
     * answers are read.
     *
     * @param silenceTimeout from twice the node timeout to 10 min; default 20 node timeouts, at
     *     least 2 s
     * @return this
     */
    public Builder silenceTimeout(Duration silenceTimeout) {
      return set(Setting.SILENCE_TIMEOUT, silenceTimeout);
    }

    @Override
    public Builder maxTtl(Duration maxTtl) {
      return set(Setting.MAX_TTL, maxTtl);
    }

    @Override
    public Builder driftPerSecond(Duration driftPerSecond) {
      return set(Setting.DRIFT_PER_SECOND, driftPerSecond);
    }

    @Override
    public Builder clockSkew(Duration clockSkew) {
      return set(Setting.CLOCK_SKEW, clockSkew);
    }

    /**
     * Switches the restart guard on or off. It keeps a node that lost its data from granting again
     * what it may have granted before. It must be the same for all clients of a deployment;
     * otherwise the node is misconfigured.
     *
     * <p>With the guard on, a master abstains after it was restarted, emptied, resynchronised or
     * promoted, and when it is brand-new. It abstains for {@code maxTtl}, its drift allowance and
     * twice the clock skew: 34.3 s with the default settings. {@link #adoptNew()} spares masters
     * that were never used the wait.
     *
     * <p>With the guard off, such a master votes at once. <b>Two clients can then hold the same
     * lock</b>: a lease on two of three masters is granted again when one of the two restarts
     * empty, or from an older dump. Switch it off only for masters that never lose an acknowledged
     * write (append-only file, {@code appendfsync always}, no failover), and for tests.
     *
     * @param restartGuard default true
     * @return this
     */
    public Builder restartGuard(boolean restartGuard) {
      return set(Setting.RESTART_GUARD, restartGuard);
    }

    /**
     * Sets how long a master keeps the counter of a resource after its last use. Once it is gone,
     * tokens still grow, because they come from the clocks, but only while the clocks are right. It
     * must be the same for all clients of a deployment.
     *
     * @param fenceRetention at least {@link #maxTtl} and four times {@link #clockSkew}, at most 365
     *     days; default the longest of 10 min, ten times maxTtl, and that least value
     * @return this
     */
    public Builder fenceRetention(Duration fenceRetention) {
      return set(Setting.FENCE_RETENTION, fenceRetention);
    }

    @Override
    public Builder lossMargin(Duration lossMargin) {
      return set(Setting.LOSS_MARGIN, lossMargin);
    }

    @Override
    public Builder minValidity(Duration minValidity) {
      return set(Setting.MIN_VALIDITY, minValidity);
    }

    @Override
    public Builder keyPrefix(String keyPrefix) {
      return set(Setting.KEY_PREFIX, keyPrefix);
    }

    @Override
    public Builder holder(String holder) {
      return set(Setting.HOLDER, holder);
    }

    @Override
    public Builder retryStrategy(RetryStrategy retryStrategy) {
      deployment.core().retryStrategy(retryStrategy);
      return this;
    }

    @Override
    public Builder listener(RedlockListener listener) {
      deployment.core().listener(listener);
      return this;
    }

    @Override
    public Builder callbackExecutor(Executor callbackExecutor) {
      deployment.core().callbackExecutor(callbackExecutor);
      return this;
    }

    /** Returns what has the settings that only tests need: clocks, the scheduler, the nodes. */
    RedlockBuilder core() {
      return deployment.core();
    }

    /**
     * Connects to the masters and returns the service. Succeeds even if some or all of them are
     * down. Waits at most ten node timeouts for the first connections, and sends each master a
     * request that none can grant, as a warm-up. An interrupt ends that wait early and stays set.
     *
     * @return the service; close it when it is no longer needed
     * @throws IllegalArgumentException if the configuration is not valid; lists every fault with
     *     its fix, without passwords
     */
    public Redlock build() {
      return deployment.build();
    }

    /**
     * Founds the set of the configured masters. Only an operator can say which masters belong
     * together: without a set, no client gets a lock. Call it where the masters are started, with
     * the settings of their clients; there it may run each time. <b>Never call it in a service that
     * uses the masters</b>: one whose list is wrong would found that list.
     *
     * <p>Does nothing if a majority of the masters shows the set already. Otherwise all masters
     * must answer, and none may have the mark of another set. Waits until every lease has ended
     * that the masters may have forgotten: {@code maxTtl}, its drift allowance and twice the clock
     * skew, 34.3 s with the default settings. Reads and writes marks before and after that, each
     * time for at most five silence timeouts. An interrupt ends the wait early and stays set; a
     * call that was interrupted goes on where it was when it is repeated.
     *
     * @return the outcome for each master
     * @throws IllegalArgumentException if the configuration is not valid; lists every fault with
     *     its fix, without passwords
     */
    public AdoptReport adopt() {
      return adopt(false);
    }

    /**
     * Founds the set of masters that were never used, without the wait of {@link #adopt}. This is
     * the operator's word that no lease on them is alive. Refused if a master shows a mark of a
     * set, a key of the library or with the key prefix, a call of a command that this founding does
     * not need, or no statistics of its commands. <b>Never call it for masters that lost their
     * data</b>: locks on them would be granted twice.
     *
     * @return the outcome for each master
     * @throws IllegalArgumentException if the configuration is not valid; lists every fault with
     *     its fix, without passwords
     */
    public AdoptReport adoptNew() {
      return adopt(true);
    }

    private AdoptReport adopt(boolean isNew) {
      return deployment.adopt(isNew, Word.NONE, waits -> LOG.info("adopt: {}", waits));
    }
  }
}
