package io.redlock.explorer;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.explorer.ChangeScope.Client;
import io.redlock.explorer.Explorer.Result;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.testkit.Budget;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A change of masters as it is: nothing bad is found, whatever is interrupted, repeated or skipped,
 * and in whichever order the clients come. Commands begin and are interrupted at any moment.
 */
class ChangeExplorerTest {

  private static final int MOST_STATES = Budget.of(15_000, 6_000_000);
  private static final Client OLD = Client.OLD;
  private static final Client MOVING = Client.MOVING;
  private static final Client NEW = Client.NEW;

  private static void exhaust(ChangeScope scope) {
    Result result = ChangeExplorer.search(scope, MOST_STATES);
    System.out.println(result);
    assertNull(result.violated(), result.trace());
    assertTrue(result.isExhausted() || !Budget.isAmple(), () -> "not exhausted: " + result);
  }

  private static ChangeScope committed(
      String name, int leaving, int staying, int joining, Client... clients) {
    return new ChangeScope(name, leaving, staying, joining, clients)
        .commands(2, Command.PREPARE, Command.COMMIT);
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void everyOrderOfClients() {
    exhaust(committed("1 to another, all clients", 1, 0, 1, OLD, MOVING, NEW));
    exhaust(committed("1 to another, 2 that move and a new", 1, 0, 1, MOVING, MOVING, NEW));
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void everyCommandAtAnyMoment() {
    exhaust(new ChangeScope("1 to another, 4 commands", 1, 0, 1, OLD, NEW).extensions(1));
    exhaust(new ChangeScope("2 to 2, one stays, 4 commands", 1, 1, 1, OLD, NEW).horizon(3));
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void twoOperatorsAtOnce() {
    exhaust(
        new ChangeScope("1 to another, 2 operators", 1, 0, 1, OLD, NEW)
            .commands(4, Command.PREPARE, Command.COMMIT, Command.ABORT)
            .operators(2)
            .extensions(1));
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void extendsAcrossTheCommit() {
    exhaust(
        committed("1 to another, an extend each", 1, 0, 1, OLD, NEW)
            .ttlTicks(2)
            .horizon(5)
            .extensions(2));
    exhaust(
        committed("2 to 3, an extend each", 0, 2, 1, OLD, NEW)
            .ttlTicks(2)
            .horizon(4)
            .extensions(1));
    exhaust(
        committed("3 to 1, an extend each", 2, 1, 0, OLD, NEW)
            .ttlTicks(2)
            .horizon(4)
            .extensions(1));
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void mastersThatWereAhead() {
    exhaust(
        committed("1 to another, the old one was ahead", 1, 0, 1, OLD, MOVING, NEW)
            .horizon(3)
            .counterAtFirst(3_600_000_000L));
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void threeToThreeThatOverlapInAnyWay() {
    exhaust(committed("3 to 3, none stays", 3, 0, 3, OLD, NEW));
    exhaust(committed("3 to 3, one stays", 2, 1, 2, OLD, NEW));
    exhaust(committed("3 to 3, two stay", 1, 2, 1, OLD, NEW));
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void readersAndWritersAcrossTheCommit() {
    exhaust(
        committed("1 to another, readers of all clients", 1, 0, 1, OLD, MOVING, NEW).readers(0, 1));
    exhaust(
        committed("1 to another, a reader, then a writer", 1, 0, 1, OLD, NEW)
            .readers(0)
            .ttlTicks(2)
            .horizon(5)
            .extensions(1));
    exhaust(
        committed("3 to 1, readers, the old masters were ahead", 2, 1, 0, OLD, NEW)
            .readers(0, 1)
            .horizon(2)
            .counterAtFirst(3_600_000_000L));
  }

  @Test
  @Tag("search")
  @Tag("budget")
  void growing() {
    exhaust(committed("3 to 5", 0, 3, 2, OLD, NEW));
  }

  @Test
  @Tag("long")
  void twoOperatorsWhoTakeAMasterAway() {
    exhaust(
        new ChangeScope("2 to 1, 2 operators", 1, 1, 0, OLD, NEW)
            .commands(3, Command.PREPARE, Command.COMMIT, Command.ABORT)
            .operators(2));
  }

  @Test
  @Tag("long")
  void shrinking() {
    exhaust(committed("5 to 3", 2, 3, 0, OLD, NEW));
  }

  @Test
  @Tag("long")
  void clientsThatMoveFromThreeToThree() {
    exhaust(committed("3 to 3, two stay, old and moving", 1, 2, 1, OLD, MOVING).horizon(2));
    exhaust(committed("3 to 3, two stay, moving and new", 1, 2, 1, MOVING, NEW).horizon(3));
  }
}
