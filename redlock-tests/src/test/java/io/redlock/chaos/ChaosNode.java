package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.chaos.history.Journal;
import io.redlock.testbed.Await;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Unchecked;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;

/** One master and what can be done to it, written down. Belongs to one thread. */
final class ChaosNode implements ChaosServer {

  static final String USER = "locker";
  static final String PASSWORD = "secret";

  /** What the clients' user may lose: to write, to delete, to run scripts, to ask, to touch. */
  private static final List<String[]> RIGHTS =
      Stream.of("-set", "-del", "-eval -evalsha", "-info", "resetkeys ~r*")
          .map(rules -> rules.split(" "))
          .toList();

  /** How often a server that loads looks after its clients; Redis 6.2 has no such setting. */
  private static final String EMPTY = "for i = 1, 10 do redis.call('DEL', 'filler:' .. i) end";

  /** Runs for so many milliseconds. */
  private static final String RUN =
      "local function now() local t = redis.call('TIME') return t[1] * 1000 + t[2] / 1000 end"
          + " local till = now() + ARGV[1] while now() < till do end";

  final String name;
  final RedisServer server;
  private final Journal journal;
  private final @Nullable ClockShim clock;
  private volatile boolean paused;
  private final AtomicInteger losses = new AtomicInteger();
  private int dumpFile; // changes with each life that begins empty
  private @Nullable Connection control; // while nobody else is let in
  private @Nullable CompletableFuture<Object> script; // while one keeps the server busy

  ChaosNode(String name, boolean withClock, Journal journal) {
    this.name = name;
    this.journal = journal;
    clock = withClock ? ClockShim.create() : null;
    String[] config = {"--user", USER, "on", ">" + PASSWORD, "~*", "&*", "+@all"};
    server = clock == null ? RedisServer.start(config) : RedisServer.start(clock, config);
  }

  /** Where clients connect, by a port that leads to a master: they have a user of their own. */
  static String address(int port) {
    return "redis://" + USER + ":" + PASSWORD + "@127.0.0.1:" + port;
  }

  /** How often it has lost its data. */
  int losses() {
    return losses.get();
  }

  @Override
  public boolean isRunning() {
    return server.isAlive() && !paused;
  }

  @Override
  public void begin(Strike strike) {
    switch (strike.fault()) {
      case NODE_KILL -> kill();
      case NODE_OLD_DUMP -> dump();
      case NODE_PAUSE -> pause();
      case NODE_FLUSH -> lose(() -> command("FLUSHALL"));
      case NODE_OOM -> config("maxmemory", "1");
      // a replica of a master that is not there: it keeps its data and takes no writes
      case NODE_DEMOTION -> command("REPLICAOF", server.host(), "1");
      case NODE_SCRIPT_FLUSH -> command("SCRIPT", "FLUSH");
      case NODE_EVICTION -> evict();
      case NODE_FAILED_SAVE -> failToSave();
      case NODE_RIGHT_LOST -> setUser(RIGHTS.get(strike.amount() % RIGHTS.size()));
      case NODE_PASSWORD -> {
        setUser("resetpass", ">another");
        command("CLIENT", "KILL", "USER", USER);
      }
      case NODE_BUSY -> keepBusy(strike.endMillis() - strike.beginMillis());
      case NODE_CROWDED -> letNobodyIn();
      case NODE_LOADING -> restartLoading();
      case NODE_CLOCK -> setClock(Duration.ofMillis((strike.amount() - 50) * 60L));
      default -> throw new IllegalStateException("not of a node: " + strike);
    }
  }

  @Override
  public void end(Strike strike) {
    switch (strike.fault()) {
      case NODE_KILL -> restartEmpty();
      case NODE_OLD_DUMP -> restartFromDump();
      case NODE_PAUSE -> resume();
      case NODE_OOM -> config("maxmemory", "0");
      case NODE_DEMOTION -> command("REPLICAOF", "NO", "ONE");
      case NODE_EVICTION -> evictNoMore();
      case NODE_FAILED_SAVE -> saveAgain();
      case NODE_RIGHT_LOST -> setUser("resetkeys", "~*", "+@all");
      case NODE_PASSWORD -> setUser("resetpass", ">" + PASSWORD);
      case NODE_BUSY ->
          Await.value(name + " has run its script", Objects.requireNonNull(script, "not busy"));
      case NODE_CROWDED -> letEverybodyIn();
      case NODE_LOADING -> {
        awaitInfo("persistence", "\nloading:0");
        command("EVAL", EMPTY, "0");
      }
      case NODE_CLOCK -> setClock(Duration.ZERO);
      default -> throw new IllegalStateException("has no end: " + strike);
    }
  }

  void kill() {
    lose(server::kill);
    note("down");
  }

  private void lose(Runnable how) {
    losses.incrementAndGet();
    note("losing");
    how.run();
    note("lost");
  }

  void restartEmpty() {
    dumpFile++;
    restart();
  }

  /** Keeps its data of now, for {@link #restartFromDump()}. */
  void dump() {
    save("SAVE");
    note("dump");
  }

  /** SIGKILL, and back at once with the data it had when it was dumped. */
  void restartFromDump() {
    kill();
    restart();
  }

  private void restart(String... config) {
    List<String> all = new ArrayList<>(List.of("--dbfilename", dumpName()));
    all.addAll(List.of(config));
    server.restart(all.toArray(String[]::new));
    note("up");
  }

  private String dumpName() {
    return dumpFile == 0 ? "dump.rdb" : "dump-" + dumpFile + ".rdb";
  }

  void pause() {
    paused = true;
    journal.note("harness pause target=%s", name);
    server.pause();
  }

  void resume() {
    server.resume();
    journal.note("harness resume target=%s", name);
    paused = false;
  }

  /** It would evict if it needed to; it does not need to. */
  void evict() {
    config("maxmemory", "1gb");
    command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    note("unfit");
  }

  void evictNoMore() {
    note("fit");
    config("maxmemory-policy", "noeviction");
    config("maxmemory", "0");
  }

  /** Evicts, once, everything that has a time to live. */
  void evictLocks() {
    lose(
        () -> {
          config("maxmemory-policy", "volatile-lru");
          config("maxmemory", "1");
          awaitInfo("keyspace", "expires=0");
        });
    evictNoMore();
  }

  /** A folder in the place of the dump lets no dump be saved. */
  void failToSave() {
    Path dump = server.folder().resolve(dumpName());
    if (Files.exists(dump)) {
      Unchecked.call(() -> Files.move(dump, aside(dump)));
    }
    Unchecked.call(() -> Files.createDirectory(dump));
    config("save", "3600 1000000");
    save("BGSAVE");
    awaitInfo("persistence", "rdb_last_bgsave_status:err");
  }

  void saveAgain() {
    command("CONFIG", "SET", "save", "");
    Path dump = server.folder().resolve(dumpName());
    Unchecked.call(() -> Files.delete(dump));
    if (Files.exists(aside(dump))) {
      Unchecked.call(() -> Files.move(aside(dump), dump));
    }
  }

  private static Path aside(Path dump) {
    return dump.resolveSibling(dump.getFileName() + ".aside");
  }

  private void config(String setting, String value) {
    command("CONFIG", "SET", setting, value);
  }

  private void setUser(String... rules) {
    String[] user = {"ACL", "SETUSER", USER};
    command(Stream.concat(Stream.of(user), Stream.of(rules)).toArray(String[]::new));
  }

  void keepBusy(long millis) {
    config("lua-time-limit", "20");
    script =
        CompletableFuture.supplyAsync(
            () -> server.command("EVAL", RUN, "0", Long.toString(millis)));
  }

  void letNobodyIn() {
    Connection first = server.connect();
    control = first;
    command(first, "CONFIG", "SET", "maxclients", "1");
    command(first, "CLIENT", "KILL", "USER", USER);
  }

  void letEverybodyIn() {
    try (Connection last = Objects.requireNonNull(control, "everybody is let in")) {
      command(last, "CONFIG", "SET", "maxclients", "10000");
    }
    control = null;
  }

  /** SIGKILL, and back with the data of just before, which is slow to load. */
  void restartLoading() {
    String[] slowly = server.saveWhatLoadsSlowly(10, 160);
    kill();
    restart(slowly);
  }

  /** Saves, after the save that the server may have begun by itself. */
  private void save(String command) {
    Await.until(name + " may save", () -> !isRefusedForAnotherSave(command));
  }

  private boolean isRefusedForAnotherSave(String command) {
    try {
      command(command);
      return false;
    } catch (JedisDataException e) {
      if (e.getMessage().contains("save already in progress")) {
        return true;
      }
      throw e;
    }
  }

  private void awaitInfo(String section, String text) {
    Await.until(
        name + " says " + text,
        () -> String.valueOf(server.command("INFO", section)).contains(text));
  }

  void setClock(Duration ahead) {
    if (clock == null) {
      throw new IllegalStateException(name + "'s clock cannot be set");
    }
    clock.set(ahead);
    journal.note("%s clock ahead=%s", name, ahead.toMillis());
  }

  /** Only to the process that was started here: another may have come to listen on its port. */
  private void command(String... command) {
    try (Connection connection = server.connect()) {
      command(connection, command);
    }
  }

  private void command(Connection connection, String... command) {
    String info = String.valueOf(RedisServer.command(connection, "INFO", "server"));
    if (!info.contains("process_id:" + server.pid() + "\r\n")) {
      throw new IllegalStateException("not the server that was started: " + server);
    }
    RedisServer.command(connection, command);
  }

  private void note(String kind) {
    journal.note("%s %s", name, kind);
  }

  @Override
  public void close() {
    if (paused) {
      server.resume();
    }
    if (control != null) {
      control.close();
    }
    server.close();
    if (clock != null) {
      clock.close();
    }
  }
}
