package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.jedis.trust.Verdict.Stand;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.exceptions.JedisDataException;

/** When the next audit is due, when the last is too old, and what an answer is. */
class AuditPlanTest {

  private static final long MILLI = 1_000_000;

  private final LaneBed bed = new LaneBed(3, true).others(2);
  private final List<String> lost = new ArrayList<>();
  private final Audits audits =
      new Audits(bed.trust(0), new NodeClock(), bed, lost::add, 1_000 * MILLI);

  private Audits.Answer audited(@Nullable Object reply) {
    Call call = audits.call(null);
    call.sinceNanos = bed.nowNanos;
    return audits.answered(
        call,
        reply == null
            ? bed.node.audited(
                TestNode.words(call.command(new ScriptCommand(), audits.guard())), bed.wallMicros())
            : reply,
        bed.nowNanos);
  }

  @Test
  void answerIsAVerdictOrAnErrorOrForeign() {
    assertEquals(Audits.Answer.TRANSIENT_ERROR, audited(new JedisDataException("BUSY")));
    assertEquals(Stand.REFUSED, audits.verdict().stand());
    assertFalse(audits.isFavorable());
    assertEquals(Audits.Answer.FOREIGN, audited(TestNode.bytes("GRANT 1")));
    assertEquals(Audits.Answer.VERDICT, audited(null));
    assertTrue(audits.isFavorable());
    assertEquals(Audits.Answer.VERDICT, audited(new JedisDataException("NOPERM no")));
    assertFalse(audits.isFavorable());
  }

  @Test
  void auditIsDueAPeriodAfterTheLastWasSentAndNotWhileOneIsUnderWay() {
    audited(null);
    long sent = bed.nowNanos;
    audits.plan(sent + 5);
    assertEquals(sent + 1_000 * MILLI, audits.dueNanos());
    assertNull(audits.due(audits.dueNanos() - 1));
    assertNotNull(audits.due(audits.dueNanos()));
    audits.sent(audits.dueNanos());
    assertEquals(sent + 2_000 * MILLI, audits.dueNanos());
    assertNull(audits.due(audits.dueNanos()), "one is under way");
    audits.left();
    assertNotNull(audits.due(audits.dueNanos()));
    audits.hasten(7);
    assertEquals(7, audits.dueNanos());
  }

  @Test
  void lastSuccessThatBecomesTooOldBeforeTheNextAuditIsLookedAt() {
    audited(null);
    long stale = bed.nowNanos + 3_000 * MILLI + 1;
    audits.hasten(stale);
    assertEquals(stale, audits.dueOrStaleNanos(bed.nowNanos));
    audits.hasten(stale + 5);
    assertEquals(stale, audits.dueOrStaleNanos(stale - 1));
    assertEquals(stale + 5, audits.dueOrStaleNanos(stale), "it is too old already");
    audits.hasten(stale - 5);
    assertEquals(stale - 5, audits.dueOrStaleNanos(bed.nowNanos));
  }

  @Test
  void successIsTooOldAfterThreeSecondsWithoutPauses() {
    audited(null);
    long last = bed.nowNanos;
    assertFalse(audits.isStale(last + 3_000 * MILLI));
    assertTrue(audits.isStale(last + 3_000 * MILLI + 1));
    audits.paused(500 * MILLI, last + 1_000 * MILLI);
    assertFalse(audits.isStale(last + 3_500 * MILLI));
    assertTrue(audits.isStale(last + 3_500 * MILLI + 1));
  }

  @Test
  void auditIsDueWhenAnAbstentionEndsIfThatIsBeforeThePeriodEnds() {
    for (long leftMillis : List.of(1L, 990L, 1_000L, 5_000L)) {
      LaneBed young = new LaneBed(3, true).others(2);
      young.node.mark(3, true, ageOf(young, TestNode.ABSTENTION_MILLIS - leftMillis));
      Audits each = new Audits(young.trust(0), new NodeClock(), young, lost::add, 1_000 * MILLI);
      Call call = each.call(null);
      call.sinceNanos = young.nowNanos - 10 * MILLI;
      List<String> command = TestNode.words(call.command(new ScriptCommand(), each.guard()));
      each.answered(call, young.node.audited(command, young.wallMicros()), young.nowNanos);
      long remainingMillis = each.verdict().remainingMillis();
      each.plan(young.nowNanos);
      assertEquals(
          remainingMillis < 1_000
              ? young.nowNanos + remainingMillis * MILLI
              : young.nowNanos - 10 * MILLI + 1_000 * MILLI,
          each.dueNanos(),
          leftMillis + " ms left");
    }
  }

  private static long ageOf(LaneBed young, long ageMillis) {
    return young.wallMicros() / 1_000 - ageMillis;
  }

  @Test
  void abstentionOfUnknownLengthHastensNoAudit() {
    LaneBed alone = new LaneBed(3, true);
    Audits each = new Audits(alone.trust(0), new NodeClock(), alone, lost::add, 1_000 * MILLI);
    Call call = each.call(null);
    call.sinceNanos = alone.nowNanos;
    List<String> command = TestNode.words(call.command(new ScriptCommand(), each.guard()));
    each.answered(call, alone.node.audited(command, alone.wallMicros()), alone.nowNanos);
    assertEquals(-1, each.verdict().remainingMillis());
    each.plan(alone.nowNanos);
    assertEquals(alone.nowNanos + 1_000 * MILLI, each.dueNanos());
  }
}
