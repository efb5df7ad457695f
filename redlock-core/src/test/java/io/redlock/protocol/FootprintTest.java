package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.spi.NodeReply.Kind;
import java.util.EnumSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

class FootprintTest {

  private static final Set<Kind> LEAVES_A_KEY_PERHAPS =
      EnumSet.of(Kind.GRANTED, Kind.EXTENDED, Kind.JOINED, Kind.UNKNOWN, Kind.DENIED);

  @Test
  void oneYesOrOneUnknownOutweighsEveryOtherAnswerInAnyOrder() {
    for (Kind first : Kind.values()) {
      for (Kind second : Kind.values()) {
        for (Kind third : Kind.values()) {
          Footprint footprint =
              Footprint.NONE.with(2, first).with(2, second).with(2, third).with(0, Kind.HELD);
          boolean expected =
              LEAVES_A_KEY_PERHAPS.contains(first)
                  || LEAVES_A_KEY_PERHAPS.contains(second)
                  || LEAVES_A_KEY_PERHAPS.contains(third);
          assertEquals(
              expected ? 0b100 : 0,
              footprint.releaseSet(0),
              () -> first + ", " + second + ", " + third);
        }
      }
    }
  }

  @Test
  void nodesThatOweAnAnswerAreReleasedToo() {
    assertEquals(0b1011, Footprint.NONE.with(0, Kind.GRANTED).releaseSet(0b1010));
  }
}
