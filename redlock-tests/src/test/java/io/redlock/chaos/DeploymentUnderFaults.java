package io.redlock.chaos;

import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import io.redlock.testbed.Await;
import io.redlock.testbed.Folders;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.GateProxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The clients of a run, the store that their locks protect, and what all write down. Ends with
 * {@link #close()}, whatever happened.
 */
abstract class DeploymentUnderFaults implements AutoCloseable {

  static final List<String> RESOURCES = List.of("r0", "r1");

  final List<ChaosClient> clients = new ArrayList<>();
  final Journal journal;
  final ChaosTerms terms;
  final Path folder;
  final Store store;

  DeploymentUnderFaults(ChaosTerms terms, Path folder) {
    this.terms = terms;
    this.folder = folder;
    Folders.delete(folder);
    Unchecked.call(() -> Files.createDirectories(folder));
    journal = new Journal(folder.resolve("harness.tsv"));
    store = new Store(journal);
  }

  /**
   * Starts one more client without waiting for it.
   *
   * @param ports the port by which its process names each node
   */
  final ClientProcess start(
      List<GateProxy> links, List<Integer> ports, ChaosClient.Launcher launcher) {
    String name = "c" + clients.size();
    ChaosClient client = new ChaosClient(name, links, ports, launcher, folder, journal);
    clients.add(client);
    return client.start();
  }

  /** Returns what faults of servers strike. */
  abstract List<? extends ChaosServer> servers();

  /** Does what an operator must do when all faults are over. */
  void repair() {}

  /** Waits until the client finds all servers up, where clients know, and writes it down. */
  void awaitServers(ChaosClient client) {}

  /** Returns what is left of locks on the servers now. */
  abstract List<HistoryEvent> left();

  /** Waits until nothing of a lock is left, for so long at most, and writes down what is. */
  final void awaitFree(Duration patience) {
    try {
      Await.until("all is free", patience, () -> left().isEmpty());
    } catch (AssertionError e) {
      left().forEach(journal::write);
    }
  }

  /** The files that have been written so far. */
  final List<Path> parts() {
    List<Path> parts = new ArrayList<>(List.of(folder.resolve("harness.tsv")));
    clients.forEach(client -> parts.addAll(client.journals()));
    return parts;
  }

  /** What has been written so far. */
  final History soFar() {
    return History.read(parts());
  }

  /** Everything that was written, in one file too. */
  History history() {
    journal.note("harness end");
    History history = soFar();
    history.save(folder.resolve("history.tsv"));
    return history;
  }

  /** If the history has been written, nothing else is kept. */
  @Override
  public void close() {
    store.close();
    journal.close();
    try (Stream<Path> files = Unchecked.call(() -> Files.list(folder))) {
      Path history = folder.resolve("history.tsv");
      if (Files.exists(history)) {
        files.filter(file -> !file.equals(history)).forEach(Folders::delete);
      }
    }
  }
}
