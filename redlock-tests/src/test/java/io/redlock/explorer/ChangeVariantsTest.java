package io.redlock.explorer;

import io.redlock.explorer.ChangeScope.Client;
import io.redlock.jedis.membership.MasterChange.After;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterChange.Master;
import io.redlock.jedis.membership.MasterChange.Role;
import io.redlock.jedis.membership.MasterChange.Step;
import io.redlock.jedis.membership.Served;
import io.redlock.spi.Quorum;
import io.redlock.testkit.NodeModel.Standing;
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
      taken.add(isLeft ? new Master(master.role(), bound, bound, true) : master);
    }
    return taken;
  }

  /** Clients that move need only the majority that others need. */
  private static final class Lopsided extends ChangeScope {
    private final Client others;

    Lopsided(String name, Client others, Client... attempts) {
      super(name, 1, 0, 1, attempts);
      this.others = others;
    }

    @Override
    Quorum quorum(Client client) {
      return client == Client.MOVING ? new Quorum(mask(others), 0) : super.quorum(client);
    }
  }

  static Stream<ChangeScope> variants() {
    return Stream.of(
        one(
            new ChangeScope(
                "29a clients of new masters are served before the commit",
                1,
                0,
                1,
                Client.OLD,
                Client.NEW) {
              @Override
              Step next(Command command, List<Master> masters, boolean waited) {
                Step step = super.next(command, masters, waited);
                return step instanceof Step.Write write && command == Command.PREPARE
                    ? new Step.Write(write.master(), Served.of("p>f", "f"), false, After.NOTHING)
                    : step;
              }
            }),
        one(
            new Lopsided(
                "29b clients that move need no majority of the old masters",
                Client.NEW,
                Client.OLD,
                Client.MOVING)),
        one(
            new Lopsided(
                "29c clients that move need no majority of the new masters",
                Client.OLD,
                Client.MOVING,
                Client.NEW)),
        one(
            new ChangeScope(
                "29d a commit is content with a minority of the old masters",
                3,
                0,
                1,
                Client.OLD,
                Client.NEW) {
              @Override
              Step next(Command command, List<Master> masters, boolean waited) {
                return super.next(
                    command, command == Command.COMMIT ? reached(masters) : masters, waited);
              }
            }),
        one(new ChangeScope(
                "29f an extend does not ask who is served", 1, 0, 1, Client.OLD, Client.NEW) {
              @Override
              Standing standing(boolean isServed, boolean isExtend) {
                return super.standing(isServed || isExtend, isExtend);
              }
            })
            .ttlTicks(2)
            .horizon(3)
            .extensions(1),
        one(
            new ChangeScope("29g a commit does not wait", 1, 0, 1, Client.OLD, Client.NEW) {
              @Override
              Step next(Command command, List<Master> masters, boolean waited) {
                return super.next(command, masters, true);
              }
            }),
        one(new ChangeScope("29h counters are not carried to new masters", 1, 0, 1, Client.NEW) {
              @Override
              boolean carriesCounters() {
                return false;
              }
            })
            .counterAtFirst(3_600_000_000L),
        one(new ChangeScope("39 a commit leaves the floors", 2, 1, 0, Client.OLD, Client.NEW) {
              @Override
              boolean forgetsFloors() {
                return false;
              }
            })
            .readers(0, 1)
            .counterAtFirst(3_600_000_000L),
        new ChangeScope(
            "29j a commit that was undone goes on as if it had waited",
            1,
            0,
            1,
            Client.OLD,
            Client.NEW) {
          @Override
          boolean keepsWaited() {
            return true;
          }
        }.commands(4, Command.PREPARE, Command.COMMIT, Command.ABORT).operators(2).horizon(2));
  }
}
