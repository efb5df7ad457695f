package io.redlock.jedis.connection;

import io.redlock.jedis.scripts.UnfitConnection;
import java.net.InetAddress;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLParameters;
import org.apache.commons.pool2.impl.DefaultEvictionPolicy;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.ClientSetInfoConfig;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionFactory;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultJedisSocketFactory;
import redis.clients.jedis.DefaultRedisCredentials;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.HostAndPortMapper;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;
import redis.clients.jedis.util.SafeEncoder;

/**
 * The connections to one master.
 *
 * @param name the name of the master
 * @param isOwn true if the pool was opened here, and so is on database 0; false if it is the user's
 */
public record NodePool(String name, Pool<Connection> pool, boolean isOwn) {

  /** Finds the database in the answer to CLIENT INFO. */
  private static final Pattern DATABASE = Pattern.compile("(?:^|\\s)db=(\\d+)");

  /**
   * Takes a connection, which may have to be made. One of a user-supplied pool may be on any
   * database, and on another one each time. Clients on different databases of a master would not
   * see each other's locks.
   *
   * @throws UnfitConnection if the connection is on another database
   * @throws JedisException if the pool has none, or the server does not report the database
   */
  public Connection lease() {
    Connection connection = pool.getResource();
    if (isOwn) {
      return connection;
    }
    try {
      requireDatabase0(connection);
      return connection;
    } catch (UnfitConnection | JedisDataException e) {
      pool.returnResource(connection); // nothing is wrong with it for others
      throw e;
    } catch (RuntimeException e) {
      discard(connection, e);
      throw e;
    }
  }

  /**
   * Returns the text that answers a command.
   *
   * @throws JedisException if the connection failed, or the server answered with an error
   * @throws ClassCastException if the answer is no text
   */
  public static String text(Connection connection, ProtocolCommand command, String... arguments) {
    connection.sendCommand(command, arguments);
    return SafeEncoder.encode((byte[]) connection.getOne());
  }

  /**
   * Gives a broken connection back to its pool, which may connect anew at once, and fail again.
   *
   * @param why the failure that broke it
   */
  public void discard(Connection connection, RuntimeException why) {
    connection.setBroken();
    try {
      pool.returnBrokenResource(connection);
    } catch (JedisException e) {
      why.addSuppressed(e);
    }
  }

  private static void requireDatabase0(Connection connection) {
    Matcher database = DATABASE.matcher(text(connection, Protocol.Command.CLIENT, "INFO"));
    if (!database.find()) {
      throw new UnfitConnection(
          "the server does not report which database its pool is on: use Redis 6.2 or newer");
    }
    if (!database.group(1).equals("0")) {
      throw new UnfitConnection(
          "its pool is on database "
              + database.group(1)
              + ": use a pool on database 0, where all clients' locks are");
    }
  }

  /**
   * Opens a pool for the master of an address, without connecting yet.
   *
   * @param base the settings that the address leaves open: TLS, credentials, timeouts; null for the
   *     defaults
   * @param clientName the name of the connections if the base leaves it open
   * @param patience how long to wait for a connection if the base leaves it open
   */
  public static NodePool open(
      NodeAddress address, @Nullable JedisClientConfig base, String clientName, Duration patience) {
    int millis = Math.toIntExact(patience.toMillis());
    JedisClientConfig given = base == null ? byDefault(millis) : base;
    GenericObjectPoolConfig<Connection> pool = new GenericObjectPoolConfig<>();
    pool.setMaxTotal(-1); // lanes bound it; a pool short of memory counts what it never lent
    pool.setMaxIdle(1);
    pool.setMaxWait(patience);
    pool.setJmxEnabled(false);
    pool.setEvictionPolicy(new DefaultEvictionPolicy<>()); // by name a native image has none
    JedisClientConfig config = config(address, given, clientName, millis);
    HostAndPort server = address.hostAndPort();
    ConnectionFactory factory = new ConnectionFactory(sockets(server, config), config);
    ConnectionPool opened =
        config.getAuthXManager() != null // only this one renews the tokens of connections it lent
            ? new ConnectionPool(server, config, pool)
            : given.getHostAndPortMapper() != null
                ? new ConnectionPool(factory, pool)
                : checked(server, config, factory, pool);
    return new NodePool(address.name(), opened, true);
  }

  private static JedisSocketFactory sockets(HostAndPort server, JedisClientConfig config) {
    return NodeSocket.factory(new DefaultJedisSocketFactory(server, config));
  }

  private static JedisClientConfig byDefault(int timeoutMillis) {
    return DefaultJedisClientConfig.builder()
        .timeoutMillis(timeoutMillis)
        .clientSetInfoConfig(ClientSetInfoConfig.withLibNameSuffix("redlock"))
        .build();
  }

  private static ConnectionPool checked(
      HostAndPort name,
      JedisClientConfig config,
      ConnectionFactory factory,
      GenericObjectPoolConfig<Connection> settings) {
    OneServer server =
        new OneServer(
            name.getHost(),
            InetAddress::getAllByName,
            each -> {
              HostAndPort at = new HostAndPort(each.getHostAddress(), name.getPort());
              return new Connection(sockets(at, config), config);
            });
    return new ConnectionPool(factory, settings) {
      @Override
      public Connection getResource() {
        if (ConnectingThread.currentMayConnect()) {
          server.check();
        }
        return super.getResource();
      }
    };
  }

  private static JedisClientConfig config(
      NodeAddress address, JedisClientConfig base, String clientName, int timeoutMillis) {
    DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder().from(base);
    boundTimeouts(config, base, timeoutMillis);
    if (base.getClientName() == null) {
      config.clientName(clientName);
    }
    if (address.tls()) {
      addTls(config, base);
    }
    if (address.tls() || base.isSsl()) {
      verifyHost(config, base);
    }
    if (address.password() != null) {
      config.credentials(new DefaultRedisCredentials(address.user(), address.password()));
    }
    HostAndPortMapper mapper = new OnConnectingThreadsOnly(base.getHostAndPortMapper());
    return config.hostAndPortMapper(mapper).build();
  }

  /** Sets the timeouts with which Jedis would wait without end, for a server that hangs. */
  private static void boundTimeouts(
      DefaultJedisClientConfig.Builder config, JedisClientConfig base, int millis) {
    if (base.getBlockingSocketTimeoutMillis() == 0) {
      config.blockingSocketTimeoutMillis(millis);
    }
    if (base.getSocketTimeoutMillis() == 0) {
      config.socketTimeoutMillis(millis);
    }
    if (base.getConnectionTimeoutMillis() == 0) {
      config.connectionTimeoutMillis(millis);
    }
  }

  /**
   * Verifies the host, which Jedis before 8 does not by its older switches, unless they say how.
   */
  @SuppressWarnings("deprecation") // the older switches: the base may rely on them
  private static void verifyHost(DefaultJedisClientConfig.Builder config, JedisClientConfig base) {
    boolean isOlder = base.isSsl() || base.getSslSocketFactory() != null;
    if (isOlder
        && base.getSslOptions() == null
        && base.getSslParameters() == null
        && base.getHostnameVerifier() == null) {
      SSLParameters verifying = new SSLParameters();
      verifying.setEndpointIdentificationAlgorithm("HTTPS");
      config.sslParameters(verifying);
    }
  }

  /** Uses TLS, also if the base does not say so. */
  @SuppressWarnings("deprecation") // the older switch: the base may rely on it
  private static void addTls(DefaultJedisClientConfig.Builder config, JedisClientConfig base) {
    if (base.getSslSocketFactory() != null) {
      config.ssl(true);
    } else if (!base.isSsl() && base.getSslOptions() == null) {
      config.sslOptions(SslOptions.builder().build());
    }
  }

  /**
   * Gives the address to a {@link ConnectingThread} only. Jedis reconnects silently when it finds a
   * connection closed while it writes. A lane must not: the requests in flight would be forgotten,
   * the audit left out, and a caller's thread could hang in DNS.
   */
  private record OnConnectingThreadsOnly(@Nullable HostAndPortMapper next)
      implements HostAndPortMapper {

    @Override
    public HostAndPort getHostAndPort(HostAndPort address) {
      if (!ConnectingThread.currentMayConnect()) {
        throw new JedisConnectionException("the connection was closed");
      }
      HostAndPort mapped = next == null ? null : next.getHostAndPort(address);
      return mapped == null ? address : mapped;
    }
  }
}
