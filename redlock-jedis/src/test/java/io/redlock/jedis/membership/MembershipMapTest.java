package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Quorum;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What a client does for a master, whatever that and the others show: maps of combinations. */
class MembershipMapTest {

  private static final MasterSet OLD = new MasterSet("old", List.of("a", "b", "c"));
  private static final MasterSet NEW = new MasterSet("new", List.of("a", "b", "d"));
  private static final MasterSet NAMESAKE = new MasterSet("namesake", OLD.names());
  private static final String CHANGE = Served.label(List.of(OLD.id(), NEW.id()));
  private static final MasterSet FAR = new MasterSet("far", List.of("a", "y", "z"));

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/membership/MembershipMap.txt", () -> MembershipMapTest::act);
  }

  private static List<String> act(String command, String states) {
    return List.of(
        StateMap.draw(
            states,
            switch (command) {
              case "list" -> (a, b, c) -> text(membership(a, b, c).advice(0));
              case "adopt" -> MembershipMapTest::adopted;
              case "without" -> MembershipMapTest::withoutTheSilent;
              case "without-c" -> (a, b, c) -> founding(nodes(a, b, c), Set.of("c"));
              case "move" -> (a, bc, d) -> text(moving(a, bc, bc, d).advice(0));
              case "move-of-c" -> (a, bc, d) -> text(moving(a, bc, bc, d).advice(2));
              case "move-of-d" -> (a, bc, d) -> text(moving(a, bc, bc, d).advice(3));
              default -> throw new IllegalArgumentException(command);
            }));
  }

  private static Membership membership(char a, char b, char c) {
    return new Membership(nodes(a, b, c), Quorum.of(3), Marks.GUARDED, "", Optional.empty());
  }

  private static String adopted(char a, char b, char c) {
    return founding(nodes(a, b, c), Set.of());
  }

  private static String withoutTheSilent(char a, char b, char c) {
    List<Membership.Node> nodes = nodes(a, b, c);
    Set<String> gone =
        nodes.stream()
            .filter(node -> node.audit() == null)
            .map(Membership.Node::name)
            .collect(Collectors.toSet());
    return founding(nodes, gone);
  }

  /** Returns what an operator's adopt does next, for the first master. */
  private static String founding(List<Membership.Node> nodes, Set<String> gone) {
    Founding founding =
        new Founding(Quorum.of(3), Marks.GUARDED, false, new Waiver(gone, Map.of()), "drawn");
    Operation.Step step = founding.next(Marks.read(nodes), Marks.knowing(Progress.NONE, 3));
    if (step instanceof Operation.Step.Write write) {
      NodeAudit.Refresh refresh = write.marks().get(0);
      return refresh == null
          ? "another master first"
          : (refresh.mark().isFounded() ? "founded: " : "founding: ")
              + refresh.mark().serves()
              + " "
              + refresh.mark().agreement().maxTtlMillis()
              + " "
              + refresh.mark().agreement().abstentionMillis();
    } else if (step instanceof Operation.Step.Refuse refuse) {
      String reason = refuse.reasons().get(0);
      return (refuse.isOther() ? "the other list: " : "refused: ")
          + (reason == null ? "for another master" : brief(reason));
    }
    return step instanceof Operation.Step.Done ? "already founded" : "waits";
  }

  private static Membership moving(char a, char b, char c, char d) {
    Quorum both = Quorum.of(OLD.names(), NEW.names());
    return new Membership(nodes(a, b, c, d), both, Marks.GUARDED, "", Optional.empty());
  }

  private static String text(Advice advice) {
    if (advice instanceof Advice.Wait wait) {
      return "waits: " + brief(wait.reason());
    } else if (advice instanceof Advice.Refuse refuse) {
      return "refused: " + brief(refuse.reason());
    } else if (advice instanceof Advice.Write write) {
      return "marked: "
          + write.serves()
          + " "
          + write.sets().stream().map(MasterSet::id).toList()
          + " "
          + write.agreement().abstentionMillis();
    }
    return "right";
  }

  /** Returns a reason without the names of the masters and their fix. */
  private static String brief(String reason) {
    return reason
        .replaceFirst(" shows the agreement: .*", " shows the agreement")
        .replaceFirst("; if nobody uses that set.*", "")
        .replaceFirst("=.*", "=…");
  }

  // What masters show.

  private static List<Membership.Node> nodes(char... states) {
    return IntStream.range(0, states.length)
        .mapToObj(i -> node(i, Character.toString('a' + i), states[i]))
        .toList();
  }

  /** Returns a master with the mark of this sign; a capital means that it has restarted since. */
  private static Membership.Node node(int index, String name, char state) {
    AuditedMaster master = new AuditedMaster("run" + name, "repl" + name);
    master.birth =
        switch (Character.toLowerCase(state)) {
          case '-', 'n' -> "";
          case 'u' -> "nonsense";
          case 'e' -> "1 run" + name + " repl" + name + " 1 seen";
          case 'f' -> mark(master, false, Served.of(OLD.id()), OLD);
          case 'g' -> mark(master, false, Served.of("namesake"), NAMESAKE);
          case 'h' -> mark(master, false, Served.of("far"), FAR);
          case 'o' -> mark(master, true, Served.of(OLD.id()), OLD);
          case 't' -> mark(master, true, Served.of(OLD.id()), OLD).replace(" 34302 ", " 68604 ");
          case 'k', 'm' ->
              mark(master, state == 'm', Served.of(OLD.id()), OLD).replace(" 30000 ", " 60000 ");
          case 'i' -> mark(master, true, Served.of("namesake"), NAMESAKE);
          case 'x' -> mark(master, true, Served.of("far"), FAR);
          case 'p' -> mark(master, true, Served.of(OLD.id(), CHANGE), OLD, NEW);
          case 'c' -> mark(master, true, Served.of(CHANGE), OLD, NEW);
          case 's' -> mark(master, true, Served.of(CHANGE, "new"), OLD, NEW);
          case 'w' -> mark(master, true, Served.of("new"), NEW);
          case 'l' -> mark(master, true, Served.NOBODY, OLD, NEW);
          case 'q' -> mark(master, true, Served.of(OLD.id(), CHANGE, Served.ABORTING), OLD, NEW);
          default -> throw new IllegalArgumentException("" + state);
        };
    master.run += Character.isUpperCase(state) ? "again" : "";
    return Membership.Node.of(index, name, state == '-' ? null : master.audit(1_000_000));
  }

  private static String mark(
      AuditedMaster master, boolean isFounded, Served serves, MasterSet... sets) {
    List<MasterSet> its = List.of(sets);
    Agreement terms = Marks.GUARDED.terms();
    return new BirthMark(master.run, master.repl, 1, false, isFounded, 0, serves, its, terms)
        .toString();
  }
}
