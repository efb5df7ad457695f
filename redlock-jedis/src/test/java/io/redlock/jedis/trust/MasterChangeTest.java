package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.jedis.trust.MasterChange.Master;
import io.redlock.jedis.trust.MasterChange.Role;
import io.redlock.jedis.trust.MasterChange.Stage;
import io.redlock.jedis.trust.MasterChange.Step;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The steps of a change without interruption; the explorer searches all others. */
class MasterChangeTest {

  private final List<Master> masters = new ArrayList<>();

  private void add(int count, Role role, Served serves) {
    for (int i = 0; i < count; i++) {
      masters.add(new Master(role, serves));
    }
  }

  /** Performs a command step by step; returns the stages that it goes through. */
  private List<Stage> run(MasterChange change, Command command) {
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
  @CsvSource({"0, 3, 2", "2, 3, 0", "1, 2, 1", "3, 0, 3", "1, 3, 2"})
  void stageSaysHowFarAChangeHasCome(int leaving, int staying, int joining) {
    int present = leaving + staying;
    int future = staying + joining;
    add(leaving, Role.LEAVING, Served.of("" + present));
    add(staying, Role.STAYING, Served.of("" + present));
    add(joining, Role.JOINING, null);
    MasterChange change = new MasterChange(present, future, "k7f2");
    assertEquals(Stage.NONE, change.stage(masters));
    assertEquals(List.of(Stage.PREPARING, Stage.PREPARED), run(change, Command.PREPARE));
    run(change, Command.ABORT);
    assertEquals(Stage.NONE, change.stage(masters));
    assertEquals(List.of(Stage.PREPARING, Stage.PREPARED), run(change, Command.PREPARE));
    assertEquals(
        List.of(Stage.LEAVING_CLIENTS, Stage.COMMITTING, Stage.COMMITTED),
        run(change, Command.COMMIT));
    run(change, Command.FINISH);
    assertEquals(Stage.FINISHED, change.stage(masters));
    assertEquals(List.of(), run(change, Command.FINISH));
  }

  @ParameterizedTest
  @CsvSource({"PREPARE, LEAVING_CLIENTS", "COMMIT, COMMITTED"})
  void masterThatLosesItsDataIsNotTakenForACommit(Command last, Stage stage) {
    add(3, Role.STAYING, Served.of("3"));
    add(2, Role.JOINING, null);
    MasterChange change = new MasterChange(3, 5, "k7f2");
    run(change, Command.PREPARE);
    if (last == Command.COMMIT) {
      run(change, Command.COMMIT);
    }
    masters.set(0, new Master(Role.STAYING, null));
    run(change, last);
    assertEquals(stage, change.stage(masters));
  }
}
