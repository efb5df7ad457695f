package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.jedis.trust.MasterChange.Master;
import io.redlock.jedis.trust.MasterChange.Role;
import io.redlock.jedis.trust.MasterChange.Stage;
import io.redlock.jedis.trust.MasterChange.Step;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** The steps of a change without interruption; the explorer searches all others. */
class MasterChangeTest {

  private static final Served OLD = Served.of("old");
  private static final Served PREPARED = Served.of("old", "old>new");
  private static final Served COMMITTED = Served.of("old>new");
  private static final Served OPENED = Served.of("old>new", "new");
  private static final Served OTHER = Served.of("old", "old>other");

  private final MasterChange change = new MasterChange("old", "new");
  private final List<Master> masters = new ArrayList<>();

  private void add(int count, Role role, Served serves) {
    for (int i = 0; i < count; i++) {
      masters.add(new Master(role, serves));
    }
  }

  /** Performs a command step by step; returns the stages that it goes through. */
  private List<Stage> run(Command command) {
    List<Stage> stages = new ArrayList<>();
    boolean waited = false;
    Step step = change.next(command, masters, waited);
    while (!(step instanceof Step.Done)) {
      if (step instanceof Step.Wait) {
        waited = true;
      } else {
        Step.Write write = assertInstanceOf(Step.Write.class, step);
        Role role = masters.get(write.master()).role();
        masters.set(write.master(), new Master(role, write.serves()));
      }
      Stage stage = change.stage(masters);
      if (stages.isEmpty() || stages.get(stages.size() - 1) != stage) {
        stages.add(stage);
      }
      step = change.next(command, masters, waited);
    }
    return stages;
  }

  @ParameterizedTest
  @CsvSource({"0, 3, 2", "2, 3, 0", "1, 2, 1", "3, 0, 3", "1, 3, 2", "2, 1, 0"})
  void stageSaysHowFarAChangeHasCome(int leaving, int staying, int joining) {
    add(leaving, Role.LEAVING, OLD);
    add(staying, Role.STAYING, OLD);
    add(joining, Role.JOINING, null);
    assertEquals(Stage.NONE, change.stage(masters));
    assertEquals(List.of(Stage.PREPARING, Stage.PREPARED), run(Command.PREPARE));
    run(Command.ABORT);
    assertEquals(Stage.NONE, change.stage(masters));
    assertEquals(List.of(Stage.PREPARING, Stage.PREPARED), run(Command.PREPARE));
    assertEquals(
        List.of(Stage.LEAVING_CLIENTS, Stage.COMMITTING, Stage.COMMITTED), run(Command.COMMIT));
    run(Command.FINISH);
    assertEquals(Stage.FINISHED, change.stage(masters));
    assertEquals(List.of(), run(Command.FINISH));
  }

  @ParameterizedTest
  @CsvSource({"PREPARE, PREPARED", "COMMIT, COMMITTED"})
  void masterThatLosesItsDataIsNotTakenForACommit(Command last, Stage stage) {
    add(3, Role.STAYING, OLD);
    add(2, Role.JOINING, null);
    run(Command.PREPARE);
    if (last == Command.COMMIT) {
      run(Command.COMMIT);
    }
    masters.set(0, new Master(Role.STAYING, null));
    run(last);
    assertEquals(stage, change.stage(masters));
  }

  private Served serves(int master) {
    return masters.get(master).serves();
  }

  @Test
  void masterWithoutAMarkServesOldClientsAgainUnlessAnotherOneLeftThem() {
    add(1, Role.STAYING, null);
    add(2, Role.STAYING, OLD);
    add(2, Role.JOINING, null);
    run(Command.PREPARE);
    assertEquals(PREPARED, serves(0));
    masters.set(0, new Master(Role.STAYING, null));
    masters.set(1, new Master(Role.STAYING, COMMITTED));
    run(Command.PREPARE);
    assertEquals(COMMITTED, serves(0));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1, 2, true",
    "0, 1, 1, false",
    "1, 0, 1, false",
    "0, 1, 3, true",
    "1, 0, 3, false",
    "0, 2, 2, false",
    "0, 2, 3, true",
    "0, 3, 2, false"
  })
  void mastersThatJoinAreNoMajorityWithoutTheOthers(
      int leaving, int staying, int joining, boolean refused) {
    add(leaving, Role.LEAVING, OLD);
    add(staying, Role.STAYING, OLD);
    add(joining, Role.JOINING, null);
    Step step = change.next(Command.PREPARE, masters, false);
    assertEquals(refused, step instanceof Step.Refuse, step::toString);
    if (refused) {
      assertTrue(step.toString().contains("let fewer join first"), step::toString);
    }
  }

  @Test
  void mastersOfAnotherChangeStopAllCommandsButAbortWhichPassesOverThem() {
    add(1, Role.STAYING, OTHER);
    add(2, Role.STAYING, PREPARED);
    add(1, Role.JOINING, COMMITTED);
    add(1, Role.JOINING, Served.of("old>other"));
    for (Command each : List.of(Command.PREPARE, Command.COMMIT, Command.FINISH)) {
      Step step = change.next(each, masters, false);
      assertEquals(
          new Step.Refuse(0, "it serves other clients, " + OTHER + ": see redlock doctor"), step);
    }
    run(Command.ABORT);
    assertEquals(List.of(OTHER, OLD, OLD), List.of(serves(0), serves(1), serves(2)));
    assertEquals(Served.NOBODY, serves(3));
    assertEquals(Served.of("old>other"), serves(4));
  }

  @Test
  void commitWaitsAgainForAMasterThatWasPreparedMeanwhile() {
    add(3, Role.STAYING, COMMITTED);
    assertInstanceOf(Step.Wait.class, change.next(Command.COMMIT, masters, false));
    masters.set(0, new Master(Role.STAYING, PREPARED));
    assertEquals(new Step.Write(0, COMMITTED, false), change.next(Command.COMMIT, masters, true));
  }

  @ParameterizedTest
  @EnumSource(Command.class)
  void committedChangeIsOnlyFinished(Command command) {
    add(2, Role.STAYING, OPENED);
    add(1, Role.LEAVING, COMMITTED);
    Step step = change.next(command, masters, false);
    String says =
        switch (command) {
          case PREPARE -> "the change is committed: run redlock resize finish";
          case COMMIT -> "Done[]";
          case FINISH -> "serves=|new|";
          case ABORT -> "the change is committed: finish it";
        };
    assertTrue(step.toString().contains(says), step::toString);
  }
}
