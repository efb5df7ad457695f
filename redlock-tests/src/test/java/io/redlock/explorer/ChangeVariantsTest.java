package io.redlock.explorer;

import io.redlock.explorer.ChangeScope.Client;
import io.redlock.explorer.ChangeScope.Steps;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterChange.Master;
import io.redlock.jedis.membership.MasterChange.Role;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.Served;
import io.redlock.testkit.VariantTable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Changes of masters with one rule broken: the search must find what the rule is for. */
@Tag("search")
@Tag("ci")
class ChangeVariantsTest {

  private static final int MOST_STATES = 4_000_000;
  private static final VariantTable TABLE =
      new VariantTable("changes", "states", ChangeVariantsTest.class);

  @ParameterizedTest
  @MethodSource("variants")
  void brokenRuleIsNoticed(ChangeScope scope) {
    ChangeExplorer.search(scope, MOST_STATES).assertNoticed(TABLE);
  }

  @AfterAll
  static void finishTable() throws IOException {
    TABLE.finish(variants().count());
  }

  private static ChangeScope one(ChangeScope scope) {
    return scope.commands(2, Command.PREPARE, Command.COMMIT).horizon(2);
  }

  /** Takes the masters that a commit has not reached for reached, once it has reached one. */
  private static List<Master> reached(List<Master> masters) {
    Served committed = Served.of("p>f");
    Served bound = Served.of("p>f", "-no-return-");
    long written =
        masters.stream()
            .filter(master -> master.role() != Role.JOINING)
            .filter(master -> committed.equals(master.serves()) || bound.equals(master.serves()))
            .count();
    List<Master> taken = new ArrayList<>();
    for (Master master : masters) {
      boolean isLeft = master.role() == Role.LEAVING && written >= 1;
      taken.add(isLeft ? new Master(master.index(), master.role(), bound, bound) : master);
    }
    return taken;
  }

  /** One master is changed for another. */
  private static ChangeScope changed(String name, Client... attempts) {
    return one(new ChangeScope(name, 1, 0, 1, attempts));
  }

  static Stream<ChangeScope> variants() {
    return Stream.of(
        changed("29a clients of new masters are served before the commit", Client.OLD, Client.NEW)
            .breaking(scope -> scope.steps = openingAtOnce(scope.steps)),
        changed(
                "29b clients that move need no majority of the old masters",
                Client.OLD,
                Client.MOVING)
            .breaking(scope -> scope.quorumOfMoving = Client.NEW),
        changed(
                "29c clients that move need no majority of the new masters",
                Client.MOVING,
                Client.NEW)
            .breaking(scope -> scope.quorumOfMoving = Client.OLD),
        one(new ChangeScope(
                "29d a commit is content with a minority of the old masters",
                3,
                0,
                1,
                Client.OLD,
                Client.NEW))
            .breaking(scope -> scope.steps = contentWithOne(scope.steps)),
        changed("29f an extend does not ask who is served", Client.OLD, Client.NEW)
            .breaking(scope -> scope.extendsForAll = true)
            .ttlTicks(2)
            .horizon(3)
            .extensions(1),
        changed("29g a commit does not wait", Client.OLD, Client.NEW)
            .breaking(
                scope ->
                    scope.steps =
                        (command, masters, waited) -> scope.change.next(command, masters, true)),
        changed("29h counters are not carried to new masters", Client.NEW)
            .breaking(scope -> scope.carriesCounters = false)
            .counterAtFirst(3_600_000_000L),
        one(new ChangeScope("39 a commit leaves the floors", 2, 1, 0, Client.OLD, Client.NEW))
            .breaking(scope -> scope.forgetsFloors = false)
            .readers(0, 1)
            .counterAtFirst(3_600_000_000L),
        changed("29j a commit that was undone goes on as if it had waited", Client.OLD, Client.NEW)
            .breaking(scope -> scope.keepsWaited = true)
            .commands(4, Command.PREPARE, Command.COMMIT, Command.ABORT)
            .operators(2),
        changed("29k an owner's tokens begin below the counters that masters name", Client.OLD)
            .passing()
            .breaking(
                scope ->
                    scope.firstToken = round -> round.token() - 2 * ChangeScope.TOKENS_TO_PASS));
  }

  private static Steps openingAtOnce(Steps right) {
    return (command, masters, waited) -> {
      Step step = right.next(command, masters, waited);
      return step instanceof Step.Let let && command == Command.PREPARE
          ? new Step.Let(let.master(), Served.of("p>f", "f"), false, false, false)
          : step;
    };
  }

  private static Steps contentWithOne(Steps right) {
    return (command, masters, waited) ->
        right.next(command, command == Command.COMMIT ? reached(masters) : masters, waited);
  }
}
