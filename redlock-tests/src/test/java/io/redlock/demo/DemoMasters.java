package io.redlock.demo;

import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.Votes;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.IntStream;

/** The five masters, called a to e, and the keys they hold, read without the clients. */
record DemoMasters(RedisServers servers) implements AutoCloseable {

  static final int COUNT = 5;
  static final Duration MAX_TTL = Duration.ofSeconds(5);

  static DemoMasters start() {
    RedisServers servers = RedisServers.startBrandNew(COUNT);
    servers.adopt(DemoMasters::agreed);
    return new DemoMasters(servers);
  }

  RedisServer get(int node) {
    return servers.get(node);
  }

  static String name(int node) {
    return String.valueOf((char) ('a' + node));
  }

  String[] addresses() {
    return servers.addresses();
  }

  String version(int node) {
    return get(node).infoOf("redis_version");
  }

  /** Returns a client of all five. Its node timeout is long, because this machine may be busy. */
  Redlock connect() {
    return settings()
        .node(String.join(",", addresses()))
        .nodeTimeout(Duration.ofSeconds(1))
        .build();
  }

  /**
   * Returns settings for short leases and equal clocks, so that a reset master soon votes again.
   */
  static JedisRedlock.Builder settings() {
    JedisRedlock.Builder settings = JedisRedlock.builder();
    agreed(settings);
    return settings;
  }

  private static void agreed(JedisRedlock.Builder settings) {
    settings.maxTtl(MAX_TTL).clockSkew(Duration.ofMillis(100));
  }

  /** Returns the owner id on each master that holds the resource. */
  List<String> owners(String resource) {
    return values(resource);
  }

  boolean holds(int node, String resource) {
    return get(node).command("GET", resource) != null;
  }

  /** Returns the number of masters whose counter of the resource is this token. */
  long record(String resource, long token) {
    return values("redlock:fence:" + resource).stream()
        .filter(Long.toString(token)::equals)
        .count();
  }

  /** Returns the highest token that a master has granted or buried for the resource. */
  long fence(int node, String resource) {
    return Long.parseLong(String.valueOf(get(node).command("GET", "redlock:fence:" + resource)));
  }

  private List<String> values(String key) {
    return IntStream.range(0, COUNT)
        .filter(node -> get(node).isAlive())
        .mapToObj(node -> get(node).command("GET", key))
        .filter(Objects::nonNull)
        .map(String::valueOf)
        .toList();
  }

  /** Returns how many nodes are in this state, as a client knows them. */
  static long count(Redlock client, NodeStatus.State state) {
    return client.operations().nodes().stream().filter(node -> node.state() == state).count();
  }

  /** Shows the answer of each master, and its time. */
  static void show(Stage stage, Votes votes) {
    for (int node = 0; node < COUNT; node++) {
      NodeVote vote = votes.nodes().get(node);
      String answer = vote.vote().name().toLowerCase(Locale.ROOT).replace('_', ' ');
      boolean awaited = vote.vote() != Vote.NOT_AWAITED;
      String when = Text.of(", %.1f ms", vote.took().toNanos() / 1e6);
      stage.row(name(node), answer, awaited ? vote.detail() + when : "");
    }
    stage.blank();
  }

  @Override
  public void close() {
    servers.close();
  }
}
