package io.redlock.chaos.peers;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * The command line of a client process.
 *
 * @param name who it is in the history
 * @param storePort where the store listens
 * @param user of the Redis servers
 * @param links its way to each server, as {@code host:port}
 * @param servers where the servers are, in the same order
 * @param sentinels what knows which server is the master; empty where nothing needs to
 */
public record PeerSettings(
    PeerLibrary peer,
    String name,
    Path journal,
    int storePort,
    String user,
    String password,
    Duration nodeTimeout,
    Duration maxTtl,
    Duration skew,
    List<String> links,
    List<String> servers,
    List<String> sentinels) {

  public List<String> arguments() {
    return List.of(
        peer.name(),
        name,
        journal.toString(),
        Integer.toString(storePort),
        user,
        password,
        nodeTimeout.toString(),
        maxTtl.toString(),
        skew.toString(),
        String.join(",", links),
        String.join(",", servers),
        String.join(",", sentinels));
  }

  static PeerSettings of(String... arguments) {
    return new PeerSettings(
        PeerLibrary.valueOf(arguments[0]),
        arguments[1],
        Path.of(arguments[2]),
        Integer.parseInt(arguments[3]),
        arguments[4],
        arguments[5],
        Duration.parse(arguments[6]),
        Duration.parse(arguments[7]),
        Duration.parse(arguments[8]),
        list(arguments[9]),
        list(arguments[10]),
        list(arguments[11]));
  }

  int nodeTimeoutMillis() {
    return Math.toIntExact(nodeTimeout.toMillis());
  }

  private static List<String> list(String text) {
    return text.isEmpty() ? List.of() : List.of(text.split(","));
  }
}
