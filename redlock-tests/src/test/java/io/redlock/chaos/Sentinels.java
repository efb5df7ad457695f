package io.redlock.chaos;

import io.redlock.testbed.Await;
import io.redlock.testbed.RedisExecutable;
import io.redlock.testbed.RedisServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.exceptions.JedisException;

/** Three Sentinels that watch a master and promote its replica. No fault strikes them. */
final class Sentinels implements AutoCloseable {

  static final String MASTER = "locks";
  private static final int COUNT = 3;

  final List<String> addresses = new ArrayList<>();
  private final List<ChildProcess> processes = new ArrayList<>();

  /**
   * Starts them, and waits until each knows the replica and the others.
   *
   * @param folder where they keep what they know
   */
  Sentinels(RedisServer master, RedisServer replica, Path folder) throws IOException {
    replica.command("REPLICAOF", master.host(), Integer.toString(master.port()));
    Await.until(
        "the replica follows",
        () -> info(replica, "replication").contains("master_link_status:up"));
    for (int i = 0; i < COUNT; i++) {
      start(master, folder.resolve("sentinel-" + i + ".conf"));
    }
    addresses.forEach(Sentinels::awaitComplete);
  }

  private void start(RedisServer master, Path file) throws IOException {
    int port = RedisServer.freePort();
    String watched = MASTER + " ";
    Files.write(
        file,
        List.of(
            "port " + port,
            "bind 127.0.0.1",
            "dir " + file.getParent().toAbsolutePath(),
            "sentinel monitor " + watched + master.host() + " " + master.port() + " 2",
            "sentinel down-after-milliseconds " + watched + "300",
            "sentinel failover-timeout " + watched + "3000"));
    Path log = file.resolveSibling(file.getFileName() + ".log");
    String program = RedisExecutable.path().toString();
    processes.add(
        ChildProcess.server(List.of(program, file.toAbsolutePath().toString(), "--sentinel"), log));
    addresses.add("127.0.0.1:" + port);
  }

  private static void awaitComplete(String address) {
    HostAndPort place = HostAndPort.from(address);
    Await.until(
        "the Sentinel at " + address + " knows everybody",
        () -> {
          try (Connection connection = RedisServer.connect(place.getPort())) {
            Object said = RedisServer.command(connection, "INFO", "sentinel");
            List<String> words = List.of(String.valueOf(said).split("[,\r\n]+"));
            return words.containsAll(List.of("slaves=1", "sentinels=" + COUNT));
          } catch (JedisException e) {
            return false; // not up yet
          }
        });
  }

  private static String info(RedisServer server, String section) {
    return String.valueOf(server.command("INFO", section));
  }

  @Override
  public void close() {
    processes.forEach(ChildProcess::close);
  }
}
