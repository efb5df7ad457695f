package io.redlock.driver;

import static io.redlock.driver.AcquireLoopTest.attempts;
import static io.redlock.driver.AcquireLoopTest.grants;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.spi.NodeReply;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Calls that wait for a decision and not for a holder. */
class UnlessHeldTest {

  private static final Duration DECISION = Duration.ofSeconds(2);
  private static final LeaseRequest DECIDING = Bed.REQUEST.waitUpTo(DECISION).unlessHeld();
  private static final NodeReply HELD = NodeReply.heldBy(60_000, 5, "one");

  private final Bed bed = new Bed(3);

  @Test
  void callEndsAsSoonAsOneHolderIsKnown() {
    bed.script(grants(HELD));
    AcquireResult refusal = Bed.now(bed.redlock.acquireAsync(DECIDING));
    assertEquals(By.HOLDER, refusal.contendedBy().orElseThrow());
    assertEquals(1, attempts(bed));
  }

  @Test
  void splitVotesAreAskedAgainUntilOneRequestHolds() {
    bed.node(0).script(grants(HELD));
    bed.node(1).script(grants(NodeReply.heldBy(60_000, 5, "other")));
    bed.node(2).script(Bed::yes);
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(DECIDING);
    bed.time.passMillis(100);
    assertFalse(call.isDone());
    bed.script(Bed::yes);
    bed.time.passMillis(500);
    assertTrue(AcquireLoopTest.lease(call).isValid());
  }

  @Test
  void nodeThatMaySettleWhoHoldsIsWaitedForWhereTheCallEndsByIt() {
    Bed four = new Bed(4);
    CompletableFuture<AcquireResult> once = four.redlock.acquireAsync(Bed.REQUEST);
    four.answerGrants(HELD, 0, 1);
    assertEquals(By.UNKNOWN, Bed.now(once).contendedBy().orElseThrow());
    CompletableFuture<AcquireResult> call = four.redlock.acquireAsync(DECIDING);
    four.answerGrants(HELD, 2, 3); // of the first call
    four.answerGrants(HELD, 0, 1);
    assertFalse(call.isDone());
    four.answerGrants(HELD, 3);
    assertEquals(By.HOLDER, Bed.now(call).contendedBy().orElseThrow());
  }

  @Test
  void withoutADecisionTheCallEndsWithItsWait() {
    bed.script(grants(NodeReply.unreachable("down")));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(DECIDING);
    bed.time.passMillis(1_999);
    assertFalse(call.isDone());
    bed.time.passMillis(60);
    assertEquals(AcquireResult.Outcome.UNAVAILABLE, Bed.now(call).outcome());
    bed.assertNothingIsLeft("without a decision");
  }

  @Test
  void callsOfOneServiceDoNotWaitForEachOther() {
    bed.lease(DECIDING);
    bed.script(grants(HELD));
    assertEquals(
        By.HOLDER, Bed.now(bed.redlock.acquireAsync(DECIDING)).contendedBy().orElseThrow());
  }

  @Test
  void turnsOtherNamesAndLocksAreRefused() {
    Redlock redlock = bed.redlock;
    LeaseRequest any = LeaseRequest.anyOf(List.of("a", "b"), Bed.TTL).unlessHeld();
    LeaseRequest lock = DECIDING.renewFor(Bed.TTL);
    for (LeaseRequest refused : List.of(DECIDING.fair(), any)) {
      String why =
          assertThrows(IllegalArgumentException.class, () -> redlock.tryAcquire(refused))
              .getMessage();
      assertTrue(why.contains("unlessHeld() with "), why);
    }
    assertThrows(IllegalArgumentException.class, () -> redlock.asLock(lock));
  }
}
