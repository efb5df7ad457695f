package io.redlock.chaos;

import static io.redlock.chaos.GatedMasters.NODES;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.testbed.Await;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A grant is executed after the lease, or the attempt, that it was for has ended. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class LateGrantTest {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(10);
  private static final String RESOURCE = "late-resource";
  private static final int LATE = 4;

  @AutoClose private GatedMasters masters;
  private GateProxy gate;
  private Redlock client;

  @BeforeEach
  void start() {
    masters = new GatedMasters();
    gate = masters.gate(LATE);
    client = masters.connect(NODE_TIMEOUT);
  }

  @Test
  void lateGrantAfterReleaseLeavesNoKey() throws Exception {
    Lease lease = acquireWhileTheGrantIsHeld();
    assertEquals(ReleaseResult.RELEASED, lease.release());
    gate.requests().open();
    awaitReplies(gate, 2);
    assertReply(0, "GRANT", lease);
    assertReply(1, "RELEASED", lease);
    assertNothingLocked(lease);
  }

  @Test
  void tombstoneRefusesAJoinThatArrivesAfterItsConnectionWasCut() throws Exception {
    Lease lease = acquireWhileTheGrantIsHeld();
    gate.requests().drop();
    lease.extend(TTL);
    gate.requests().awaitHeld(RESOURCE);
    gate.cut();
    assertEquals(ReleaseResult.RELEASED, lease.release());
    awaitReplies(gate, 1);
    gate.requests().open();
    awaitAllAnswered();
    List<String> replies = gate.replies().passed(RESOURCE);
    assertTrue(replies.stream().noneMatch(it -> it.contains("JOINED")), replies::toString);
    assertNothingLocked(lease);
  }

  @Test
  void lateGrantsOfAFailedAttemptLeaveNoKey() throws Exception {
    Redlock hasty = masters.connect(Duration.ofMillis(200));
    List<GateProxy> late = masters.gates().subList(2, NODES);
    late.forEach(gate -> gate.requests().hold(RESOURCE));
    assertUnavailable(hasty.tryAcquire(RESOURCE, TTL));
    for (int node = 2; node < NODES; node++) {
      assertFalse(masters.isHeld(node, RESOURCE));
      masters.gate(node).requests().open();
    }
    late.forEach(gate -> awaitReplies(gate, 2));
    masters.awaitFree(RESOURCE);
    assertTrue(client.acquire(RESOURCE, TTL, TTL).isValid());
  }

  @Test
  void lateGrantsOfACancelledCallLeaveNoKey() {
    masters.gates().forEach(each -> each.requests().hold(RESOURCE));
    CompletableFuture<AcquireResult> acquiring =
        client.acquireAsync(LeaseRequest.of(RESOURCE, TTL));
    masters.gates().forEach(each -> each.requests().awaitHeld(RESOURCE));
    assertTrue(acquiring.cancel(true));
    masters.gates().forEach(each -> each.requests().open());
    masters.gates().forEach(each -> awaitReplies(each, 2));
    masters.awaitFree(RESOURCE);
  }

  @Test
  void grantThatIsDeliveredTwiceLeavesNoKey() throws Exception {
    gate.requests().duplicate(RESOURCE);
    Lease lease = client.acquire(RESOURCE, TTL, Duration.ZERO);
    awaitReplies(gate, 2);
    assertEquals(ReleaseResult.RELEASED, lease.release());
    assertNothingLocked(lease);
  }

  /** A lease that four nodes granted while the fifth has not seen the request. */
  private Lease acquireWhileTheGrantIsHeld() throws InterruptedException {
    gate.requests().hold(RESOURCE);
    Lease lease = client.acquire(RESOURCE, TTL, Duration.ZERO);
    gate.requests().awaitHeld(RESOURCE);
    return lease;
  }

  private static void awaitReplies(GateProxy of, int count) {
    Await.until(
        count + " requests are answered", () -> of.replies().passed(RESOURCE).size() >= count);
  }

  /** A release may have come twice: one that is lost with its connection is sent again. */
  private void awaitAllAnswered() {
    Await.until(
        "what reached the late node is answered",
        () -> gate.replies().passed(RESOURCE).size() == gate.requests().passed(RESOURCE).size());
  }

  /** What the late node said about the resource, in the order in which it was executed. */
  private void assertReply(int position, String word, Lease lease) {
    List<String> replies = gate.replies().passed(RESOURCE);
    String expected = word + " " + lease.fencingToken();
    assertTrue(replies.get(position).contains(expected), replies::toString);
  }

  private void assertNothingLocked(Lease lease) throws InterruptedException {
    masters.awaitFree(RESOURCE);
    assertEquals(lease.fencingToken(), masters.fence(LATE, RESOURCE));
    try (Lease next = client.acquire(RESOURCE, TTL, Duration.ZERO)) {
      assertTrue(next.fencingToken() > lease.fencingToken());
    }
  }
}
