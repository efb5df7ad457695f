package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.trust.KeptLog;
import io.redlock.jedis.trust.Verdict;
import io.redlock.jedis.trust.Verdict.Stand;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The states of a node, and what is refused in each. */
class LaneHealthRulesTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final long MILLI = 1_000_000;
  private static final Verdict VOTES = new Verdict(Stand.VOTES, "", 0, "birth", null);
  private static final Verdict ABSTAINS = Verdict.abstains(500, "its data is new", null);
  private static final Verdict REFUSED = Verdict.refused("it is a replica");

  private static final NodeReply SILENCE = NodeReply.unreachable("silent");
  private static final NodeReply GONE = NodeReply.unreachable("refused connection");
  private static final NodeReply DENIED = NodeReply.misconfigured("NOPERM no rights");

  private static final NodeReply DENIED_NAME =
      NodeReply.misconfigured("NOPERM No permissions to access a key: allow it");

  private static final NodeRequest GRANT = new Grant(List.of("a"), "owner", 1, 1);
  private static final NodeRequest EXTEND = new Extend(List.of("a"), "owner", 1, 1, 1);
  private static final NodeRequest RELEASE = new Release(List.of("a"), "owner", 1);
  private static final NodeRequest WITHDRAWAL =
      new RemoveTicket(List.of("a"), new Ticket("client", 1, 1, 1));

  private final List<String> told = new ArrayList<>();
  private final List<LaneEffect> effects = new ArrayList<>();
  private final LaneHealth health =
      new LaneHealth(
          "n",
          status -> told.add(status.state() + " " + status.reason().orElse("")),
          effects::add,
          0);

  /** Runs the reports and takes what they told. */
  private List<String> told() {
    effects.forEach(effect -> ((LaneEffect.Report) effect).report().run());
    effects.clear();
    List<String> taken = List.copyOf(told);
    told.clear();
    return taken;
  }

  private void assertRefusals(
      @Nullable NodeReply grant,
      @Nullable NodeReply extend,
      @Nullable NodeReply withdrawal,
      @Nullable NodeReply release) {
    assertEquals(grant, health.refusal(GRANT));
    assertEquals(extend, health.refusal(EXTEND));
    assertEquals(withdrawal, health.refusal(WITHDRAWAL));
    assertEquals(release, health.refusal(RELEASE));
  }

  private LaneHealth up() {
    health.connected(VOTES, MILLI);
    told();
    return health;
  }

  @Test
  void nodeIsConnectingUntilItIsUpAndEverythingWaits() {
    assertEquals(State.CONNECTING, health.status(0, 0).state());
    assertRefusals(null, null, null, null);
    health.connected(VOTES, MILLI);
    assertEquals(List.of("UP "), told());
    assertRefusals(null, null, null, null);
    assertNull(health.refusal());
    assertNull(health.toGrant());
  }

  @Test
  void nodeThatAbstainsGetsEverythingButGrants() {
    health.connected(ABSTAINS, MILLI);
    NodeReply abstains = NodeReply.abstain(500, "its data is new");
    assertEquals(List.of("ABSTAINING its data is new"), told());
    assertRefusals(abstains, null, null, null);
    assertEquals(abstains, health.toGrant());
    assertNull(health.refusal());
  }

  @Test
  void nodeThatIsRefusedGetsReleasesAndWithdrawals() {
    health.connected(REFUSED, MILLI);
    NodeReply refused = NodeReply.misconfigured("it is a replica");
    assertEquals(List.of("MISCONFIGURED it is a replica"), told());
    assertRefusals(refused, refused, null, null);
  }

  @Test
  void nodeThatIsDownGetsReleasesOnly() {
    health.down(GONE, MILLI);
    assertEquals(List.of("DOWN refused connection"), told());
    assertRefusals(GONE, GONE, GONE, null);
    assertEquals(GONE, health.refusal());
    assertEquals("refused connection", health.status(MILLI, 0).lastError().orElse(""));
  }

  @Test
  void nodeThatCannotBeConnectedByMistakeIsMisconfigured() {
    health.down(DENIED, MILLI);
    assertEquals(List.of("MISCONFIGURED NOPERM no rights"), told());
    assertRefusals(DENIED, DENIED, DENIED, null);
  }

  @Test
  void silentNodeGetsReleasesAndWithdrawals() {
    assertTrue(up().silent(SILENCE, MILLI));
    assertEquals(List.of("SILENT silent"), told());
    assertRefusals(SILENCE, SILENCE, null, null);
    assertFalse(health.silent(SILENCE, MILLI), "it is already");
    assertEquals(List.of(), told());
  }

  @Test
  void nodeWithoutAConnectionIsNotSilent() {
    assertFalse(health.silent(SILENCE, MILLI));
    up().lost("reset", MILLI);
    assertFalse(health.silent(SILENCE, MILLI));
    assertEquals(List.of("DOWN reset"), told());
  }

  @Test
  void silenceEndsWithAnAnswerInTheStateBefore() {
    health.connected(ABSTAINS, MILLI);
    assertTrue(health.silent(SILENCE, MILLI));
    told();
    health.answered(MILLI);
    assertEquals(List.of("ABSTAINING its data is new"), told());
    health.answered(MILLI);
    assertEquals(List.of(), told());
  }

  @Test
  void anyAnswerToARequestEndsASilence() {
    for (NodeReply each :
        List.of(
            NodeReply.GRANTED,
            NodeReply.EXTENDED,
            NodeReply.JOINED,
            NodeReply.RELEASED,
            NodeReply.held(1, 1, ""),
            NodeReply.of(Kind.OUT_OF_MEMORY, "OOM"),
            NodeReply.unknown("ERR"),
            NodeReply.unreachable("BUSY"),
            NodeReply.abstain(1, "its data is new"),
            NodeReply.misconfigured("a key of another application has this name: WRONGTYPE"))) {
      for (Script script : List.of(Script.GRANT, Script.INSPECT)) {
        up().silent(SILENCE, MILLI);
        told();
        health.answered(script, each, MILLI, MILLI);
        assertEquals("UP ", told().get(0), script + ": " + each);
      }
    }
  }

  @Test
  void lostConnectionLetsRequestsWaitUntilThatTakesTooLong() {
    up().lost("reset", MILLI);
    assertEquals(List.of("DOWN reset"), told());
    assertRefusals(null, null, null, null);
    assertEquals("reset", health.status(MILLI, 0).lastError().orElse(""));
    NodeReply refused = NodeReply.unreachable("reset");
    assertEquals(refused, health.connectingTooLong(MILLI));
    assertRefusals(refused, refused, refused, null);
    assertEquals(List.of(), told(), "the state is the same");
  }

  @Test
  void firstConnectionThatTakesTooLongIsNotYetThere() {
    NodeReply refused = NodeReply.unreachable("not yet connected");
    assertEquals(refused, health.connectingTooLong(MILLI));
    assertRefusals(refused, refused, refused, null);
    assertEquals(State.CONNECTING, health.status(0, 0).state());
  }

  @Test
  void closedLaneRefusesAllButReleases() {
    up().closed(MILLI);
    NodeReply closed = NodeReply.unreachable("closed");
    assertEquals(List.of("CLOSED "), told());
    assertRefusals(closed, closed, closed, null);
  }

  // Audits.

  @Test
  void auditDecidesTheState() {
    up().audited(ABSTAINS, MILLI);
    health.audited(ABSTAINS, MILLI);
    health.audited(REFUSED, MILLI);
    health.audited(VOTES, MILLI);
    assertEquals(
        List.of("ABSTAINING its data is new", "MISCONFIGURED it is a replica", "UP "), told());
  }

  @Test
  void auditEndsASilence() {
    up().silent(SILENCE, MILLI);
    health.audited(VOTES, MILLI);
    assertEquals(State.UP, health.status(0, 0).state());
    assertRefusals(null, null, null, null);
  }

  @Test
  void nodeThatIsNotAuditedAbstains() {
    up().unaudited("not audited", MILLI);
    NodeReply abstains = NodeReply.abstain(-1, "not audited");
    assertRefusals(abstains, null, null, null);
    assertEquals(List.of("ABSTAINING not audited"), told());
  }

  @Test
  void nodeThatIsNotAuditedAndDoesNotVoteStaysWhatItIs() {
    health.connected(REFUSED, MILLI);
    told();
    health.unaudited("not audited", MILLI);
    assertEquals(List.of(), told());
    assertEquals("it is a replica", health.status(MILLI, 0).reason().orElse(""));
  }

  @Test
  void silentNodeThatIsNotAuditedStaysSilentAndAbstainsAfterwards() {
    up().silent(SILENCE, MILLI);
    told();
    health.unaudited("not audited", MILLI);
    assertRefusals(SILENCE, SILENCE, null, null);
    assertEquals(NodeReply.abstain(-1, "not audited"), health.toGrant());
    assertEquals(List.of(), told());
    assertEquals("silent", health.status(MILLI, 0).reason().orElse(""));
    health.answered(MILLI);
    assertEquals(List.of("ABSTAINING not audited"), told());
  }

  // Denials.

  private void deny(Script script) {
    health.answered(script, DENIED, MILLI, MILLI);
  }

  @Test
  void scriptThatIsDeniedMakesTheNodeMisconfiguredAndIsSentAllTheSame() {
    up();
    deny(Script.EXTEND);
    assertEquals(List.of("MISCONFIGURED NOPERM no rights"), told());
    assertEquals("NOPERM no rights", health.status(MILLI, 0).lastError().orElse(""));
    assertRefusals(null, null, null, null);
  }

  @Test
  void inspectionThatIsDeniedIsNoFaultOfTheNode() {
    up();
    deny(Script.INSPECT);
    assertEquals(List.of(), told());
    assertEquals(State.UP, health.status(MILLI, 0).state());
    assertEquals("", health.status(MILLI, 0).lastError().orElse(""));
  }

  @Test
  void denialEndsWhenThatScriptIsExecuted() {
    for (NodeReply executed :
        List.of(NodeReply.GRANTED, NodeReply.EXTENDED, NodeReply.JOINED, NodeReply.RELEASED)) {
      up();
      deny(Script.EXTEND);
      told();
      health.answered(Script.GRANT, executed, MILLI, MILLI);
      assertEquals(List.of(), told(), "another script");
      health.answered(Script.EXTEND, NodeReply.NOT_HELD, MILLI, MILLI);
      assertEquals(List.of(), told(), "it may have refused before it came to what is denied");
      health.answered(Script.EXTEND, executed, MILLI, MILLI);
      assertEquals(List.of("UP "), told());
    }
  }

  @Test
  void denialOfEveryWriteEndsWhenAnyScriptIsExecuted() {
    for (String state :
        List.of(
            "MISCONF Redis cannot save its snapshot",
            "NOREPLICAS Not enough good replicas to write",
            "READONLY You can't write against a read only replica")) {
      up();
      health.answered(Script.FAIR_GRANT, NodeReply.misconfigured(state), MILLI, MILLI);
      assertEquals(List.of("MISCONFIGURED " + state), told());
      health.answered(Script.RELEASE, NodeReply.NOT_HELD, MILLI, MILLI);
      assertEquals(List.of(), told(), "it wrote nothing");
      health.answered(Script.RELEASE, NodeReply.RELEASED, MILLI, MILLI);
      assertEquals(List.of("UP "), told());
    }
  }

  /** As with a keyPrefix that the user's rights do not cover. */
  @Test
  void denialOfEveryNameIsAFaultOfTheNodeUntilOneIsAllowed() {
    String warning = "node n is MISCONFIGURED: " + DENIED_NAME.detail();
    int times = 0;
    for (NodeReply allowed : List.of(NodeReply.GRANTED, NodeReply.NOT_HELD, held())) {
      up();
      health.answered(Script.GRANT, DENIED_NAME, MILLI, MILLI);
      health.answered(Script.RELEASE, DENIED_NAME, MILLI, MILLI);
      assertEquals(List.of("MISCONFIGURED " + DENIED_NAME.detail()), told());
      assertEquals(++times, log.warnings().stream().filter(warning::equals).count());
      assertRefusals(null, null, null, null);
      health.answered(Script.RELEASE, allowed, MILLI, MILLI);
      assertEquals(List.of("UP "), told());
    }
  }

  @Test
  void denialOfOneNameAmongOthersIsNoFaultOfTheNode() {
    for (NodeReply allowed : List.of(held(), NodeReply.GRANTED)) {
      up().answered(Script.FAIR_GRANT, allowed, MILLI, MILLI);
      health.answered(Script.GRANT, DENIED_NAME, MILLI, MILLI);
      assertEquals(List.of(), told());
    }
    health.lost("reset", MILLI);
    up().answered(Script.GRANT, DENIED_NAME, MILLI, MILLI);
    assertEquals(List.of("MISCONFIGURED " + DENIED_NAME.detail()), told(), "the rights changed");
  }

  private static NodeReply held() {
    return NodeReply.held(1, 1, "");
  }

  @Test
  void denialOutlivesAuditsThatFindTheSame() {
    up();
    deny(Script.EXTEND);
    told();
    health.audited(VOTES, MILLI);
    assertEquals(List.of(), told());
    assertEquals("NOPERM no rights", health.status(MILLI, 0).reason().orElse(""));
    health.audited(ABSTAINS, MILLI);
    assertEquals(List.of("ABSTAINING its data is new"), told());
    health.audited(VOTES, MILLI);
    assertEquals(List.of("UP "), told());
  }

  @Test
  void nodeThatDeniesCanFallSilentAndIsUpAfterwards() {
    up();
    deny(Script.EXTEND);
    assertTrue(health.silent(SILENCE, MILLI));
    told();
    health.answered(MILLI);
    assertEquals(List.of("UP "), told());
  }

  @Test
  void denialBySilentNodeIsHeeded() {
    up().silent(SILENCE, MILLI);
    told();
    deny(Script.GRANT);
    assertEquals(List.of("MISCONFIGURED NOPERM no rights"), told());
    assertRefusals(null, null, null, null);
  }

  @Test
  void denialByANodeThatIsRefusedAnywaySaysNothingNew() {
    health.connected(REFUSED, MILLI);
    told();
    deny(Script.RELEASE);
    assertEquals("it is a replica", health.status(MILLI, 0).reason().orElse(""));
    assertEquals(List.of(), told());
    health.answered(Script.RELEASE, NodeReply.RELEASED, MILLI, MILLI);
    assertEquals(State.MISCONFIGURED, health.status(0, 0).state());
  }

  @Test
  void refusedNodeThatWasSilentIsRefusedAgain() {
    health.connected(REFUSED, MILLI);
    health.silent(SILENCE, MILLI);
    told();
    deny(Script.RELEASE);
    assertEquals(List.of("MISCONFIGURED it is a replica"), told());
  }

  @Test
  void denialThatConcernsOneNameDoesNotConcernTheNode() {
    up().answered(
            Script.GRANT,
            NodeReply.misconfigured("a key of another application has this name: WRONGTYPE"),
            MILLI,
            MILLI);
    assertEquals(List.of(), told());
    assertTrue(health.status(MILLI, 0).lastError().orElse("").startsWith("a key of another"));
  }

  @Test
  void denialWithoutAConnectionChangesNothing() {
    up().lost("reset", MILLI);
    told();
    deny(Script.GRANT);
    assertEquals(List.of(), told());
  }

  // What is told.

  @Test
  void lastErrorIsKept() {
    up().answered(Script.GRANT, NodeReply.unknown("ERR odd"), MILLI, MILLI);
    assertEquals("ERR odd", health.status(MILLI, 0).lastError().orElse(""));
    health.answered(Script.GRANT, NodeReply.unreachable("BUSY"), MILLI, MILLI);
    health.answered(Script.GRANT, NodeReply.held(1, 1, ""), MILLI, MILLI);
    assertEquals("BUSY", health.status(MILLI, 0).lastError().orElse(""));
    assertEquals(List.of(), told());
  }

  @Test
  void missingMemoryIsToldOnceUntilItGrantsAgain() {
    NodeReply full = NodeReply.of(Kind.OUT_OF_MEMORY, "out of memory");
    up().answered(Script.GRANT, full, MILLI, MILLI);
    assertEquals(1, effects.size());
    health.answered(Script.GRANT, full, MILLI, MILLI);
    health.answered(Script.RELEASE, NodeReply.RELEASED, MILLI, MILLI);
    assertEquals(1, effects.size());
    assertEquals("out of memory", health.status(MILLI, 0).lastError().orElse(""));
    health.answered(Script.GRANT, NodeReply.GRANTED, MILLI, MILLI);
    assertEquals(2, effects.size());
    health.answered(Script.GRANT, NodeReply.GRANTED, MILLI, MILLI);
    assertEquals(2, effects.size());
    health.answered(Script.GRANT, full, MILLI, MILLI);
    health.answered(Script.EXTEND, NodeReply.JOINED, MILLI, MILLI);
    assertEquals(4, effects.size());
    assertEquals(List.of(), told(), "the state is the same");
    assertEquals(State.UP, health.status(0, 0).state());
    assertEquals(
        List.of(
            "node n grants nothing: out of memory",
            "node n grants again: it is no longer out of memory",
            "node n grants nothing: out of memory",
            "node n grants again: it is no longer out of memory"),
        log.warnings());
  }

  @Test
  void statusSaysSinceWhenAndHowMuchWaits() {
    up().audited(VOTES, 5 * MILLI);
    assertEquals(Duration.ofMillis(9), health.status(10 * MILLI, 3).sinceAgo());
    assertEquals(3, health.status(10 * MILLI, 3).queued());
    assertEquals("n", health.status(10 * MILLI, 3).name());
    assertEquals(Duration.ZERO, health.status(0, 3).sinceAgo(), "a reading that came late");
    health.lost("reset", 20 * MILLI);
    health.connectingTooLong(25 * MILLI);
    health.down(GONE, 30 * MILLI);
    assertEquals(Duration.ofMillis(12), health.status(32 * MILLI, 0).sinceAgo());
    assertEquals("refused connection", health.status(32 * MILLI, 0).reason().orElse(""));
  }

  @Test
  void denialSaysSinceWhen() {
    up();
    health.answered(Script.EXTEND, DENIED, MILLI, 5 * MILLI);
    health.answered(Script.GRANT, DENIED, MILLI, 7 * MILLI);
    assertEquals(Duration.ofMillis(5), health.status(10 * MILLI, 0).sinceAgo());
  }

  @Test
  void statusSaysHowLongRoundTripsTake() {
    up();
    for (int i = 1; i <= 100; i++) {
      health.answered(Script.GRANT, NodeReply.GRANTED, i * MILLI, MILLI);
    }
    assertEquals(Duration.ofMillis(50), health.status(MILLI, 0).roundTripMedian().orElseThrow());
    assertEquals(Duration.ofMillis(99), health.status(MILLI, 0).roundTrip99().orElseThrow());
  }

  // The log.

  @Test
  void changesAreLoggedOnceAndWithTheirReasons() {
    health.connected(VOTES, MILLI);
    told();
    assertEquals(List.of(), log.warnings(), "as it should be");
    health.audited(REFUSED, MILLI);
    health.audited(VOTES, MILLI);
    health.lost("reset", MILLI);
    health.down(GONE, MILLI);
    health.closed(MILLI);
    told();
    assertEquals(
        List.of(
            "node n is MISCONFIGURED: it is a replica",
            "node n is UP again, was MISCONFIGURED",
            "node n is DOWN: reset"),
        log.warnings());
  }

  @Test
  void silenceIsAWarningOnceItHasLastedASecond() {
    up().tick(5_000 * MILLI);
    assertEquals(List.of(), effects, "it is not silent");
    health.silent(SILENCE, MILLI);
    health.tick(900 * MILLI);
    health.answered(950 * MILLI);
    assertEquals(List.of("SILENT silent", "UP "), told());
    assertEquals(List.of(), log.warnings(), "it was short");
    health.silent(SILENCE, 1_000 * MILLI);
    health.tick(1_999 * MILLI);
    told();
    assertEquals(List.of(), log.warnings());
    health.tick(2_000 * MILLI);
    told();
    assertEquals(List.of("node n is SILENT: silent"), log.warnings());
    health.tick(2_100 * MILLI);
    told();
    assertEquals(1, log.warnings().size());
    health.answered(2_200 * MILLI);
    told();
    assertEquals("node n is UP again, was SILENT", log.warnings().get(1));
    health.silent(SILENCE, 3_000 * MILLI);
    health.lost("reset", 3_001 * MILLI);
    told();
    assertEquals(List.of("node n is DOWN: reset"), log.warnings().subList(2, 3));
  }

  @Test
  void firstStateIsLoggedUnlessItIsUp() {
    health.connected(ABSTAINS, MILLI);
    told();
    assertEquals(List.of("node n is ABSTAINING: its data is new"), log.warnings());
  }
}
