package io.redlock.bench;

import io.redlock.chaos.ZooKeeperMember;
import io.redlock.testbed.RedisServer;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Members of ZooKeeper, with the settings of its sample configuration and heap of its script. */
final class ZooKeeperServers {

  /** What the sample configuration has. */
  static final int TICK_MILLIS = 2_000;

  private ZooKeeperServers() {}

  static Ensemble start(boolean fsync, int tickMillis, Distance distance) throws Exception {
    return Ensemble.start(() -> attempt(fsync, tickMillis, distance));
  }

  private static Ensemble attempt(boolean fsync, int tickMillis, Distance distance)
      throws Exception {
    Ensemble ensemble = new Ensemble(Path.of(System.getProperty("java.io.tmpdir")));
    try {
      List<String> own = new ArrayList<>();
      List<String> others = new ArrayList<>();
      for (int id = 0; id < Ensemble.SIZE; id++) {
        int quorum = RedisServer.freePort();
        int election = RedisServer.freePort();
        own.add(member(id, quorum, election));
        others.add(member(id, distance.to(quorum), distance.to(election)));
      }
      for (int id = 0; id < Ensemble.SIZE; id++) {
        List<String> members = new ArrayList<>(others);
        members.set(id, own.get(id));
        int port = RedisServer.freePort();
        String tick = "tickTime=" + tickMillis;
        Path folder = ensemble.folder().resolve("m" + id);
        Path config =
            ZooKeeperMember.configure(
                id, folder, port, members, tick, "initLimit=10", "syncLimit=5");
        ensemble.start(command(fsync, config), "127.0.0.1:" + distance.to(port));
      }
      ensemble.await(
          "ZooKeeper", address -> ZooKeeperMember.serves(URI.create("zk://" + address).getPort()));
      return ensemble;
    } catch (Throwable e) {
      ensemble.close();
      throw e;
    }
  }

  private static String member(int id, int quorum, int election) {
    return "server." + id + "=127.0.0.1:" + quorum + ":" + election;
  }

  private static List<String> command(boolean fsync, Path config) {
    return List.of(
        System.getProperty("java.home") + "/bin/java",
        "-Xmx1000m",
        "-Dzookeeper.forceSync=" + (fsync ? "yes" : "no"),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-cp",
        System.getProperty("java.class.path"),
        ZooKeeperMember.MAIN,
        config.toString());
  }
}
