package io.redlock.chaos;

import io.redlock.chaos.client.ClientSettings;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import io.redlock.testkit.GateProxy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A client machine: its ways to the masters, which stay, and the process that lives on it at the
 * moment. Belongs to one thread.
 */
final class ChaosClient implements AutoCloseable {

  /** Starts a process of that name, which writes the journal and may use the folder. */
  interface Launcher {
    ClientProcess start(String life, Path journal, Path folder);
  }

  final String name;
  final List<GateProxy> links;
  private final Launcher launcher;
  private final Path folder;
  private final Journal journal;
  private final List<Path> journals = new ArrayList<>();
  private @Nullable ClientProcess process;
  private boolean paused;

  /**
   * @param links its way to each node
   */
  ChaosClient(String name, List<GateProxy> links, Launcher launcher, Path folder, Journal journal) {
    this.name = name;
    this.links = links;
    this.launcher = launcher;
    this.folder = folder;
    this.journal = journal;
  }

  /** A client of this library. */
  static ChaosClient of(
      String name,
      List<ChaosNode> nodes,
      ChaosTerms terms,
      int storePort,
      Path folder,
      Journal journal) {
    List<GateProxy> links = new ArrayList<>();
    for (ChaosNode node : nodes) {
      links.add(GateProxy.to(node.server, new Tap(node.name, terms.variant(), journal)));
    }
    List<String> addresses = links.stream().map(link -> ChaosNode.address(link.port())).toList();
    Launcher launcher =
        (life, lifeJournal, lifeFolder) ->
            ClientProcess.of(
                new ClientSettings(
                    life,
                    lifeJournal,
                    storePort,
                    terms.variant(),
                    terms.nodeTimeout(),
                    terms.maxTtl(),
                    terms.skew(),
                    addresses),
                lifeFolder);
    return new ChaosClient(name, links, launcher, folder, journal);
  }

  /** Starts a process without waiting for it. */
  ClientProcess start() {
    String life = name + "." + journals.size();
    Path lifeFolder = folder.resolve(life);
    Path lifeJournal = folder.resolve(life + ".tsv");
    try {
      Files.createDirectories(lifeFolder);
      Files.createFile(lifeJournal);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    journals.add(lifeJournal);
    for (int node = 0; node < links.size(); node++) {
      String way = "127.0.0.1:" + links.get(node).port();
      journal.write(HistoryEvent.now(life, "way", "node", "n" + node, "address", way));
    }
    ClientProcess started = launcher.start(life, lifeJournal, lifeFolder);
    process = started;
    return started;
  }

  /** The process that lives now, or lived last. */
  ClientProcess process() {
    return Objects.requireNonNull(process, "not started");
  }

  boolean isRunning() {
    return process().isAlive() && !paused;
  }

  void pause() {
    paused = true;
    journal.write(HistoryEvent.now("harness", "pause", "target", process().name()));
    process().pause();
  }

  void resume() {
    process().resume();
    journal.write(HistoryEvent.now("harness", "resume", "target", process().name()));
    paused = false;
  }

  void kill() {
    process().kill();
    journal.write(HistoryEvent.now(process().name(), "killed"));
  }

  List<Path> journals() {
    return journals;
  }

  @Override
  public void close() {
    if (process != null) {
      process.close();
    }
    for (GateProxy link : links) {
      PacketLoss.end(link.port());
      link.close();
    }
  }
}
