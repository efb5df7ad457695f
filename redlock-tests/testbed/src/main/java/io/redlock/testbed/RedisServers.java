package io.redlock.testbed;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

/** A group of independent servers, started together. */
public final class RedisServers implements AutoCloseable, Iterable<RedisServer> {

  private final List<RedisServer> servers;
  private boolean adopted;

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

  /** Adopts the servers, which must be empty. */
  public void adopt() {
    JedisRedlock.Builder patient = JedisRedlock.builder().silenceTimeout(Duration.ofSeconds(30));
    List.of(addresses()).forEach(patient::node);
    AdoptReport report = patient.adopt();
    if (!report.isComplete()) {
      throw new IllegalStateException("not adopted:\n" + report);
    }
    adopted = true;
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
    if (adopted && !dead.isEmpty()) {
      servers.forEach(server -> server.command("FLUSHALL"));
      adopt();
    }
  }

  public String[] addresses() {
    return servers.stream().map(RedisServer::address).toArray(String[]::new);
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
