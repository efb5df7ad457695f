package io.redlock.testbed;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.Served;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A group of independent servers, started together. */
public final class RedisServers implements AutoCloseable, Iterable<RedisServer> {

  private final List<RedisServer> servers;
  private @Nullable Consumer<JedisRedlock.Builder> terms; // on which they were adopted

  private RedisServers(List<RedisServer> servers) {
    this.servers = servers;
  }

  /**
   * Starts so many servers side by side, all with the same additional configuration, and founds
   * their set: a lock service over all of them is granted locks at once.
   */
  public static RedisServers start(int count, String... config) {
    RedisServers servers = startBrandNew(count, config);
    servers.adopt();
    return servers;
  }

  /** Starts servers whose set nobody has founded. */
  public static RedisServers startBrandNew(int count, String... config) {
    RedisExecutable.require(); // aborts here, not in a thread of the stream
    return new RedisServers(
        IntStream.range(0, count).parallel().mapToObj(i -> RedisServer.start(config)).toList());
  }

  /** Founds the set of the servers, which are as started, for clients with default settings. */
  public void adopt() {
    adopt(builder -> {});
  }

  /** Founds the set of the servers, which are as started, for clients with these settings. */
  public void adopt(Consumer<JedisRedlock.Builder> settings) {
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .node(String.join(",", addresses()))
            .silenceTimeout(Duration.ofSeconds(30)); // longer than a machine stands still
    settings.accept(builder);
    AdoptReport report = builder.adoptNew();
    if (!report.isComplete()) {
      throw new IllegalStateException("not adopted:\n" + report);
    }
    terms = settings;
  }

  /**
   * Founds a set of these servers for clients without the restart guard, whatever they were used
   * for: gives them the marks that an operator leaves.
   */
  public static void found(RedisServer... servers) {
    List<String> names = Stream.of(servers).map(each -> each.host() + ":" + each.port()).toList();
    found(new MasterSet("tested", names), new Agreement(false, 3_600_000, 7_200_000), servers);
  }

  /** Founds this set on the servers, whatever they were used for. */
  public static void found(MasterSet set, Agreement terms, RedisServer... servers) {
    for (RedisServer server : servers) {
      Object seconds = server.command("EVAL", "return redis.call('TIME')[1]", "0");
      BirthMark mark =
          new BirthMark(
              server.infoOf("run_id"),
              server.infoOf("master_replid"),
              Long.parseLong(String.valueOf(seconds)) * 1_000,
              true,
              true,
              0,
              Served.of(set.id()),
              List.of(set),
              terms);
      server.command("SET", BirthMark.KEY, mark.toString());
    }
  }

  /** Founds the set for clients without the restart guard, whatever the servers were used for. */
  public RedisServers founded() {
    found(servers.toArray(RedisServer[]::new));
    return this;
  }

  public RedisServer get(int index) {
    return servers.get(index);
  }

  public int size() {
    return servers.size();
  }

  /**
   * Starts every server that is dead once more, empty, on the port it had. If their set was
   * founded, and any was dead, all are restarted and founded anew; the clients must be closed by
   * then.
   */
  public void restartDead() {
    List<RedisServer> dead = servers.stream().filter(server -> !server.isAlive()).toList();
    Consumer<JedisRedlock.Builder> agreed = dead.isEmpty() ? null : terms;
    (agreed == null ? dead : servers).parallelStream().forEach(server -> server.restart());
    if (agreed != null) {
      adopt(agreed);
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
