package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.FakeNet.FakeWire;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import java.io.IOException;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The shell of a lane survives whatever is thrown. */
class NodeLaneFailureTest extends LaneStage {

  static Stream<Arguments> throwables() {
    return Stream.of("write flush dial observer handler encoder ticker end".split(" "))
        .flatMap(
            where ->
                Stream.of(
                        new IllegalStateException("test"),
                        new AssertionError("test"),
                        new OutOfMemoryError("test"),
                        new StackOverflowError("test"))
                    .map(thrown -> Arguments.of(where, thrown)));
  }

  @ParameterizedTest
  @MethodSource("throwables")
  void laneLivesOnWithOneLineInTheLog(String where, Throwable thrown) throws InterruptedException {
    FakeWire wire = up();
    Answers answers = new Answers();
    NodeRequest request = grant("a");
    rest(wire);
    switch (where) {
      case "write" -> net.writeThrows.set(thrown);
      case "flush" -> net.flushThrows.set(thrown);
      case "encoder" -> request = new Grant(names(thrown), "owner", 17, TTL_MILLIS);
      case "handler" -> answers.thrown = thrown;
      case "ticker" -> wallThrows.set(thrown);
      case "dial" -> net.dialThrows.set(thrown);
      case "end" -> net.endThrows.set(thrown);
      default -> observerThrows.set(thrown);
    }
    lane.send(request, 5, answers);
    if (where.equals("ticker")) {
      time.passMillis(1_000);
    }
    if (wire.ends == 0) {
      wire.pump(time.monotonicNanos() / 1_000);
    }
    if (List.of("dial", "observer", "end").contains(where)) {
      wire.line.lost(new IOException("reset"));
    }
    assertEquals(1, answers.kinds.size(), answers.kinds.toString());
    Answers waiting = send(release("b"));
    answers.thrown = null;
    assertItLives();
    assertEquals(List.of(Kind.RELEASED), waiting.kinds);
    assertEquals(1, answers.kinds.size());
    boolean isAnEvent = List.of("write", "flush", "dial").contains(where);
    assertEquals(isAnEvent ? 0 : 1, log.errors().size(), log.errors().toString());
    close();
    assertEquals(1, net.closed);
  }

  /** Lets the lane do nothing for a while, so that the next request brings the tick forward. */
  private void rest(FakeWire wire) {
    time.passMillis(50);
    wire.pump(time.wallMicros());
    time.passMillis(50);
  }

  /** Names that cannot be encoded. */
  private static List<String> names(Throwable thrown) {
    return new AbstractList<>() {
      @Override
      public String get(int index) {
        throw new IllegalStateException();
      }

      @Override
      public int size() {
        FakeNet.raise(thrown);
        return 1;
      }
    };
  }

  // Memory that stays short.

  enum Moment {
    CONNECTING,
    FAILED_TO_CONNECT,
    HANDSHAKE_DONE,
    IDLE,
    BUSY,
    LOST,
    RESET,
    WAKING
  }

  @ParameterizedTest
  @EnumSource(Moment.class)
  void laneIsUpAgainWithoutHelpAfterMemoryWasShortForAWhile(Moment moment)
      throws InterruptedException {
    List<Answers> all = new ArrayList<>();
    boolean comesUp = moment.compareTo(Moment.HANDSHAKE_DONE) > 0;
    FakeWire wire = comesUp ? up() : null;
    if (!comesUp) {
      lane.start(time, time, this);
    }
    if (moment == Moment.HANDSHAKE_DONE) {
      wire = net.connect();
    }
    if (moment == Moment.BUSY) {
      all.add(send(grant("a")));
      all.add(send(grant("b")));
      all.add(send(grant("c")));
    }
    shortage = new OutOfMemoryError("Java heap space");
    net.everywhere = () -> FakeNet.raise(shortage);
    for (int second = 0; second < 12; second++) {
      switch (moment) {
        case FAILED_TO_CONNECT -> net.lines.get(0).lost(new IOException("refused"));
        case LOST -> Objects.requireNonNull(wire).line.lost(Objects.requireNonNull(shortage));
        case RESET -> Objects.requireNonNull(wire).line.lost(new IOException("reset"));
        case WAKING -> all.add(send(fair("a")));
        default -> {}
      }
      all.add(send(release("while it is short")));
      pump();
      time.pass(Duration.ofSeconds(1));
    }
    shortage = null;
    for (int second = 0; second < 30 && lane.status().state() != State.UP; second++) {
      time.pass(Duration.ofSeconds(1));
      pump();
    }
    assertEquals(State.UP, lane.status().state());
    for (int second = 0; second < 12; second++) { // for longer than a release is kept
      time.pass(Duration.ofSeconds(1));
      pump();
    }
    all.forEach(each -> assertEquals(1, each.kinds.size()));
    assertItLives();
    net.everywhere = () -> {};
    close();
  }

  @Test
  void handlerOfARefusedRequestMayThrow() throws InterruptedException {
    Answers early = new Answers();
    early.thrown = new AssertionError("test");
    lane.send(grant("a"), 5, early);
    up();
    close();
    Answers late = new Answers();
    late.thrown = new OutOfMemoryError("test");
    lane.send(grant("a"), 5, late);
    assertEquals(List.of(Kind.UNREACHABLE), early.kinds);
    assertEquals(List.of(Kind.UNREACHABLE), late.kinds);
    assertEquals(2, log.errors().size());
  }

  @Test
  void dialerMayFailAtOnce() {
    lane.start(time, time, this);
    net.lines.get(0).lost(new IOException("refused"));
    for (int i = 0; i < 50; i++) {
      net.dialThrows.set(new IllegalStateException("no more threads"));
      time.passMillis(1_000);
    }
    assertTrue(
        lane.status().reason().orElse("").contains("no more threads"),
        lane.status().reason().orElse(""));
    assertItLives();
  }

  @Test
  void requestThatCannotBeEncodedIsAnsweredAndCostsNothingElse() {
    FakeWire wire = up();
    Answers answers = new Answers();
    Grant nameless = new Grant(Collections.singletonList(null), "owner", 17, TTL_MILLIS);
    assertFalse(lane.send(nameless, 5, answers).withdraw());
    assertEquals(List.of(Kind.UNREACHABLE), answers.kinds);
    assertEquals(0, wire.ends);
    assertEquals(1, log.errors().size(), log.errors().toString());
    assertItLives();
  }
}
