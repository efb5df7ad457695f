package io.redlock.testbed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.SafeEncoder;

/**
 * One real server process on loopback, in a container if {@link ContainerProcess} is chosen,
 * without persistence, with a port and a folder of its own. It can be killed, stopped and
 * restarted; it dies with {@link #close()} or with this JVM.
 *
 * <p>Not thread-safe, except that {@link #command} may be called from any thread.
 */
public final class RedisServer implements AutoCloseable {

  private static final String HOST = "127.0.0.1";
  private static final int PATIENCE_MILLIS = 30_000; // a busy disk is slow to save
  private static final int START_ATTEMPTS = 5;

  /**
   * Each test process has its own, below those that the system hands out, so that a server that is
   * down finds its port free again. Maven numbers the processes of all modules that it tests at
   * once: four of {@code redlock-tests}, two of another; beyond that, processes share.
   */
  private static final int PORTS = 3_600;

  private static final int PROCESSES = 6;

  private static final int FIRST_PORT =
      10_000 + PORTS * range(System.getProperty("redlock.tests.process", "process 1"));

  private static final Set<RedisServer> ALIVE = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(() -> ALIVE.forEach(RedisServer::close), "redis-server-reaper"));
  }

  /** Returns which ports a test process takes; {@code process 1} is the first. */
  static int range(String process) {
    return (Integer.parseInt(process.replaceFirst("process ", "")) - 1) % PROCESSES;
  }

  /** Configures no address: Redis 6.2 has a protected mode only then. */
  public static final String UNBOUND = "unbound";

  private final Path folder;
  private final List<String> config;
  private final Map<String, String> environment;
  private final int port;
  private ServerProcess process;

  private RedisServer(Path folder, int port, Map<String, String> environment, List<String> config)
      throws IOException {
    this.folder = folder;
    this.port = port;
    this.environment = environment;
    this.config = config;
    this.process = launch(List.of());
  }

  /**
   * Starts a server and waits until it answers.
   *
   * @param config more configuration as on the command line, for example {@code "--maxmemory",
   *     "1mb"}; or {@link #UNBOUND}
   */
  public static RedisServer start(String... config) {
    return start(Map.of(), config);
  }

  /** The same with a clock that can be set. */
  public static RedisServer start(ClockShim clock, String... config) {
    return start(clock.environment(), config);
  }

  private static RedisServer start(Map<String, String> environment, String... config) {
    RedisExecutable.require(); // aborts before anything is made
    BindException last = null;
    for (int attempt = 0; attempt < START_ATTEMPTS; attempt++) {
      try {
        Path folder = Files.createTempDirectory("redlock-redis-");
        RedisServer server = new RedisServer(folder, freePort(), environment, List.of(config));
        ALIVE.add(server);
        server.awaitAnswer();
        return server;
      } catch (BindException e) {
        last = e; // somebody else was faster
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    throw new UncheckedIOException("no server after " + START_ATTEMPTS + " attempts", last);
  }

  /** Founds a set of this server alone, for clients without the restart guard; returns it. */
  public RedisServer founded() {
    RedisServers.found(this);
    return this;
  }

  /** Returns true if servers run in containers: then their files are out of reach. */
  public static boolean isInContainer() {
    return ContainerProcess.isChosen();
  }

  /** Where it keeps its files, if it does not run in a container. */
  public Path folder() {
    return folder;
  }

  public String host() {
    return HOST;
  }

  public int port() {
    return port;
  }

  /** For example {@code redis://127.0.0.1:21999}. */
  public String address() {
    return "redis://" + HOST + ":" + port;
  }

  public long pid() {
    return process.pid();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** SIGKILL; returns when the process is gone. */
  public void kill() {
    process.kill();
  }

  /** SIGSTOP; returns when the process has stopped. */
  public void pause() {
    process.pause();
  }

  /** SIGCONT. */
  public void resume() {
    process.resume();
  }

  /** Kills the process and starts an empty one on the same port, with additional configuration. */
  public void restart(String... additionalConfig) {
    process.close();
    process = Unchecked.call(() -> launch(List.of(additionalConfig)));
    Unchecked.call(this::awaitAnswer);
  }

  /**
   * Saves keys {@code filler:…}, and returns with which configuration each takes so long to load.
   * The server answers while it loads, once in two megabytes.
   */
  public String[] saveWhatLoadsSlowly(int keys, int millisEach) {
    command("CONFIG", "SET", "rdbcompression", "no");
    String fill = "redis.call('SET', 'filler:' .. i, string.rep('x', 2200000))";
    command("EVAL", "for i = 1, " + keys + " do " + fill + " end", "0");
    command("SAVE");
    return new String[] {"--key-load-delay", millisEach + "000"};
  }

  /**
   * Executes one command on a connection of its own.
   *
   * @return a String, Long, List of these, or null
   * @throws JedisException what the server or the connection objected to
   */
  public Object command(String... command) {
    try (Connection connection = connect()) {
      return command(connection, command);
    }
  }

  /** The same on a connection that was made before, while others may no longer be let in. */
  public static Object command(Connection connection, String... command) {
    CommandArguments arguments =
        new CommandArguments(() -> command[0].getBytes(StandardCharsets.UTF_8));
    for (int i = 1; i < command.length; i++) {
      arguments.add(command[i]);
    }
    return SafeEncoder.encodeObject(connection.executeCommand(arguments));
  }

  /** Returns true if it executes a command. */
  public boolean serves(String... command) {
    try {
      command(command);
      return true;
    } catch (JedisException e) {
      return false;
    }
  }

  /** The keys that are on the server now, sorted. */
  public List<String> keys(String pattern) {
    return ((List<?>) command("KEYS", pattern)).stream().map(String::valueOf).sorted().toList();
  }

  /** Returns true if this is that major version of Redis, or a later one; Valkey 8 is like 7. */
  public boolean isAtLeast(int major) {
    return Integer.parseInt(infoOf("redis_version").split("\\.")[0]) >= major;
  }

  /** Returns for example {@code Redis 7.0.15}. */
  public String nameAndVersion() {
    String valkey = infoOf("valkey_version");
    return valkey.isEmpty() ? "Redis " + infoOf("redis_version") : "Valkey " + valkey;
  }

  /** Returns a field of what it tells of itself; empty if there is none. */
  public String infoOf(String field) {
    String info = String.valueOf(command("INFO"));
    Matcher value = Pattern.compile("\n" + field + ":(\\S+)").matcher(info);
    return value.find() ? value.group(1) : "";
  }

  /** Returns how often clients have called these commands. */
  public long calls(String... commands) {
    return Pattern.compile("cmdstat_(?:" + String.join("|", commands) + "):calls=(\\d+)")
        .matcher(String.valueOf(command("INFO", "commandstats")))
        .results()
        .mapToLong(calls -> Long.parseLong(calls.group(1)))
        .sum();
  }

  /**
   * Returns the commands, keys and channels that it has denied to users, but not Jedis's greeting
   * {@code CLIENT SETINFO}. Redis 6.2 knows no such subcommand, and denies the whole command.
   */
  public List<String> denials() {
    return ((List<?>) command("ACL", "LOG"))
        .stream()
            .map(entry -> (List<?>) entry)
            .map(entry -> String.valueOf(entry.get(entry.indexOf("object") + 1)))
            .filter(denied -> !Set.of("client", "client|setinfo").contains(denied))
            .toList();
  }

  /** Everything the server has printed so far. */
  public String log() {
    return process.log();
  }

  @Override
  public void close() {
    process.close();
    ALIVE.remove(this);
    Folders.delete(folder);
  }

  @Override
  public String toString() {
    return address() + " (pid " + pid() + ")";
  }

  private ServerProcess launch(List<String> additionalConfig) throws IOException {
    List<String> allConfig = new ArrayList<>(config);
    allConfig.addAll(additionalConfig);
    if (ContainerProcess.isChosen()) {
      return ContainerProcess.launch(port, allConfig);
    }
    List<String> command = new ArrayList<>();
    command.add(RedisExecutable.path().toString());
    command.addAll(List.of("--port", Integer.toString(port)));
    if (!allConfig.contains(UNBOUND)) {
      command.addAll(List.of("--bind", HOST));
    }
    command.addAll(List.of("--dir", folder.toString(), "--save", "", "--appendonly", "no"));
    allConfig.stream().filter(each -> !each.equals(UNBOUND)).forEach(command::add);
    return LocalProcess.launch(folder, environment, command);
  }

  /** Waits until the port answers as the very process that was started. */
  private void awaitAnswer() throws IOException {
    long start = System.nanoTime();
    while (!answersAsChild()) {
      if (!process.isAlive() || System.nanoTime() - start > PATIENCE_MILLIS * 1_000_000L) {
        String log = log();
        close();
        String message = "server on port " + port + " did not come up:\n" + log;
        if (log.contains("in use")) {
          throw new BindException(message);
        }
        throw new IllegalStateException(message);
      }
      LockSupport.parkNanos(1_000_000);
    }
  }

  private boolean answersAsChild() {
    try {
      return String.valueOf(command("INFO", "server")).contains("process_id:" + pid() + "\r\n");
    } catch (JedisException e) {
      return false;
    }
  }

  /** A connection of one's own, with the credentials of the configuration. */
  public Connection connect() {
    int password = config.indexOf("--requirepass");
    DefaultJedisClientConfig.Builder client =
        DefaultJedisClientConfig.builder()
            .protocol(RedisProtocol.RESP2)
            .timeoutMillis(PATIENCE_MILLIS);
    if (password >= 0) {
      client.password(config.get(password + 1));
    }
    return new Connection(new HostAndPort(HOST, port), client.build());
  }

  /** A pool as users make them, of one connection, so that the same one is used again. */
  public ConnectionPool pool(JedisClientConfig client) {
    GenericObjectPoolConfig<Connection> pooled = new GenericObjectPoolConfig<>();
    pooled.setJmxEnabled(false);
    pooled.setMaxTotal(1);
    return new ConnectionPool(new HostAndPort(HOST, port), client, pooled);
  }

  /** A connection to this port that says nothing by itself. */
  public static Connection connect(int port) {
    Connection connection = new Connection(new HostAndPort(HOST, port));
    connection.setSoTimeout(PATIENCE_MILLIS);
    return connection;
  }

  /**
   * A port that nobody listens on, below the range from which the kernel takes the ports of
   * outgoing connections: there, one could be taken while the server is down, and a client that
   * probes its dead server could even connect to itself.
   */
  public static int freePort() throws IOException {
    for (int attempt = 0; attempt < 100; attempt++) {
      int port = FIRST_PORT + ThreadLocalRandom.current().nextInt(PORTS);
      if (ALIVE.stream().anyMatch(server -> server.port == port)) {
        continue; // of a server that is down for a while
      }
      try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getByName(HOST))) {
        return probe.getLocalPort();
      } catch (IOException e) {
        // taken: try another
      }
    }
    throw new IOException("no free port among " + PORTS + " from " + FIRST_PORT + " on");
  }
}
