package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.Outcome;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a call does from its start to its end, where {@link ServiceScenesTest} does not show it. */
class AcquireCallTest {

  static final LeaseRequest PATIENT = Bed.REQUEST.waitUpTo(Duration.ofSeconds(1));

  private static final LeaseRequest RENEWED = Bed.REQUEST.renewFor(Duration.ofHours(1));

  private final Bed bed = new Bed(3);

  static Function<NodeRequest, @Nullable NodeReply> grants(NodeReply answer) {
    return request -> request instanceof Grant ? answer : Bed.yes(request);
  }

  static Lease lease(CompletableFuture<AcquireResult> call) {
    return Bed.now(call).lease().orElseThrow();
  }

  static int attempts(Bed bed) {
    return bed.node(0).asked(Grant.class).size();
  }

  static AcquireCall loop(Bed bed, LeaseRequest request) {
    return new AcquireCall(bed.context, request);
  }

  @Test
  void releaseOfACallThatEndsDuringTheFanOutIsAwaited() throws Exception {
    List<Thread> waits = new ArrayList<>();
    AcquireCall loop = loop(bed, PATIENT);
    bed.script(Bed::yes);
    bed.node(1)
        .script(
            request -> {
              if (request instanceof Grant) {
                loop.fail();
                waits.add(awaiting(bed.context.agenda.items(Owner.class).get(0)));
              }
              return Bed.yes(request);
            });
    CompletableFuture<AcquireResult> call = loop.start();
    assertThrows(CompletionException.class, () -> Bed.now(call));
    assertEquals(List.of("a Grant", "b Grant", "a Release", "b Release"), bed.journal);
    waits.get(0).join(60_000);
    assertFalse(waits.get(0).isAlive());
  }

  private static Thread awaiting(Owner owner) {
    Thread thread =
        Bed.begun(
            () -> assertDoesNotThrow(() -> owner.awaitSent(300_000)), Thread.State.TIMED_WAITING);
    assertTrue(thread.isAlive(), "the release was not sent yet");
    return thread;
  }

  @Test
  void callThatHasFailedIsNotEndedAgain() {
    AcquireCall loop = loop(bed, PATIENT);
    loop.start();
    loop.fail();
    loop.fail();
    loop.cancel();
    assertEquals(List.of("given up"), bed.events);
    assertEquals(3, bed.releases());
  }

  @Test
  void closeDoesNotEndACallThatIsHandingItsLeaseOut() {
    AcquireCall loop = loop(bed, PATIENT);
    loop.start().thenApply(loop::take).thenRun(loop::fail);
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2);
    assertEquals(0, bed.releases());
    assertEquals(List.of("ACQUIRED"), bed.events);
  }

  @Test
  void leaseThatEndsBeforeItsCallersThreadWakesIsTooSlowAndNobodyHearsOfIt() throws Exception {
    bed.script(Bed::yes);
    bed.time.whenAwaited(future -> bed.time.pause(Duration.ofSeconds(30)));
    AcquireResult late = bed.redlock.tryAcquire(RENEWED);
    assertEquals(Outcome.TOO_SLOW, late.outcome());
    bed.time.whenAwaited(future -> {});
    bed.time.pass(Duration.ofSeconds(30));
    assertEquals(List.of("TOO_SLOW"), bed.events);
    assertEquals("abc", bed.releasedOn());
    bed.assertNothingIsLeft("a suspension");
  }

  /** Lets the source of owner ids fail for one call. */
  private CompletableFuture<AcquireResult> callWithout(String how, LeaseRequest request) {
    Supplier<String> usual = bed.ownerIds;
    bed.ownerIds =
        () -> {
          if (how.equals("exception")) {
            throw new IllegalArgumentException("no entropy");
          }
          throw new AssertionError("no entropy");
        };
    CompletableFuture<AcquireResult> failed = bed.redlock.acquireAsync(request);
    bed.ownerIds = usual;
    return failed;
  }

  private static void assertFailedByTheSource(CompletableFuture<AcquireResult> call) {
    CompletionException failure = assertThrows(CompletionException.class, () -> Bed.now(call));
    assertTrue(failure.getMessage().contains("no entropy"), failure.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"exception", "error"})
  void sourceOfOwnerIdsThatFailsHarmsItsOwnCallOnly(String how) {
    bed.script(Bed::yes);
    CompletableFuture<AcquireResult> before = bed.redlock.acquireAsync(PATIENT);
    CompletableFuture<AcquireResult> failed = callWithout(how, PATIENT);
    CompletableFuture<AcquireResult> after = bed.redlock.acquireAsync(PATIENT);
    assertFailedByTheSource(failed);
    lease(before).close();
    bed.time.passMillis(1_000);
    lease(after).close();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft(how);
  }

  @Test
  void sourceOfOwnerIdsThatFailsTheFirstFairCallFailsItsFuture() {
    assertFailedByTheSource(callWithout("exception", PATIENT.fair()));
    assertEquals(List.of("given up"), bed.events);
    bed.script(Bed::yes);
    lease(bed.redlock.acquireAsync(PATIENT.fair())).close();
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS);
    bed.assertNothingIsLeft("a failed fair call");
  }

  @Test
  void supplierOfOwnerIdsIsAskedOnceACallAndByItsCallerOnly() {
    List<String> drawn = new ArrayList<>();
    Supplier<String> usual = bed.ownerIds;
    bed.ownerIds =
        () -> {
          drawn.add(usual.get());
          return drawn.get(drawn.size() - 1);
        };
    bed.script(grants(NodeReply.held(-1, 5, "")));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(PATIENT);
    bed.ownerIds = () -> fail("asked by a thread that retries");
    bed.time.passMillis(200);
    bed.script(Bed::yes);
    bed.time.passMillis(200);
    lease(call);
    assertEquals(List.of("owner-1"), drawn);
    List<String> asked =
        bed.node(0).asked(Grant.class).stream().map(Grant::owner).distinct().toList();
    assertTrue(asked.size() > 2, asked.toString());
    assertEquals(List.of("owner-1", "owner-1-2", "owner-1-3"), asked.subList(0, 3));
  }
}
