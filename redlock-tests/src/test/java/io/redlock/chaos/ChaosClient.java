package io.redlock.chaos;

import io.redlock.chaos.history.Journal;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.GateProxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A client machine: its ways to the masters, which stay, and the process that lives on it at the
 * moment. Belongs to whoever holds its monitor.
 */
final class ChaosClient implements AutoCloseable {

  /** Starts a process of that name, which writes the journal and may use the folder. */
  interface Launcher {
    ClientProcess start(String life, Path journal, Path folder);
  }

  final String name;
  final List<GateProxy> links;
  private final List<Integer> ports;
  private Launcher launcher;
  private Launcher started; // with what the process that lives now was started
  private final Path folder;
  private final Journal journal;
  private final List<Path> journals = new ArrayList<>();
  private @Nullable ClientProcess process;
  private boolean leaving;

  /**
   * @param links its way to each node
   * @param ports the port by which its process names each node
   */
  ChaosClient(
      String name,
      List<GateProxy> links,
      List<Integer> ports,
      Launcher launcher,
      Path folder,
      Journal journal) {
    this.name = name;
    this.links = links;
    this.ports = ports;
    this.launcher = launcher;
    this.started = launcher;
    this.folder = folder;
    this.journal = journal;
  }

  /** Starts a process without waiting for it. */
  synchronized ClientProcess start() {
    String life = name + "." + journals.size();
    Path lifeFolder = folder.resolve(life);
    Path lifeJournal = folder.resolve(life + ".tsv");
    Unchecked.call(() -> Files.createDirectories(lifeFolder));
    Unchecked.call(() -> Files.createFile(lifeJournal));
    journals.add(lifeJournal);
    for (int node = 0; node < links.size(); node++) {
      String way = "127.0.0.1:" + ports.get(node);
      journal.note("%s way node=n%s address=%s", life, node, way);
    }
    ClientProcess living = launcher.start(life, lifeJournal, lifeFolder);
    started = launcher;
    process = living;
    return living;
  }

  /** The process that lives now, or lived last. */
  synchronized ClientProcess process() {
    return Objects.requireNonNull(process, "not started");
  }

  /** Whether it runs, and may be struck. */
  synchronized boolean isRunning() {
    return process().isRunning() && !leaving;
  }

  /**
   * Begins to replace the process, which is not struck from now on.
   *
   * @return false if it does not run just now
   */
  synchronized boolean leave() {
    leaving = isRunning();
    return leaving;
  }

  /** Lets processes that are started from now on be of another kind. */
  synchronized void next(Launcher next) {
    launcher = next;
  }

  /** Whether the process is of the kind that is started now. */
  synchronized boolean isUpToDate() {
    return started == launcher;
  }

  /** The process that was started in its place works, and may be struck. */
  synchronized void arrived() {
    leaving = false;
  }

  synchronized void pause() {
    journal.note("harness pause target=%s", process().name());
    process().pause();
  }

  synchronized void resume() {
    process().resume();
    journal.note("harness resume target=%s", process().name());
  }

  synchronized void kill() {
    process().close();
    journal.note("%s killed", process().name());
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
