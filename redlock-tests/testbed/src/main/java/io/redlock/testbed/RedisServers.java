package io.redlock.testbed;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** A group of independent servers, started together. */
public final class RedisServers implements AutoCloseable, Iterable<RedisServer> {

  private final List<RedisServer> servers;
  private @Nullable Consumer<JedisRedlock.Builder> terms; // on which they were adopted

  private RedisServers(List<RedisServer> servers) {
    this.servers = servers;
  }

  /**
   * Starts so many servers side by side, all with the same additional configuration, and adopts
   * them: a lock service over all of them is granted locks at once.
   */
  public static RedisServers start(int count, String... config) {
    RedisServers servers = startBrandNew(count, config);
    servers.adopt();
    return servers;
  }

  /** Starts servers that nobody has adopted. */
  public static RedisServers startBrandNew(int count, String... config) {
    RedisExecutable.require(); // aborts here, not in a thread of the stream
    return new RedisServers(
        IntStream.range(0, count).parallel().mapToObj(i -> RedisServer.start(config)).toList());
  }

  /** Adopts the servers, which must be empty, for clients with the default settings. */
  public void adopt() {
    adopt(builder -> {});
  }

  /** Adopts the servers, which must be empty, for clients with these settings. */
  public void adopt(Consumer<JedisRedlock.Builder> settings) {
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .node(String.join(",", addresses()))
            .silenceTimeout(Duration.ofSeconds(30)); // longer than a machine stands still
    settings.accept(builder);
    AdoptReport report = builder.adopt();
    if (!report.isComplete()) {
      throw new IllegalStateException("not adopted:\n" + report);
    }
    terms = settings;
  }

  public RedisServer get(int index) {
    return servers.get(index);
  }

  public int size() {
    return servers.size();
  }

  /**
   * Starts every server that is dead once more, empty, on the port it had. If the servers were
   * adopted, and any was dead, all are emptied and adopted anew; the clients must be closed by
   * then.
   */
  public void restartDead() {
    List<RedisServer> dead = servers.stream().filter(server -> !server.isAlive()).toList();
    dead.parallelStream().forEach(server -> server.restart());
    if (terms != null && !dead.isEmpty()) {
      servers.forEach(server -> server.command("FLUSHALL"));
      adopt(terms);
    }
  }

  public String[] addresses() {
    return servers.stream().map(RedisServer::address).toArray(String[]::new);
  }

  /** Returns the settings of a client of all servers that bears with a machine at a standstill. */
  public JedisRedlock.Builder patientClient() {
    return JedisRedlock.builder()
        .node(String.join(",", addresses()))
        .nodeTimeout(Duration.ofSeconds(4));
  }

  @Override
  public Iterator<RedisServer> iterator() {
    return servers.iterator();
  }

  @Override
  public void close() {
    servers.parallelStream().forEach(RedisServer::close);
  }
}
