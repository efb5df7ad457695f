package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
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
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A lease on any one of several names. */
@Timeout(300)
class AnyOfTest {

  private static final Duration WAIT = Duration.ofMinutes(1);

  private final Bed bed = new Bed(3);

  private static LeaseRequest permits(int count) {
    return LeaseRequest.anyOf(ServiceLife.permits(count), Bed.TTL);
  }

  /** Answers as a node that holds some names for somebody else. */
  private static NodeReply holding(NodeRequest request, Predicate<String> isHeld) {
    if (request instanceof Look) {
      return NodeReply.looked(
          new NodeLook(
              request.names().stream()
                  .map(name -> isHeld.test(name) ? 5_000 : NodeLook.FREE)
                  .toList(),
              ""));
    }
    return request instanceof Grant && isHeld.test(request.names().get(0))
        ? NodeReply.held(5_000, 1, "")
        : Bed.yes(request);
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
      one.script(request -> holding(request, name -> !name.equals(only)));
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
      one.script(request -> holding(request, taken::contains));
      Bed.now(one.redlock.acquireAsync(permits(count)));
      ScriptedNode node = one.node(0);
      roundTrips += node.asked(Grant.class).size() + node.asked(Look.class).size();
    }
    double average = roundTrips / calls;
    assertEquals(expected, average, 0.1, "seed " + seed);
  }

  @Test
  void nameThatLooksFreeAndIsTakenMeanwhileIsFollowedByAnother() {
    List<String> tried = new ArrayList<>();
    bed.script(
        request -> {
          if (request instanceof Grant) {
            tried.add(request.names().get(0));
          }
          return holding(request, name -> request instanceof Grant && tried.size() <= 9);
        });
    AcquireResult result = Bed.now(bed.redlock.acquireAsync(permits(10)));
    assertTrue(result.lease().isPresent());
    assertEquals(4, Set.copyOf(tried).size());
    bed.time.pass(Bed.TTL);
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
    AcquireCall loop = AcquireCallTest.loop(bed, permits(3).waitUpTo(WAIT));
    bed.time.whenRead(
        () -> {
          if (Thread.holdsLock(loop)) {
            bed.time.whenRead(() -> {});
            loop.cancel();
          }
        });
    assertTrue(loop.start().isCancelled());
    assertEquals(List.of(), bed.journal);
    assertEquals(0, bed.time.tasks());
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
      five.node(node).script(request -> holding(request, isHeld));
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
}
