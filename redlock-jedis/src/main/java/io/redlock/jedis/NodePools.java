package io.redlock.jedis;

import java.time.Duration;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultRedisCredentials;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.HostAndPortMapper;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Makes the connection pools of lanes. */
final class NodePools {

  /** A lane's connection, and one for whoever listens. */
  private static final int CONNECTIONS = 2;

  private NodePools() {}

  /**
   * A pool of connections to one master; connects nothing yet.
   *
   * @param base what the address does not say: TLS, credentials, timeouts; null for the defaults
   * @param patience how long to wait for a connection where the base does not say
   */
  static ConnectionPool open(
      NodeAddress address, @Nullable JedisClientConfig base, Duration patience) {
    GenericObjectPoolConfig<Connection> pool = new GenericObjectPoolConfig<>();
    pool.setMaxTotal(CONNECTIONS);
    pool.setMaxIdle(CONNECTIONS); // less would close and open connections all the time
    pool.setMaxWait(patience);
    pool.setJmxEnabled(false);
    return new ConnectionPool(address.hostAndPort(), config(address, base, patience), pool);
  }

  private static JedisClientConfig config(
      NodeAddress address, @Nullable JedisClientConfig base, Duration patience) {
    DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder();
    HostAndPortMapper mapper = null;
    if (base == null) {
      config.timeoutMillis(Math.toIntExact(patience.toMillis()));
      config.clientSetInfoConfig(ClientSetInfoConfig.withLibNameSuffix("redlock"));
    } else {
      config.from(base);
      mapper = base.getHostAndPortMapper();
    }
    if (address.tls()) {
      addTls(config, base);
    }
    if (address.password() != null) {
      config.credentials(new DefaultRedisCredentials(address.user(), address.password()));
    }
    return config.hostAndPortMapper(new OnLaneThreadsOnly(mapper)).build();
  }

  /** Verifies the host, as Jedis's older switch alone does not, unless the base says how to. */
  @SuppressWarnings("deprecation") // the older switch: the base may rely on it
  private static void addTls(
      DefaultJedisClientConfig.Builder config, @Nullable JedisClientConfig base) {
    if (base != null && base.getSslSocketFactory() != null) {
      config.ssl(true);
    } else if (base == null || (!base.isSsl() && base.getSslOptions() == null)) {
      config.sslOptions(SslOptions.builder().build());
    }
  }

  /**
   * Jedis reconnects without a word when it finds a connection closed while it writes. A lane must
   * not: what was in flight would be forgotten, the audit left out, and a caller's thread could
   * hang in DNS. So nobody but a lane's own thread is told where the server is.
   */
  private record OnLaneThreadsOnly(@Nullable HostAndPortMapper next) implements HostAndPortMapper {

    @Override
    public HostAndPort getHostAndPort(HostAndPort address) {
      if (!(Thread.currentThread() instanceof LaneWorker.LaneThread)) {
        throw new JedisConnectionException("the connection was closed");
      }
      HostAndPort mapped = next == null ? null : next.getHostAndPort(address);
      return mapped == null ? address : mapped;
    }
  }
}
