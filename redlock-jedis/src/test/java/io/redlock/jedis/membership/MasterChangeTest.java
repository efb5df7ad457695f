package io.redlock.jedis.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterChange.Master;
import io.redlock.jedis.membership.MasterChange.Role;
import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The steps of a change without interruption; the explorer searches all others. */
class MasterChangeTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/membership/MasterChange.txt", Life::new);
  }

  @Test
  void masterThatLostItsDataIsNotMarkedWhileNoClocksAgree() {
    Quorum quorum = Quorum.of(List.of("a", "b", "c"), List.of("a", "b", "c", "d"));
    Step step =
        new Resize(
                Command.PREPARE, quorum, Marks.GUARDED, new Waiver(Set.of(), Map.of()), "", "new")
            .next(read("a b c d", OptionalLong.empty()), NOTHING_DONE);
    assertEquals(
        Set.of("its clock cannot be checked until the clocks of a quorum of nodes agree"),
        Set.copyOf(assertInstanceOf(Step.Refuse.class, step).reasons().values()));
  }

  @Test
  void markIsDatedLaterIfTheClockMayHaveBeenMisread() {
    Step step =
        new TermsChange(Quorum.of(3), Marks.GUARDED, Set.of(), false)
            .next(read("a b c", OptionalLong.of(4_001)), NOTHING_DONE);
    assertEquals("+5", assertInstanceOf(Step.Write.class, step).marks().get(2).firstSeen());
  }

  @Test
  void markThatServesOthersTooIsTheSameToAGrant() {
    BirthMark before = Marks.founded("run", "repl", 0, true, List.of("a", "b", "c"));
    BirthMark after =
        before.serving(Served.of("k7f2", "k7f2>m3d9"), before.sets(), before.agreement());
    assertTrue(after.toString().startsWith(before.guard()), before::guard);
    assertEquals(before.dated(1), before.under(before.agreement()), "never the same mark again");
  }

  @ParameterizedTest
  @CsvSource({
    "old, 'clients of [a]'",
    "old old>new, 'clients of [a] and clients with movingTo'",
    "old>new new -no-return-, 'clients of [b] and clients with movingTo; the change cannot be undone"
        + " any more'",
    "old old>new -abort-, 'clients of [a] and clients with movingTo; the change is being undone'",
    "nobody, nobody: it has left"
  })
  void markSaysWhomItsMasterServes(String served, String words) {
    List<MasterSet> sets =
        List.of(new MasterSet("old", List.of("a")), new MasterSet("new", List.of("b")));
    BirthMark mark = Marks.founded("run", "repl", 0, Life.serves(served), sets);
    assertEquals(words, mark.inWords());
  }

  private static final Known NOTHING_DONE = Marks.knowing(Operation.Progress.NONE, 4);

  /** Reads masters of which only a and b are marked, and whose clocks may be wrong by so much. */
  private static List<Audited> read(String names, OptionalLong beyondSkewMicros) {
    List<Membership.Node> nodes = new ArrayList<>();
    for (String name : names.split(" ")) {
      AuditedMaster master = new AuditedMaster("run" + name, "repl" + name);
      if (name.equals("a") || name.equals("b")) {
        master.birth =
            Marks.founded(master.run, master.repl, 0, true, List.of("a", "b", "c")).toString();
      }
      nodes.add(Membership.Node.of(nodes.size(), name, master.audit(1_700_000_000_000_000L)));
    }
    return Marks.read(nodes, beyondSkewMicros);
  }

  private static final class Life extends Scenes.Teller {

    private final MasterChange change =
        new MasterChange(
            new MasterSet("old", List.of("a")),
            new MasterSet("new", List.of("b")),
            Marks.GUARDED.terms());
    private final List<Master> masters = new ArrayList<>();

    @Override
    protected void perform(String command, String rest) {
      String[] words = rest.split(" ", 2);
      switch (command) {
        case "with" -> { // so many that leave, stay and join
          masters.clear();
          String[] counts = rest.split(" ");
          add(Integer.parseInt(counts[0]), Role.LEAVING, "old");
          add(Integer.parseInt(counts[1]), Role.STAYING, "old");
          add(Integer.parseInt(counts[2]), Role.JOINING, "no-mark");
        }
        case "leaves" -> add(1, Role.LEAVING, rest);
        case "stays" -> add(1, Role.STAYING, rest);
        case "joins" -> add(1, Role.JOINING, rest);
        case "change" -> {
          int master = Integer.parseInt(words[0]);
          masters.set(master, master(master, masters.get(master).role(), serves(words[1])));
        }
        case "next" -> tell(text(change.next(command(rest), masters, false)));
        case "next-after-the-wait" -> tell(text(change.next(command(rest), masters, true)));
        case "map" -> tell(StateMap.draw("-bpcrofaqxn", question(rest)));
        default -> tell(perform(command(command)));
      }
    }

    /** Asks what follows if one that leaves, one that stays and one that joins serve these. */
    private StateMap.Question question(String what) {
      return (leaving, staying, joining) -> {
        List<Master> all =
            List.of(
                master(0, Role.LEAVING, serves(leaving)),
                master(1, Role.STAYING, serves(staying)),
                master(2, Role.JOINING, serves(joining)));
        String now = text(change.next(command(what), all, false));
        String later = text(change.next(command(what), all, true));
        return now.equals(later) ? now : now + ", then " + later;
      };
    }

    private static Master master(int index, Role role, Served serves) {
      return new Master(index, role, serves, serves);
    }

    private static Served serves(char sign) {
      return serves(
          switch (sign) {
            case '-' -> "no-mark";
            case 'b' -> "old";
            case 'p' -> "old old>new";
            case 'c' -> "old>new";
            case 'r' -> "old>new -no-return-";
            case 'o' -> "old>new new";
            case 'f' -> "new";
            case 'a' -> "old>new -abort-";
            case 'q' -> "old old>new -abort-";
            case 'x' -> "other";
            default -> "nobody";
          });
    }

    private static Command command(String text) {
      return Command.valueOf(text.toUpperCase(Locale.ROOT));
    }

    private void add(int count, Role role, String served) {
      for (int i = 0; i < count; i++) {
        masters.add(master(masters.size(), role, serves(served)));
      }
    }

    private static Served serves(String text) {
      return switch (text) {
        case "no-mark" -> Served.UNMARKED;
        case "nobody" -> Served.NOBODY;
        default -> Served.of(text.split(" "));
      };
    }

    /** Performs a command step by step; returns the points, the end, and whom masters serve. */
    private List<String> perform(Command command) {
      List<String> came = new ArrayList<>(List.of(point()));
      boolean waited = false;
      boolean isSaved = false;
      Step step = change.next(command, masters, waited);
      while (!(step instanceof Step.Done || step instanceof Step.Refuse)) {
        if (step.isSaved() && !isSaved) {
          came.add("disk");
          isSaved = true;
        }
        if (step instanceof Step.Let let) {
          Role role = masters.get(let.master()).role();
          masters.set(let.master(), master(let.master(), role, let.serves()));
          isSaved &= let.isSaved();
          came.add(point());
        } else {
          came.add("wait");
        }
        waited |= step instanceof Step.Wait;
        step = change.next(command, masters, waited);
      }
      if (step.isSaved() && !isSaved) {
        came.add("disk");
      }
      List<String> points = new ArrayList<>();
      for (int i = 0; i < came.size(); i++) {
        if (i == 0 || !came.get(i).equals(came.get(i - 1))) {
          points.add(came.get(i));
        }
      }
      return Stream.of(
              Stream.of(String.join(", ", points)),
              Stream.of(text(step)),
              masters.stream().map(master -> text(master.serves())))
          .flatMap(each -> each)
          .toList();
    }

    private String point() {
      Command reached = change.reached(masters);
      boolean isDone = change.next(reached, masters, false) instanceof Step.Done;
      return reached + (isDone ? " done" : "");
    }

    private static String text(Step step) {
      if (step instanceof Step.Let let) {
        return "let "
            + (let.master() + " serve " + text(let.serves()))
            + (let.carries() ? ", with the counters" : "");
      } else if (step instanceof Step.Refuse refuse) {
        int master = refuse.reasons().keySet().iterator().next();
        return "refused"
            + (master < 0 ? ": " : " by " + master + ": ")
            + refuse.reasons().get(master);
      }
      return step instanceof Step.Wait ? "wait" : "done";
    }

    private static String text(Served serves) {
      return serves.equals(Served.UNMARKED)
          ? "no mark"
          : serves.isNobody() ? "nobody" : serves.toString().replace('|', ' ').strip();
    }
  }
}
