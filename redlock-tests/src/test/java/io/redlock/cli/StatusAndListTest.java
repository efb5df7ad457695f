package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The commands {@code status} and {@code list}, each in a process of its own. */
@RequiresRedis
@Tag("servers")
class StatusAndListTest {

  private static final String HOLDER = "billing@pod-7:4211";
  private static final String PREFIX = "locks:";
  private static final Duration TTL = Duration.ofSeconds(30);

  private RedisServers servers;
  private Redlock holder;

  private record Run(int exitCode, String output) {

    private void assertMatches(String expression) {
      assertTrue(output.lines().anyMatch(line -> line.matches(expression)), output);
    }

    private void assertHas(String part) {
      assertTrue(output.contains(part), output);
    }
  }

  @BeforeEach
  void start() {
    servers = RedisServers.start(3);
    holder =
        JedisRedlock.builder()
            .node(String.join(",", servers.addresses()))
            .nodeTimeout(Duration.ofSeconds(1))
            .keyPrefix(PREFIX)
            .holder(HOLDER)
            .build();
  }

  @AfterEach
  void stop() {
    holder.close();
    for (RedisServer server : servers) {
      if (server.isAlive()) {
        server.resume();
      }
    }
    servers.close();
  }

  private Lease onAllMasters(String resource) throws InterruptedException {
    Lease lease = holder.acquire(LeaseRequest.of(resource, TTL).waitUpTo(TTL));
    for (RedisServer server : servers) {
      Await.until("all hold it", () -> server.command("GET", PREFIX + resource) != null);
    }
    return lease;
  }

  private Run run(String... arguments) throws InterruptedException {
    return end(CliProcess.start(settings(), arguments));
  }

  private Map<String, String> settings() {
    return Map.of(
        "REDLOCK_NODES", String.join(" ", servers.addresses()), "REDLOCK_KEY_PREFIX", PREFIX);
  }

  private static Run end(CliProcess started) throws InterruptedException {
    try (CliProcess process = started) {
      int exitCode = process.exitCode();
      return new Run(exitCode, process.output());
    }
  }

  @Test
  void nameThatTheLocaleCannotExpressIsNotTakenForAnother() throws Exception {
    Run run = end(CliProcess.startInPosixLocale(settings(), "auftr\\303\\244ge", "status"));
    assertEquals(123, run.exitCode, run::output);
    assertEquals(
        "redlock: argument 2 has characters that this locale cannot express: set LC_ALL=C.UTF-8",
        run.output.strip());
  }

  @Test
  void statusOfAHeldResourceNamesTheHolder() throws Exception {
    Lease lease = onAllMasters("orders/42");
    Run held = run("status", "orders/42");
    assertEquals(120, held.exitCode, held::output);
    held.assertMatches(
        "orders/42 is held by " + HOLDER + " for up to \\d+s more, token " + lease.fencingToken());
    held.assertMatches("NODE +COUNTER +WAITERS +ANSWER");
    held.assertMatches(
        "127.0.0.1:\\d+ +" + lease.fencingToken() + " +held for \\d+s more by " + HOLDER);
    assertEquals(4 + 1, held.output.lines().count(), held::output);
    assertTrue(lease.isValid());

    Run json = run("status", "--json", "orders/42");
    assertEquals(120, json.exitCode, json::output);
    json.assertHas("{\"resource\":\"orders/42\",\"held\":\"yes\",\"holder\":\"" + HOLDER + "\",");
    json.assertHas("\"token\":" + lease.fencingToken() + ",\"quorum\":2,\"nodes\":[{\"name\":");
    String value = String.valueOf(servers.get(0).command("GET", PREFIX + "orders/42"));
    String secret = value.substring(value.indexOf('/') + 1);
    assertFalse((held.output + json.output).contains(secret), "the owner id is no output");
  }

  @Test
  void statusOfAFreeResourceAndOfOneThatNobodyCanTell() throws Exception {
    Run free = run("status", "orders/43");
    assertEquals(0, free.exitCode, free::output);
    free.assertHas("orders/43 is free: no client holds it on 2 of 3");
    onAllMasters("orders/42");
    servers.get(0).kill();
    Run held = run("status", "orders/42");
    assertEquals(120, held.exitCode, held::output);
    held.assertMatches("127.0.0.1:" + servers.get(0).port() + " +refused connection");
    servers.get(1).pause();
    Run unknown = run("status", "orders/42");
    assertEquals(121, unknown.exitCode, unknown::output);
    unknown.assertHas("orders/42 may be held or free: too few nodes can tell");
    unknown.assertMatches(
        "127.0.0.1:" + servers.get(1).port() + " +the server accepted the connection and .*");
  }

  @Test
  void observersWriteNothingToBrandNewMasters() throws Exception {
    servers.forEach(server -> server.command("FLUSHALL"));
    holder.close();
    servers.forEach(server -> server.command("FLUSHALL"));
    Run status = run("status", "orders/42");
    assertEquals(121, status.exitCode, status::output);
    status.assertMatches(".* free, but abstains: its data is new, and no client has marked it yet");
    Run list = run("list");
    assertEquals(0, list.exitCode, list::output);
    servers.forEach(server -> assertEquals(List.of(), server.keys("*")));
  }

  @Test
  void observerChangesNoMarkOfOtherSettings() throws Exception {
    List<Object> marks = new ArrayList<>();
    servers.forEach(server -> marks.add(server.command("GET", "redlock:birth")));
    Map<String, String> settings =
        Map.of(
            "REDLOCK_NODES",
            String.join(" ", servers.addresses()),
            "REDLOCK_MAX_TTL",
            "1h",
            "REDLOCK_RESTART_GUARD",
            "false");
    try (CliProcess process = CliProcess.start(settings, "status", "r")) {
      assertEquals(0, process.exitCode(), process::output);
    }
    for (int node = 0; node < 3; node++) {
      assertEquals(marks.get(node), servers.get(node).command("GET", "redlock:birth"));
    }
  }

  @Test
  void passwordIsNotPrinted() throws Exception {
    servers.get(0).command("CONFIG", "SET", "requirepass", "geheim");
    String address = "redis://:falsch@127.0.0.1:" + servers.get(0).port();
    for (String command : List.of("status", "list")) {
      List<String> words = new ArrayList<>(List.of(command, "--nodes", address));
      if (command.equals("status")) {
        words.add("r");
      }
      Run run = run(words.toArray(String[]::new));
      run.assertHas("WRONGPASS");
      assertFalse(run.output.contains("falsch") || run.output.contains("geheim"), run.output);
    }
  }

  /** The rule of the page on operations. */
  @Test
  void documentedUserMayLookAtEverything() throws Exception {
    Matcher rule =
        Pattern.compile("(?m)^ACL SETUSER locks on >(\\S+) (~locks:\\*.*)$")
            .matcher(Repository.read("docs/operations.md"));
    assertTrue(rule.find());
    List<String> words = new ArrayList<>(List.of("ACL", "SETUSER", "locks", "on"));
    words.add(">" + rule.group(1));
    words.addAll(List.of(rule.group(2).split(" ")));
    List<String> addresses = new ArrayList<>();
    for (RedisServer server : servers) {
      server.command(words.toArray(String[]::new));
      addresses.add("redis://locks:" + rule.group(1) + "@127.0.0.1:" + server.port());
    }
    onAllMasters("orders/42");
    String nodes = String.join(",", addresses);
    Run status = run("status", "--nodes", nodes, "orders/42");
    assertEquals(120, status.exitCode, status::output);
    Run list = run("list", "--nodes", nodes);
    assertEquals(0, list.exitCode, list::output);
    list.assertMatches("orders/42 +yes .* 3 of 3");
    for (RedisServer server : servers) {
      assertEquals(List.of(), server.denials(), "denials");
    }
  }

  @Test
  void listShowsWhatIsHeldAndByWhom() throws Exception {
    Lease first = onAllMasters("orders/1");
    onAllMasters("stock/*");
    onAllMasters("orders/2").release();
    servers.get(0).command("SET", PREFIX + "orders/3", "rest of a failed attempt");
    servers.get(0).command("SET", "redlock:fence:" + PREFIX + "orders/3", "1");
    servers.get(0).command("SET", "redlock:fence:other:orders/4", "1");
    servers.get(0).command("SET", "other:orders/4", "x");
    Run all = run("list");
    assertEquals(0, all.exitCode, all::output);
    all.assertMatches("RESOURCE +HELD +HOLDER +LEFT +TOKEN +NODES");
    all.assertMatches(
        "orders/1 +yes +" + HOLDER + " +\\d+\\.\\ds +" + first.fencingToken() + " +3 of 3");
    all.assertMatches("orders/3 +no +1 of 3");
    all.assertMatches("stock/\\* +yes .*");
    all.assertMatches("2 held");
    assertFalse(all.output.contains("orders/2") || all.output.contains("orders/4"), all.output);

    Run some = run("list", "--prefix", "stock/*", "--json");
    assertEquals(0, some.exitCode, some::output);
    some.assertHas("{\"complete\":true,\"gaps\":[],\"locks\":[{\"resource\":\"stock/*\",");
    assertFalse(some.output.contains("orders/1"), some.output);
  }

  @Test
  void listIsCompleteWhileNoMajorityCanHideALock() throws Exception {
    onAllMasters("orders/1");
    servers.get(0).kill();
    Run one = run("list");
    assertEquals(0, one.exitCode, one::output);
    one.assertMatches("orders/1 +yes .* 2 of 3");
    one.assertHas(":" + servers.get(0).port() + " was not searched: refused connection");
    servers.get(1).pause();
    Run two = run("list");
    assertEquals(1, two.exitCode, two::output);
    two.assertMatches("orders/1 +unknown .*1 of 3");
    two.assertMatches("0 held; there may be more");
  }

  /** Here they are used as one of three, and asked as the only one. */
  @Test
  void listIsNotCompleteWhereNoMasterTellsWhoHoldsWhatWasFound() throws Exception {
    onAllMasters("orders/1");
    String one = servers.get(0).address();
    Run run = run("list", "--nodes", one);
    assertEquals(1, run.exitCode, run::output);
    run.assertMatches("orders/1 +unknown .*0 of 1");
    run.assertHas(
        "it is unknown who holds orders/1: 127.0.0.1:" + servers.get(0).port() + " other");
    run.assertMatches("0 held; there may be more");
    Run json = run("list", "--json", "--nodes", one);
    json.assertHas("{\"complete\":false,\"gaps\":[\"it is unknown who holds orders/1: ");
    json.assertHas("{\"resource\":\"orders/1\",\"held\":\"unknown\",");
  }

  @Test
  void listIsCutWhereThereIsTooMuch() throws Exception {
    for (RedisServer server : servers) {
      List<String> words = new ArrayList<>(List.of("MSET"));
      for (int i = 0; i < 1_500; i++) {
        words.addAll(List.of(PREFIX + i, "x", "redlock:fence:" + PREFIX + i, "1"));
      }
      server.command(words.toArray(String[]::new));
    }
    Run all = run("list");
    assertEquals(1, all.exitCode, all::output);
    all.assertHas("only the first 1000 locks are listed: use --prefix");
    all.assertHas(" has more: ");
    Run some = run("list", "--prefix=14");
    assertEquals(0, some.exitCode, some::output);
    some.assertMatches("111 held");
  }
}
