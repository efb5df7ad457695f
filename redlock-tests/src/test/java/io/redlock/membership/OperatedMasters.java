package io.redlock.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.settings.Setting;
import io.redlock.testbed.RedisServers;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;

/** Masters on real servers, their clients, and what an operator types. */
abstract class OperatedMasters {

  static final Duration PATIENCE = Duration.ofMinutes(1);

  final List<Redlock> clients = new ArrayList<>();
  final ByteArrayOutputStream said = new ByteArrayOutputStream(); // by the last command
  RedisServers servers;

  private final Duration maxTtl;
  private final Duration skew;

  OperatedMasters(Duration maxTtl, Duration skew) {
    this.maxTtl = maxTtl;
    this.skew = skew;
  }

  @AfterEach
  void stop() {
    clients.forEach(Redlock::close);
    servers.close();
  }

  /** Starts servers whose data is on disk at once, so that no command waits for a save. */
  static RedisServers startSynced(int count) {
    return RedisServers.startBrandNew(count, "--appendonly", "yes", "--appendfsync", "always");
  }

  final String list(int... masters) {
    return IntStream.of(masters)
        .mapToObj(master -> servers.get(master).address())
        .collect(Collectors.joining(","));
  }

  final String name(int master) {
    return "127.0.0.1:" + servers.get(master).port();
  }

  final String mark(int master) {
    return String.valueOf(servers.get(master).command("GET", "redlock:birth"));
  }

  final List<String> marks() {
    return IntStream.range(0, servers.size()).mapToObj(this::mark).toList();
  }

  // Clients.

  JedisRedlock.Builder settings(String list) {
    return JedisRedlock.builder()
        .node(list)
        .maxTtl(maxTtl)
        .clockSkew(skew)
        .nodeTimeout(Duration.ofMillis(400));
  }

  final Redlock client(JedisRedlock.Builder settings) {
    Redlock client = settings.build();
    clients.add(client);
    return client;
  }

  final Redlock client(String list) {
    return client(settings(list));
  }

  final void awaitLease(Redlock client) throws InterruptedException {
    client.acquire("a", maxTtl, PATIENCE).release();
  }

  // Operators.

  final void adopt(String list) {
    assertTrue(settings(list).silenceTimeout(PATIENCE).adoptNew().isComplete());
  }

  final DeploymentSettings operator(String list) {
    DeploymentSettings operator = new DeploymentSettings();
    operator.set(Setting.NODES, list);
    operator.set(Setting.MAX_TTL, maxTtl);
    operator.set(Setting.CLOCK_SKEW, skew);
    operator.set(Setting.SILENCE_TIMEOUT, PATIENCE); // the machine may stand still
    return operator;
  }

  final DeploymentSettings operator(String present, String future) {
    DeploymentSettings operator = operator(present);
    operator.set(Setting.MOVING_TO, future);
    return operator;
  }

  final boolean resize(
      Command command, String present, String future, Consumer<String> out, String... without) {
    Word word = new Word(List.of(without), List.of(), Map.of(), true);
    return operator(present, future).resize(command, word, out);
  }

  final boolean resize(Command command, String present, String future, String... without) {
    return resize(command, present, future, saying()::println, without);
  }

  /** Returns the stream of what is said from now on. */
  final PrintStream saying() {
    said.reset();
    return new PrintStream(said, true, StandardCharsets.UTF_8);
  }

  final String said() {
    return said.toString(StandardCharsets.UTF_8);
  }

  final void assertDone(String present, String future, Command... commands) {
    for (Command command : commands) {
      assertTrue(resize(command, present, future), this::said);
    }
  }

  final void assertResized(String present, String future) {
    assertDone(present, future, Command.PREPARE, Command.COMMIT, Command.FINISH);
  }

  final void assertRefused(Command command, String present, String future, String why) {
    List<String> marks = marks();
    assertFalse(resize(command, present, future), this::said);
    assertTrue(said().contains(why), this::said);
    assertEquals(marks, marks(), "nothing was written");
  }
}
