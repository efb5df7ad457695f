package io.redlock.testkit;

import java.util.Iterator;
import java.util.List;
import java.util.stream.IntStream;

/** A group of independent servers, started together. */
public final class RedisServers implements AutoCloseable, Iterable<RedisServer> {

  private final List<RedisServer> servers;

  private RedisServers(List<RedisServer> servers) {
    this.servers = servers;
  }

  /** Starts so many servers side by side, all with the same additional configuration. */
  public static RedisServers start(int count, String... config) {
    RedisExecutable.path(); // a missing server skips the test here, not in a thread of a stream
    return new RedisServers(
        IntStream.range(0, count).parallel().mapToObj(i -> RedisServer.start(config)).toList());
  }

  public RedisServer get(int index) {
    return servers.get(index);
  }

  public int size() {
    return servers.size();
  }

  /** Starts every server that is dead once more, empty, on the port it had. */
  public void restartDead() {
    servers.parallelStream()
        .filter(server -> !server.isAlive())
        .forEach(server -> server.restart());
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
