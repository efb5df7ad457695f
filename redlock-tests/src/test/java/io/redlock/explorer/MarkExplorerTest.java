package io.redlock.explorer;

import static io.redlock.explorer.MarkScope.FUTURE;
import static io.redlock.explorer.MarkScope.LONGER;
import static io.redlock.explorer.MarkScope.PRESENT;
import static io.redlock.explorer.MarkScope.RULES;
import static io.redlock.explorer.MarkScope.member;
import static io.redlock.explorer.MarkScope.range;
import static io.redlock.explorer.MarkScope.rules;
import static io.redlock.explorer.MarkScope.set;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.explorer.MarkScope.Fault;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.Served;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.testkit.Budget;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The marks of the masters as clients and operators write them: nothing bad is found, whatever is
 * lost, and there is a way out of every state.
 */
class MarkExplorerTest {

  private static final int MOST_STATES = 4_000_000;

  @ParameterizedTest
  @MethodSource({"lists", "wrongLists", "foundings", "starts"})
  @Tag("search")
  void nothingBadIsFound(MarkScope scope) {
    MarkExplorer.search(scope, MOST_STATES).assertGood().assertExhausted();
  }

  @ParameterizedTest
  @MethodSource({"finished", "changes", "agreements"})
  @Tag("search")
  @Tag("budget")
  void nothingBadIsFoundInAChange(MarkScope scope) {
    nothingBadIsFound(scope);
  }

  @ParameterizedTest
  @MethodSource({"finishedWide", "changesWide", "agreementsWide"})
  @Tag("long")
  void nothingBadIsFoundInAWideChange(MarkScope scope) {
    nothingBadIsFound(scope);
  }

  /** A client of the masters before lives to the end, and every master may lose its data. */
  static List<MarkScope> finished() {
    Stream<MarkScope> leased =
        Stream.of(
            new MarkScope("1 to 2 finished", 2).finished(range(1, 1), range(1, 2)),
            new MarkScope("2 to 3 finished", 3).finished(range(1, 2), range(1, 3)),
            new MarkScope("3 to 4 finished", 4).finished(range(1, 3), range(1, 4)),
            new MarkScope("one of 3 swapped, finished", 4).finished(range(1, 3), range(2, 4)),
            new MarkScope("5 to 3 finished", 5).finished(range(1, 5), range(1, 3)));
    return Budget.part(Stream.concat(leased.map(MarkScope::leases), grown()).toList(), 2);
  }

  static Stream<MarkScope> finishedWide() {
    return grown().map(MarkScope::leases);
  }

  private static Stream<MarkScope> grown() {
    return Stream.of(
        new MarkScope("3 to 5 finished", 5).finished(range(1, 3), range(1, 5)),
        new MarkScope("2 to 5 finished", 5).finished(range(1, 2), range(1, 5)),
        new MarkScope("2 of 3 swapped, finished", 5).finished(range(1, 3), range(3, 5)),
        new MarkScope("3 to others finished", 6).finished(range(1, 3), range(4, 6)),
        new MarkScope("one of 5 swapped, finished", 6).finished(range(1, 5), range(2, 6)));
  }

  static Stream<MarkScope> lists() {
    return sharing().map(MarkScope::leases);
  }

  private static Stream<MarkScope> sharing() {
    return Stream.of(
        new MarkScope("five masters, a client lists three", 5)
            .before(range(1, 5))
            .before(List.of())
            .client("right", range(1, 5))
            .agreed("right")
            .client("wrong", range(1, 3))
            .faults(Fault.EMPTIED, Fault.RESTARTED),
        new MarkScope("lists 1 to 3 and 2 to 4", 4)
            .before(range(1, 3))
            .before(List.of())
            .client("one", range(1, 3))
            .agreed("one")
            .client("other", range(2, 4))
            .faults(Fault.EMPTIED, Fault.RESTARTED),
        new MarkScope("lists 1 to 3 and 2 to 4, both new, late writes", 4)
            .before(List.of())
            .client("one", range(1, 3))
            .agreed("one")
            .client("other", range(2, 4))
            .delays(),
        new MarkScope("every node restarts with another history", 3)
            .before(range(1, 3))
            .client("one", range(1, 3))
            .agreed("one")
            .faults(Fault.EMPTIED, Fault.RESTARTED)
            .histories(2),
        new MarkScope("lists 1 to 5 and 4 to 8", 8)
            .before(range(1, 5))
            .before(List.of())
            .client("one", range(1, 5))
            .agreed("one")
            .client("other", range(4, 8))
            .mostFaults(1)
            .faults(Fault.EMPTIED, Fault.RESTARTED),
        new MarkScope("another guard", 3)
            .before(range(1, 3))
            .before(List.of())
            .client("guarded", range(1, 3))
            .agreed("guarded")
            .client("unguarded", range(1, 3), List.of(), rules(false, 30_000))
            .faults(Fault.EMPTIED, Fault.RESTARTED, Fault.EVICTED),
        new MarkScope("another maxTtl", 3)
            .before(range(1, 3))
            .before(List.of())
            .client("one", range(1, 3))
            .agreed("one")
            .client("other", range(1, 3), List.of(), rules(true, 3_600_000))
            .faults(Fault.EMPTIED, Fault.RESTARTED, Fault.EVICTED));
  }

  /** A client with another list, whatever restarts and whatever is lost. */
  static Stream<MarkScope> wrongLists() {
    return Stream.of(
        beside("a client lists a minority", 3, range(3, 3), RULES),
        beside("a client lists a majority", 3, range(2, 3), RULES),
        beside("a client lists one master more", 4, range(1, 4), RULES),
        beside("lists that differ by one", 4, List.of(0, 1, 3), RULES),
        beside("lists that differ by one, without the guard", 4, List.of(0, 1, 3), rules(false, 1)),
        beside("another guard, with leases", 3, range(1, 3), rules(false, 30_000)),
        beside("shorter leases", 3, range(1, 3), rules(true, 1)),
        beside("longer leases", 3, range(1, 3), LONGER));
  }

  private static MarkScope beside(String name, int nodes, List<Integer> list, TrustRules rules) {
    return new MarkScope(name, nodes)
        .before(range(1, 3))
        .client("right", range(1, 3))
        .client("other", list, List.of(), rules)
        .faults(Fault.EMPTIED, Fault.RESTARTED)
        .leases()
        .agreed("right");
  }

  /** Operators found sets at any moment, interrupted anywhere. */
  static Stream<MarkScope> foundings() {
    return Stream.of(
        new MarkScope("a set is founded and lost again", 3)
            .before(List.of())
            .client("right", range(1, 3))
            .adopting(range(1, 3))
            .commands(2)
            .faults(Fault.EMPTIED, Fault.RESTARTED)
            .mostFaults(2)
            .leases()
            .agreed("right"),
        new MarkScope("two operators found lists that share masters, late writes", 4)
            .before(List.of())
            .client("one", range(1, 3))
            .client("other", range(2, 4))
            .adopting(range(1, 3))
            .adopting(range(2, 4))
            .commands(2)
            .delays()
            .leases(),
        new MarkScope("a wrong list is founded while a client is connected", 3)
            .before(range(1, 3))
            .client("right", range(1, 3))
            .client("minority", range(3, 3))
            .adopting(range(3, 3))
            .adopting(range(1, 3))
            .commands(2)
            .faults(Fault.EMPTIED)
            .mostFaults(1)
            .leases()
            .agreed("right"),
        new MarkScope("two operators found a set under other terms", 2)
            .before(List.of())
            .client("short", range(1, 2))
            .client("long", range(1, 2), List.of(), LONGER)
            .adopting(range(1, 2))
            .adopting(range(1, 2), LONGER, false)
            .commands(2)
            .faults(Fault.EMPTIED)
            .mostFaults(1)
            .leases(),
        copying(new MarkScope("marks are copied while another list is founded, late writes", 5))
            .leases(),
        replaced(new MarkScope("the only mark of a set is replaced, and loaded from disk", 5))
            .faults(Fault.EMPTIED)
            .commands(2)
            .leases(),
        renewed(new MarkScope("a mark is replaced while its terms change", 2)),
        unattended(new MarkScope("one of 2 swapped and committed, and nobody types anything", 3))
            .leases());
  }

  /** The only mark of a set is replaced, while an operator changes the terms of its clients. */
  static MarkScope renewed(MarkScope scope) {
    return scope
        .before(range(1, 1))
        .client("before", range(1, 1))
        .client("after", range(1, 1), List.of(), LONGER)
        .client("other", range(1, 2))
        .agreeing(range(1, 1), LONGER)
        .replacing(range(1, 2), Map.of("m1", PRESENT))
        .commands(2)
        .leases()
        .unconnected();
  }

  /** The only mark of a set is replaced, and its master restarts with what it had on disk. */
  static MarkScope replaced(MarkScope scope) {
    return scope
        .start(only(member(PRESENT, range(1, 3))))
        .client("one", range(1, 3))
        .client("other", range(3, 5))
        .replacing(range(3, 5), Map.of("m3", PRESENT))
        .commands(1)
        .faults(Fault.DUMP_LOADED)
        .mostFaults(1);
  }

  /** While clients move, the data of one master are lost. */
  static MarkScope unattended(MarkScope scope) {
    List<MasterSet> sets = List.of(set(PRESENT, range(1, 2)), set(FUTURE, range(2, 3)));
    return scope
        .start(
            List.of(
                MarkedNode.of(new Served("|p>f|-no-return-|"), sets),
                MarkedNode.of(new Served("|p>f|f|-no-return-|"), sets),
                MarkedNode.of(new Served("|p>f|f|"), sets)))
        .client("moving", range(1, 2), range(2, 3), RULES)
        .client("new", range(2, 3))
        .faults(Fault.EMPTIED, Fault.RESTARTED)
        .mostFaults(1)
        .agreed("moving", "new")
        .unattended();
  }

  private static List<MarkedNode> only(MarkedNode third) {
    MarkedNode empty = MarkedNode.EMPTY;
    return List.of(empty, empty, third, empty, empty);
  }

  /** The only mark of a set is copied, and lost, and somebody founds another set. */
  static MarkScope copying(MarkScope scope) {
    return scope
        .start(only(member(PRESENT, range(1, 3)).isVoid()))
        .client("one", range(1, 3))
        .client("like one", range(1, 3))
        .client("other", range(3, 5))
        .adopting(range(3, 5))
        .commands(1)
        .faults(Fault.EMPTIED)
        .mostFaults(1)
        .delays();
  }

  /** What an operator says is false: there are two holders, and no rule could prevent it. */
  static Stream<MarkScope> falseWords() {
    return Stream.of(
        losing("new, on masters in use", RULES).adopting(range(1, 3), RULES, true),
        losing("shorter terms after all is lost", LONGER).adopting(range(1, 3)),
        beside("a wrong list while nobody is connected", 3, range(3, 3), RULES)
            .adopting(range(3, 3))
            .commands(1)
            .unconnected(),
        beside("a backup restored by hand", 3, range(3, 3), RULES)
            .dumps(range(3, 3), member("q", range(3, 3))));
  }

  /** A set of clients with these terms, of which all masters may lose their data once. */
  private static MarkScope losing(String name, TrustRules terms) {
    return new MarkScope(name, 3)
        .before(range(1, 3), terms)
        .client("before", range(1, 3), List.of(), terms)
        .client("after", range(1, 3))
        .faults(Fault.EMPTIED)
        .mostFaults(3)
        .commands(1)
        .leases();
  }

  @ParameterizedTest
  @MethodSource("falseWords")
  @Tag("search")
  void falseWordOfAnOperatorGivesTwoHolders(MarkScope scope) {
    assertEquals(
        ExplorerInvariant.I1, MarkExplorer.search(scope.withoutWayOut(), MOST_STATES).violated());
  }

  static Stream<MarkScope> starts() {
    return Stream.of(2, 3).map(MarkExplorerTest::anyStart).map(MarkScope::leases);
  }

  private static MarkScope anyStart(int nodes) {
    List<Integer> list = range(1, nodes);
    List<MarkedNode> known = new ArrayList<>();
    known.add(MarkedNode.EMPTY);
    known.add(member(PRESENT, list));
    known.add(member(PRESENT, list).isVoid());
    known.add(MarkedNode.ofAnotherVersion());
    known.add(MarkedNode.founding(Served.of("q"), List.of(set("q", list))));
    return new MarkScope("every start of " + nodes, nodes)
        .everyStart(known)
        .client("one", list)
        .client("other", list)
        .faults(Fault.EMPTIED, Fault.RESTARTED)
        .agreed("one", "other");
  }

  /** Every command at any moment, interrupted anywhere, and two masters that lose their data. */
  static List<MarkScope> changes() {
    List<MarkScope> all =
        List.of(
            change("1 to 2", 2, range(1, 1), range(1, 2)),
            change("2 to 1", 2, range(1, 2), range(1, 1)),
            change("1 to another, with leases", 2, range(1, 1), range(2, 2)).leases(),
            change("1 to 3", 3, range(1, 1), range(1, 3)),
            change("one of 2 swapped", 3, range(1, 2), range(2, 3)),
            late(new MarkScope("one of 2 swapped and prepared, late writes", 3)),
            change("2 to 3", 3, range(1, 2), range(1, 3)),
            gone(change("3 to 2, a master is gone", 3, range(1, 3), range(1, 2)).mostFaults(1)),
            gone(
                change("one of 3 swapped, a master is gone", 4, range(1, 3), range(2, 4))
                    .mostFaults(1)));
    return Budget.part(all, 2);
  }

  static Stream<MarkScope> changesWide() {
    return Stream.of(
        change("2 to others", 4, range(1, 2), range(3, 4)),
        change("3 to 1", 3, range(1, 3), range(1, 1)),
        change("3 to 2", 3, range(1, 3), range(1, 2)),
        change("3 to 4", 4, range(1, 3), range(1, 4)),
        change("2 of 3 swapped", 5, range(1, 3), range(3, 5)),
        change("one of 3 swapped", 4, range(1, 3), range(2, 4)),
        change("one of 2 swapped, with leases", 3, range(1, 2), range(2, 3)).leases().mostFaults(1),
        change("one of 2 swapped, late writes", 3, range(1, 2), range(2, 3)).delays().mostFaults(1),
        gone(change("3 to 2, a master is gone", 3, range(1, 3), range(1, 2))),
        leased("1 to another, gone, with leases", 2, range(1, 1), range(2, 2)),
        leased("1 to 2, gone, with leases", 2, range(1, 1), range(1, 2)),
        leased("2 to 1, gone, with leases", 2, range(1, 2), range(1, 1)),
        twice("1 to 2 to 3", 3, range(3, 3)),
        twice("1 to 2 to 1", 2, range(1, 1)).mostFaults(1).agreed(),
        undone("1 to another, undone by a second operator", 2, range(1, 1), range(2, 2)),
        undone("1 to 2, undone by a second operator", 2, range(1, 1), range(1, 2)),
        undone("2 to 1, undone by a second operator", 2, range(1, 2), range(1, 1)));
  }

  /** Masters may be gone for good, and operators say so. */
  private static MarkScope gone(MarkScope scope) {
    return scope.faults(Fault.GONE).agreed();
  }

  private static MarkScope leased(
      String name, int nodes, List<Integer> present, List<Integer> future) {
    return gone(change(name, nodes, present, future)).leases().withoutWayOut();
  }

  private static MarkScope undone(
      String name, int nodes, List<Integer> present, List<Integer> future) {
    return change(name, nodes, present, future).second(Command.ABORT).leases().mostFaults(1);
  }

  /** A change, and another one of its future masters. */
  private static MarkScope twice(String name, int nodes, List<Integer> last) {
    MarkScope scope =
        change(name, nodes, range(1, 1), range(2, 2))
            .operator(range(2, 2), last, Command.values())
            .client("moving on", range(2, 2), last, RULES)
            .agreed("third")
            .commands(6);
    scope.clients.add(new MarkScope.Client("third", last, List.of(), RULES, true));
    return scope;
  }

  /** A master of a change that is prepared was emptied before. */
  private static MarkScope late(MarkScope scope) {
    List<MasterSet> sets = List.of(set(PRESENT, range(1, 2)), set(FUTURE, range(2, 3)));
    return scope
        .start(
            List.of(
                MarkedNode.of(Served.of(PRESENT, "p>f"), sets),
                MarkedNode.EMPTY,
                MarkedNode.of(Served.of("p>f"), sets)))
        .client("old", range(1, 2))
        .client("moving", range(1, 2), range(2, 3), RULES)
        .client("new", range(2, 3))
        .operator(range(1, 2), range(2, 3), Command.COMMIT, Command.FINISH)
        .agreed("new")
        .commands(2)
        .mostFaults(1)
        .faults(Fault.EMPTIED)
        .delays();
  }

  /** An operator changes the terms, or begins another change, interrupted anywhere. */
  static List<MarkScope> agreements() {
    List<Integer> list = range(1, 3);
    Stream<MarkScope> leased =
        Stream.of(
            new MarkScope("two operators agree on other terms", 3)
                .agreeing(list, RULES, LONGER)
                .agreeing(list, RULES)
                .mostFaults(1)
                .faults(Fault.EMPTIED, Fault.RESTARTED),
            new MarkScope("a longer ttl is agreed", 3)
                .agreeing(list, RULES, LONGER)
                .faults(Fault.EMPTIED, Fault.RESTARTED, Fault.DUMP_LOADED)
                .mostFaults(3),
            new MarkScope("a shorter ttl is agreed", 3)
                .agreeing(list, LONGER, RULES)
                .faults(Fault.EMPTIED, Fault.RESTARTED, Fault.DUMP_LOADED)
                .mostFaults(3),
            new MarkScope("three operators change the terms back and forth", 3)
                .agreeing(list, LONGER, RULES)
                .agreeing(list, LONGER)
                .agreeing(list, RULES)
                .commands(3)
                .dated(4));
    return Budget.part(Stream.concat(leased.map(MarkScope::leases), mixed()).toList(), 1);
  }

  static Stream<MarkScope> agreementsWide() {
    return mixed().map(MarkScope::leases);
  }

  /** The masters change, too. */
  private static Stream<MarkScope> mixed() {
    List<Integer> list = range(1, 3);
    return Stream.of(
        new MarkScope("one of 3 swapped, and a longer ttl is agreed, late writes", 4)
            .before(list)
            .client("before", list)
            .client("after", list, List.of(), LONGER)
            .client("new", range(2, 4))
            .operator(list, range(2, 4), Command.PREPARE, Command.ABORT)
            .agreeing(list, LONGER)
            .agreed("before")
            .commands(2)
            .mostFaults(1)
            .faults(Fault.EMPTIED)
            .delays(),
        new MarkScope("2 to 3, and a longer ttl is agreed", 3)
            .changing(range(1, 2), list, Command.values())
            .client("after", range(1, 2), List.of(), LONGER)
            .client("moving after", range(1, 2), list, LONGER)
            .agreeing(range(1, 2), LONGER)
            .commands(3)
            .mostFaults(1)
            .faults(Fault.EMPTIED),
        new MarkScope("2 to 1 and 2 to 3 at once", 3)
            .changing(range(1, 2), range(1, 1), Command.values())
            .operator(range(1, 2), range(1, 3), Command.values())
            .client("moving otherwise", range(1, 2), range(1, 3), RULES)
            .client("new otherwise", range(1, 3))
            .agreed() // either of both
            .mostFaults(1)
            .faults(Fault.EMPTIED)
            .commands(4));
  }

  private static MarkScope change(
      String name, int nodes, List<Integer> present, List<Integer> future) {
    return new MarkScope(name, nodes)
        .changing(present, future, Command.values())
        .commands(4)
        .mostFaults(2)
        .faults(Fault.EMPTIED, Fault.RESTARTED, Fault.DUMP_LOADED);
  }
}
