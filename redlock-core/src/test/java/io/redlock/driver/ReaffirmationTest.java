package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.LeaseRequest;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The requests of a client after a node was reset. */
class ReaffirmationTest {

  private static final Duration TTL = Duration.ofMinutes(10);

  /** The first extension and seven more. */
  private static final int MOST = 8;

  private static final Duration LONG_ENOUGH = Duration.ofMinutes(1);

  private final Bed bed = new Bed(3);

  /** The number of extensions per owner on node c, which answers. */
  private final Map<String, Integer> extended = new HashMap<>();

  private final List<Long> moments = new ArrayList<>();

  private List<HeldLease> hold(int count) {
    List<HeldLease> leases = new ArrayList<>();
    for (int index = 0; index < count; index++) {
      leases.add(bed.lease(LeaseRequest.of("resource " + index, TTL)));
      bed.nodes.forEach(ScriptedNode::forget);
    }
    return leases;
  }

  /** Node a has lost the lease, b cannot be reached, c holds it: the result is unknown. */
  private void answerUnknown() {
    bed.node(0).script(counting(request -> NodeReply.NOT_HELD));
    bed.node(1).script(counting(request -> NodeReply.unreachable("down")));
    bed.node(2).script(counting(Bed::yes));
  }

  private Function<NodeRequest, NodeReply> counting(Function<NodeRequest, NodeReply> answers) {
    return request -> {
      bed.nodes.forEach(ScriptedNode::forget);
      if (request instanceof Extend) {
        extended.merge(request.owner(), 1, Integer::sum);
        moments.add(bed.time.monotonicNanos());
      }
      return answers.apply(request);
    };
  }

  private void assertEachExtended(int leases, int most) {
    assertEquals(leases, extended.size());
    extended.forEach(
        (owner, times) ->
            assertTrue(
                times > 0 && times <= 3 * most,
                () -> owner + ": " + times + " requests, at most 3 x " + most + " allowed"));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 5_000})
  void unknownAnswersAreAskedForAConstantNumberOfTimes(int leases) {
    hold(leases);
    answerUnknown();
    bed.node(0).isReset();
    bed.time.pass(LONG_ENOUGH);
    assertEachExtended(leases, MOST);
    assertEquals(leases * 3 * MOST, moments.size(), "asked again while there is hope");
    bed.time.pass(LONG_ENOUGH);
    assertEquals(leases * 3 * MOST, moments.size(), "and then given up");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 5_000})
  void nodesLostTogetherShareOneChain(int leases) {
    hold(leases);
    answerUnknown();
    bed.node(0).isReset();
    bed.node(1).isReset();
    bed.time.passMillis(0);
    assertEachExtended(1, 2); // the others follow
    bed.time.pass(LONG_ENOUGH);
    assertEachExtended(leases, MOST + 1);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 50})
  void nodesLostOneAfterTheOtherBeginTheSameChainAnew(int leases) {
    hold(leases);
    answerUnknown();
    bed.node(0).isReset();
    bed.time.passMillis(400);
    int before = moments.size();
    assertTrue(before >= leases * 3 * 3 && before <= leases * 3 * 5, before + " in 0.4 s");
    bed.node(1).isReset();
    bed.time.passMillis(leases / 2);
    assertEquals(before + leases * 3, moments.size(), "one each half millisecond");
    bed.time.pass(LONG_ENOUGH);
    assertEquals(before + leases * 3 * MOST, moments.size());
  }

  @Test
  void leaseThatBeginsAfterTheResetOfANodeThatGrantedItIsExtendedAtOnce() {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(Bed.REQUEST);
    bed.answerGrants(NodeReply.GRANTED, 0);
    bed.node(0).isReset();
    bed.time.passMillis(0);
    bed.answerGrants(NodeReply.GRANTED, 1);
    assertTrue(Bed.now(call).lease().isPresent());
    bed.time.passMillis(0);
    assertEquals(3, bed.asked(Extend.class));
  }

  @Test
  void errorInOneLeaseKeepsNoOtherFromBeingAsked() {
    hold(3);
    answerUnknown();
    bed.node(0).isReset();
    bed.node(0).failsNext(new Error("a defect"));
    bed.time.pass(LONG_ENOUGH);
    assertEquals(3, extended.size());
    extended.values().forEach(times -> assertTrue(times >= 3 * (MOST - 1), times + " requests"));
  }
}
