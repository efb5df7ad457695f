package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Standing;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The edges that a running clock hides from the contract. */
class NodeModelTest {

  private static final long SKEW_MICROS = 2_000;
  private static final long RETENTION_MILLIS = 1_000;
  private static final long NOW_MICROS = 999_999_999;
  private static final long NOW_MILLIS = 999_999;
  private static final List<String> NAME = List.of("n");
  private static final List<Cell> FREE = List.of(Cell.EMPTY);

  private final NodeModel model = new NodeModel(SKEW_MICROS, RETENTION_MILLIS);

  @Test
  void keyIsThereAtTheEndOfItsLifeAndGoneAMillisecondLater() {
    Cell cell = after(FREE, new Grant(NAME, "a", NOW_MICROS, 10));
    assertEquals(0, cell.at(NOW_MILLIS + 10).remainingMillis(NOW_MILLIS + 10));
    assertEquals("a", cell.at(NOW_MILLIS + 10).owner());
    assertEquals("", cell.at(NOW_MILLIS + 11).owner());
    assertEquals(NOW_MICROS, cell.at(NOW_MILLIS + RETENTION_MILLIS).counter());
    assertEquals(Cell.EMPTY, cell.at(NOW_MILLIS + RETENTION_MILLIS + 1));
  }

  @Test
  void tokenFitsTheClockUpToTheSkewAndNotBeyond() {
    long ttlMicros = 10_000;
    assertEquals(Kind.GRANTED, grantAt(NOW_MICROS + SKEW_MICROS));
    assertEquals(Kind.CLOCK, grantAt(NOW_MICROS + SKEW_MICROS + 1));
    assertEquals(Kind.GRANTED, grantAt(NOW_MICROS - ttlMicros - SKEW_MICROS));
    assertEquals(Kind.CLOCK, grantAt(NOW_MICROS - ttlMicros - SKEW_MICROS - 1));
  }

  @Test
  void nineDigitsAreLessThanTen() {
    long nine = 999_999_999;
    long ten = 1_000_000_000;
    List<Cell> counted = List.of(new Cell("", 0, nine, NOW_MILLIS + 1));
    assertEquals(NodeReply.granted(nine), reply(counted, new Grant(NAME, "a", ten, 10)));
    List<Cell> above = List.of(new Cell("", 0, ten, NOW_MILLIS + 1));
    assertEquals(NodeReply.stale(ten), reply(above, new Grant(NAME, "a", nine, 10)));
    assertEquals(ten, after(above, new Release(NAME, "a", nine)).counter());
  }

  @Test
  void joinIsRefusedOnlyIfItWasSentLongerAgoThanTtlAndSkew() {
    long oldest = NOW_MICROS - 10_000 - SKEW_MICROS;
    assertEquals(NodeReply.JOINED, reply(FREE, new Extend(NAME, "a", 5, 10, oldest)));
    assertEquals(NodeReply.NOT_HELD, reply(FREE, new Extend(NAME, "a", 5, 10, oldest - 1)));
  }

  @Test
  void abstainingNodeExtendsAndReleasesButNeitherGrantsNorJoins() {
    Cell held = after(FREE, new Grant(NAME, "a", NOW_MICROS, 10));
    assertEquals(Kind.ABSTAIN, whileAbstaining(FREE, new Grant(NAME, "a", NOW_MICROS, 10)));
    assertEquals(
        Kind.ABSTAIN, whileAbstaining(List.of(held), new Grant(NAME, "a", NOW_MICROS, 10)));
    Extend extend = new Extend(NAME, "a", NOW_MICROS, 20, NOW_MICROS);
    assertEquals(Kind.NOT_HELD, whileAbstaining(FREE, extend));
    assertEquals(Kind.EXTENDED, whileAbstaining(List.of(held), extend));
    assertEquals(Kind.RELEASED, whileAbstaining(List.of(held), new Release(NAME, "a", NOW_MICROS)));
  }

  @Test
  void shortMemoryRefusesWhatCreatesAKey() {
    Cell held = after(FREE, new Grant(NAME, "a", NOW_MICROS, 10));
    Extend extend = new Extend(NAME, "a", NOW_MICROS, 20, NOW_MICROS);
    assertEquals(Kind.OUT_OF_MEMORY, whileFull(FREE, new Grant(NAME, "a", NOW_MICROS, 10)));
    assertEquals(Kind.OUT_OF_MEMORY, whileFull(FREE, extend));
    assertEquals(Kind.EXTENDED, whileFull(List.of(held), extend));
    assertEquals(Kind.RELEASED, whileFull(List.of(held), new Release(NAME, "a", NOW_MICROS + 1)));
    assertEquals(Kind.OUT_OF_MEMORY, whileFull(FREE, new Release(NAME, "a", NOW_MICROS)));
    assertEquals(Kind.HELD, whileFull(List.of(held), new Grant(NAME, "b", NOW_MICROS, 10)));
  }

  private Kind grantAt(long token) {
    return reply(FREE, new Grant(NAME, "a", token, 10)).kind();
  }

  private NodeReply reply(List<Cell> cells, NodeRequest request) {
    return execute(cells, request, Standing.VOTING).reply();
  }

  private Cell after(List<Cell> cells, NodeRequest request) {
    return execute(cells, request, Standing.VOTING).cells().get(0);
  }

  private Kind whileAbstaining(List<Cell> cells, NodeRequest request) {
    return execute(cells, request, Standing.ABSTAINING).reply().kind();
  }

  private Kind whileFull(List<Cell> cells, NodeRequest request) {
    return execute(cells, request, Standing.OUT_OF_MEMORY).reply().kind();
  }

  private Outcome execute(List<Cell> cells, NodeRequest request, Standing standing) {
    return model.execute(cells, request, standing, NOW_MICROS);
  }
}
