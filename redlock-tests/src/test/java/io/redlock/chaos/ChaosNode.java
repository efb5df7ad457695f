package io.redlock.chaos;

import io.redlock.chaos.history.Event;
import io.redlock.chaos.history.Journal;
import io.redlock.testkit.ClockShim;
import io.redlock.testkit.RedisServer;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** One master and what can be done to it, written down. Belongs to one thread. */
final class ChaosNode implements AutoCloseable {

  final String name;
  final RedisServer server;
  private final Journal journal;
  private final @Nullable ClockShim clock;
  private boolean paused;
  private int dumpFile; // changes with each life that begins empty

  ChaosNode(String name, boolean withClock, Journal journal) {
    this.name = name;
    this.journal = journal;
    clock = withClock ? ClockShim.create() : null;
    server = clock == null ? RedisServer.start() : RedisServer.start(clock);
  }

  /** Whether it takes commands. */
  boolean isRunning() {
    return server.isAlive() && !paused;
  }

  void kill() {
    note("losing");
    server.kill();
    note("lost");
    note("down");
  }

  void restartEmpty() {
    dumpFile++;
    restart();
  }

  /** Keeps its data of now, for {@link #restartFromDump()}. */
  void dump() {
    command("SAVE");
    note("dump");
  }

  /** SIGKILL, and back at once with the data it had when it was dumped. */
  void restartFromDump() {
    kill();
    restart();
  }

  private void restart() {
    server.restart("--dbfilename", dumpName());
    note("up");
  }

  private String dumpName() {
    return dumpFile == 0 ? "dump.rdb" : "dump-" + dumpFile + ".rdb";
  }

  void pause() {
    paused = true;
    journal.write(Event.now("harness", "pause", "target", name));
    server.pause();
  }

  void resume() {
    server.resume();
    journal.write(Event.now("harness", "resume", "target", name));
    paused = false;
  }

  void flush() {
    note("losing");
    command("FLUSHALL");
    note("lost");
  }

  void fillMemory() {
    command("CONFIG", "SET", "maxmemory", "1");
  }

  void emptyMemory() {
    command("CONFIG", "SET", "maxmemory", "0");
  }

  /** Makes it a replica of a master that is not there: it keeps its data and takes no writes. */
  void demote() {
    command("REPLICAOF", server.host(), "1");
  }

  void promote() {
    command("REPLICAOF", "NO", "ONE");
  }

  void forgetScripts() {
    command("SCRIPT", "FLUSH");
  }

  void setClock(Duration ahead) {
    if (clock == null) {
      throw new IllegalStateException(name + "'s clock cannot be set");
    }
    clock.set(ahead);
    journal.write(Event.now(name, "clock", "ahead", ahead.toMillis()));
  }

  /** Only to the process that was started here: another may have come to listen on its port. */
  private void command(String... command) {
    String info = String.valueOf(server.command("INFO", "server"));
    if (!info.contains("process_id:" + server.pid() + "\r\n")) {
      throw new IllegalStateException("not the server that was started: " + server);
    }
    server.command(command);
  }

  private void note(String kind) {
    journal.write(Event.now(name, kind));
  }

  @Override
  public void close() {
    if (paused) {
      server.resume();
    }
    server.close();
    if (clock != null) {
      clock.close();
    }
  }
}
