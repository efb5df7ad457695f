package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(300)
class ListenersTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private final List<String> events = new ArrayList<>();

  /** Writes down each event, with the name of the listener. */
  private class Named implements RedlockListener {
    private final String name;

    Named(String name) {
      this.name = name;
    }

    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      events.add(name + " " + result.outcome());
    }

    @Override
    public void onGiveUp(LeaseRequest request, Duration waited) {
      events.add(name + " given up after " + waited.toMillis() + " ms");
    }

    @Override
    public void onExtend(Lease lease, ExtendResult result, Duration took) {
      events.add(name + " extended in " + took.toMillis() + " ms");
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      events.add(name + " " + end.cause() + " after " + held.toMillis() + " ms");
    }

    @Override
    public void onClose(Redlock redlock) {
      events.add(name + " closed");
    }
  }

  /** Has a listener of its own for each call. */
  private final class PerCall extends Named {
    private int calls;

    PerCall() {
      super("service");
    }

    @Override
    public RedlockListener onCall(LeaseRequest request) {
      calls++;
      return new Named("call " + calls + " from " + Thread.currentThread().getName());
    }
  }

  @Test
  void noStackGrowsWithTheEventsThatWait() {
    Bed bed = new Bed(3, Runnable::run, new PerCall());
    List<Integer> depths = new ArrayList<>();
    bed.context.listeners.report(
        first -> {
          for (int event = 0; event < 100; event++) {
            bed.context.listeners.report(
                next -> depths.add(Thread.currentThread().getStackTrace().length));
          }
        });
    assertEquals(100, depths.size());
    assertEquals(1, depths.stream().distinct().count());
  }

  @Test
  void callAndItsLeaseAreReportedToTheListenerOfTheCall() {
    Bed bed = new Bed(3, Runnable::run, new PerCall());
    String thread = Thread.currentThread().getName();
    HeldLease first = bed.lease();
    HeldLease second = bed.lease(LeaseRequest.of("other", Bed.TTL));
    bed.script(request -> null);
    first.extendAsync(Bed.TTL);
    bed.time.passMillis(7);
    bed.nodes.forEach(node -> node.answer(Extend.class, NodeReply.EXTENDED));
    second.close();
    bed.time.passMillis(5);
    first.close();
    assertEquals(
        List.of(
            "call 1 from " + thread + " ACQUIRED",
            "call 2 from " + thread + " ACQUIRED",
            "call 1 from " + thread + " extended in 7 ms",
            "call 2 from " + thread + " RELEASED after 7 ms",
            "call 1 from " + thread + " RELEASED after 12 ms"),
        events);
  }

  @Test
  void callThatIsGivenUpIsReported() {
    Bed bed = new Bed(3, Runnable::run, new Named("a"));
    CompletableFuture<AcquireResult> call =
        bed.redlock.acquireAsync(Bed.REQUEST.waitUpTo(Duration.ofSeconds(9)));
    bed.time.passMillis(20);
    call.cancel(false);
    bed.redlock.acquireAsync(Bed.REQUEST);
    bed.time.passMillis(10);
    bed.redlock.close();
    assertEquals(List.of("a given up after 20 ms", "a given up after 10 ms", "a closed"), events);
  }

  @Test
  void listenerThatFailsKeepsNothingFromTheOthers() {
    RedlockListener failing =
        new RedlockListener() {
          @Override
          public void onStart(Redlock redlock) {
            throw new IllegalStateException("a user's mistake");
          }

          @Override
          public RedlockListener onCall(LeaseRequest request) {
            throw new AssertionError("a user's assertion");
          }

          @Override
          public void onGiveUp(LeaseRequest request, Duration waited) {
            throw new Error("a user's recursion");
          }
        };
    RedlockListener forgetful =
        new Named("forgetful") {
          @Override
          public RedlockListener onCall(LeaseRequest request) {
            return null;
          }
        };
    Bed bed = new Bed(3);
    Listeners listeners =
        new Listeners(List.of(failing, forgetful, new PerCall()), bed.context.callbacks);
    listeners.started(bed.redlock);
    listeners
        .ofCall(Bed.REQUEST)
        .report(listener -> listener.onGiveUp(Bed.REQUEST, Duration.ofMillis(7)));
    String thread = Thread.currentThread().getName();
    assertEquals(
        List.of("forgetful given up after 7 ms", "call 1 from " + thread + " given up after 7 ms"),
        events);
    assertEquals(
        List.of(
            "A listener failed in onStart; the lock service is not affected",
            "A listener failed in onCall; it is notified itself",
            "A listener failed in onCall; it is notified itself",
            "A callback failed; the lock service is not affected"),
        log.newWarnings());
    assertEquals(1, listeners.lost());
    LeaseEnd lost = new LeaseEnd(LeaseEnd.Cause.EXPIRED, "its time was over");
    listeners.reportEnd(lost, listener -> listener.onGiveUp(Bed.REQUEST, Duration.ZERO));
    assertEquals(2, listeners.lost());
  }

  @Test
  void slowListenerLosesItsOwnEventsOnlyAndNoReset() {
    Deque<Runnable> callbacks = new ArrayDeque<>();
    Bed bed = new Bed(3, callbacks::add, null);
    Listeners listeners =
        new Listeners(List.of(new Named("slow"), new Named("quick")), bed.context.callbacks);
    for (int event = 0; event < 3_000; event++) {
      listeners.report(listener -> listener.onGiveUp(Bed.REQUEST, Duration.ZERO));
      callbacks.removeLast().run();
    }
    listeners.reportAlways(listener -> listener.onClose(bed.redlock));
    while (!callbacks.isEmpty()) {
      callbacks.remove().run();
    }
    assertEquals(3_000, Collections.frequency(events, "quick given up after 0 ms"));
    assertEquals(1_000, Collections.frequency(events, "slow given up after 0 ms"));
    assertEquals(1, Collections.frequency(events, "slow closed"));
    assertEquals(2_000, listeners.lost());
    listeners.closed(bed.redlock);
    String named = Named.class.getName();
    assertEquals(
        List.of(
            named + " is slow: while 1000 events wait for it, others are dropped",
            named + " was slow: 2000 events were dropped"),
        log.newWarnings());
  }

  @Test
  void eachListenerOfABuilderIsNotifiedAndKnowsItsServiceFirst() throws Exception {
    List<Redlock> started = new ArrayList<>();
    RedlockListener starting =
        new RedlockListener() {
          @Override
          public void onStart(Redlock redlock) {
            started.add(redlock);
            assertEquals(3, redlock.operations().nodes().size());
          }
        };
    Bed bed = new Bed(3);
    bed.script(Bed::yes);
    try (Redlock redlock =
        Bed.builder(bed.time, bed.nodes)
            .listener(starting)
            .listener(new Named("a"))
            .listener(new Named("b"))
            .build()) {
      assertSame(redlock, started.get(0));
      redlock.tryAcquire(Bed.REQUEST);
    }
    assertEquals(1, started.size());
    assertEquals(
        List.of(
            "a ACQUIRED",
            "b ACQUIRED",
            "a CLOSED after 0 ms",
            "b CLOSED after 0 ms",
            "a closed",
            "b closed"),
        events);
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
}
