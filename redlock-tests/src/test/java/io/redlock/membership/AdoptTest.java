package io.redlock.membership;

import static io.redlock.testbed.Results.assertAcquired;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.Outcome;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.AdoptReport.Node;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Only an operator says which masters belong together. */
@Tag("servers")
@Tag("server-version")
@Execution(ExecutionMode.CONCURRENT)
class AdoptTest extends OperatedMasters {

  /** So an abstention takes little more than two seconds. */
  private static final Duration TTL = Duration.ofSeconds(2);

  private static final Duration SKEW = Duration.ofMillis(100);
  private static final int TRIES = 5; // on each set of servers; several are tried at once

  private final List<String> waits = new ArrayList<>();

  AdoptTest() {
    super(TTL, SKEW);
    servers = RedisServers.startBrandNew(4);
  }

  @Override
  JedisRedlock.Builder settings(String list) {
    return super.settings(list).silenceTimeout(PATIENCE);
  }

  private static String outcomes(AdoptReport report) {
    return report.nodes().stream()
        .map(Node::outcome)
        .map(Enum::name)
        .collect(Collectors.joining(" "));
  }

  private static void assertFounded(AdoptReport report) {
    assertTrue(report.isComplete(), report::toString);
  }

  private static Lease acquire(Redlock client, String name) throws InterruptedException {
    return client.acquire(name, TTL, PATIENCE);
  }

  private static String reasons(Redlock client) {
    return client.operations().nodes().stream()
        .map(node -> node.reason().orElse("-"))
        .collect(Collectors.joining("\n"));
  }

  private static void awaitReason(Redlock client, String reason) {
    Await.until(reason, () -> reasons(client).contains(reason));
  }

  private static boolean acquires(Redlock client, String name) throws InterruptedException {
    return client.tryAcquire(name, TTL).outcome() == Outcome.ACQUIRED;
  }

  // How a set is founded.

  @Test
  void setIsFoundedWhenEveryLeaseOfThePastHasEnded() throws Exception {
    Redlock client = client(list(0, 1, 2));
    awaitReason(
        client,
        "no set is founded on these masters: run REDLOCK_MAX_TTL=2s REDLOCK_CLOCK_SKEW=100ms redlock"
            + " adopt "
            + name(0));
    long startNanos = System.nanoTime();
    AdoptReport report = settings(list(0, 1, 2)).adopt();
    assertEquals("ADOPTED ADOPTED ADOPTED", outcomes(report), report::toString);
    assertTrue(System.nanoTime() - startNanos >= TTL.toNanos());
    acquire(client, "a");
    Object mark = servers.get(0).command("GET", "redlock:birth");
    servers.get(2).kill();
    report = settings(list(0, 1, 2)).adopt();
    assertEquals("ALREADY_FOUNDED ALREADY_FOUNDED ALREADY_FOUNDED", outcomes(report));
    assertEquals(mark, servers.get(0).command("GET", "redlock:birth"));
  }

  /** A client audits a master once a second, and asks at most one audit later for the lease. */
  @Test
  void clientThatWaitsGoesOnWithTheNextAuditsAfterAdopt() throws Exception {
    Redlock client = client(list(0, 1, 2));
    awaitReason(client, "no set is founded");
    CompletableFuture<AcquireResult> waiting =
        client.acquireAsync(LeaseRequest.of("a", TTL).waitUpTo(PATIENCE));
    assertFounded(settings(list(0, 1, 2)).adoptNew());
    servers.forEach(server -> server.command("CONFIG", "RESETSTAT"));
    assertAcquired(Await.value("it goes on", waiting));
    long least =
        IntStream.range(0, 3)
            .mapToLong(master -> servers.get(master).calls("eval", "evalsha"))
            .min()
            .orElseThrow();
    assertTrue(least <= 3, () -> "two audits and a grant on the last master, not " + least);
  }

  @Test
  void adoptThatWasInterruptedGoesOnWhereItWas() throws Exception {
    Thread.currentThread().interrupt();
    AdoptReport report = settings(list(0)).adopt();
    assertTrue(Thread.interrupted());
    assertFalse(report.isComplete());
    Thread operator = new Thread(() -> settings(list(0, 1, 2)).adopt());
    operator.start();
    Await.until("it is begun", () -> !servers.get(2).keys("redlock:birth").isEmpty());
    operator.interrupt();
    operator.join();
    String begun = String.valueOf(servers.get(0).command("GET", "redlock:birth"));
    assertFounded(settings(list(0, 1, 2)).adopt());
    assertEquals(
        begun.replace(" founding ", " founded "), servers.get(0).command("GET", "redlock:birth"));
  }

  @Test
  void setThatCountsIsNotForgottenThoughItsFoundingIsCutOff() throws Exception {
    Thread operator = new Thread(() -> settings(list(0)).adopt());
    operator.start();
    Await.until("it counts", () -> mark(0).contains(" founded "));
    servers.get(0).kill();
    operator.join();
    servers.get(0).restart();
    assertTrue(mark(0).contains("=" + name(0)), mark(0));
  }

  @Test
  void newMastersVoteAtOnceIfAnOperatorSaysThatTheyAreNew() throws Exception {
    assertEquals(
        "ADOPTED ADOPTED ADOPTED", outcomes(JedisRedlock.adoptNew(list(0, 1, 2).split(","))));
    Redlock client =
        client(JedisRedlock.builder().node(list(0, 1, 2)).nodeTimeout(Duration.ofSeconds(4)));
    assertAcquired(client.tryAcquire("a", Duration.ofSeconds(10)));
    assertFounded(JedisRedlock.adoptNew(list(0, 1, 2).split(",")));
  }

  @Test
  void mastersThatShowAnyUseAreNotNew() {
    RedisServer used = servers.get(2);
    used.command("SET", "x", "y", "PX", "1");
    assertNotNew("as it shows calls of set");
    used.restart();
    used.command("CONFIG", "RESETSTAT");
    assertNotNew("as it shows calls of config");
    used.restart("--rename-command", "SCAN", "");
    assertNotNew("SCAN");
    used.restart();
    assertFounded(settings(list(0, 1, 2)).adopt());
    used.restart("--dbfilename", "none.rdb");
    assertFounded(settings(list(2)).keyPrefix("x").adoptNew());
  }

  private void assertNotNew(String reason) {
    AdoptReport report = settings(list(0, 1, 2)).adoptNew();
    assertFalse(report.isComplete());
    assertTrue(report.toString().contains(reason), report::toString);
    assertNull(servers.get(0).command("GET", "redlock:birth"));
  }

  @Test
  void sameServerTwiceCannotBeAdopted() {
    try (GateProxy proxy = GateProxy.to(servers.get(0))) {
      AdoptReport report =
          JedisRedlock.adopt(servers.get(0).address(), servers.get(1).address(), proxy.address());
      assertEquals("LEFT_ALONE LEFT_ALONE REFUSED", outcomes(report));
      assertTrue(report.toString().contains("same server as node"), report::toString);
      assertEquals(List.of(), servers.get(0).keys("redlock:birth"));
    }
  }

  // What ordinary restarts once made of clients with other lists.

  @Test
  void clientThatListsAMinorityIsRefusedWhateverIsLost() throws Exception {
    assertFounded(settings(list(0, 1, 2)).adoptNew());
    Redlock right = client(list(0, 1, 2));
    Redlock minority = client(list(2));
    for (int i = 0; i < TRIES; i++) {
      acquire(right, "a" + i);
      servers.get(2).restart();
      Await.until("it is marked", () -> !servers.get(2).keys("redlock:birth").isEmpty());
      assertFalse(acquires(minority, "a" + i));
      assertEquals(1, sets(2));
    }
  }

  /** Returns how many sets of this size the mark of a master names. */
  private int sets(int node) {
    String mark = String.valueOf(servers.get(node).command("GET", "redlock:birth"));
    assertTrue(mark.endsWith("=" + name(0) + "," + name(1) + "," + name(2)), mark);
    return mark.split("=").length - 1;
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, true, false, false})
  void listThatDiffersByOneGetsNothingWhenTwoMastersRestart(boolean guarded) throws Exception {
    assertFounded(settings(list(0, 1, 2)).adoptNew());
    Redlock right = client(list(0, 1, 2));
    Redlock other = client(settings(list(0, 1, 3)).restartGuard(guarded));
    for (int i = 0; i < TRIES; i++) {
      Lease lease = acquire(right, "a" + i);
      servers.get(0).restart();
      servers.get(1).restart();
      while (lease.isValid()) {
        assertFalse(acquires(other, "a" + i));
      }
      acquire(right, "b" + i);
      assertEquals(1, sets(0));
      assertEquals(List.of(), servers.get(3).keys("redlock:birth"));
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"flushed", "flushed", "flushed", "flushed", "without power", "without power"})
  void nobodyGetsWhatIsHeldWhenAllIsLostAndTheSetIsFoundedAgain(String how) throws Exception {
    assertFounded(settings(list(0, 1, 2)).adoptNew());
    for (int i = 0; i < TRIES; i++) {
      String name = "a" + i;
      Redlock holder = client(list(0, 1, 2));
      Redlock unguarded = client(settings(list(0, 1, 2)).restartGuard(false));
      Redlock stray = client(list(1));
      Lease lease = acquire(holder, name);
      long endNanos = System.nanoTime() + lease.remaining().toNanos();
      holder.close(); // so it copies no marks; it releases nothing
      loseAll(how.equals("flushed"));
      CompletableFuture<AdoptReport> operator =
          CompletableFuture.supplyAsync(() -> adoptAsTold(list(0, 1, 2)));
      List<Redlock> rivals = List.of(unguarded, stray, client(list(0, 1, 2)));
      while (System.nanoTime() - endNanos < 0) {
        for (Redlock rival : rivals) {
          assertFalse(acquires(rival, name), "two holders");
        }
      }
      assertFounded(operator.join());
      acquire(rivals.get(2), name);
      assertFalse(acquires(unguarded, "b"));
      assertFalse(acquires(stray, "b"));
      clients.forEach(Redlock::close); // they would copy their marks, too
    }
  }

  /** Types the command again as long as a client writes its mark at the same time. */
  private AdoptReport adoptAsTold(String list) {
    AdoptReport report = settings(list).adopt();
    for (int again = 0; again < TRIES && !report.isComplete(); again++) {
      report = settings(list).adopt();
    }
    return report;
  }

  private void loseAll(boolean onlyData) {
    List<RedisServer> all = IntStream.range(0, 3).mapToObj(servers::get).toList();
    all.forEach(onlyData ? server -> server.command("FLUSHALL") : RedisServer::kill);
    if (!onlyData) {
      all.forEach(server -> server.restart());
    }
  }

  @Test
  void strayMarkIsNamedWithItsFixAndReplaced() throws Exception {
    assertFounded(settings(list(1)).adoptNew());
    Redlock right = client(list(0, 1, 2));
    awaitReason(right, "redlock adopt --replace " + name(1) + "=");
    AdoptReport report = settings(list(0, 1, 2)).adopt();
    assertEquals("LEFT_ALONE REFUSED LEFT_ALONE", outcomes(report));
    String advised = report.toString().replaceFirst("(?s).*--replace (\\S+) .*", "$1");
    assertEquals("ADOPTED ADOPTED ADOPTED", outcomes(replacing(advised)));
    assertTrue(waits.get(0).matches("waiting for [123]s, until every lease .*"), waits::toString);
    acquire(right, "a");
  }

  @Test
  void markOfASetInUseIsNotReplaced() throws Exception {
    assertFounded(settings(list(2, 3)).adoptNew());
    AdoptReport report = settings(list(0, 1, 2)).adopt();
    String advised = report.toString().replaceFirst("(?s).*--replace (\\S+) .*", "$1");
    assertEquals("shows the same set", replace(advised));
    servers.get(3).kill();
    assertEquals("does not answer", replace(advised));
    servers.get(3).restart();
    replacing(advised);
    acquire(client(list(0, 1, 2)), "a");
  }

  private AdoptReport replacing(String advised) {
    String[] mark = advised.split("=");
    return operator(list(0, 1, 2))
        .adopt(false, new Word(List.of(), List.of(), Map.of(mark[0], mark[1]), false), waits::add);
  }

  private String replace(String advised) {
    String told = replacing(advised).toString();
    return told.replaceFirst("(?s).*(shows the same set|does not answer).*", "$1");
  }

  @Test
  void marksOfAnotherVersionAreRefusedWithBothNumbersAndReplacedByAnOperator() throws Exception {
    assertFounded(settings(list(0, 1, 2)).adoptNew());
    for (int node = 0; node < 3; node++) {
      servers.get(node).command("SET", "redlock:birth", "1 run repl 1 seen 34302 3 guarded");
    }
    Redlock client = client(list(0, 1, 2));
    awaitReason(client, "of version 1, this program reads version 5");
    assertFalse(acquires(client, "a"));
    assertFounded(settings(list(0, 1, 2)).adopt());
    acquire(client, "a");
  }
}
