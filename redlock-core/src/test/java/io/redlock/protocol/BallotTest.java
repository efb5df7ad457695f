package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.redlock.spi.NodeReply.Kind;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BallotTest {

  @Test
  void everyKindFitsAndIsReadBackAtEveryNode() {
    for (int node = 0; node < Ballot.MAX_NODES; node++) {
      for (Kind kind : Kind.values()) {
        Ballot ballot = Ballot.empty(Ballot.MAX_NODES).with(node, kind);
        assertEquals(kind, Told.kind(ballot, node));
        for (int other = 0; other < Ballot.MAX_NODES; other++) {
          assertEquals(other != node, ballot.isPending(other));
        }
      }
    }
  }

  @Test
  void firstAnswerOfANodeCountsAndNoOther() {
    for (Kind first : Kind.values()) {
      Ballot ballot = Ballot.empty(3).with(1, first);
      for (Kind second : Kind.values()) {
        assertSame(ballot, ballot.with(1, second));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void orderOfAnswersLeavesNoTrace(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (int run = 0; run < 1_000; run++) {
      int nodes = 1 + random.nextInt(Ballot.MAX_NODES);
      Kind[] kinds = new Kind[nodes];
      Arrays.setAll(kinds, node -> Kind.values()[random.nextInt(Kind.values().length)]);
      Ballot forwards = Ballot.empty(nodes);
      Ballot backwards = Ballot.empty(nodes);
      for (int node = 0; node < nodes; node++) {
        forwards = forwards.with(node, kinds[node]);
        backwards = backwards.with(nodes - 1 - node, kinds[nodes - 1 - node]);
      }
      assertEquals(forwards, backwards, "seed " + seed);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {4, 5, 6})
  void countsAreThoseOfAPlainList(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    for (int run = 0; run < 1_000; run++) {
      int nodes = 1 + random.nextInt(Ballot.MAX_NODES);
      Ballot ballot = Ballot.empty(nodes);
      int pending = nodes;
      int taken = 0;
      int held = 0;
      for (int node = 0; node < nodes; node++) {
        if (random.nextBoolean()) {
          Kind kind = Kind.values()[random.nextInt(Kind.values().length)];
          ballot = ballot.with(node, kind);
          pending--;
          taken += EnumSet.of(Kind.HELD, Kind.WAIT, Kind.STALE).contains(kind) ? 1 : 0;
          held += EnumSet.of(Kind.EXTENDED, Kind.JOINED).contains(kind) ? 1 : 0;
        }
      }
      assertEquals(pending, Integer.bitCount(ballot.set(Ballot.PENDING)), "seed " + seed);
      assertEquals(taken, Integer.bitCount(ballot.set(Ballot.REFUSED)), "seed " + seed);
      assertEquals(held, Integer.bitCount(ballot.set(Ballot.HELD)), "seed " + seed);
      assertEquals(nodes, Integer.bitCount(ballot.set(-1)), "seed " + seed);
    }
  }

  @Test
  void closingClassesTheUnansweredAsUnknownAndKeepsTheRest() {
    Ballot granted = Ballot.empty(3).with(1, Kind.GRANTED);
    assertEquals(granted.with(0, Kind.UNKNOWN).with(2, Kind.UNKNOWN), granted.closed());
  }
}
