package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Look;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A lease on any one of several names. */
@Timeout(300)
class AnyOfTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final Duration WAIT = Duration.ofMinutes(1);

  private final Bed bed = new Bed(3);

  private static LeaseRequest permits(int count) {
    return LeaseRequest.anyOf(
        IntStream.range(0, count).mapToObj(number -> "pool/" + number).toList(), TTL);
  }

  private static NodeReply looked(NodeRequest request, Predicate<String> isHeld) {
    return looked(request.names().stream().map(name -> isHeld.test(name) ? 5_000 : NodeLook.FREE));
  }

  private static NodeReply looked(Stream<Long> remainingMillis) {
    return NodeReply.looked(new NodeLook(remainingMillis.toList(), ""));
  }

  /** Makes every node hold some names for somebody else. */
  private void hold(Predicate<String> isHeld) {
    bed.script(
        request -> {
          if (request instanceof Look) {
            return looked(request, isHeld);
          }
          return request instanceof Grant && isHeld.test(request.names().get(0))
              ? NodeReply.held(5_000, 1, "")
              : Bed.yes(request);
        });
  }

  @Test
  void freeNameIsAcquiredInOneRoundTrip() {
    bed.script(Bed::yes);
    AcquireResult result = Bed.now(bed.redlock.acquireAsync(permits(100)));
    Lease lease = result.lease().orElseThrow();
    assertEquals(1, lease.resources().size());
    assertTrue(permits(100).resources().containsAll(lease.resources()));
    assertEquals(3, bed.asked(Grant.class));
    assertEquals(0, bed.asked(Look.class));
  }

  @Test
  void firstNameIsDrawnAtRandom() {
    bed.script(Bed::yes);
    Set<Object> drawn = new TreeSet<>();
    for (int i = 0; i < 100; i++) {
      AcquireResult result = Bed.now(bed.redlock.acquireAsync(permits(4)));
      drawn.add(result.lease().orElseThrow().resources().toString());
      result.lease().orElseThrow().close();
    }
    assertEquals(4, drawn.size());
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 10, 100})
  void lastFreeNameIsFoundInTwoAttemptsAtMost(int count) {
    for (int free = 0; free < count; free += 7) {
      String only = "app:pool/" + free;
      Bed one = new Bed(3);
      one.script(
          request -> {
            boolean held = !request.names().get(0).equals(only);
            if (request instanceof Look) {
              return looked(request, name -> !name.equals(only));
            }
            return request instanceof Grant && held
                ? NodeReply.held(5_000, 1, "")
                : Bed.yes(request);
          });
      AcquireResult result = Bed.now(one.redlock.acquireAsync(permits(count)));
      assertEquals(Set.of("pool/" + free), result.lease().orElseThrow().resources());
      assertTrue(one.asked(Grant.class) <= 6, "two attempts at most");
      List<String> lookedAt =
          one.node(0).asked(Look.class).stream().flatMap(look -> look.names().stream()).toList();
      assertEquals(lookedAt.size(), Set.copyOf(lookedAt).size(), "each name is looked at once");
    }
  }

  /** The rows of the table on the page: permits, those that are occupied, two averages. */
  static List<Arguments> averagesOfThePage() throws IOException {
    List<Arguments> rows =
        Pattern.compile("(?m)^\\| (\\d+) \\| (\\d+)(?:, refused)? \\| ([\\d.]+) \\| ([\\d.]+) \\|$")
            .matcher(Files.readString(Path.of("..", "docs", "semaphore.md")))
            .results()
            .map(row -> Arguments.of(row.group(1), row.group(2), row.group(3), row.group(4)))
            .toList();
    assertTrue(rows.size() >= 5, rows::toString);
    return rows;
  }

  /** Each attempt and each look is one round trip. */
  @ParameterizedTest
  @MethodSource("averagesOfThePage")
  void permitTakesSoManyRoundTripsOnAverage(
      int count, int held, double expected, double oneAfterTheOther) {
    double untilAFreeOne = held == count ? count : (count + 1.0) / (count - held + 1);
    assertEquals(untilAFreeOne, oneAfterTheOther, 0.051);
    int calls = 400;
    long seed = 42;
    RandomGenerator random = new SplittableRandom(seed);
    double roundTrips = 0;
    for (int call = 0; call < calls; call++) {
      List<String> names = new ArrayList<>(permits(count).resources());
      while (names.size() > held) {
        names.remove(random.nextInt(names.size()));
      }
      Set<String> taken = names.stream().map(name -> "app:" + name).collect(Collectors.toSet());
      Bed one = new Bed(3);
      one.script(
          request -> {
            if (request instanceof Look) {
              return looked(request, taken::contains);
            }
            return request instanceof Grant && taken.contains(request.names().get(0))
                ? NodeReply.held(5_000, 1, "")
                : Bed.yes(request);
          });
      Bed.now(one.redlock.acquireAsync(permits(count)));
      ScriptedNode node = one.node(0);
      roundTrips += node.asked(Grant.class).size() + node.asked(Look.class).size();
    }
    double average = roundTrips / calls;
    assertEquals(expected, average, 0.1, "seed " + seed);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 100})
  void callWithoutAWaitIsContendedWhenAllNamesAreTaken(int count) {
    hold(name -> true);
    assertEquals(
        AcquireResult.Outcome.CONTENDED,
        Bed.now(bed.redlock.acquireAsync(permits(count))).outcome());
    assertTrue(bed.asked(Grant.class) <= 6);
    bed.time.pass(TTL);
    bed.assertNothingIsLeft("contended");
  }

  @Test
  void moreNamesThanOneLookTakesAreLookedAtOneHundredAtATime() {
    hold(name -> !name.equals("app:pool/777"));
    AcquireResult result = Bed.now(bed.redlock.acquireAsync(permits(1_000)));
    assertEquals(Set.of("pool/777"), result.lease().orElseThrow().resources());
  }

  @Test
  void nameThatLooksFreeAndIsTakenMeanwhileIsFollowedByAnother() {
    List<String> tried = new ArrayList<>();
    bed.script(
        request -> {
          if (request instanceof Look) {
            return looked(request, name -> false);
          }
          if (request instanceof Grant) {
            tried.add(request.names().get(0));
            return tried.size() <= 9 ? NodeReply.held(5_000, 1, "") : Bed.yes(request);
          }
          return Bed.yes(request);
        });
    AcquireResult result = Bed.now(bed.redlock.acquireAsync(permits(10)));
    assertTrue(result.lease().isPresent());
    assertEquals(4, Set.copyOf(tried).size());
    bed.time.pass(TTL);
  }

  @Test
  void nodesThatAreDownAreAskedForOneNameOnly() {
    bed.script(request -> NodeReply.unreachable("down"));
    assertEquals(
        AcquireResult.Outcome.UNAVAILABLE, Bed.now(bed.redlock.acquireAsync(permits(5))).outcome());
    assertEquals(List.of("a Grant", "b Grant", "c Grant"), bed.journal);
  }

  @Test
  void noNameIsTriedOnceTwoNodeTimeoutsHavePassed() {
    bed.node(0).script(request -> request instanceof Grant ? NodeReply.held(5_000, 1, "") : null);
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(permits(10));
    bed.time.passMillis(2 * Bed.NODE_TIMEOUT_MILLIS);
    assertEquals(2, bed.node(0).asked(Grant.class).size(), "one before the look and one after");
    bed.time.passMillis(Bed.NODE_TIMEOUT_MILLIS - 1);
    assertFalse(call.isDone());
    bed.time.passMillis(1);
    assertEquals(AcquireResult.Outcome.UNAVAILABLE, Bed.now(call).outcome());
    assertEquals(2, bed.node(0).asked(Grant.class).size());
  }

  @Test
  void refusalByClocksBeginsASecondPassOfThreeNodeTimeoutsAtMost() {
    AtomicInteger grants = new AtomicInteger();
    bed.node(0)
        .script(
            request ->
                request instanceof Grant && grants.incrementAndGet() != 2
                    ? NodeReply.held(5_000, 1, "")
                    : null);
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(permits(10));
    bed.time.passMillis(3 * Bed.NODE_TIMEOUT_MILLIS - 1);
    bed.answerGrants(NodeReply.held(5_000, 1, ""), 1); // the first attempt's, too late
    bed.answerGrants(NodeReply.of(NodeReply.Kind.CLOCK, "2 s behind"), 0, 1);
    bed.time.passMillis(3 * Bed.NODE_TIMEOUT_MILLIS - 1);
    assertFalse(call.isDone());
    bed.time.passMillis(1);
    assertEquals(AcquireResult.Outcome.UNAVAILABLE, Bed.now(call).outcome());
    assertEquals(4, grants.get(), "two in each pass");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1})
  void pauseIsBoundedByTheNameThatExpiresFirstWhicheverWasTriedLast(int first) {
    Bed slow = new Bed(3, (failures, cause, random) -> Duration.ofSeconds(5));
    slow.script(
        request ->
            request.names().get(0).equals("app:pool/" + first)
                ? NodeReply.held(7, 1, "")
                : NodeReply.held(5_000, 1, ""));
    CompletableFuture<AcquireResult> call = slow.redlock.acquireAsync(permits(2).waitUpTo(WAIT));
    slow.script(Bed::yes);
    assertFalse(call.isDone());
    slow.time.passMillis(8);
    assertTrue(Bed.now(call).lease().isPresent());
  }

  @Test
  void callThatIsCancelledWhileItChoosesAsksNoNode() {
    AcquireLoop loop =
        new AcquireLoop(
            bed.context,
            permits(3).waitUpTo(WAIT),
            new Pauses(bed.context.retryStrategy, bed.context.random),
            bed.redlock);
    bed.time.whenRead(
        () -> {
          if (Thread.holdsLock(loop.attempts)) {
            bed.time.whenRead(() -> {});
            loop.cancel();
          }
        });
    assertTrue(loop.start().isCancelled());
    assertEquals(List.of(), bed.journal);
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void callThatWaitsForAnyStandsInNoLineForItsFirstAttempt() {
    hold(name -> true);
    bed.redlock.acquireAsync(permits(2).waitUpTo(WAIT));
    int before = bed.asked(Grant.class);
    bed.redlock.acquireAsync(permits(2).waitUpTo(WAIT));
    assertEquals(2 * before, bed.asked(Grant.class));
  }

  @Test
  void lookThatNobodyAnswersEndsAfterANodeTimeout() {
    bed.script(
        request ->
            request instanceof Look
                ? null
                : request instanceof Grant ? NodeReply.held(5_000, 1, "") : Bed.yes(request));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(permits(10));
    assertFalse(call.isDone());
    bed.time.passMillis(2 * Bed.NODE_TIMEOUT_MILLIS);
    assertEquals(AcquireResult.Outcome.CONTENDED, Bed.now(call).outcome());
    bed.time.pass(TTL);
  }

  /**
   * Makes two of five nodes silent, pool/3 free, pool/5 on one of the others, and the rest taken.
   */
  private static Bed bedWithASilentMinority() {
    Bed five = new Bed(5);
    for (int node = 0; node < 3; node++) {
      boolean isFirst = node == 0;
      Predicate<String> isHeld =
          name -> isFirst ? !name.endsWith("3") : !name.endsWith("3") && !name.endsWith("5");
      five.node(node)
          .script(
              request ->
                  request instanceof Look
                      ? looked(request, isHeld)
                      : request instanceof Grant && isHeld.test(request.names().get(0))
                          ? NodeReply.held(5_000, 1, "")
                          : Bed.yes(request));
    }
    return five;
  }

  @Test
  void silentMinorityHidesNoFreeName() {
    for (int round = 0; round < 30; round++) {
      Bed five = bedWithASilentMinority();
      for (int skipped = 0; skipped < round; skipped++) {
        five.context.random.nextInt(10);
      }
      CompletableFuture<AcquireResult> call = five.redlock.acquireAsync(permits(10));
      five.time.passMillis(3 * Bed.NODE_TIMEOUT_MILLIS);
      assertEquals(
          Set.of("pool/3"), Bed.now(call).lease().orElseThrow().resources(), "round " + round);
    }
  }

  @Test
  void callThatIsCancelledWhileItLooksLeavesNothing() {
    bed.script(
        request ->
            request instanceof Look
                ? null
                : request instanceof Grant ? NodeReply.held(5_000, 1, "") : Bed.yes(request));
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(permits(10).waitUpTo(WAIT));
    int grants = bed.asked(Grant.class);
    call.cancel(false);
    bed.time.pass(TTL);
    assertEquals(grants, bed.asked(Grant.class));
    bed.assertNothingIsLeft("cancelled");
  }

  @Test
  void callThatIsCancelledWhileItWaitsLeavesNothing() {
    hold(name -> true);
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(permits(10).waitUpTo(WAIT));
    bed.time.pass(Duration.ofSeconds(1));
    call.cancel(false);
    bed.time.pass(TTL);
    bed.assertNothingIsLeft("cancelled");
  }

  @Test
  void closedRedlockEndsTheCall() {
    hold(name -> true);
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(permits(10).waitUpTo(WAIT));
    bed.redlock.close();
    assertTrue(call.isCompletedExceptionally());
  }

  @Test
  void callForAllOfSeveralNamesDoesNotStandInLineBehindOneForAny() {
    hold(name -> true);
    bed.redlock.acquireAsync(permits(2).waitUpTo(WAIT));
    bed.script(Bed::yes);
    CompletableFuture<AcquireResult> both =
        bed.redlock.acquireAsync(LeaseRequest.ofAll(permits(2).resources(), TTL).waitUpTo(WAIT));
    assertTrue(Bed.now(both).lease().isPresent());
  }
}
