package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.RedlockListener;
import io.redlock.ReleaseResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class CallbackTest {

  /** A listener that fails in every method. */
  private static final class Failing implements RedlockListener {
    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      throw new IllegalStateException("a user's mistake");
    }

    @Override
    public void onExtend(Lease lease, ExtendResult result, Duration took) {
      throw new Error("a user's recursion");
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      throw new AssertionError("a user's assertion");
    }

    @Override
    public void onNodeState(NodeStatus status) {
      throw new IllegalStateException("a user's mistake");
    }
  }

  @Test
  void listenerThatThrowsHarmsNobody() {
    Bed bed = new Bed(3, Runnable::run, new Failing());
    bed.script(Bed::yes);
    Lease lease = Bed.now(bed.redlock.acquireAsync(Bed.REQUEST)).lease().orElseThrow();
    assertEquals(ExtendResult.Outcome.EXTENDED, Bed.now(lease.extendAsync(Bed.TTL)).outcome());
    bed.node(0).becomes(NodeStatus.State.DOWN);
    lease.close();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("a listener that throws");
  }

  @Test
  void dependentThatThrowsHarmsNobody() {
    Bed bed = new Bed(3);
    HeldLease lease = bed.lease();
    CompletableFuture<ReleaseResult> released = new CompletableFuture<>();
    lease
        .ended()
        .thenRun(
            () -> {
              throw new IllegalStateException("a user's mistake");
            });
    lease.releaseAsync().thenAccept(released::complete);
    assertEquals(ReleaseResult.RELEASED, Bed.now(released));
  }

  @Test
  void listenerMayUseTheServiceItListensTo() {
    List<Bed> beds = new ArrayList<>();
    List<Lease> taken = new ArrayList<>();
    RedlockListener takesOver =
        new RedlockListener() {
          @Override
          public void onEnd(Lease lease, LeaseEnd end, Duration held) {
            if (taken.isEmpty()) {
              beds.get(0)
                  .redlock
                  .acquireAsync(Bed.REQUEST)
                  .thenAccept(result -> result.lease().ifPresent(taken::add));
              lease.close();
            }
          }

          @Override
          public void onExtend(Lease lease, ExtendResult result, Duration took) {
            lease.close();
          }
        };
    Bed bed = new Bed(3, Runnable::run, takesOver);
    beds.add(bed);
    HeldLease lease = bed.lease();
    Bed.now(lease.extendAsync(Bed.TTL));
    assertFalse(lease.isValid());
    assertEquals(1, taken.size());
    assertTrue(taken.get(0).isValid());
  }

  @Test
  void newsThatTheExecutorRefusesArriveAllTheSame() throws InterruptedException {
    List<RuntimeException> refusals =
        List.of(new RejectedExecutionException("shut down"), new IllegalStateException("broken"));
    for (RuntimeException refusal : refusals) {
      CountDownLatch told = new CountDownLatch(1);
      Bed bed =
          new Bed(
              3,
              task -> {
                throw refusal;
              },
              null);
      HeldLease lease = leaseOf(bed);
      lease.ended().thenRun(told::countDown);
      bed.time.pass(Duration.ofSeconds(30));
      assertTrue(told.await(60, TimeUnit.SECONDS));
    }
  }

  @Test
  void executorThatCannotStartAThreadDoesNotStopTheTimers() throws InterruptedException {
    CountDownLatch told = new CountDownLatch(2);
    Bed bed =
        new Bed(
            3,
            task -> {
              throw new Error(
                  "unable to create native thread"); // JUnit ends on an OutOfMemoryError
            },
            null);
    leaseOf(bed).ended().thenRun(told::countDown);
    leaseOf(bed).ended().thenRun(told::countDown);
    bed.time.stepWall(Duration.ofMinutes(1));
    bed.time.passMillis(50);
    assertTrue(told.await(60, TimeUnit.SECONDS));
  }

  private static HeldLease leaseOf(Bed bed) throws InterruptedException {
    bed.script(Bed::yes);
    return (HeldLease) bed.redlock.tryAcquire(Bed.REQUEST).lease().orElseThrow();
  }
}
