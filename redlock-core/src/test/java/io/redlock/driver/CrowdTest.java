package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.scenes.FakeTime;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Thousands of callers that wait for one name, on a thread with a small stack. No call may take
 * longer than its wait and one node timeout, and no stack may grow with their number.
 */
@Timeout(300)
class CrowdTest {

  private static final Duration WAIT = Duration.ofSeconds(1);
  private static final long NODE_TIMEOUT_NANOS = 50_000_000;
  private static final long SMALL_STACK_BYTES = 256 * 1_024;
  private static final LeaseRequest REQUEST =
      LeaseRequest.of("orders/42", Duration.ofSeconds(10)).waitUpTo(WAIT);

  /** The end of a call, and its time. */
  private record End(@Nullable AcquireResult result, long afterNanos, int depth) {}

  private final FakeTime time = new FakeTime();
  private final List<ScriptedNode> nodes =
      Stream.of("a", "b", "c").map(name -> new ScriptedNode(name, new ArrayList<>())).toList();
  private final int[] requests = new int[3]; // by node, as are these
  private final int[] grants = new int[3];
  private final Redlock redlock = Bed.builder(time, nodes).build();
  private final List<End> ends = new ArrayList<>();

  /** Has each node answer on the caller's stack, before {@code send} returns, or never. */
  private void script(Function<NodeRequest, @Nullable NodeReply> answers) {
    for (int node = 0; node < nodes.size(); node++) {
      int index = node;
      nodes
          .get(node)
          .script(
              request -> {
                nodes.get(index).forget();
                requests[index]++;
                grants[index] += request instanceof NodeRequest.Grant ? 1 : 0;
                return answers.apply(request);
              });
    }
  }

  private static Function<NodeRequest, @Nullable NodeReply> refusal(String kind) {
    NodeReply refusal =
        switch (kind) {
          case "down" -> NodeReply.unreachable("refused connection");
          case "abstaining" -> NodeReply.abstain(30_000, "restarted");
          case "busy" -> NodeReply.held(60_000, 1, "");
          case "silent" -> null;
          default -> throw new IllegalArgumentException(kind);
        };
    boolean isOfEveryRequest = kind.equals("down") || kind.equals("silent");
    return request ->
        isOfEveryRequest || request instanceof NodeRequest.Grant ? refusal : Bed.yes(request);
  }

  private CompletableFuture<AcquireResult> call(LeaseRequest request) {
    long startNanos = time.monotonicNanos();
    CompletableFuture<AcquireResult> call = redlock.acquireAsync(request);
    call.whenComplete(
        (result, failure) ->
            ends.add(
                new End(
                    result,
                    time.monotonicNanos() - startNanos - request.waitUpTo().orElseThrow().toNanos(),
                    StackWalker.getInstance().walk(frames -> (int) frames.count()))));
    return call;
  }

  private static void onASmallStack(Runnable test) {
    CompletableFuture.runAsync(
            test, task -> new Thread(null, task, "small-stack", SMALL_STACK_BYTES).start())
        .join();
  }

  private void crowd(int callers, LeaseRequest request) {
    for (int caller = 0; caller < callers; caller++) {
      call(request);
    }
  }

  /** The wait of the head ends first, but its timer runs after those of all others. */
  private void crowdThatMissesItsEnd(int callers) {
    crowd(1, REQUEST);
    time.passMillis(1);
    crowd(callers - 1, REQUEST);
    time.passMillis(900);
    time.pause(Duration.ofMillis(300));
  }

  /** Asserts that every call has ended in time, with a reason, and that the service goes on. */
  private void assertAllEndedInTime(int callers) {
    assertEquals(callers, ends.size(), "calls that ended");
    for (End end : ends) {
      assertEquals(3, end.result.votes().nodes().size(), "it says what the nodes said");
      assertTrue(end.afterNanos <= NODE_TIMEOUT_NANOS, () -> end.afterNanos + " ns after its wait");
    }
    assertNameLives();
  }

  private void assertAllEndedInTime(int callers, AcquireResult.Outcome expected) {
    ends.forEach(end -> assertEquals(expected, end.result.outcome()));
    assertAllEndedInTime(callers);
  }

  private void assertNameLives() {
    time.pass(Duration.ofMinutes(1));
    script(Bed::yes);
    for (int turn = 0; turn < 3; turn++) {
      Bed.now(redlock.acquireAsync(REQUEST)).lease().orElseThrow().close();
    }
    time.passMillis(100);
    assertEquals(0, time.tasks(), "timers");
  }

  @Test
  void callThatTriesAThousandNamesInTurnNeedsNoLargerStack() {
    script(
        request ->
            request instanceof NodeRequest.Grant
                ? NodeReply.held(60_000, 1, "")
                : NodeReply.unreachable("too busy to tell"));
    List<String> names = IntStream.range(0, 1_000).mapToObj(name -> "pool/" + name).toList();
    onASmallStack(
        () -> {
          AcquireResult result =
              Bed.now(redlock.acquireAsync(LeaseRequest.anyOf(names, Duration.ofSeconds(10))));
          assertEquals(AcquireResult.Outcome.CONTENDED, result.outcome());
        });
    assertEquals(1_000, grants[0]);
  }

  /** All but the first have their lease from the one before, who released it on their stack. */
  @Test
  void leaseIsPassedOnToThousandsWithoutALargerStack() {
    script(
        request ->
            request instanceof NodeRequest.Grant
                ? NodeReply.granted(request.token() - 4_000)
                : Bed.yes(request));
    onASmallStack(
        () -> {
          Lease first = Bed.now(call(REQUEST)).lease().orElseThrow();
          List<Long> tokens = new ArrayList<>();
          for (int caller = 0; caller < 3_500; caller++) {
            redlock
                .acquireAsync(REQUEST)
                .thenAccept(
                    result -> {
                      Lease lease = result.lease().orElseThrow();
                      tokens.add(lease.fencingToken());
                      lease.close();
                    });
          }
          first.close();
          assertEquals(3_500, tokens.size());
          assertEquals(tokens.stream().distinct().sorted().toList(), tokens);
          assertNameLives();
        });
    assertEquals(2 + 3, grants[0]);
  }

  @ParameterizedTest
  @CsvSource({
    "600, down",
    "10000, down",
    "600, abstaining",
    "10000, abstaining",
    "600, silent",
    "10000, silent"
  })
  void everyCallEndsInTimeWhileNoQuorumGrants(int callers, String how) {
    script(refusal(how));
    onASmallStack(
        () -> {
          crowd(callers, REQUEST);
          time.pass(WAIT.plusNanos(NODE_TIMEOUT_NANOS));
          assertAllEndedInTime(callers, AcquireResult.Outcome.UNAVAILABLE);
        });
  }

  @ParameterizedTest
  @CsvSource({"600, 0", "600, 1", "1500, 30", "10000, 1", "40000, 45"})
  void everyCallEndsInTimeWhenAllMastersDieJustBefore(int callers, long millisBefore) {
    for (String how : List.of("down", "silent")) {
      onASmallStack(
          () -> {
            ends.clear();
            script(refusal("busy"));
            crowd(callers, REQUEST);
            time.pass(WAIT.minusMillis(millisBefore));
            script(refusal(how));
            time.pass(Duration.ofMillis(millisBefore).plusNanos(NODE_TIMEOUT_NANOS));
            assertAllEndedInTime(callers);
          });
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"down", "silent", "busy"})
  void everyCallEndsInTimeWhoseWaitsEndOneAfterTheOther(String how) {
    int callers = 5_000;
    script(refusal(how));
    onASmallStack(
        () -> {
          for (int caller = 0; caller < callers; caller++) {
            crowd(1, REQUEST.waitUpTo(WAIT.plusNanos(caller * 10_000L)));
          }
          time.pass(Duration.ofSeconds(2));
          assertAllEndedInTime(callers);
        });
  }

  @Test
  void fairCallersEndInTimeToo() {
    script(refusal("busy"));
    onASmallStack(
        () -> {
          crowd(10_000, REQUEST.fair());
          time.pass(WAIT.plusNanos(NODE_TIMEOUT_NANOS));
          assertAllEndedInTime(10_000, AcquireResult.Outcome.CONTENDED);
        });
  }

  @Test
  void callThatBecomesTheHeadWhenItsWaitIsOverAsksNoNode() {
    script(refusal("down"));
    crowd(1, REQUEST);
    time.pass(WAIT);
    int alone = grants[0];
    crowd(1_000, REQUEST);
    time.pass(WAIT);
    assertTrue(grants[0] - alone < 3 * alone, grants[0] + " grants, alone " + alone);
    assertEquals(1_001, ends.size());
  }

  /** The process is paused: the head makes its last attempt when all other waits are over too. */
  @ParameterizedTest
  @CsvSource({"600, down", "10000, down", "10000, abstaining", "10000, busy"})
  void everyCallEndsAtOnceAfterAPause(int callers, String how) {
    script(refusal(how));
    onASmallStack(
        () -> {
          crowdThatMissesItsEnd(callers);
          int before = grants[0];
          time.passMillis(0);
          assertEquals(callers, ends.size(), "calls that ended");
          assertEquals(before + 1, grants[0], "the head's last attempt");
          assertNameLives();
        });
  }

  @Test
  void stackDoesNotGrowWithTheNumberOfThoseThatGiveUp() {
    List<Integer> deepest = new ArrayList<>();
    for (int callers : new int[] {10, 300}) {
      ends.clear();
      script(refusal("down"));
      crowdThatMissesItsEnd(callers);
      time.passMillis(0);
      deepest.add(Collections.max(ends.stream().map(End::depth).toList()));
      assertNameLives();
    }
    assertEquals(deepest.get(0), deepest.get(1));
  }

  /** Grants and releases are answered on the caller's stack; each hands the queue on. */
  @Test
  void stackDoesNotGrowWithTheNumberOfThoseThatAreServedAtOnce() {
    List<Integer> served = new ArrayList<>();
    script(Bed::yes);
    onASmallStack(
        () -> {
          Lease first = Bed.now(redlock.acquireAsync(REQUEST)).lease().orElseThrow();
          for (int caller = 0; caller < 10_000; caller++) {
            int number = caller;
            call(REQUEST.waitUpTo(Duration.ofMinutes(1)))
                .thenAccept(
                    result -> {
                      served.add(number);
                      result.lease().orElseThrow().close();
                    });
          }
          first.close();
          time.pass(Duration.ofSeconds(10));
          assertEquals(10_000, served.size());
          assertEquals(served.stream().sorted().toList(), served);
          assertNameLives();
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 10_000})
  void closingSendsNothingButTheReleaseOfWhatIsUnderWay(int callers) {
    script(refusal("silent"));
    onASmallStack(
        () -> {
          List<CompletableFuture<AcquireResult>> calls = new ArrayList<>();
          for (int caller = 0; caller < callers; caller++) {
            calls.add(call(REQUEST));
          }
          assertEquals(1, requests[0]);
          redlock.close();
          for (CompletableFuture<AcquireResult> call : calls) {
            CompletionException failure =
                assertThrows(CompletionException.class, () -> Bed.now(call));
            assertEquals("this Redlock is closed", failure.getCause().getMessage());
          }
          assertArrayEquals(new int[] {1, 1, 1}, grants);
          assertArrayEquals(new int[] {2, 2, 2}, requests, "the grant, and its release");
        });
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 10_000})
  void closingWhileTheHeadPausesSendsNothing(int callers) {
    script(refusal("busy"));
    onASmallStack(
        () -> {
          crowd(callers, REQUEST);
          int sent = requests[0];
          redlock.close();
          assertEquals(callers, ends.size());
          assertEquals(sent, requests[0]);
          assertEquals(0, time.tasks());
        });
  }
}
