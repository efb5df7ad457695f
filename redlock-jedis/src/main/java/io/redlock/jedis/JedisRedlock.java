package io.redlock.jedis;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.deployment.Deployment;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.util.Pool;

/**
 * Leases from a quorum of independent Redis masters, reached through Jedis.
 *
 * <pre>{@code
 * try (Redlock redlock = JedisRedlock.connect("10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379")) {
 *   ...
 * }
 * }</pre>
 *
 * <p>Masters are independent: no replication between them, no cluster, no two addresses of one
 * server. Use an odd number, three or five.
 */
public final class JedisRedlock {

  private JedisRedlock() {}

  /**
   * Connects to masters with the default settings.
   *
   * <p>Succeeds though some or all of the masters are down: they are connected to as soon as they
   * are there, and {@link Redlock#nodes()} says what they are until then. Waits at most half a
   * second for the first connections, so that a lease asked for next finds the masters that are up.
   *
   * @param addresses {@code redis[s]://[user[:password]@]host:port} or {@code host:port}, one to
   *     fifteen, each on its own or several in one text, separated by commas or white space;
   *     special characters in user and password as {@code %xx}; {@code rediss} is TLS; an IPv6
   *     literal stands in brackets
   * @return the lock service; close it when it is no longer needed
   * @throws IllegalArgumentException if an address is null, blank or does not parse, the same one
   *     is given twice, or there is none; lists every fault with its fix, without passwords
   */
  public static Redlock connect(String... addresses) {
    return masters(addresses).build();
  }

  /**
   * Vouches for brand-new masters, once, so that they vote at once. Without it a new master
   * abstains for as long as one that lost its data, because nobody can tell the two apart: 34.3 s
   * with the default settings.
   *
   * <p>For the masters of a <em>new</em> deployment, all in one call, before it is used. It is
   * refused for masters that hold keys of locks and for deployments of which some masters are in
   * use; then nothing is changed on any of them. Calling it once more does no harm. <b>Never adopt
   * masters that lost their data within the longest ttl</b>: locks on them would be granted twice.
   *
   * @param addresses all masters of the deployment, written as for {@link #connect}
   * @return what became of each
   * @throws IllegalArgumentException if an address is not sound; lists every fault with its fix
   */
  public static AdoptReport adopt(String... addresses) {
    return masters(addresses).adopt();
  }

  private static Builder masters(String... addresses) {
    Deployment.given(addresses, "addresses", "name at least one, better three or five");
    Builder builder = builder();
    for (String address : addresses) {
      builder.node(address);
    }
    return builder;
  }

  /**
   * Begins a configuration.
   *
   * @return a builder with the default settings and no node
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Configures a lock service over Redis masters. Every setting but the nodes has a default. Not
   * thread-safe; good for one {@link #build()}.
   */
  public static final class Builder {

    private final Deployment deployment = new Deployment();

    private Builder() {}

    /**
     * Adds a master, or several separated by commas or white space.
     *
     * @param address {@code redis[s]://[user[:password]@]host:port} or {@code host:port}
     * @return this
     */
    public Builder node(String address) {
      deployment.node(address);
      return this;
    }

    /**
     * Adds a master that is reached through a pool of the user's. The pool is not closed with the
     * lock service, and must have connections to spare: one is taken for as long as it is healthy,
     * and a second one while fair requests wait. Each connection is asked for its database ({@code
     * CLIENT INFO}, Redis 6.2 or newer), and on another one than 0 the node is refused.
     *
     * @param name what to call the node in results and logs
     * @param pool connections to database 0 of one master
     * @return this
     */
    public Builder node(String name, Pool<Connection> pool) {
      deployment.node(name, pool);
      return this;
    }

    /**
     * Takes settings from properties such as {@code redlock.max-ttl}, or from the environment,
     * where the same one is {@code REDLOCK_MAX_TTL}: {@code configure(System.getenv())}. Entries
     * whose names begin with neither {@code redlock.} nor {@code REDLOCK_} are left alone, and so
     * are unknown variables; an unknown property is refused. Durations are written {@code 500ms},
     * {@code 30s}, {@code 5m}, {@code 2h}, {@code 1d} or {@code PT30S}. Later calls on this builder
     * override what was set here, and add to the nodes.
     *
     * @param settings for example a {@link java.util.Properties}; names and values as text
     * @return this; what cannot be understood is reported by {@link #build()}, with everything else
     */
    public Builder configure(Map<?, ?> settings) {
      deployment.configure(settings);
      return this;
    }

    /**
     * What the addresses do not say: TLS, credentials, client name, timeouts of connecting. A login
     * in an address goes before the one given here. Does not concern pools of the user's.
     *
     * @param clientConfig on database 0; default Jedis's own, with the silence timeout for
     *     connecting
     * @return this
     */
    public Builder clientConfig(JedisClientConfig clientConfig) {
      deployment.clientConfig(clientConfig);
      return this;
    }

    /**
     * How long a round waits for a node; also, how long a node may leave everything unanswered
     * before it is not asked any more until it answers again.
     *
     * @param nodeTimeout from 1 ms, below half of any ttl; default 50 ms
     * @return this
     */
    public Builder nodeTimeout(Duration nodeTimeout) {
      deployment.nodeTimeout(nodeTimeout);
      return this;
    }

    /**
     * Sets how long a connection may stay without any answer before it is given up and replaced.
     * Until then late answers are read.
     *
     * @param silenceTimeout from twice the node timeout to 10 min; default 20 node timeouts, at
     *     least 2 s
     * @return this
     */
    public Builder silenceTimeout(Duration silenceTimeout) {
      deployment.silenceTimeout(silenceTimeout);
      return this;
    }

    /**
     * The upper bound of any ttl. The same for all clients of a deployment: a master that lost its
     * data abstains for the longest. What is held longer is renewed.
     *
     * @param maxTtl from 10 ms to an hour; default 30 s
     * @return this
     */
    public Builder maxTtl(Duration maxTtl) {
      deployment.maxTtl(maxTtl);
      return this;
    }

    /**
     * The part of a ttl by which a node's clock may outrun this machine's while a lease lasts.
     *
     * @param driftFactor from 0 up to, not including, 0.5; default 0.01
     * @return this
     */
    public Builder driftFactor(double driftFactor) {
      deployment.driftFactor(driftFactor);
      return this;
    }

    /**
     * How far node clocks may lie apart. The same for all clients of a deployment.
     *
     * @param clockSkew from 1 ms to 10 min; default 2 s
     * @return this
     */
    public Builder clockSkew(Duration clockSkew) {
      deployment.clockSkew(clockSkew);
      return this;
    }

    /**
     * Whether nodes that lost their data are kept from granting again what they may have granted
     * before. The same for all clients of a deployment: a node that is used with both is refused.
     *
     * <p>With the guard on, a master that was restarted, emptied, resynchronised or promoted, and a
     * brand-new one too, abstains for {@code maxTtl} with its drift allowance, and twice the clock
     * skew: 34.3 s with the default settings. {@link #adopt()} spares brand-new masters that.
     *
     * <p>With the guard off, they vote at once. <b>Two clients can then hold the same lock</b>: a
     * lease on two of three masters is granted once more when one of the two restarts empty, or
     * from an older dump. Off is for masters that never lose an acknowledged write (append-only
     * file, {@code appendfsync always}, no fail-over), and for tests.
     *
     * @param restartGuard default true
     * @return this
     */
    public Builder restartGuard(boolean restartGuard) {
      deployment.restartGuard(restartGuard);
      return this;
    }

    /**
     * How long a master keeps the counter of a resource after it was last used, which costs about
     * 130 bytes there. With its counter gone, a resource's tokens still grow, because they come
     * from the clocks, but no longer whatever the clocks do. The same for all clients of a
     * deployment.
     *
     * @param fenceRetention at least {@link #maxTtl} and four times {@link #clockSkew}, at most 365
     *     days; default ten times maxTtl, at least 10 min
     * @return this
     */
    public Builder fenceRetention(Duration fenceRetention) {
      deployment.fenceRetention(fenceRetention);
      return this;
    }

    /**
     * How long before its deadline a lease is declared lost, so that its holder can stop in time.
     *
     * @param lossMargin not negative; default a tenth of the lease's ttl
     * @return this
     */
    public Builder lossMargin(Duration lossMargin) {
      Deployment.given(lossMargin, "lossMargin");
      deployment.core(builder -> builder.lossMargin(lossMargin));
      return this;
    }

    /**
     * The least time a lease must be good for when it is handed out.
     *
     * @param minValidity not negative; default zero
     * @return this
     */
    public Builder minValidity(Duration minValidity) {
      Deployment.given(minValidity, "minValidity");
      deployment.core(builder -> builder.minValidity(minValidity));
      return this;
    }

    /**
     * What stands before every resource in its key, for example {@code "myapp:lock:"}. The same for
     * all clients of a deployment.
     *
     * @param keyPrefix anything that does not begin with {@code redlock:}; default empty
     * @return this
     */
    public Builder keyPrefix(String keyPrefix) {
      deployment.keyPrefix(keyPrefix);
      return this;
    }

    /**
     * How long waiting calls pause between two attempts.
     *
     * @param retryStrategy default {@link RetryStrategy#jitteredBackoff()}
     * @return this
     */
    public Builder retryStrategy(RetryStrategy retryStrategy) {
      Deployment.given(retryStrategy, "retryStrategy");
      deployment.core(builder -> builder.retryStrategy(retryStrategy));
      return this;
    }

    /**
     * Who is told of acquires, extends, ends and node states.
     *
     * @param listener called on the callback executor
     * @return this
     */
    public Builder listener(RedlockListener listener) {
      Deployment.given(listener, "listener");
      deployment.core(builder -> builder.listener(listener));
      return this;
    }

    /**
     * Sets the executor of user code, as {@link RedlockBuilder#callbackExecutor} describes.
     *
     * @param callbackExecutor default daemon threads of the lock service
     * @return this
     */
    public Builder callbackExecutor(Executor callbackExecutor) {
      Deployment.given(callbackExecutor, "callbackExecutor");
      deployment.core(builder -> builder.callbackExecutor(callbackExecutor));
      return this;
    }

    /** What no user needs but tests do: clocks, the scheduler, the nodes. */
    Builder core(Consumer<RedlockBuilder> setting) {
      deployment.core(setting);
      return this;
    }

    /**
     * Connects to the masters and returns the service. Succeeds though some or all of them are
     * down; waits at most ten node timeouts for the first connections, and sends each master a
     * request that none can grant, so that the first lease finds its way warm. An interrupt ends
     * that wait early and stays set.
     *
     * @return the service; close it when it is no longer needed
     * @throws IllegalArgumentException if the configuration is not sound; lists every fault with
     *     its fix, without passwords
     */
    public Redlock build() {
      return deployment.build();
    }

    /**
     * Vouches for the masters that are configured: see {@link JedisRedlock#adopt}. With a key
     * prefix, keys that begin with it count as keys of locks, too. Waits for each master up to five
     * silence timeouts; an interrupt ends the wait early and stays set.
     *
     * @return what became of each
     * @throws IllegalArgumentException if the configuration is not sound, or says {@code
     *     restartGuard(false)}; lists every fault with its fix, without passwords
     */
    public AdoptReport adopt() {
      List<String> faults =
          deployment.isGuarded()
              ? List.of()
              : List.of("restartGuard is false: without the guard there is nothing to adopt");
      return deployment.ask(
          "cannot adopt",
          faults,
          (probe, audits) -> new Adoption(probe, audits, deployment.keyPrefix()).run());
    }

    /**
     * Takes back for how long masters that lost their data abstain, after a client with a wrong
     * {@link #maxTtl} has asked for too long. Clients in use ask for what they need again within a
     * second. <b>Only when that client is stopped, and nothing is held for longer than the other
     * clients ask for</b>: a master that lost its data would grant it again.
     *
     * @return what became of each master
     * @throws IllegalArgumentException if the configuration is not sound; lists every fault with
     *     its fix, without passwords
     */
    public AdoptReport forgetAbstention() {
      return deployment.ask(
          "cannot take the abstention back",
          List.of(),
          (probe, audits) -> new Adoption(probe, audits, deployment.keyPrefix()).forget());
    }
  }
}
