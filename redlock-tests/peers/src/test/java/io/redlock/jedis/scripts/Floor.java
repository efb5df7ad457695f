package io.redlock.jedis.scripts;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;

/**
 * The least that one thread can do with this library's own scripts: it writes a batch of requests
 * to every master, one after the other, and then reads all answers. No lanes, no quorum that is
 * complete before the slowest answer, no deadlines.
 */
public final class Floor implements AutoCloseable {

  private static final long TTL_MILLIS = 20_000;
  private static final long RETENTION_MILLIS = 600_000;
  private static final long SKEW_MICROS = 2_000_000;
  private static final AtomicLong RESOURCES = new AtomicLong();

  private final List<Connection> connections;
  private final List<List<Argument>> guards = new ArrayList<>();
  private final List<List<String>> resources = new ArrayList<>();
  private final ScriptCommand command = new ScriptCommand();
  private final RequestEncoder encoder = new RequestEncoder(RETENTION_MILLIS, SKEW_MICROS);
  private final AtomicLong lastToken = new AtomicLong();

  /**
   * @param batch how many resources are locked at a time
   */
  public Floor(int batch, String... addresses) {
    connections = Stream.of(addresses).map(Floor::connect).toList();
    for (Connection connection : connections) {
      connection.sendCommand(Protocol.Command.GET, BirthMark.KEY);
      guards.add(List.of(Argument.of(connection.getBulkReply()), Argument.EMPTY));
    }
    for (int i = 0; i < batch; i++) {
      resources.add(List.of("floor/" + RESOURCES.incrementAndGet()));
    }
  }

  private static Connection connect(String address) {
    URI uri = URI.create(address);
    HostAndPort master = new HostAndPort(uri.getHost(), uri.getPort());
    Connection connection = new Connection(master, DefaultJedisClientConfig.builder().build());
    for (Script script : List.of(Script.GRANT, Script.RELEASE)) {
      connection.sendCommand(
          new CommandArguments(Protocol.Command.SCRIPT).add("LOAD").add(script.text));
      connection.getBulkReply();
    }
    return connection;
  }

  /**
   * Locks and unlocks every resource of the batch once.
   *
   * @return how many those are
   */
  public int run() {
    List<Invocation> grants = new ArrayList<>();
    List<Invocation> releases = new ArrayList<>();
    for (int resource = 0; resource < resources.size(); resource++) {
      List<Invocation> cycle = cycle(resource);
      grants.add(cycle.get(0));
      releases.add(cycle.get(1));
    }
    ask(grants);
    ask(releases);
    return resources.size();
  }

  /** Returns the grant of a resource and its release. Thread-safe. */
  public List<Invocation> cycle(int resource) {
    List<String> names = resources.get(resource);
    String owner = UUID.randomUUID().toString();
    long clock = System.currentTimeMillis() * 1_000;
    long token = lastToken.updateAndGet(last -> Math.max(last + 1, clock));
    return List.of(
        encoder.encode(new NodeRequest.Grant(names, owner, token, TTL_MILLIS)),
        encoder.encode(new NodeRequest.Release(names, owner, token, 0, false, null, 0)));
  }

  /** Asks every master everything, and reads the answers. */
  public void ask(List<Invocation> batch) {
    for (int node = 0; node < connections.size(); node++) {
      for (Invocation each : batch) {
        connections.get(node).sendCommand(command.bySha(each, guards.get(node)));
      }
      connections.get(node).getMany(0); // flushes
    }
    for (Connection connection : connections) {
      for (Invocation each : batch) {
        NodeReply reply = ReplyMapper.reply(connection.getUnflushedObject(), each);
        Kind expected = each.script == Script.GRANT ? Kind.GRANTED : Kind.RELEASED;
        if (reply.kind() != expected) {
          throw new IllegalStateException("expected " + expected + ", got " + reply);
        }
      }
    }
  }

  @Override
  public void close() {
    connections.forEach(Connection::close);
  }
}
