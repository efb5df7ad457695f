package io.redlock.explorer;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.explorer.ChangeScope.Client;
import io.redlock.explorer.Search.Result;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.testkit.Budget;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A change of masters as it is: nothing bad is found, whatever is interrupted, repeated or skipped,
 * and in whichever order the clients come. Commands begin and are interrupted at any moment.
 */
class ChangeExplorerTest {

  private static final int MOST_STATES = Budget.of(15_000, 6_000_000);
  private static final long HOUR_MICROS = 3_600_000_000L;
  private static final Client OLD = Client.OLD;
  private static final Client MOVING = Client.MOVING;
  private static final Client NEW = Client.NEW;

  private static ChangeScope committed(
      String name, int leaving, int staying, int joining, Client... clients) {
    return new ChangeScope(name, leaving, staying, joining, clients)
        .commands(2, Command.PREPARE, Command.COMMIT);
  }

  private static ChangeScope extended(
      String name, int leaving, int staying, int joining, int horizon) {
    return committed(name, leaving, staying, joining, OLD, NEW)
        .ttlTicks(2)
        .horizon(horizon)
        .extensions(1);
  }

  static Stream<ChangeScope> scopes() {
    return Stream.of(
        committed("1 to another, all clients", 1, 0, 1, OLD, MOVING, NEW),
        committed("1 to another, 2 that move and a new", 1, 0, 1, MOVING, MOVING, NEW),
        new ChangeScope("1 to another, 4 commands", 1, 0, 1, OLD, NEW).extensions(1),
        new ChangeScope("2 to 2, one stays, 4 commands", 1, 1, 1, OLD, NEW).horizon(3),
        new ChangeScope("1 to another, 2 operators", 1, 0, 1, OLD, NEW)
            .commands(4, Command.PREPARE, Command.COMMIT, Command.ABORT)
            .operators(2)
            .extensions(1),
        extended("1 to another, an extend each", 1, 0, 1, 5).extensions(2),
        extended("2 to 3, an extend each", 0, 2, 1, 4),
        extended("3 to 1, an extend each", 2, 1, 0, 4),
        committed("1 to another, the old one was ahead", 1, 0, 1, OLD, MOVING, NEW)
            .horizon(3)
            .counterAtFirst(HOUR_MICROS),
        committed("1 to another, leases that are passed on", 1, 0, 1, OLD, MOVING, NEW).passing(),
        committed("2 to 3, leases that are passed on", 0, 2, 1, MOVING, NEW).passing().horizon(2),
        committed("3 to 3, none stays", 3, 0, 3, OLD, NEW),
        committed("3 to 3, one stays", 2, 1, 2, OLD, NEW),
        committed("3 to 3, two stay", 1, 2, 1, OLD, NEW),
        committed("3 to 5", 0, 3, 2, OLD, NEW),
        committed("1 to another, readers of all clients", 1, 0, 1, OLD, MOVING, NEW).readers(0, 1),
        extended("1 to another, a reader, then a writer", 1, 0, 1, 5).readers(0),
        committed("3 to 1, readers, the old masters were ahead", 2, 1, 0, OLD, NEW)
            .readers(0, 1)
            .horizon(2)
            .counterAtFirst(HOUR_MICROS));
  }

  static Stream<ChangeScope> longScopes() {
    return Stream.of(
        new ChangeScope("2 to 1, 2 operators", 1, 1, 0, OLD, NEW)
            .commands(3, Command.PREPARE, Command.COMMIT, Command.ABORT)
            .operators(2),
        committed("5 to 3", 2, 3, 0, OLD, NEW),
        committed("3 to 3, two stay, old and moving", 1, 2, 1, OLD, MOVING).horizon(2),
        committed("3 to 3, two stay, moving and new", 1, 2, 1, MOVING, NEW).horizon(3));
  }

  @ParameterizedTest
  @MethodSource("scopes")
  @Tag("search")
  @Tag("budget")
  void nothingBadIsFound(ChangeScope scope) {
    Result result = ChangeExplorer.search(scope, MOST_STATES).assertGood();
    assertTrue(result.isExhausted() || !Budget.isAmple(), () -> "not exhausted: " + result);
  }

  @ParameterizedTest
  @MethodSource("longScopes")
  @Tag("long")
  void nothingBadIsFoundFurther(ChangeScope scope) {
    nothingBadIsFound(scope);
  }
}
