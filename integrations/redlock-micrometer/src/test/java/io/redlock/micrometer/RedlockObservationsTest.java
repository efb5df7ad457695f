package io.redlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.observation.GlobalObservationConvention;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.test.simple.SimpleSpan;
import io.micrometer.tracing.test.simple.SimpleTracer;
import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.Votes;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class RedlockObservationsTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  private final SimpleTracer tracer = new SimpleTracer();
  private final ObservationRegistry registry = ObservationRegistry.create();
  private final RedlockObservations observations = RedlockObservations.of(registry);
  @AutoClose private final InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
  private final Redlock redlock = masters.connect(settings -> settings.listener(observations));

  RedlockObservationsTest() {
    registry.observationConfig().observationHandler(new DefaultTracingObservationHandler(tracer));
  }

  private SimpleSpan span(String name) {
    List<SimpleSpan> found =
        tracer.getSpans().stream().filter(span -> name.equals(span.getName())).toList();
    assertEquals(1, found.size(), () -> name + " in " + tracer.getSpans());
    return found.get(0);
  }

  private static List<String> events(SimpleSpan span) {
    return span.getEvents().stream().map(event -> event.getValue()).toList();
  }

  @Test
  void traceOfACallShowsTheWaitTheVotesAndTheHold() throws Exception {
    Observation request = Observation.start("request", registry);
    request.scopedChecked(
        () ->
            redlock.runLeased(
                LeaseRequest.of("orders/42", TTL), lease -> masters.advance(TTL.dividedBy(2))));
    request.stop();

    SimpleSpan acquire = span("acquire lease");
    assertEquals("acquired", acquire.getTags().get("outcome"));
    assertEquals("false", acquire.getTags().get("shared"));
    assertEquals("orders/42", acquire.getTags().get("redlock.resources"));
    assertEquals("orders/42 for 10s", acquire.getTags().get("redlock.request"));
    assertTrue(
        acquire.getTags().get("redlock.votes").contains("granted"), acquire.getTags()::toString);
    for (String master : List.of("master-1", "master-2")) {
      assertTrue(
          events(acquire).stream().anyMatch(vote -> vote.startsWith(master + " granted")),
          () -> master + " in " + events(acquire));
    }

    SimpleSpan hold = span("hold lease");
    assertEquals("released", hold.getTags().get("cause"));
    assertEquals("by its holder", hold.getTags().get("redlock.end"));
    assertEquals(acquire.getTags().get("redlock.token"), hold.getTags().get("redlock.token"));
    for (SimpleSpan child : List.of(acquire, hold)) {
      assertEquals(span("request").getTraceId(), child.getTraceId());
      assertEquals(span("request").getSpanId(), child.getParentId());
    }
  }

  @Test
  void traceSaysIfALeaseIsShared() throws Exception {
    redlock.acquire(LeaseRequest.of("orders/42", TTL).shared()).release();
    assertEquals("true", span("acquire lease").getTags().get("shared"));
    assertEquals("true", span("hold lease").getTags().get("shared"));
  }

  @Test
  void holdWithoutACallerWhoIsObservedBelongsToItsCall() throws Exception {
    redlock.acquire("orders/42", TTL).release();
    assertEquals(span("acquire lease").getTraceId(), span("hold lease").getTraceId());
    assertEquals(span("acquire lease").getSpanId(), span("hold lease").getParentId());
  }

  @Test
  void refusalIsNoErrorAndMissingMastersAre() throws Exception {
    masters.occupy("orders/42", TTL);
    redlock.tryAcquire("orders/42", TTL);
    assertEquals("contended", span("acquire lease").getTags().get("outcome"));
    assertNull(span("acquire lease").getError());
    tracer.getSpans().clear();
    masters.stop(2);
    redlock.tryAcquire("orders/43", TTL);
    assertEquals("unavailable", span("acquire lease").getTags().get("outcome"));
    assertInstanceOf(LockNotAcquiredException.class, span("acquire lease").getError());
  }

  @Test
  void lossIsAnErrorOfTheHold() throws Exception {
    Lease lease = redlock.acquire("orders/42", TTL);
    masters.stop(3);
    lease.extend(TTL);
    masters.advance(TTL);
    SimpleSpan hold = span("hold lease");
    assertEquals("expired", hold.getTags().get("cause"));
    assertInstanceOf(LeaseLostException.class, hold.getError());
    assertEquals(3, events(hold).size(), "the answers to the extension");
  }

  @Test
  void callThatIsGivenUpEndsWithoutAnOutcome() {
    masters.occupy("orders/42", TTL);
    CompletableFuture<AcquireResult> call =
        redlock.acquireAsync(LeaseRequest.of("orders/42", TTL).waitUpTo(TTL));
    assertEquals(0, tracer.getSpans().peekFirst().getEndTimestamp().toEpochMilli(), "it waits");
    call.cancel(false);
    assertEquals("none", span("acquire lease").getTags().get("outcome"));
    assertTrue(span("acquire lease").getEndTimestamp().toEpochMilli() > 0);
  }

  @Test
  void endThatIsReportedBeforeItsBeginningEndsTheHold() throws Exception {
    Lease lease = redlock.acquire("orders/42", TTL);
    LeaseRequest request = LeaseRequest.of("orders/42", TTL);
    AcquireResult acquired = redlock.tryAcquire("orders/43", TTL);
    tracer.getSpans().clear();
    RedlockListener call = observations.onCall(request);
    call.onEnd(lease, new LeaseEnd(LeaseEnd.Cause.RELEASED, "by its holder"), TTL);
    call.onExtend(
        lease, ExtendResult.extended(TTL, new Votes(List.of(), 1, Optional.empty())), TTL);
    call.onAcquire(request, acquired, TTL);
    assertEquals("released", span("hold lease").getTags().get("cause"));
    assertTrue(span("hold lease").getEndTimestamp().toEpochMilli() > 0);
  }

  @Test
  void leaseThatComesAfterItsCallWasGivenUpLeavesThatCallWithoutAnOutcome() throws Exception {
    AcquireResult acquired = redlock.tryAcquire("orders/43", TTL);
    tracer.getSpans().clear();
    LeaseRequest request = LeaseRequest.of("orders/42", TTL);
    RedlockListener call = observations.onCall(request);
    call.onGiveUp(request, TTL);
    call.onAcquire(request, acquired, TTL);
    assertEquals("none", span("acquire lease").getTags().get("outcome"));
    assertEquals(List.of(), events(span("acquire lease")));
  }

  @Test
  void extensionThatSucceedsIsNoEventOfTheHold() throws Exception {
    Lease lease = redlock.acquire("orders/42", TTL);
    lease.extend(TTL);
    lease.release();
    assertEquals(List.of(), events(span("hold lease")));
  }

  @Test
  void conventionsNameTheirObservationsAndNoOthers() {
    assertEquals("redlock.call", new AcquireContext.Convention().getName());
    assertEquals("redlock.hold", new HoldContext.Convention().getName());
    Observation.Context other = new Observation.Context();
    assertFalse(new AcquireContext.Convention().supportsContext(other));
    assertFalse(new HoldContext.Convention().supportsContext(other));
  }

  /** Names the span after the first resource. */
  private static final class OwnConvention extends AcquireContext.Convention
      implements GlobalObservationConvention<AcquireContext> {
    @Override
    public String getContextualName(AcquireContext context) {
      return "lock " + context.request().resources().iterator().next();
    }
  }

  @Test
  void conventionOfTheRegistryChangesTheNames() throws Exception {
    registry.observationConfig().observationConvention(new OwnConvention());
    redlock.acquire("orders/42", TTL).release();
    assertEquals(
        "acquired", Objects.requireNonNull(span("lock orders/42").getTags().get("outcome")));
  }

  @Test
  void registryWithoutHandlersCostsNothing() {
    RedlockListener idle = RedlockObservations.of(ObservationRegistry.create());
    assertEquals(idle, idle.onCall(LeaseRequest.of("orders/42", TTL)));
  }
}
