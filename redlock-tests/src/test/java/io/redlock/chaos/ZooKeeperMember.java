package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.chaos.history.Journal;
import io.redlock.testbed.Await;
import io.redlock.testbed.JavaCommand;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Text;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A member of an ensemble: keeps its data when it is killed. */
public final class ZooKeeperMember implements ChaosServer {

  public static final String MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain";

  final String name;
  final int port;
  private final Path config;
  private final Journal journal;
  private ChildProcess process;

  private ZooKeeperMember(String name, int port, Path config, Journal journal) {
    this.name = name;
    this.port = port;
    this.config = config;
    this.journal = journal;
    this.process = launch();
  }

  /** Starts so many, and waits until each serves clients. */
  static List<ZooKeeperMember> start(int count, Path folder, Journal journal) throws IOException {
    List<String> ensemble = new ArrayList<>();
    for (int id = 1; id <= count; id++) {
      ensemble.add(
          Text.of("server.%d=127.0.0.1:%d:%d", id, RedisServer.freePort(), RedisServer.freePort()));
    }
    List<ZooKeeperMember> members = new ArrayList<>();
    for (int id = 1; id <= count; id++) {
      members.add(member(id, ensemble, folder.resolve("zookeeper-" + id), journal));
    }
    members.forEach(ZooKeeperMember::awaitServing);
    return members;
  }

  private static ZooKeeperMember member(int id, List<String> ensemble, Path folder, Journal journal)
      throws IOException {
    int port = RedisServer.freePort();
    String[] more = {"tickTime=100", "initLimit=50", "syncLimit=10", "maxClientCnxns=0"};
    Path config = configure(id, folder, port, ensemble, more);
    return new ZooKeeperMember("n" + (id - 1), port, config, journal);
  }

  /** Writes the configuration of a member, with more lines, and returns its file. */
  public static Path configure(int id, Path folder, int port, List<String> ensemble, String... more)
      throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve("myid"), Integer.toString(id));
    List<String> lines = new ArrayList<>(ensemble);
    lines.addAll(List.of(more));
    lines.addAll(
        List.of(
            "dataDir=" + folder.toAbsolutePath(),
            "clientPort=" + port,
            "clientPortAddress=127.0.0.1",
            "admin.enableServer=false",
            "4lw.commands.whitelist=srvr"));
    return Files.write(folder.resolve("zoo.cfg"), lines);
  }

  private ChildProcess launch() {
    List<String> command =
        JavaCommand.likeThis(96, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
    command.addAll(List.of(MAIN, config.toString()));
    return ChildProcess.server(command, config.resolveSibling("log"));
  }

  private void awaitServing() {
    Await.until(name + " serves", Duration.ofSeconds(60), () -> serves(port));
  }

  /** Returns true if the member at this port belongs to an ensemble that works. */
  public static boolean serves(int port) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(1_000);
      socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
      byte[] said = socket.getInputStream().readAllBytes();
      return new String(said, StandardCharsets.US_ASCII).contains("Mode:");
    } catch (IOException e) {
      return false; // not up yet, or still looking for the others
    }
  }

  @Override
  public boolean isRunning() {
    return process.isRunning();
  }

  @Override
  public void begin(Strike strike) {
    switch (strike.fault()) {
      case NODE_KILL -> {
        process.close();
        journal.note("%s down", name);
      }
      case NODE_PAUSE -> {
        journal.note("harness pause target=%s", name);
        process.pause();
      }
      default -> throw new IllegalStateException("has no counterpart: " + strike);
    }
  }

  @Override
  public void end(Strike strike) {
    switch (strike.fault()) {
      case NODE_KILL -> {
        process = launch();
        journal.note("%s up", name);
      }
      case NODE_PAUSE -> {
        process.resume();
        journal.note("harness resume target=%s", name);
      }
      default -> throw new IllegalStateException("has no counterpart: " + strike);
    }
  }

  @Override
  public void close() {
    process.close();
  }
}
