package io.redlock.bench;

import io.redlock.testbed.RedisServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Members of ZooKeeper, with the settings of its sample configuration and heap of its script. */
final class ZooKeeperServers {

  /** What the sample configuration has. */
  static final int TICK_MILLIS = 2_000;

  private static final String MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

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
        Path config = configure(id, members, port, tickMillis, ensemble.folder());
        ensemble.start(command(fsync, config), "127.0.0.1:" + distance.to(port));
      }
      ensemble.await("ZooKeeper", ZooKeeperServers::serves);
      return ensemble;
    } catch (Throwable e) {
      ensemble.close();
      throw e;
    }
  }

  private static String member(int id, int quorum, int election) {
    return "server." + id + "=127.0.0.1:" + quorum + ":" + election;
  }

  private static Path configure(int id, List<String> members, int port, int tickMillis, Path parent)
      throws IOException {
    Path folder = Files.createDirectory(parent.resolve("m" + id));
    Files.writeString(folder.resolve("myid"), Integer.toString(id));
    List<String> lines = new ArrayList<>(members);
    lines.addAll(
        List.of(
            "tickTime=" + tickMillis,
            "initLimit=10",
            "syncLimit=5",
            "dataDir=" + folder,
            "clientPort=" + port,
            "clientPortAddress=127.0.0.1",
            "admin.enableServer=false",
            "4lw.commands.whitelist=srvr"));
    return Files.write(folder.resolve("zoo.cfg"), lines);
  }

  private static List<String> command(boolean fsync, Path config) {
    return List.of(
        System.getProperty("java.home") + "/bin/java",
        "-Xmx1000m",
        "-Dzookeeper.forceSync=" + (fsync ? "yes" : "no"),
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-cp",
        System.getProperty("java.class.path"),
        MAIN,
        config.toString());
  }

  private static boolean serves(String address) {
    int port = Integer.parseInt(address.substring(address.indexOf(':') + 1));
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(1_000);
      socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
      byte[] said = socket.getInputStream().readAllBytes();
      return new String(said, StandardCharsets.US_ASCII).contains("Mode:");
    } catch (IOException e) {
      return false; // not up yet, or looking for the others
    }
  }
}
