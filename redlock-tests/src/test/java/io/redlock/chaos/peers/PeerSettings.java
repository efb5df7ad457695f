package io.redlock.chaos.peers;

import java.io.Serializable;
import java.time.Duration;
import java.util.List;

/**
 * What a client process is told.
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
    String journal,
    int storePort,
    String user,
    String password,
    Duration nodeTimeout,
    Duration maxTtl,
    Duration skew,
    List<String> links,
    List<String> servers,
    List<String> sentinels)
    implements Serializable {

  int nodeTimeoutMillis() {
    return Math.toIntExact(nodeTimeout.toMillis());
  }
}
