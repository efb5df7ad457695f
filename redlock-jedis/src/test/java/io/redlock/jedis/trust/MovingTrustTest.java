package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.trust.Agreement.MasterSet;
import io.redlock.jedis.trust.Roll.Advice;
import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** What the lanes of a client know together while it moves from three masters to five. */
class MovingTrustTest {

  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final List<String> NAMES = List.of("a", "b", "c", "d", "e");
  private static final MasterSet PRESENT = new MasterSet("k7f2", NAMES.subList(0, 3));
  private static final Served PREPARED = Served.of("k7f2", "k7f2>m3d9");
  private static final Served COMMITTED = Served.of("k7f2>m3d9");

  private final Ticker ticker =
      new Ticker() {
        @Override
        public long monotonicNanos() {
          return 7_000_000_000L;
        }

        @Override
        public long wallMicros() {
          return NOW_MILLIS * 1_000;
        }
      };
  private final Quorum joint = new Quorum(0b00111, 0b11111);
  private final Peers peers = new Peers(NAMES, joint, Marks.SKEW_MICROS);

  private Surroundings hear(int node, Served served) {
    String birth =
        Marks.founded(
                "run" + node,
                "repl",
                NOW_MILLIS - 2 * Marks.ABSTENTION_MILLIS,
                served,
                Marks.GUARDED.agreement(List.of(PRESENT, futureOf(served))))
            .toString();
    NodeAudit audit =
        new NodeAudit(
            "7",
            "run" + node,
            "master",
            "standalone",
            "repl",
            0,
            0,
            "noeviction",
            0,
            NOW_MILLIS * 1_000,
            birth);
    long nanos = ticker.monotonicNanos();
    return peers.hear(node, audit, nanos, nanos, ticker, Marks.GUARDED);
  }

  private static MasterSet futureOf(Served served) {
    return new MasterSet(served.successorOf(PRESENT.id()).orElseThrow(), NAMES);
  }

  @Test
  void movingClientLearnsTheChangeThatMostNodesShowUntilItHasAQuorum() {
    assertEquals("", peers.label());
    hear(0, Served.of("k7f2>x1"));
    assertEquals("k7f2>x1", peers.label());
    hear(1, PREPARED);
    hear(2, PREPARED);
    assertEquals("k7f2>m3d9", peers.label());
    for (int node = 0; node < 5; node++) {
      peers.judged(node, true);
    }
    hear(1, Served.of("k7f2>x1"));
    assertEquals(new Advice.Keep(), hear(2, PREPARED).advice());
    Advice other = hear(2, Served.of("k7f2>x1")).advice();
    assertTrue(other.toString().contains("restart the client"), other.toString());
    assertEquals("k7f2>m3d9", peers.label());
  }

  @Test
  void movingClientVotesWithMajoritiesOfBothSets() {
    assertFalse(peers.judged(0, true));
    assertFalse(peers.judged(1, true), "two of three old masters, two of five new ones");
    assertTrue(peers.tooFew().contains("2 of 3 old masters and 3 of 5 new ones can"));
    assertFalse(peers.judged(3, false));
    assertTrue(peers.judged(4, true));
  }

  @Test
  void clocksOfBothSetsMustAgree() {
    hear(0, PREPARED);
    hear(1, PREPARED);
    assertTrue(hear(0, PREPARED).beyondSkewMicros().isEmpty());
    assertFalse(hear(0, PREPARED).byMedian());
    assertEquals(OptionalLong.of(0), hear(3, COMMITTED).beyondSkewMicros());
    assertTrue(hear(0, PREPARED).byMedian());
  }
}
