package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.scenes.Scenes;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * What every node does, one rule a test. Runs against the node in memory and against a lane to a
 * real server: skew 2 s, retention at least 10 min.
 */
public abstract class LockNodeContract {

  private static final String A = "owner-a";
  private static final long TTL = 20_000;

  /** Between two looks at a remaining life; generous for a busy machine. */
  private static final long SLACK = 5_000;

  private static final AtomicInteger NAMES = new AtomicInteger();

  private final String name = newName();

  private NodeUnderTest subject;
  private LockNode node;
  private long token;
  private final Queue<NodeStatus> states = new ConcurrentLinkedQueue<>();

  /** A node that votes as soon as it is up, over a server where the names are new. */
  protected abstract NodeUnderTest open();

  @BeforeEach
  final void start() {
    subject = open();
    node = subject.node();
    node.start(subject.ticker(), subject.scheduler(), states::add);
    Await.until("node is up", () -> node.status().state() == State.UP);
    // Once it has answered, everything goes out in the order given.
    ask(new Release(List.of(name + ":before"), A, subject.nowMicros(), 0, false, null, 0));
    token = subject.nowMicros();
  }

  @AfterEach
  final void stop() {
    node.close();
    subject.close();
  }

  // What it decides.

  @TestFactory
  @AgainIfItStoodStill
  Stream<DynamicTest> nodeDecidesAsTheScenesSay() {
    return Stream.of("Grant", "Extend", "Release", "Queue", "Readers")
        .map(file -> "testkit/node/" + file + ".txt")
        .flatMap(file -> Scenes.of(file, () -> new NodeStage(open(), newName() + ":")));
  }

  private static String newName() {
    return "contract:" + NAMES.incrementAndGet();
  }

  /** A server names such a value by its digest. */
  @Test
  void longValueOfAForeignClientIsNamedAndSetFree() {
    String foreign = "not printable ".repeat(100);
    subject.set(name, foreign, TTL);
    NodeReport report = Objects.requireNonNull(ask(new Inspect(List.of(name), token)).report());
    String digest = String.valueOf(report.owner());
    assertTrue(digest.startsWith("sha1:") || digest.equals(foreign), digest);
    NodeReply freed = ask(new Free(List.of(name), "freed/ops@host", 1, 0, List.of(digest)));
    assertEquals(Kind.RELEASED, freed.kind());
    long millis = subject.stored(name).remainingMillis();
    assertTrue(millis <= TTL && millis > TTL - SLACK, () -> "lives " + millis + " ms");
  }

  // Order, answers, life.

  @Test
  void requestsAreExecutedInTheOrderGiven() {
    int cycles = 200;
    List<CompletableFuture<NodeReply>> grants = new ArrayList<>();
    List<CompletableFuture<NodeReply>> releases = new ArrayList<>();
    for (int i = 0; i < cycles; i++) {
      grants.add(send(new Grant(List.of(name), "owner-" + i, token + i, TTL)));
      releases.add(send(release("owner-" + i, token + i)));
    }
    for (int i = 0; i < cycles; i++) {
      long before = i == 0 ? 0 : token + i - 1;
      assertEquals(NodeReply.granted(before), Await.value("grant " + i, grants.get(i)));
      assertEquals(NodeReply.RELEASED, Await.value("release " + i, releases.get(i)));
    }
  }

  @Test
  void handlerMaySendTheNextRequest() {
    CompletableFuture<NodeReply> last = new CompletableFuture<>();
    node.send(
        new Grant(List.of(name), A, token, TTL),
        0,
        (slot, granted) -> node.send(release(A, token), 0, (again, reply) -> last.complete(reply)));
    assertEquals(NodeReply.RELEASED, Await.value("the release is answered", last));
  }

  @Test
  void slotComesBackUnchanged() {
    CompletableFuture<Integer> slot = new CompletableFuture<>();
    node.send(release(A, token), 7, (given, reply) -> slot.complete(given));
    assertEquals(7, Await.value("the release is answered", slot));
  }

  @Test
  void requestTakenBackIsNeverExecutedAndAnyOtherIsAnsweredOnce() {
    int requests = 200;
    AtomicInteger[] answers = new AtomicInteger[requests];
    boolean[] withdrawn = new boolean[requests];
    for (int i = 0; i < requests; i++) {
      AtomicInteger count = answers[i] = new AtomicInteger();
      Pending pending = node.send(grantNumbered(i), i, (slot, reply) -> count.incrementAndGet());
      withdrawn[i] = i % 2 == 0 && pending.withdraw();
    }
    ask(release(A, token)); // answered last: what was sent has been executed before
    for (int i = 0; i < requests; i++) {
      assertEquals(withdrawn[i] ? 0 : 1, answers[i].get(), "answers to request " + i);
      assertEquals(withdrawn[i], subject.stored(name + ":" + i).owner().isEmpty(), "request " + i);
    }
  }

  @Test
  void requestTakenBackAfterItsAnswerIsTooLate() {
    CompletableFuture<NodeReply> reply = new CompletableFuture<>();
    Pending pending =
        node.send(
            new Grant(List.of(name), A, token, TTL), 0, (slot, answer) -> reply.complete(answer));
    Await.value("the grant is answered", reply);
    assertFalse(pending.withdraw());
    assertEquals(Optional.of(A), subject.stored(name).owner());
  }

  @Test
  void closedNodeIsUnreachable() {
    node.close();
    node.close();
    assertEquals(Kind.UNREACHABLE, grant(A, token, TTL).kind());
    assertEquals(Kind.UNREACHABLE, ask(release(A, token)).kind());
    assertEquals(State.CLOSED, node.status().state());
    assertNothingStored();
  }

  @Test
  void releaseGivenBeforeTheCloseGetsOut() {
    grant(A, token, TTL);
    CompletableFuture<NodeReply> reply = send(release(A, token));
    node.close();
    Await.value("the release is answered", reply);
    assertEquals(Optional.empty(), subject.stored(name).owner());
  }

  @Test
  void everythingIsAnsweredOnceThoughTheNodeCloses() {
    int requests = 200;
    AtomicInteger[] answers = new AtomicInteger[requests];
    for (int i = 0; i < requests; i++) {
      AtomicInteger count = answers[i] = new AtomicInteger();
      node.send(grantNumbered(i), i, (slot, reply) -> count.incrementAndGet());
    }
    node.close();
    for (int i = 0; i < requests; i++) {
      AtomicInteger count = answers[i];
      Await.until("request " + i + " is answered", () -> count.get() > 0);
      assertEquals(1, count.get(), "answers to request " + i);
    }
  }

  @Test
  void clockOffsetLeadsToTheServersClock() {
    Await.until("the clock is known", () -> node.clockOffsetMicros().isPresent());
    long told = node.clockOffsetMicros().getAsLong() + subject.ticker().monotonicNanos() / 1_000;
    assertTrue(
        Math.abs(told - subject.nowMicros()) < SLACK * 1_000,
        () -> told + " is far from " + subject.nowMicros());
  }

  @Test
  void changesOfStateAreTold() {
    node.close();
    Await.until("the end is told", () -> states().contains(State.CLOSED));
    List<State> told = states();
    assertEquals(State.UP, told.get(told.size() - 2));
    assertEquals(State.CLOSED, told.get(told.size() - 1));
  }

  private List<State> states() {
    return states.stream().map(NodeStatus::state).toList();
  }

  @Test
  void statusNamesTheNode() {
    assertEquals(node.name(), node.status().name());
    assertEquals("", node.status().reason().orElse(""));
  }

  private Grant grantNumbered(int i) {
    return new Grant(List.of(name + ":" + i), A, token, TTL);
  }

  private NodeReply grant(String owner, long at, long ttlMillis) {
    return ask(new Grant(List.of(name), owner, at, ttlMillis));
  }

  private Release release(String owner, long at) {
    return new Release(List.of(name), owner, at, 0, false, null, 0);
  }

  private NodeReply ask(NodeRequest request) {
    return Requests.ask(node, request);
  }

  private CompletableFuture<NodeReply> send(NodeRequest request) {
    return Requests.send(node, request);
  }

  private void assertNothingStored() {
    assertEquals(Optional.empty(), subject.stored(name).owner());
    assertEquals(0, subject.stored(name).fence());
  }
}
