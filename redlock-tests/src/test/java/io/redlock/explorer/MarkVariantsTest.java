package io.redlock.explorer;

import static io.redlock.explorer.MarkScope.FUTURE;
import static io.redlock.explorer.MarkScope.LONGER;
import static io.redlock.explorer.MarkScope.PRESENT;
import static io.redlock.explorer.MarkScope.RULES;
import static io.redlock.explorer.MarkScope.member;
import static io.redlock.explorer.MarkScope.range;
import static io.redlock.explorer.MarkScope.set;

import io.redlock.explorer.MarkScope.Client;
import io.redlock.explorer.MarkScope.Fault;
import io.redlock.explorer.MarkScope.Job;
import io.redlock.explorer.MarkScope.Next;
import io.redlock.explorer.MarkScope.Resizing;
import io.redlock.explorer.MarkScope.Sight;
import io.redlock.explorer.MarkWorld.Sent;
import io.redlock.explorer.MarkedNode.Kind;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.Membership;
import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.Served;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.testkit.VariantTable;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The agreement of the masters with one rule broken: the search must find what it is for. */
@Tag("search")
@Tag("ci")
class MarkVariantsTest {

  private static final int MOST_STATES = 2_000_000;
  private static final VariantTable TABLE =
      new VariantTable("marks", "states", MarkVariantsTest.class);

  @ParameterizedTest
  @MethodSource({"unsafe", "unserving"})
  void brokenRuleIsNoticed(MarkScope scope) {
    MarkExplorer.search(scope, MOST_STATES).assertNoticed(TABLE);
  }

  @AfterAll
  static void finishTable() throws IOException {
    TABLE.finish(variants().count() + unserving().count());
  }

  static Stream<MarkScope> unsafe() {
    return variants().map(MarkScope::withoutWayOut);
  }

  private static MarkScope grown(MarkScope scope) {
    return restored(scope.finished(range(1, 3), range(1, 5)), range(1, 3));
  }

  /** Masters load what they showed before a change of them began. */
  private static MarkScope restored(MarkScope scope, List<Integer> list) {
    return scope.dumps(list, member(PRESENT, scope.clients.get(0).present()));
  }

  /** A client that misreads the marks before it compares them. */
  private static MarkScope misreading(String name, int nodes, UnaryOperator<String> as) {
    return new MarkScope(name, nodes)
        .hearing(
            (node, audit) ->
                audit == null ? null : MarkedNode.with(audit, as.apply(audit.birth())));
  }

  private static boolean isOf(NodeAudit audit, Client client) {
    BirthMark mark = BirthMark.parse(audit.birth());
    return mark != null && mark.sets().get(0).isOf(MarkScope.names(client.list()));
  }

  private static String remembered(String known, Client client) {
    return member(known, client.list()).isVoid().audit(0).birth();
  }

  /** A client that has the agreed settings when it compares them. */
  private static class Indifferent extends MarkScope {

    Indifferent(String name) {
      super(name, 3);
      before(range(1, 3));
      client("one", range(1, 3));
    }

    @Override
    Membership membership(Client client, List<@Nullable NodeAudit> view, String known) {
      return super.membership(
          new Client(client.name(), client.present(), client.future(), RULES, false), view, known);
    }
  }

  private static final TrustRules ABSTAINING =
      TrustRules.of(true, Duration.ofSeconds(30), 0, 1_000_000, "");
  private static final MarkedNode OWN = member(PRESENT, range(1, 3));
  private static final MarkedNode OTHER = member("q", range(3, 5));
  private static final Job COMMIT = new Resizing(Command.COMMIT, MarkScope.NO_WORD);
  private static final Job FINISH = new Resizing(Command.FINISH, MarkScope.NO_WORD);
  private static final Job ABORT = new Resizing(Command.ABORT, MarkScope.NO_WORD);
  private static final String NO_RETURN = "-no-return-|";

  /** Takes what is shown for what is on disk. */
  private static Sight saved(Sight sight) {
    return sight.doing(
        new Progress(sight.progress().waited(), sight.progress().marks(), sight.marks()));
  }

  /** A change of one master to another, with leases, whatever is lost; commands misread it. */
  private static MarkScope changing(String name, UnaryOperator<Sight> misread) {
    return new MarkScope(name, 2)
        .changing(range(1, 1), range(2, 2), Command.values())
        .seeing(misread)
        .commands(4)
        .mostFaults(2)
        .faults(Fault.EMPTIED, Fault.RESTARTED, Fault.DUMP_LOADED)
        .leases();
  }

  /** A change of one master to another that is committed, and another one of its future master. */
  private static MarkScope followed(String name) {
    return committed(new MarkScope(name, 3))
        .operator(range(1, 1), range(2, 2), Command.FINISH, Command.COMMIT)
        .operator(range(2, 2), range(3, 3), Command.PREPARE, Command.COMMIT)
        .client("third", range(3, 3))
        .commands(4)
        .faults(Fault.EMPTIED, Fault.DUMP_LOADED)
        .mostFaults(2);
  }

  private static MarkScope committed(MarkScope scope) {
    List<MasterSet> sets = List.of(set(PRESENT, range(1, 1)), set(FUTURE, range(2, 2)));
    MarkedNode present = MarkedNode.of(new Served("|p>f|" + NO_RETURN), sets);
    MarkedNode future = MarkedNode.of(new Served("|p>f|f|"), sets);
    return scope
        .start(List.of(present, future, MarkedNode.EMPTY).subList(0, scope.nodes))
        .client("old", range(1, 1))
        .client("new", range(2, 2));
  }

  /** Shows the first master without a mark as if it had that of a prepared change. */
  private static Sight unlost(Sight sight) {
    String other = sight.audits().get(1).birth();
    return sight.seeing(
        0,
        mark ->
            !mark.isEmpty()
                ? mark
                : other.replaceFirst("r1", "x").replaceFirst(" \\|\\S* ", " |p|p>f| "));
  }

  private static BirthMark ofOneSet(BirthMark mark) {
    List<MasterSet> sets = mark.sets();
    return mark.serving(
        mark.serves(), sets.subList(sets.size() - 1, sets.size()), mark.agreement());
  }

  /** Two operators, who found sets that share masters. */
  private static MarkScope sharing(MarkScope scope) {
    return scope
        .before(List.of())
        .client("one", range(1, 3))
        .client("other", range(3, 5))
        .adopting(range(1, 3))
        .adopting(range(3, 5))
        .commands(2);
  }

  private static String founded(String birth) {
    return birth.replace(" founding ", " founded ");
  }

  /** Returns a step that writes marks which count. */
  private static Next counting(Next next, boolean isNew) {
    return next.marking(
        mark -> {
          String text = founded(mark.toString().replace(" -1 ", " 0 "));
          return Objects.requireNonNull(
              BirthMark.parse(isNew ? text.replace(" seen ", " adopted ") : text));
        });
  }

  /** Takes founding marks of other lists for none. */
  private static Sight withoutOtherFoundings(Sight sight) {
    String own = String.join(",", MarkScope.names(sight.operator().list()));
    Sight seen = sight;
    for (int i = 0; i < sight.audits().size(); i++) {
      seen = seen.seeing(i, mark -> mark.contains(" founding ") && !mark.endsWith(own) ? "" : mark);
    }
    return seen;
  }

  static Stream<MarkScope> unserving() {
    return Stream.of(
        new MarkScope("31E an abort bars a master by serving nobody but clients that move", 3)
            .changing(range(1, 2), range(1, 3), Command.PREPARE, Command.ABORT)
            .doing(
                next ->
                    next.marking(
                        mark ->
                            mark.serves().includes("-abort-")
                                ? mark.serving(
                                    new Served(mark.serves().text().replace("|p|", "|")),
                                    mark.sets(),
                                    mark.agreement())
                                : mark))
            .commands(2),
        new MarkScope("31K no return of another change counts", 3) {
          @Override
          Next step(Sight sight) {
            boolean isBound =
                sight.audits().stream().anyMatch(audit -> audit.birth().contains(NO_RETURN));
            Next next = super.step(sight);
            return isBound && sight.job().equals(ABORT)
                ? next.with(Step.refuse(-1, "the change is committed: run redlock resize commit"))
                : next;
          }
        }.changing(range(1, 2), range(1, 1), Command.PREPARE, Command.COMMIT)
            .operator(range(1, 2), range(1, 3), Command.PREPARE)
            .client("moving otherwise", range(1, 2), range(1, 3), RULES)
            .client("new otherwise", range(1, 3))
            .commands(3),
        MarkExplorerTest.unattended(
            new MarkScope(
                "31L a master that leaves is a source of clients that it does not serve", 3) {
              @Override
              Advice advice(
                  Client client, Membership membership, List<@Nullable NodeAudit> view, int index) {
                Advice advice = super.advice(client, membership, view, index);
                boolean isAnyLeaving =
                    view.stream()
                        .anyMatch(
                            audit -> audit != null && audit.birth().contains("|p>f|" + NO_RETURN));
                return advice instanceof Advice.Write write && isAnyLeaving
                    ? new Advice.Write(
                        new Served(write.serves().text().replace("|f|", "|")),
                        write.sets(),
                        write.agreement())
                    : advice;
              }
            }));
  }

  static Stream<MarkScope> variants() {
    return Stream.of(
        grown(
            new MarkScope("31a whoever comes first marks a node", 5) {
              @Override
              Advice advice(
                  Client client, Membership membership, List<@Nullable NodeAudit> view, int index) {
                Advice advice = super.advice(client, membership, view, index);
                NodeAudit audit = view.get(index);
                BirthMark mark = audit == null ? null : BirthMark.parse(audit.birth());
                boolean isMarked = audit != null && mark != null && mark.isOf(audit);
                String id = client.present().size() == 3 ? PRESENT : FUTURE;
                return isMarked || advice instanceof Advice.Keep
                    ? advice
                    : new Advice.Write(
                        Served.of(id), List.of(set(id, client.present())), client.rules().terms());
              }
            }),
        grown(
            new MarkScope("31b void marks count in the quorum", 5)
                .hearing(
                    (node, audit) ->
                        audit == null
                            ? null
                            : MarkedNode.with(
                                audit, audit.birth().replace(" x h", " r" + node + " h")))),
        grown(
            new MarkScope("31c a node that does not answer counts as empty", 5)
                .hearing((node, audit) -> audit == null ? MarkedNode.EMPTY.audit(node) : audit)),
        misreading(
                "31e masters are counted, their names not compared",
                8,
                mark -> mark.replaceFirst("=m1,m2,m3,m4,m5$", "=m4,m5,m6,m7,m8"))
            .before(range(1, 5))
            .client("other", range(4, 8))
            .client("one", range(1, 5)),
        new Indifferent("31f the guard is not compared")
            .client("unguarded", range(1, 3), List.of(), MarkScope.rules(false, 30_000)),
        new Indifferent("31g maxTtl is not compared")
            .client("other", range(1, 3), List.of(), LONGER)
            .faults(Fault.EMPTIED)
            .leases(),
        new Indifferent("31N the abstention is not compared")
            .client("other", range(1, 3), List.of(), ABSTAINING)
            .faults(Fault.EMPTIED)
            .leases(),
        new MarkScope("31O marks of another set are passed over", 5) {
          @Override
          Membership membership(Client client, List<@Nullable NodeAudit> view, String known) {
            List<@Nullable NodeAudit> own = new ArrayList<>(view);
            own.replaceAll(
                audit -> audit == null || isOf(audit, client) ? audit : MarkedNode.with(audit, ""));
            return super.membership(client, own, known);
          }
        }.start(List.of(MarkedNode.EMPTY, OWN.isVoid(), OTHER, OTHER, OTHER))
            .client("one", range(1, 3))
            .client("other", range(3, 5)),
        new MarkScope("31h evicted keys are not lost data", 3) {
          @Override
          NodeAudit heard(MarkedNode node, int index) {
            return node.kind() == Kind.EVICTED
                ? new MarkedNode(Kind.VALID, node.history(), node.mark()).audit(index)
                : super.heard(node, index);
          }
        }.before(range(1, 3)).client("one", range(1, 3)).faults(Fault.EVICTED),
        restored(
            misreading(
                    "31i a client marks a node that has left",
                    4,
                    mark -> mark.contains(" | ") ? "" : mark)
                .finished(range(1, 2), range(3, 4))
                .mostFaults(1),
            range(1, 1)),
        new MarkScope("31j finish takes what it does not see for done", 3)
            .doing(
                next ->
                    next.step() instanceof Step.Refuse refuse
                            && refuse.reasons().toString().contains("no change of these masters")
                        ? next.with(new Step.Done("", false))
                        : next)
            .changing(range(1, 2), range(1, 3), Command.FINISH)
            .commands(1),
        new MarkScope("31k a commit passes over an old master", 4)
            .seeing(
                sight ->
                    sight.job().equals(COMMIT)
                        ? sight.seeing(
                            0, mark -> mark.replaceFirst("\\|p\\|(p>\\w+)\\|", "|$1|" + NO_RETURN))
                        : sight)
            .changing(range(1, 2), range(3, 4), Command.PREPARE, Command.COMMIT)
            .commands(2)
            .faults(Fault.EMPTIED)
            .mostFaults(1),
        restored(
            new MarkScope("31l a master loads data from before a change that is finished", 3)
                .finished(range(1, 1), range(1, 3)),
            range(1, 1)),
        new MarkScope("31r a client founds a set", 3) {
          @Override
          Advice advice(
              Client client, Membership membership, List<@Nullable NodeAudit> view, int index) {
            Advice advice = super.advice(client, membership, view, index);
            String id = "q" + client.list().size();
            return view.stream().allMatch(audit -> audit != null && audit.birth().isEmpty())
                ? new Advice.Write(Served.of(id), List.of(set(id, client.present())), RULES.terms())
                : advice;
          }
        }.before(range(1, 3))
            .client("right", range(1, 3))
            .client("minority", range(3, 3))
            .faults(Fault.EMPTIED),
        sharing(misreading("31s a founding mark counts", 5, MarkVariantsTest::founded)),
        sharing(
                new MarkScope("31t another list overwrites a founding mark", 5)
                    .seeing(MarkVariantsTest::withoutOtherFoundings))
            .unconnected(),
        sharing(
            new MarkScope("31u a set is founded without a second reading", 5)
                .doing(next -> counting(next, false))),
        MarkExplorerTest.copying(new MarkScope("31v a mark is written long after its audit", 5))
            .late(),
        new MarkScope("31w adopt lets masters vote at once", 3)
            .doing(next -> counting(next, true))
            .before(range(1, 3))
            .client("right", range(1, 3))
            .adopting(range(1, 3))
            .commands(1)
            .faults(Fault.EMPTIED)
            .leases(),
        new MarkScope("31x a mark is replaced without a look at its other masters", 5)
            .seeing(
                sight -> {
                  Map<String, MarkedNode> empty = new TreeMap<>();
                  sight.beside().keySet().forEach(name -> empty.put(name, MarkedNode.EMPTY));
                  return sight.besides(empty);
                })
            .before(range(1, 3))
            .client("right", range(1, 3))
            .client("other", range(3, 5))
            .replacing(range(3, 5), Map.of("m3", PRESENT))
            .commands(1)
            .unconnected(),
        MarkExplorerTest.renewed(
            new MarkScope("31P a mark is replaced by its id alone", 2) {
              @Override
              boolean arrives(Sent mark, MarkedNode at) {
                return super.arrives(mark, at)
                    || Stream.of(mark.seen(), at).allMatch(each -> each.mark().endsWith(" p=m1"));
              }
            }),
        new MarkScope("31Q a client copies a mark from its memory", 2) {
          @Override
          Membership membership(Client client, List<@Nullable NodeAudit> view, String known) {
            List<@Nullable NodeAudit> seen = new ArrayList<>(view);
            seen.replaceAll(
                audit ->
                    audit == null || !audit.birth().isEmpty() || known.isEmpty()
                        ? audit
                        : MarkedNode.with(audit, remembered(known, client)));
            return super.membership(client, seen, known);
          }
        }.finished(range(1, 1), range(2, 2)),
        MarkExplorerTest.replaced(
            new MarkScope(
                    "31M a set is founded before the mark that it replaces is off the disk", 5)
                .seeing(MarkVariantsTest::saved)),
        MarkExplorerTest.replaced(
                new MarkScope("31R a founding mark does not name what it replaces", 5))
            .doing(next -> next.marking(MarkVariantsTest::ofOneSet))
            .leases(),
        changing(
            "31y a commit waits before all is on disk",
            sight -> {
              boolean waits = sight.job().equals(COMMIT) && !sight.progress().waited();
              return waits ? saved(sight) : sight;
            }),
        changing(
            "31z future masters are opened before no return is on disk",
            sight -> {
              boolean opens = sight.job().equals(COMMIT) && sight.progress().waited();
              return opens ? saved(sight) : sight;
            }),
        changing(
            "31A no return shortens the wait",
            sight -> {
              boolean isBound =
                  sight.audits().stream().anyMatch(audit -> audit.birth().contains(NO_RETURN));
              return sight.job().equals(COMMIT) && isBound
                  ? sight.doing(
                      new Progress(true, sight.progress().marks(), sight.progress().saved()))
                  : sight;
            }),
        changing(
            "31B an abort does not look for no return",
            sight ->
                sight.job().equals(ABORT)
                    ? sight.seeing(0, mark -> mark.replace(NO_RETURN, ""))
                    : sight),
        changing(
                "31C an abort does not bar the future masters first",
                sight ->
                    sight.job().equals(ABORT)
                        ? sight.seeing(1, mark -> mark.replaceFirst("\\|p>f\\w*\\| ", "| "))
                        : sight)
            .second(Command.ABORT),
        changing(
            "31F a run has on disk only what it wrote itself",
            sight -> sight.progress().equals(Progress.NONE) ? saved(sight) : sight),
        followed("31G the future masters finish before it is on disk that others have left")
            .seeing(sight -> sight.job().equals(FINISH) ? saved(sight) : sight),
        followed("31H the future masters finish first")
            .seeing(
                sight ->
                    sight.job().equals(FINISH) && !sight.audits().get(1).birth().contains(" |f| ")
                        ? sight.seeing(0, mark -> mark.replaceFirst(" \\|\\S* ", " | "))
                        : sight),
        changing(
                "31I no return is shown by future masters",
                sight ->
                    sight.audits().get(1).birth().matches(".*\\|(-no-return-|f\\w*)\\|.*")
                        ? sight.seeing(
                            0, mark -> mark.replaceFirst("\\|(p>\\w+)\\|(?= )", "|$1|" + NO_RETURN))
                        : sight)
            .doing(
                next ->
                    next.step() instanceof Step.Write write
                            && write.marks().toString().contains(NO_RETURN)
                        ? next.with(
                            new Step.Write(
                                Map.of(1, write.marks().values().iterator().next()),
                                write.carries(),
                                write.isWaitedFor(),
                                write.isSaved(),
                                write.told()))
                        : next),
        committed(new MarkScope("31J an abort writes over a master without a mark", 2))
            .seeing(sight -> sight.job().equals(ABORT) ? unlost(sight) : sight)
            .operator(range(1, 1), range(2, 2), Command.ABORT)
            .commands(1)
            .faults(Fault.EMPTIED, Fault.RESTARTED, Fault.DUMP_LOADED)
            .mostFaults(3),
        new MarkScope("31n a longer ttl is agreed before all masters abstain for it", 3)
            .doing(
                next ->
                    next.marking(mark -> mark.serving(mark.serves(), mark.sets(), LONGER.terms())))
            .agreeing(range(1, 3), RULES, LONGER)
            .faults(Fault.EMPTIED),
        new MarkScope("31D a longer ttl is agreed before its abstention is on disk", 3)
            .seeing(MarkVariantsTest::saved)
            .agreeing(range(1, 3), RULES, LONGER)
            .faults(Fault.EMPTIED, Fault.RESTARTED, Fault.DUMP_LOADED)
            .mostFaults(3),
        new MarkScope("31o a shorter abstention is agreed at once", 3)
            .seeing(
                sight -> sight.doing(new Progress(true, sight.marks(), sight.progress().saved())))
            .agreeing(range(1, 3), LONGER, RULES),
        new MarkScope("31p terms are agreed without a master", 3)
            .seeing(
                sight -> {
                  String second = sight.audits().get(1).birth();
                  return sight.seeing(2, mark -> second.replace(" r1 h1x", " r2 h2x"));
                })
            .agreeing(range(1, 3), RULES, LONGER),
        new MarkScope("31q a mark whose terms are changed back is the same", 3)
            .agreeing(range(1, 3), LONGER, RULES)
            .agreeing(range(1, 3), LONGER)
            .agreeing(range(1, 3), RULES)
            .commands(3));
  }
}
