package io.redlock.jedis.connection;

import io.redlock.jedis.scripts.UnfitConnection;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;

/**
 * The check that a name leads to one server. Two clients that reach two servers by one name could
 * both count it as the same master. If the name has several addresses, each is dialled once, and
 * again when they change. Addresses that do not answer, or not with TLS under their number, are not
 * compared. Guarded by this.
 */
final class OneServer {

  private static final Pattern RUN_ID = Pattern.compile("(?m)^run_id:(\\w+)");

  private final String host;
  private final Resolver resolver;
  private final Function<InetAddress, Connection> dial;

  private Set<String> compared = Set.of();

  /** A way to look up all addresses of a name. */
  interface Resolver {
    InetAddress[] addresses(String host) throws UnknownHostException;
  }

  OneServer(String host, Resolver resolver, Function<InetAddress, Connection> dial) {
    this.host = host;
    this.resolver = resolver;
    this.dial = dial;
  }

  /**
   * Compares the servers behind the name, if it has other addresses than before.
   *
   * @throws UnfitConnection if they differ
   */
  synchronized void check() {
    InetAddress[] addresses;
    try {
      addresses = resolver.addresses(host);
    } catch (UnknownHostException e) {
      return; // connecting will say so
    }
    Set<String> found = new TreeSet<>();
    for (InetAddress address : addresses) {
      found.add(address.getHostAddress());
    }
    if (found.size() < 2 || found.equals(compared)) {
      return;
    }
    Map<String, String> servers = new TreeMap<>();
    for (InetAddress address : addresses) {
      String runId = runId(address);
      if (runId != null) {
        servers.put(address.getHostAddress(), runId);
      }
    }
    if (new TreeSet<>(servers.values()).size() > 1) {
      throw new UnfitConnection(
          "its name "
              + host
              + " leads to several servers, by address and run_id "
              + servers
              + ": give each server a name of its own");
    }
    compared = found;
  }

  private @Nullable String runId(InetAddress address) {
    try (Connection connection = dial.apply(address)) {
      Matcher runId = RUN_ID.matcher(NodePool.text(connection, Protocol.Command.INFO, "server"));
      return runId.find() ? runId.group(1) : null;
    } catch (JedisException e) {
      return null; // it does not answer, so no client can be misled by it now
    }
  }
}
