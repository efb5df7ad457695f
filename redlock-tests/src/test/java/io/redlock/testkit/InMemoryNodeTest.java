package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a test can do to a node in memory. */
class InMemoryNodeTest {

  private static final List<String> NAME = List.of("n");

  private final FakeTicker ticker = new FakeTicker();
  private final FakeScheduler scheduler = new FakeScheduler(ticker);
  private final InMemoryServer server = new InMemoryServer(ticker);
  private final InMemoryNode node = new InMemoryNode("a", server);
  private final List<NodeStatus> states = new ArrayList<>();
  private final List<Kind> answers = new ArrayList<>();
  private final long token = server.nowMicros();
  private final Grant grant = new Grant(NAME, "me", token, 10_000);
  private final Release release = new Release(NAME, "me", token);

  @BeforeEach
  void start() {
    node.start(ticker, scheduler, states::add);
  }

  @Test
  void heldSendCanBeTakenBack() {
    node.holdSends();
    Pending pending = send(grant);
    assertTrue(pending.withdraw());
    assertFalse(pending.withdraw());
    node.letGo();
    assertEquals(List.of(), answers);
    assertEquals(Map.of(), server.locks());
  }

  @Test
  void heldRequestIsNotYetExecuted() {
    node.holdRequests();
    assertFalse(send(grant).withdraw());
    assertEquals(1, node.requestsOnTheWay());
    assertEquals(Map.of(), server.locks());
    node.letGo();
    assertEquals(List.of(Kind.GRANTED), answers);
  }

  @Test
  void heldReplyIsExecutedAndUnanswered() {
    node.holdReplies();
    send(grant);
    assertEquals(1, node.repliesOnTheWay());
    assertEquals(Map.of("n", "me"), server.locks());
    assertEquals(List.of(), answers);
    node.letGo();
    assertEquals(List.of(Kind.GRANTED), answers);
  }

  @Test
  void wakesAreToldWithoutALock() {
    Ticket first = new Ticket("client", 1, token + 1, 3_000);
    send(grant);
    send(new Grant(NAME, "other", token + 1, 10_000, first));
    List<State> seen = new ArrayList<>();
    server.listen(
        waiter -> {
          NodeStatus status =
              CompletableFuture.supplyAsync(node::status).orTimeout(60, TimeUnit.SECONDS).join();
          seen.add(status.state());
        });
    send(new Release(NAME, "me", token, true, null));
    assertEquals(List.of(Kind.GRANTED, Kind.HELD, Kind.RELEASED), answers);
    assertEquals(List.of(State.UP), seen);
  }

  @Test
  void cutLeavesWhatWasOnTheWayUnknownAndItsRequestsCanStillArrive() {
    node.holdRequests();
    send(grant);
    node.cut();
    assertEquals(List.of(Kind.UNKNOWN), answers);
    node.letGo();
    assertEquals(Map.of(), server.locks());
    node.deliverStrays();
    assertEquals(Map.of("n", "me"), server.locks());
  }

  @Test
  void downNodeRefusesAllButReleasesWhichGoFirstWhenItIsBack() {
    send(grant);
    node.down("connection refused");
    send(new Grant(NAME, "other", token + 1, 10_000));
    send(release);
    assertEquals(List.of(Kind.GRANTED, Kind.UNREACHABLE), answers);
    assertEquals(State.DOWN, node.status().state());
    assertEquals("connection refused", node.status().reason().orElse(""));
    node.up();
    assertEquals(List.of(Kind.GRANTED, Kind.UNREACHABLE, Kind.RELEASED), answers);
    assertEquals(
        List.of(State.UP, State.DOWN, State.UP), states.stream().map(NodeStatus::state).toList());
  }

  @Test
  void closeAnswersEverything() {
    node.holdRequests();
    send(grant);
    node.holdSends();
    send(release);
    node.close();
    assertEquals(List.of(Kind.UNKNOWN, Kind.UNREACHABLE), answers);
  }

  @Test
  void delayedRequestsAndRepliesKeepTheirOrder() {
    long[] requestMillis = {30, 10};
    int[] next = {0};
    node.delay(() -> requestMillis[next[0]++] * 1_000_000, () -> 5_000_000);
    send(grant);
    send(release);
    scheduler.runFor(Duration.ofMillis(29));
    assertEquals(Map.of(), server.locks());
    assertEquals(2, node.requestsOnTheWay());
    scheduler.runFor(Duration.ofMillis(1));
    assertEquals(2, node.repliesOnTheWay());
    assertEquals(List.of(), answers);
    scheduler.runFor(Duration.ofMillis(5));
    assertEquals(List.of(Kind.GRANTED, Kind.RELEASED), answers);
    assertEquals(0, scheduler.pending());
  }

  @Test
  void duplicatedGrantIsGrantedOnce() {
    node.duplicate(true);
    send(grant);
    send(release);
    send(grant);
    assertEquals(List.of(Kind.GRANTED, Kind.RELEASED, Kind.STALE), answers);
  }

  @Test
  void steppedClockMovesTheOffsetAndExpires() {
    send(grant);
    long before = node.clockOffsetMicros().getAsLong();
    server.stepClock(Duration.ofSeconds(11));
    assertEquals(11_000_000, node.clockOffsetMicros().getAsLong() - before);
    assertEquals(Map.of(), server.locks());
    assertEquals(token, server.cell("n").counter());
    server.loseData();
    assertEquals(0, server.cell("n").counter());
  }

  @Test
  void abstainingServerShowsInTheStatus() {
    server.setStanding(NodeModel.Standing.ABSTAINING);
    send(grant);
    assertEquals(List.of(Kind.ABSTAIN), answers);
    assertEquals(State.ABSTAINING, node.status().state());
  }

  private Pending send(NodeRequest request) {
    return node.send(request, 0, (slot, reply) -> answers.add(reply.kind()));
  }
}
