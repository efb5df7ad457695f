package io.redlock.bench;

import io.redlock.bench.ClosedLoop.Run;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ThreadFactory;
import java.util.stream.StreamSupport;

/** Peers whose callers run cycles in turn, round by round. They are closed with it. */
final class Comparison implements AutoCloseable {

  private final Map<String, ClosedLoop> loops = new LinkedHashMap<>();
  private final List<Peer> peers = new ArrayList<>();

  static List<Long> pids(RedisServers servers) {
    return StreamSupport.stream(servers.spliterator(), false).map(RedisServer::pid).toList();
  }

  /**
   * Adds a peer with so many callers.
   *
   * @param servers the processes whose processor time counts
   */
  void add(Peer peer, int callers, List<Long> servers) {
    add(peer.name, peer, callers, servers);
  }

  /** Adds a peer whose callers have threads of this kind. */
  void add(Peer peer, int callers, ThreadFactory threads) {
    peers.add(peer);
    add(peer.name, new ClosedLoop(peer.cycles(callers), threads, List.of()));
  }

  void add(String name, Peer peer, int callers, List<Long> servers) {
    peers.add(peer);
    add(name, new ClosedLoop(peer.cycles(callers), Thread::new, servers));
  }

  void add(String name, ClosedLoop loop) {
    loops.put(name, loop);
  }

  /** Returns the runs of each, in the order in which they were added. */
  Map<String, List<Run>> run(Rounds rounds) throws Exception {
    return rounds.run(loops);
  }

  @Override
  public void close() {
    peers.forEach(Peer::close);
  }
}
