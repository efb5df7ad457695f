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
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The commands {@code status} and {@code list}, with masters. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class StatusAndListTest {

  private static final String HOLDER = "billing@pod-7:4211";
  private static final String PREFIX = "locks:";
  private static final Duration TTL = Duration.ofSeconds(30);

  private RedisServers servers;
  private Redlock holder;

  @BeforeEach
  void start() {
    servers = RedisServers.start(3);
    holder =
        JedisRedlock.builder()
            .node(String.join(",", servers.addresses()))
            .nodeTimeout(Duration.ofSeconds(5))
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

  private CommandRun run(int exitCode, String... arguments) {
    return CommandRun.of(settings(), arguments).assertExit(exitCode);
  }

  private Map<String, String> settings() {
    return Map.of(
        "REDLOCK_NODES",
        String.join(" ", servers.addresses()),
        "REDLOCK_KEY_PREFIX",
        PREFIX,
        "REDLOCK_SILENCE_TIMEOUT",
        "6s"); // no master is silent because the machine stands still for 3 s
  }

  /** Waits until a command that does not wait for long prints such lines. */
  private void awaitPrints(int exitCode, String[] command, String... expressions) {
    Map<String, String> impatient = new HashMap<>(settings());
    impatient.remove("REDLOCK_SILENCE_TIMEOUT");
    Await.until(
        "it prints " + List.of(expressions),
        () -> {
          CommandRun run = CommandRun.of(impatient, command);
          return run.exitCode() == exitCode
              && Stream.of(expressions)
                  .allMatch(each -> run.output().lines().anyMatch(line -> line.matches(each)));
        });
  }

  @Test
  void statusOfAHeldResourceNamesTheHolder() throws Exception {
    Lease lease = onAllMasters("orders/42");
    CommandRun held = run(120, "status", "orders/42");
    held.assertMatches(
        "orders/42 is held by " + HOLDER + " for up to \\d+s more, token " + lease.fencingToken());
    held.assertMatches("NODE +TOKEN +WAITERS +ANSWER");
    held.assertMatches(
        "127.0.0.1:\\d+ +" + lease.fencingToken() + " +held for \\d+s more by " + HOLDER);
    assertEquals(4 + 1, held.output().lines().count(), held::output);
    assertTrue(lease.isValid());

    CommandRun json = run(120, "status", "--json", "orders/42");
    json.assertHas("{\"resource\":\"orders/42\",\"held\":\"yes\",\"holder\":\"" + HOLDER + "\",");
    json.assertHas("\"token\":" + lease.fencingToken() + ",\"quorum\":2,\"nodes\":[{\"name\":");
    String value = String.valueOf(servers.get(0).command("GET", PREFIX + "orders/42"));
    String secret = value.substring(value.indexOf('/') + 1);
    assertFalse((held.output() + json.output()).contains(secret), "the owner id is no output");
  }

  @Test
  void statusAndListOfASharedResourceCountItsReaders() throws Exception {
    LeaseRequest request = LeaseRequest.of("catalog", TTL).waitUpTo(TTL).shared();
    Lease first = holder.acquire(request);
    for (RedisServer server : servers) {
      Await.until("it reads", () -> server.command("GET", PREFIX + "catalog") != null);
    }
    run(120, "status", "catalog").assertMatches("catalog is held by 1 reader for up to \\d+s more");
    holder.acquire(request);
    for (RedisServer server : servers) {
      Await.until(
          "both read",
          () -> (Long) server.command("ZCARD", "redlock:readers:" + PREFIX + "catalog") == 2);
    }
    CommandRun held = run(120, "status", "catalog");
    held.assertMatches("catalog is held by 2 readers for up to \\d+s more");
    held.assertMatches("127.0.0.1:\\d+ +held for \\d+s more by 2 readers");
    held.assertMatches("READER +LEFT");
    held.assertMatches(HOLDER + " +\\d+\\.\\ds");
    assertEquals(4 + 1 + 3, held.output().lines().count(), held::output);
    CommandRun json = run(120, "status", "--json", "catalog");
    json.assertHas(
        "\"holder\":\"readers\",\"reading\":2,\"readers\":[{\"holder\":\"" + HOLDER + "\",");
    run(0, "list").assertMatches("catalog +yes +2 readers +\\d+\\.\\ds +3 of 3");
    assertTrue(first.isValid());
  }

  @Test
  void statusOfAFreeResourceAndOfOneThatNobodyCanTell() throws Exception {
    CommandRun free = run(0, "status", "orders/43");
    free.assertHas("orders/43 is free: no client holds it on 2 of 3");
    onAllMasters("orders/42");
    servers.get(0).kill();
    CommandRun held = run(120, "status", "orders/42");
    held.assertMatches("127.0.0.1:" + servers.get(0).port() + " +refused connection");
    servers.get(1).pause();
    awaitPrints(
        121,
        new String[] {"status", "orders/42"},
        "orders/42 may be held or free: too few nodes can tell",
        "127.0.0.1:" + servers.get(1).port() + " +the server accepted the connection and .*");
  }

  @Test
  void observersWriteNothingToBrandNewMasters() throws Exception {
    servers.forEach(server -> server.command("FLUSHALL"));
    holder.close();
    servers.forEach(server -> server.command("FLUSHALL"));
    CommandRun status = run(121, "status", "orders/42");
    status.assertMatches(".* free, but abstains: its data is new, and no client has marked it yet");
    CommandRun list = run(0, "list");
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
            "false",
            "REDLOCK_SILENCE_TIMEOUT",
            "6s");
    CommandRun.of(settings, "status", "r").assertExit(0);
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
      CommandRun run = CommandRun.of(settings(), words.toArray(String[]::new));
      run.assertHas("WRONGPASS");
      assertFalse(run.output().contains("falsch") || run.output().contains("geheim"), run.output());
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
    CommandRun status = run(120, "status", "--nodes", nodes, "orders/42");
    CommandRun list = run(0, "list", "--nodes", nodes);
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
    CommandRun all = run(0, "list");
    all.assertMatches("RESOURCE +HELD +HOLDER +LEFT +TOKEN +NODES");
    all.assertMatches(
        "orders/1 +yes +" + HOLDER + " +\\d+\\.\\ds +" + first.fencingToken() + " +3 of 3");
    all.assertMatches("orders/3 +no +1 of 3");
    all.assertMatches("stock/\\* +yes .*");
    all.assertMatches("2 held");
    assertFalse(
        all.output().contains("orders/2") || all.output().contains("orders/4"), all.output());

    CommandRun some = run(0, "list", "--prefix", "stock/*", "--json");
    some.assertHas("{\"complete\":true,\"gaps\":[],\"locks\":[{\"resource\":\"stock/*\",");
    assertFalse(some.output().contains("orders/1"), some.output());
  }

  @Test
  void listIsCompleteWhileNoMajorityCanHideALock() throws Exception {
    onAllMasters("orders/1");
    servers.get(0).kill();
    CommandRun one = run(0, "list");
    one.assertMatches("orders/1 +yes .* 2 of 3");
    one.assertHas(":" + servers.get(0).port() + " was not searched: refused connection");
    servers.get(1).pause();
    awaitPrints(
        1, new String[] {"list"}, "orders/1 +unknown .*1 of 3", "0 held; there may be more");
  }

  /** Here they are used as one of three, and asked as the only one. */
  @Test
  void listIsNotCompleteWhereNoMasterTellsWhoHoldsWhatWasFound() throws Exception {
    onAllMasters("orders/1");
    String one = servers.get(0).address();
    CommandRun run = run(1, "list", "--nodes", one);
    run.assertMatches("orders/1 +unknown .*0 of 1");
    run.assertHas(
        "it is unknown who holds orders/1: 127.0.0.1:"
            + servers.get(0).port()
            + " the list of this client is not the set of its masters");
    run.assertMatches("0 held; there may be more");
    CommandRun json = run(1, "list", "--json", "--nodes", one);
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
    CommandRun all = run(1, "list");
    all.assertHas("only the first 1000 locks are listed: use --prefix");
    all.assertHas(" has more: ");
    CommandRun some = run(0, "list", "--prefix=14");
    some.assertMatches("111 held");
  }
}
