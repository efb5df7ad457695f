package io.redlock.chaos;

import static io.redlock.chaos.GatedMasters.NODES;
import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertContended;
import static io.redlock.testbed.Results.assertExtended;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.testbed.Await;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Results;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Masters are killed before, in the middle of, and after the fan-out of an acquire. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class KilledNodesTest {

  private static final Duration TTL = Duration.ofSeconds(30);

  /** Long, so that it shows if anybody waits for it; a scene with a request in it must be over. */
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(14);

  private static final String RESOURCE = "resource-under-fire";
  private static final LeaseRequest REQUEST = LeaseRequest.of(RESOURCE, TTL);

  @AutoClose private GatedMasters masters;
  private Redlock client;

  @BeforeEach
  void start() {
    masters = new GatedMasters();
    client = masters.connect(NODE_TIMEOUT);
  }

  /** How far a victim had come when it was killed. */
  enum Progress {
    /** It has not seen the request. */
    NOT_EXECUTED,
    /** It has granted, but the reply is lost. */
    EXECUTED_UNANSWERED,
    /** Its grant has been counted. */
    EXECUTED_ANSWERED
  }

  /**
   * Two nodes have granted when the victims die: the victims themselves as far as they have, other
   * nodes for the rest. What is left is held back until they are dead.
   */
  @ParameterizedTest
  @EnumSource
  void acquireSucceedsThoughTwoNodesDieInTheMiddle(Progress progress) throws Exception {
    int[] victims = {0, 1};
    int granted = progress == Progress.EXECUTED_ANSWERED ? 0 : victims.length;
    List<GateProxy.Gate> late =
        IntStream.range(granted + 2, NODES)
            .mapToObj(node -> masters.gate(node).requests())
            .toList();
    List<GateProxy.Gate> held = new ArrayList<>(late);
    for (int node : victims) {
      switch (progress) {
        case NOT_EXECUTED -> held.add(masters.gate(node).requests());
        case EXECUTED_UNANSWERED -> held.add(masters.gate(node).replies());
        case EXECUTED_ANSWERED -> {}
      }
    }
    held.forEach(gate -> gate.hold(RESOURCE));

    CompletableFuture<AcquireResult> acquiring = client.acquireAsync(REQUEST);
    for (int node = granted; node < granted + 2; node++) {
      int answered = node;
      Await.until(
          "node " + node + " has answered",
          () -> !masters.gate(answered).replies().passed(RESOURCE).isEmpty());
    }
    held.forEach(gate -> gate.awaitHeld(RESOURCE));
    assertFalse(acquiring.isDone());
    masters.kill(victims);
    long killed = System.nanoTime();
    for (int node : victims) {
      masters.gate(node).replies().drop();
    }
    assertFalse(acquiring.isDone());
    late.forEach(GateProxy.Gate::open);
    AcquireResult result = Await.value("the acquire ends", acquiring);
    assertTookNoTimeout(killed);
    Lease lease = assertAcquired(result);
    assertWorksAndLeavesNothing(lease, client);
  }

  @Test
  void acquireFailsWhenAMajorityDiesInTheMiddleAndLeavesNothingOnTheSurvivors() throws Exception {
    List<GateProxy.Gate> held =
        List.of(masters.gate(2).replies(), masters.gate(3).requests(), masters.gate(4).requests());
    held.forEach(gate -> gate.hold(RESOURCE));
    CompletableFuture<AcquireResult> acquiring = client.acquireAsync(REQUEST);
    Await.until("two hold it", () -> masters.isHeld(0, RESOURCE) && masters.isHeld(1, RESOURCE));
    held.forEach(gate -> gate.awaitHeld(RESOURCE));
    assertFalse(acquiring.isDone());
    masters.kill(2, 3, 4);
    long killed = System.nanoTime();
    masters.gate(2).replies().drop();
    AcquireResult result = Await.value("the acquire ends", acquiring);
    assertTookNoTimeout(killed);
    assertUnavailable(result, client, 2, 3, 4);
    masters.awaitFree(RESOURCE);
  }

  /** Nobody waited for a timeout. */
  private static void assertTookNoTimeout(long killedNanos) {
    Duration took = Duration.ofNanos(System.nanoTime() - killedNanos);
    assertTrue(took.compareTo(NODE_TIMEOUT.dividedBy(2)) < 0, () -> "took " + took);
  }

  private void assertWorksAndLeavesNothing(Lease lease, Redlock of) throws Exception {
    assertTrue(lease.isValid());
    assertExtended(lease.extend(TTL));
    assertContended(of.tryAcquire(REQUEST));
    assertEquals(ReleaseResult.RELEASED, lease.release());
    masters.awaitFree(RESOURCE);
    AcquireResult next = of.tryAcquire(REQUEST);
    Lease nextLease = assertAcquired(next);
    assertTrue(nextLease.fencingToken() > lease.fencingToken());
  }

  /**
   * The result names every node, and gives a reason for each that is dead. It may have been certain
   * before the living had answered.
   */
  private static void assertUnavailable(AcquireResult result, Redlock client, int... dead) {
    AcquireResult unavailable = Results.assertUnavailable(result);
    List<NodeVote> votes = unavailable.votes().nodes();
    assertEquals(
        client.operations().nodes().stream().map(NodeStatus::name).toList(),
        votes.stream().map(NodeVote::node).toList());
    for (int node = 0; node < NODES; node++) {
      NodeVote vote = votes.get(node);
      int position = node;
      boolean isDead = Arrays.stream(dead).anyMatch(each -> each == position);
      boolean alive = vote.vote() == Vote.YES || vote.vote() == Vote.NOT_AWAITED;
      assertEquals(isDead, !alive, unavailable::toString);
      assertFalse(vote.detail().isBlank(), unavailable::toString);
      assertTrue(unavailable.votes().toString().contains(vote.node() + " " + vote.detail()));
    }
  }
}
