package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseRequest;
import io.redlock.ReleaseResult;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Release;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PendingReleaseTest {

  /** The sum of ttl, skew and margin of the test bed. */
  private static final Duration GIVES_UP_AFTER = Bed.TTL.plusSeconds(2).plusSeconds(1);

  private final Bed bed = new Bed(3);

  private void settle() {
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS + 1);
  }

  @Test
  void releaseTellsEveryNodeOnceAndLeavesNoTimer() {
    HeldLease lease = bed.lease();
    CompletableFuture<ReleaseResult> result = lease.releaseAsync();
    assertEquals(ReleaseResult.RELEASED, Bed.now(result));
    assertEquals("abc", bed.releasedOn());
    settle();
    assertEquals(3, bed.releases());
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void releaseCarriesTheOwnerAndTheHighestTokenOfTheClaim() {
    HeldLease lease = bed.lease();
    lease.close();
    Release release = bed.node(1).asked(Release.class).get(0);
    assertEquals("owner-1", release.owner());
    assertEquals(lease.fencingToken(), release.token());
    assertEquals("[app:orders/42]", release.names().toString());
  }

  @Test
  void releaseOfABurstIsConfirmedThoughItWaitsForItsTurn() {
    HeldLease lease = bed.lease();
    bed.script(request -> null);
    bed.nodes.forEach(node -> node.isBusy = true);
    CompletableFuture<ReleaseResult> result = lease.releaseAsync();
    bed.time.passMillis(20 * Bed.NODE_TIMEOUT_MILLIS);
    assertFalse(result.isDone());
    bed.node(0).answer(Release.class, NodeReply.RELEASED);
    bed.node(2).answer(Release.class, NodeReply.RELEASED);
    assertEquals(ReleaseResult.RELEASED, Bed.now(result));
  }

  @Test
  void releaseWaitsForItsTurnNoLongerThanNodesAnswer() {
    HeldLease first = bed.lease();
    HeldLease second = bed.lease();
    bed.script(request -> null);
    bed.nodes.forEach(node -> node.isBusy = true);
    CompletableFuture<ReleaseResult> silenced = first.releaseAsync();
    bed.time.passMillis(3 * Bed.NODE_TIMEOUT_MILLIS);
    bed.nodes.forEach(node -> node.isBusy = false);
    settle();
    assertEquals(ReleaseResult.UNCONFIRMED, Bed.now(silenced));
    bed.nodes.forEach(node -> node.isBusy = true);
    CompletableFuture<ReleaseResult> endless = second.releaseAsync();
    bed.time.pass(GIVES_UP_AFTER.plusSeconds(1));
    assertEquals(ReleaseResult.UNCONFIRMED, Bed.now(endless));
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void releaseIsRepeatedOnceMemoryIsThereAgain() {
    HeldLease lease = bed.lease();
    bed.script(request -> NodeReply.unreachable("connecting"));
    bed.time.shortOfMemory(Duration.ofSeconds(5));
    lease.close();
    bed.time.passWithChecks(Duration.ofSeconds(6));
    bed.script(request -> NodeReply.RELEASED);
    int told = bed.releases();
    bed.time.passWithChecks(Duration.ofSeconds(2));
    assertEquals(told + 3, bed.releases());
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void releaseThatANodeCannotTakeForSecondsIsRepeated() {
    HeldLease lease = bed.lease();
    bed.script(
        request -> {
          throw new OutOfMemoryError("memory is short");
        });
    bed.time.shortOfMemory(Duration.ofSeconds(5));
    lease.close();
    bed.time.passWithChecks(Duration.ofSeconds(6));
    bed.script(request -> NodeReply.RELEASED);
    bed.time.passWithChecks(Duration.ofSeconds(2));
    assertEquals("abc", bed.releasedOn());
    assertEquals(0, bed.time.tasks());
  }

  @ParameterizedTest
  @ValueSource(strings = {"release", "begin"})
  void releaseThatCannotBeginForSecondsBeginsOnceMemoryIsThereAgain(String step) {
    HeldLease lease = bed.lease();
    bed.time.shortOfMemory(Duration.ofSeconds(5));
    bed.time.whenRead(
        () -> {
          StackTraceElement reader = new Throwable().getStackTrace()[2];
          if (reader.getClassName().equals(Owner.class.getName())
              && reader.getMethodName().equals(step)) {
            throw new OutOfMemoryError("memory is short");
          }
        });
    assertThrows(OutOfMemoryError.class, lease::close);
    bed.time.passWithChecks(Duration.ofSeconds(6));
    assertEquals("", bed.releasedOn());
    bed.time.whenRead(() -> {});
    bed.time.passWithChecks(Duration.ofSeconds(2));
    assertEquals("abc", bed.releasedOn());
    assertEquals(ReleaseResult.RELEASED, Bed.now(lease.releaseAsync()));
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void extendThatFindsNoMemoryDoesNotHoldUpTheRelease() {
    HeldLease lease = bed.lease();
    bed.whenCounted =
        () -> {
          if (Bed.isIn(MedianClock.class, "micros")) {
            throw new OutOfMemoryError("memory is short");
          }
        };
    assertThrows(OutOfMemoryError.class, () -> lease.extendAsync(Bed.TTL));
    assertEquals(ReleaseResult.RELEASED, Bed.now(lease.releaseAsync()));
    assertEquals("abc", bed.releasedOn());
  }

  @Test
  void nodeThatNeverAcknowledgesIsGivenUpWhenItsKeyHasRunOut() {
    HeldLease lease = bed.lease();
    bed.node(2).script(request -> NodeReply.unreachable("refused connection"));
    lease.close();
    bed.time.pass(GIVES_UP_AFTER.minusMillis(1));
    assertTrue(bed.time.tasks() > 0);
    bed.time.passMillis(1_500);
    assertEquals(0, bed.time.tasks(), "no timer is left");
    int told = bed.node(2).releases();
    bed.time.pass(Duration.ofMinutes(1));
    assertEquals(told, bed.node(2).releases());
  }

  @Test
  void releaseThatWaitsInsideItsNodeIsWithdrawnWhenTheKeyHasRunOut() {
    HeldLease lease = bed.lease();
    bed.node(2).script(request -> null);
    bed.node(2).holdSends();
    assertEquals(ReleaseResult.RELEASED, Bed.now(lease.releaseAsync()));
    bed.time.pass(GIVES_UP_AFTER.minusMillis(1));
    ScriptedNode.Call waiting = bed.node(2).calls().get(1);
    assertFalse(waiting.wasWithdrawn());
    bed.time.passMillis(2);
    assertTrue(waiting.wasWithdrawn());
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void releaseThatIsJustBeingHandedOverWhenItIsGivenUpIsWithdrawnToo() {
    HeldLease lease = bed.lease();
    ScriptedNode node = bed.node(2);
    node.script(request -> NodeReply.unreachable("connecting"));
    lease.close();
    bed.time.pass(GIVES_UP_AFTER.minusSeconds(2));
    node.holdSends();
    node.script(
        request -> {
          bed.time.passMillis(3_000);
          return null;
        });
    bed.time.passMillis(2_000);
    assertTrue(node.calls().get(node.calls().size() - 1).wasWithdrawn());
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void longOutageIsSurvived() {
    HeldLease lease = bed.lease(LeaseRequest.of("orders/42", Duration.ofMinutes(10)));
    bed.node(2).script(request -> NodeReply.unreachable("refused connection"));
    lease.close();
    bed.time.pass(Duration.ofMinutes(9));
    int told = bed.node(2).releases();
    assertTrue(told > 200 && told < 1_000, told + " releases in nine minutes");
    bed.node(2).script(request -> NodeReply.RELEASED);
    bed.time.pass(Duration.ofSeconds(3));
    assertEquals(told + 1, bed.node(2).releases());
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void resultIsUnconfirmedAfterANodeTimeoutWithoutAQuorum() {
    HeldLease lease = bed.lease();
    bed.script(request -> null);
    CompletableFuture<ReleaseResult> result = lease.releaseAsync();
    bed.node(0).answer(Release.class, NodeReply.RELEASED);
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS - 1);
    assertFalse(result.isDone());
    bed.time.passMillis(1);
    assertEquals(ReleaseResult.UNCONFIRMED, Bed.now(result));
    bed.node(1).answer(Release.class, NodeReply.RELEASED);
    bed.node(2).answer(Release.class, NodeReply.RELEASED);
    assertEquals(0, bed.time.tasks(), "acknowledged late, but acknowledged");
    assertEquals(ReleaseResult.UNCONFIRMED, Bed.now(lease.releaseAsync()), "repeats only report");
    assertEquals(3, bed.releases());
  }

  @Test
  void resultIsUnconfirmedAtOnceWhenEveryNodeSaysItCannot() {
    HeldLease lease = bed.lease();
    bed.script(request -> NodeReply.unreachable("closed"));
    assertEquals(ReleaseResult.UNCONFIRMED, Bed.now(lease.releaseAsync()));
  }

  @Test
  void keysThatWereGoneAreReportedAsNotHeld() {
    HeldLease lease = bed.lease();
    bed.script(request -> NodeReply.NOT_HELD);
    assertEquals(ReleaseResult.NOT_HELD, Bed.now(lease.releaseAsync()));
  }

  @Test
  void errorOfOneNodeKeepsNoOtherFromBeingToldAndTheNodeIsToldAgain() {
    HeldLease lease = bed.lease();
    bed.node(0).failsNext(new Error("a defect"));
    assertEquals(ReleaseResult.RELEASED, Bed.now(lease.releaseAsync()));
    assertEquals("bc", bed.releasedOn());
    bed.time.passMillis(100);
    assertEquals("abc", bed.releasedOn());
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void errorWhileARepeatIsScheduledHidesNoResult() {
    HeldLease lease = bed.lease();
    bed.script(request -> null);
    CompletableFuture<ReleaseResult> result = lease.releaseAsync();
    bed.node(0).answer(Release.class, NodeReply.RELEASED);
    bed.time.duringNextSchedule(
        () -> {
          throw new Error("no memory for a task");
        });
    assertThrows(
        Error.class, () -> bed.node(1).answer(Release.class, NodeReply.unreachable("down")));
    bed.node(2).answer(Release.class, NodeReply.unreachable("down"));
    assertEquals(ReleaseResult.UNCONFIRMED, Bed.now(result));
    bed.script(Bed::yes);
    bed.time.passMillis(1_000);
    assertEquals(3 + 2, bed.releases(), "the next timer serves both");
  }

  @Test
  void releaseWhoseTimeoutCannotBeScheduledIsSentAllTheSame() {
    HeldLease lease = bed.lease();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.script(request -> null);
    bed.time.duringNextSchedule(
        () -> {
          throw new Error("no memory for a task");
        });
    assertThrows(Error.class, lease::releaseAsync);
    assertEquals("abc", bed.releasedOn());
  }
}
