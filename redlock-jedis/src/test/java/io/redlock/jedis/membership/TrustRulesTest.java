package io.redlock.jedis.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.scenes.Scenes;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

class TrustRulesTest {

  private static final String RUN = "aaaa";
  private static final String REPL = "bbbb";
  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final long SKEW_MICROS = Marks.SKEW_MICROS;
  private static final long Q = Marks.ABSTENTION_MILLIS;
  private static final List<String> NAMES = List.of("a", "b", "c");

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/membership/TrustRules.txt", Life::new);
  }

  /** A master, what is known of the others, and the judgement of both. */
  private static final class Life extends Scenes.Teller {

    private TrustRules rules = Marks.GUARDED;
    private final AuditedMaster master = new AuditedMaster(RUN, REPL);
    private long clockMicros = NOW_MILLIS * 1_000;
    private boolean byMedian = true;
    private OptionalLong beyondSkewMicros = OptionalLong.of(0);
    private long uncertaintyMicros;
    private Advice advice = new Advice.Keep();
    private String twin = "";

    @Override
    protected void perform(String command, String rest) {
      switch (command) {
        case "unguarded" -> rules = Marks.rules(false);
        case "role" -> master.role = rest;
        case "mode" -> master.mode = rest;
        case "policy" -> master.policy = rest;
        case "replicas" -> master.replicas = Integer.parseInt(rest);
        case "used" -> master.used = Long.parseLong(rest);
        case "limit" -> master.limit = Long.parseLong(rest);
        case "text" -> master.birth = rest;
        case "marked" -> master.birth = mark(RUN, REPL, Marks.micros(rest)).toString();
        case "adopted" -> master.birth = adopted(mark(RUN, REPL, Marks.micros(rest))).toString();
        case "of-another-process" ->
            master.birth = mark("cccc", REPL, Marks.micros(rest)).toString();
        case "of-another-history" ->
            master.birth = mark(RUN, "dddd", Marks.micros(rest)).toString();
        case "median" -> clockMicros = NOW_MILLIS * 1_000 + Marks.micros(rest);
        case "own-clock" -> {
          byMedian = false;
          clockMicros = Marks.micros(rest);
        }
        case "no-median" -> byMedian = false;
        case "misread" -> uncertaintyMicros = Marks.micros(rest);
        case "beyond" ->
            beyondSkewMicros =
                rest.equals("all") ? OptionalLong.empty() : OptionalLong.of(Marks.micros(rest));
        case "twin" -> twin = rest;
        case "write" -> {
          BirthMark mark = mark(RUN, REPL, 0);
          advice = new Advice.Write(mark.serves(), mark.sets(), mark.agreement());
        }
        case "keep" -> advice = new Advice.Keep();
        case "wait" -> advice = new Advice.Wait(rest);
        case "refuse" -> advice = new Advice.Refuse(rest);
        case "warning?" -> {
          String warning = TrustRules.warning(audit());
          tell(warning.isEmpty() ? "none" : warning);
        }
        case "judge" -> tell(rules.judge(Membership.Node.of(0, "", audit()), around()));
        default -> throw new IllegalArgumentException(command);
      }
    }

    private BirthMark mark(String run, String repl, long ageMicros) {
      return Marks.founded(
          run, repl, NOW_MILLIS - ageMicros / 1_000, rules.terms().guarded(), NAMES);
    }

    private NodeAudit audit() {
      return master.audit(NOW_MILLIS * 1_000);
    }

    private Surroundings around() {
      return new Surroundings(
          clockMicros, byMedian, beyondSkewMicros, uncertaintyMicros, advice, twin);
    }

    private void tell(Verdict verdict) {
      tell((verdict.stand() + " " + verdict.reason()).strip());
      if (verdict.remainingMillis() > 0) {
        tell("for " + verdict.remainingMillis() + " ms");
      }
      tell(
          verdict.birth().isEmpty()
              ? "grants carry nothing"
              : master.birth.startsWith(verdict.birth())
                  ? "grants carry its mark"
                  : "grants carry " + verdict.birth());
      Refresh refresh = verdict.refresh();
      if (refresh != null) {
        assertEquals(master.birth, refresh.seen());
        tell("write " + refresh.mark().head() + refresh.firstSeen() + refresh.mark().tail());
      }
    }
  }

  @Test
  void abstentionIsTheLongestTtlWithItsDriftAndTwiceTheSkew() {
    assertEquals(30_000 + 300 + 2 + 2 * 2_000, abstention(Duration.ofSeconds(30), SKEW_MICROS));
    assertEquals(11 + 1 + 2 + 2 * 2, abstention(Duration.ofNanos(10_000_001), 1_001));
  }

  private static long abstention(Duration maxTtl, long skewMicros) {
    return TrustRules.of(true, maxTtl, 10_000, skewMicros, "").terms().abstentionMillis();
  }

  @Test
  void markThatAsksForMoreThanAnyClientMayNeedCountsAsTheBound() {
    String month =
        seen(1).toString().replace(" 34302 ", " " + Duration.ofDays(30).toMillis() + " ");
    BirthMark parsed = BirthMark.parse(month);
    assertNotNull(parsed);
    assertEquals(Duration.ofHours(2).toMillis(), parsed.agreement().abstentionMillis());
  }

  @Test
  void namesOfMastersMayHaveAnyCharacter() {
    List<String> names = List.of("[::1]:6379", "one; two, three=4|%3A \u00e9", "a:1");
    BirthMark mark = Marks.founded(RUN, REPL, 1, true, names);
    assertEquals(mark, BirthMark.parse(mark.toString()));
  }

  @Test
  void timeOfTheFirstSightIsThatOfTheMarkOrOfItsWriting() {
    assertEquals("5", new Refresh("", 0, seen(5), 7).firstSeen());
    assertEquals("+7", new Refresh("", 0, seen(BirthMark.NOW), 7).firstSeen());
  }

  @Test
  void adoptedMarkIsSettledIfAClientUsesIt() {
    BirthMark adopted = adopted(seen(NOW_MILLIS));
    assertTrue(adopted.isAdopted());
    assertEquals(0, adopted.leftMillis(audit(), 0));
    assertEquals(0, seen(NOW_MILLIS - Q).leftMillis(audit(), 0));
    assertEquals(1, seen(NOW_MILLIS - Q + 1).leftMillis(audit(), 0));
  }

  private static BirthMark adopted(BirthMark mark) {
    return Objects.requireNonNull(BirthMark.parse(mark.toString().replace(" seen ", " adopted ")));
  }

  private static BirthMark seen(long atMillis) {
    return Marks.founded(RUN, REPL, atMillis, true, NAMES);
  }

  private static NodeAudit audit() {
    return new AuditedMaster(RUN, REPL).audit(NOW_MILLIS * 1_000);
  }
}
