package io.redlock.cli;

import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;

/** Each page of the runbook: its incident on real masters, and its commands, typed in order. */
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class RunbookTest {

  private static final Path RUNBOOK = Repository.ROOT.resolve("docs/runbook");
  private static final Duration WAIT = Duration.ofMinutes(1);

  /** For as long as this a master without data abstains. */
  private static final Duration BRIEF = Duration.ofSeconds(5);

  /** A lease of this ttl is renewed in time by a machine that stands still for 3 s. */
  private static final Duration LONG = Duration.ofSeconds(10);

  private static final String HOLDER = "billing@pod-7:4211";

  @AutoClose private Incident incident;
  private LeaseRequest order;
  private LeaseRequest patient;
  private LeaseRequest renewed;

  private void begin(String page, int masters) {
    begin(page, masters, BRIEF);
  }

  private void begin(String page, int masters, Duration maxTtl) {
    incident = new Incident(RUNBOOK.resolve(page), masters, maxTtl);
    incident.adopt();
    patient = patient("orders/42");
    order = patient.waitUpTo(Duration.ZERO);
    renewed = patient.renewFor(Duration.ofMinutes(5));
  }

  @Test
  void everyPageHasATest() throws IOException {
    begin("who-holds-it.md", 1);
    Set<String> pages = new TreeSet<>();
    try (Stream<Path> files = Files.list(RUNBOOK)) {
      files.forEach(page -> pages.add(page.getFileName().toString()));
    }
    pages.remove("README.md");
    String tests =
        Files.readString(
            Repository.ROOT.resolve("redlock-tests/src/test/java/io/redlock/cli/RunbookTest.java"));
    pages.removeIf(page -> tests.contains("begin(\"" + page + "\", 3"));
    assertEquals(Set.of(), pages);
  }

  @Test
  void whoHoldsALock() throws Exception {
    begin("who-holds-it.md", 3, LONG);
    Lease lease = incident.client(HOLDER).acquire(renewed);
    incident.sees(refusal());
    assertEquals(120, incident.type());
    assertEquals(0, incident.type());
    lease.release();
    assertEquals(0, incident.typeAgain(0));
    incident.isOver();
  }

  private String refusal() throws InterruptedException {
    AcquireResult result = incident.client("web-1").tryAcquire(order);
    return new LockNotAcquiredException(order, result).getMessage();
  }

  @Test
  void lockThatIsStuck() throws Exception {
    begin("stuck.md", 3, LONG);
    Lease stuck = incident.client(HOLDER).acquire(renewed);
    incident.sees(refusal());
    assertEquals(120, incident.type());
    assertEquals(120, incident.type());
    assertEquals(0, incident.type());
    Await.until("the holder learns it", () -> !stuck.isValid());
    Redlock next = incident.client("web-1");
    next.acquire(patient).release();
    assertEquals(0, incident.type());
    incident.isOver();
  }

  @Test
  void leaseThatIsLost() throws Exception {
    begin("lease-lost.md", 3, LONG);
    Redlock service = incident.client(HOLDER);
    service.acquire(patient); // nobody extends it
    service.acquire(patient("orders/43").renewFor(Duration.ofSeconds(1)));
    service.acquire(patient("orders/44").renewFor(Duration.ofMinutes(5)));
    Redlock next = incident.client("web-1");
    next.operations().free("orders/44");
    for (String cause : List.of("EXPIRED", "RENEWAL_ENDED", "REFUSED")) {
      Await.until(
          "the loss is reported: " + cause,
          () -> incident.evidence().contains("is lost: " + cause + ", "));
    }
    next.acquire(renewed);
    assertEquals(120, incident.type());
    assertEquals(0, incident.type());
    incident.isOver();
  }

  private LeaseRequest patient(String resource) {
    return LeaseRequest.of(resource, incident.maxTtl()).waitUpTo(WAIT);
  }

  @Test
  void everythingIsContended() throws Exception {
    begin("contended.md", 3, LONG);
    Redlock first = incident.client(HOLDER);
    Lease lease = first.acquire(renewed.fair());
    assertContended(incident.client("web-1").tryAcquire(order));
    incident.sees(refusal());
    var waiting = incident.client("web-2").acquireAsync(renewed.fair());
    Await.until(
        "it waits in the queues",
        () -> {
          try {
            return first.operations().inspect("orders/42").nodes().stream()
                .allMatch(node -> node.waiters().contains("web-2"));
          } catch (InterruptedException e) {
            throw new AssertionError(e);
          }
        });
    assertEquals(120, incident.type());
    assertTrue(incident.evidence().contains("web-2"), incident.evidence());
    incident.type();
    lease.release();
    incident.sees(waiting.join().toString());
    incident.isOver();
  }

  @Test
  void masterThatIsDown() throws Exception {
    begin("master-down.md", 3);
    Redlock service = incident.client("web-1");
    incident.server(2).kill();
    incident.awaitState(service, 2, State.DOWN);
    service.acquire(patient).release();
    incident.server(3).kill();
    incident.awaitState(service, 3, State.DOWN);
    assertUnavailable(service.tryAcquire(order));
    incident.sees(refusal());
    incident.server(3).restart();
    incident.on("ssh 10.0.0.2 systemctl start redis-server", incident.server(2)::restart);
    assertEquals(1, incident.type());
    incident.type();
    incident.awaitState(service, 2, State.UP);
    incident.awaitState(service, 3, State.UP);
    assertEquals(0, incident.type());
    incident.isOver();
  }

  @Test
  void masterThatCameBackEmpty() throws Exception {
    begin("master-back-empty.md", 3);
    Redlock service = incident.client("web-1");
    service.acquire(patient).release();
    incident.server(2).kill();
    incident.awaitState(service, 2, State.DOWN);
    incident.server(2).restart();
    incident.awaitState(service, 2, State.ABSTAINING);
    assertEquals(0, incident.type());
    incident.awaitState(service, 2, State.UP);
    assertEquals(0, incident.type(), incident::evidence);
    incident.isOver();
  }

  @Test
  void masterThatIsRefused() throws Exception {
    begin("master-refused.md", 3);
    Redlock service = incident.client("web-1");
    service.acquire(patient).release();
    incident.server(2).command("CONFIG", "SET", "maxmemory", "100mb");
    incident.server(2).command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    incident.awaitState(service, 2, State.MISCONFIGURED);
    service.acquire(patient).release();
    assertEquals(1, incident.type());
    incident.type();
    incident.awaitState(service, 2, State.UP);
    assertEquals(0, incident.type());
    incident.isOver();
  }

  @Test
  void masterThatIsReplaced() throws Exception {
    begin("replace-a-master.md", 3);
    Redlock service = incident.client("web-1");
    service.acquire(patient).release();
    incident.on("ssh 10.0.0.2 systemctl stop redis-server", incident.server(2)::kill);
    incident.on("sleep 30", () -> incident.awaitState(service, 2, State.DOWN));
    incident.on("ssh 10.0.0.2 systemctl start redis-server", incident.server(2)::restart);
    incident.type();
    incident.type();
    service.acquire(patient).release();
    incident.type();
    incident.awaitState(service, 2, State.ABSTAINING);
    assertEquals(0, incident.type());
    incident.awaitState(service, 2, State.UP);
    assertEquals(0, incident.typeAgain(3));
    incident.isOver();
  }

  @Test
  void numberOfMastersThatChanges() throws Exception {
    begin("add-or-remove-masters.md", 3);
    Redlock old = incident.client("web-1");
    old.acquire(patient).release();
    incident.startMore(2);
    Redlock early = incident.client("web-2");
    incident.awaitState(early, 1, State.MISCONFIGURED);
    early.close();
    incident.type(); // export
    assertEquals(0, incident.type());
    old.acquire(patient).release();
    Redlock moving = incident.movingClient("web-1", 3);
    moving.acquire(patient).release();
    old.close();
    assertEquals(0, incident.type());
    moving.acquire(patient).release();
    Redlock service = incident.client("web-2");
    service.acquire(patient).release();
    moving.close();
    assertEquals(0, incident.type());
    for (int master = 1; master <= 5; master++) {
      incident.awaitState(service, master, State.UP);
    }
    incident.type(); // unset
    incident.type(); // export
    assertEquals(0, incident.type());
    service.acquire(patient).release();
    incident.isOver();
  }

  @Test
  void clocksThatDisagree() throws Exception {
    begin("clocks-apart.md", 3);
    Redlock service = incident.client("web-1");
    service.acquire(patient).release();
    incident.clock(2).set(Duration.ofMinutes(5));
    incident.awaitState(service, 2, State.MISCONFIGURED);
    service.acquire(patient).release();
    incident.on("ssh 10.0.0.2 chronyc makestep", () -> incident.clock(2).set(Duration.ZERO));
    assertEquals(1, incident.type());
    incident.type();
    incident.awaitState(service, 2, State.UP);
    assertEquals(0, incident.type());
    incident.isOver();
  }

  @Test
  void clocksThatWereAhead() throws Exception {
    begin("clocks-were-ahead.md", 3, LONG);
    for (int master = 1; master <= 3; master++) {
      incident.clock(master).set(Duration.ofHours(1));
    }
    Redlock before = incident.client("web-1");
    long future = before.acquire(patient).fencingToken();
    before.close(); // its process ends, and releases nothing
    for (int master = 1; master <= 3; master++) {
      incident.clock(master).set(Duration.ZERO);
    }
    Redlock service = incident.client(HOLDER);
    incident.sees(refusal());
    assertEquals(120, incident.type());
    for (int master = 1; master <= 3; master++) {
      incident.type();
    }
    Lease lease = service.acquire(renewed);
    assertTrue(lease.fencingToken() > future, "tokens rise");
    assertTrue(lease.fencingToken() < future + 1_000, "by one or a few");
    assertEquals(0, incident.type());
    incident.isOver();
  }

  @Test
  void counterThatIsFarAhead() throws Exception {
    begin("counter-far-ahead.md", 3, LONG);
    Redlock service = incident.client(HOLDER);
    service.acquire(patient).release();
    try (Connection connection = incident.server(1).connect()) {
      String absurd = Long.toString((1L << 53) - 4);
      connection.executeCommand(
          new CommandArguments(Protocol.Command.SET)
              .add("redlock:fence:orders/42")
              .add(absurd)
              .add("KEEPTTL"));
    }
    assertEquals(0, incident.type());
    service.acquire(patient).release(); // by the other masters
    incident.type();
    assertEquals(0, incident.type());
    Lease lease = service.acquire(renewed);
    assertTrue(lease.fencingToken() < 1L << 52, "nobody followed the counter");
    incident.isOver();
  }
}
