package io.redlock.jedis.membership;

import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterChange.Master;
import io.redlock.jedis.membership.MasterChange.Role;
import io.redlock.jedis.membership.Membership.Node;
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A command of a change of masters: finds out which change is meant, and which marks the steps of
 * {@link MasterChange} ask for.
 *
 * @param unmoved what is known of clients that would be left behind; empty if none is, or may be
 * @param drawn the id of a new set
 */
public record Resize(
    Command command, Quorum quorum, TrustRules rules, Waiver waiver, String unmoved, String drawn)
    implements Operation {

  private static final String NO_CHANGE = "no change of these masters is under way";

  @Override
  public Step step(List<Audited> masters, Known known) {
    boolean prepares = command == Command.PREPARE;
    if (prepares) {
      waiver.look(masters, known);
    }
    List<String> names = masters.stream().map(Audited::name).toList();
    Quorum needed = // without future masters no client moves
        command == Command.ABORT ? new Quorum(quorum.present(), 0) : quorum;
    List<Audited> read =
        Operation.present(
            masters, needed, rules, waiver.gone(), each -> prepares && isJoining(each));
    List<Audited> all = prepares ? joining(read, names, known) : read;
    all.forEach(this::requireGuard);
    known.ask(Question.RIGHTS, prepares ? all : List.of());
    MasterChange change = change(all, known, names);
    if (change == null) { // undone on all, if this run wrote, so no mark shows it any more
      boolean isUndone = !known.written().isEmpty();
      return new Step.Done(isUndone ? command.done : NO_CHANGE, isUndone);
    }
    List<Master> states = states(all, change);
    Step step = change.next(command, states, known.progress().waited());
    if (!(step instanceof Step.Let let)) {
      return step;
    }
    // Another change of the future masters may have followed.
    MasterSet future = change.future();
    if (let.serves().equals(Served.of(future.id())) && change.isLost(states)) {
      throw new Stopped(
          "no future master has a mark: run " + rules.command("adopt", future.names()));
    }
    if (prepares) {
      requireSameTerms(all, change.present());
    }
    if (!unmoved.isEmpty() && change.reached(states) == Command.PREPARE) {
      throw new Stopped(unmoved + ": run them with movingTo, or leave them behind with --force");
    }
    return write(let, all, change, known);
  }

  private List<Master> states(List<Audited> found, MasterChange change) {
    return found.stream().map(each -> change.master(each, role(each))).toList();
  }

  private Role role(Audited master) {
    return Role.of(master.index(), quorum);
  }

  private boolean isJoining(Audited master) {
    return role(master) == Role.JOINING;
  }

  /** Returns those that join with the mark of another set as unmarked, if it is written over. */
  private List<Audited> joining(List<Audited> read, List<String> names, Known known) {
    List<String> present = Membership.some(names, quorum.present());
    List<BirthMark> presentMarks = presentMarks(read).toList();
    Predicate<BirthMark> isOfPresent =
        mark -> mark.sets().stream().anyMatch(set -> set.isOf(present));
    boolean isLost = presentMarks.stream().noneMatch(isOfPresent);
    Set<MasterSet> ours = // if the set is lost, also those of its change, as joining masters show
        marks(read, Node::founded)
            .filter(mark -> presentMarks.contains(mark) || isLost && isOfPresent.test(mark))
            .flatMap(mark -> mark.sets().stream())
            .collect(Collectors.toSet());
    List<Audited> all = new ArrayList<>();
    for (Audited each : read) {
      BirthMark mark = each.node().mark();
      if (!isJoining(each) || mark == null || ours.stream().anyMatch(each.node()::isOf)) {
        all.add(each);
        continue;
      }
      long millis = mark.agreement().abstentionMillis();
      boolean isLonger =
          presentMarks.stream().noneMatch(its -> its.agreement().abstentionMillis() >= millis);
      String objection =
          !waiver.replaces(each.node())
              ? "it has the mark of "
                  + mark.last().names()
                  + ": "
                  + CORRECT
                  + "; if nobody uses that set, empty it, or add --replace "
                  + each.name()
                  + "="
                  + mark.last().id()
              : isLonger
                  ? "leases of its set may last longer: "
                      + (presentMarks.isEmpty()
                          ? "empty it when they have ended"
                          : "first run redlock agree with " + mark.agreement().inWords())
                  : waiver.objection(each.node(), known);
      if (!objection.isEmpty()) {
        throw new Stopped(each, objection);
      }
      all.add(each.unmarked());
    }
    return all;
  }

  private void requireGuard(Audited each) {
    BirthMark mark = each.node().member();
    if (mark != null && !mark.agreement().guarded() && command != Command.ABORT) {
      throw new Stopped(
          each, "its clients run with restartGuard(false): a change of masters needs the guard");
    }
  }

  /** Stops if an operator changes the terms of the clients meanwhile. */
  private void requireSameTerms(List<Audited> found, MasterSet present) {
    long terms =
        marks(found, Node::member)
            .filter(mark -> !mark.serves().isNobody())
            .map(BirthMark::agreement)
            .distinct()
            .count();
    if (terms > 1) {
      throw new Stopped(
          "the masters differ in the terms of their clients: run redlock resize abort, then "
              + rules.command("agree", present.names()));
    }
  }

  // The change.

  private static Stream<BirthMark> marks(
      List<Audited> found, Function<Node, @Nullable BirthMark> which) {
    return found.stream().flatMap(each -> Stream.ofNullable(which.apply(each.node())));
  }

  /** Returns the marks of the present masters, valid and void ones. */
  private Stream<BirthMark> presentMarks(List<Audited> found) {
    return marks(found.stream().filter(each -> !isJoining(each)).toList(), Node::founded);
  }

  /** Returns the change under way, or a new one; null if there is none to undo. */
  private @Nullable MasterChange change(List<Audited> found, Known known, List<String> names) {
    List<String> present = Membership.some(names, quorum.present());
    List<String> future = Membership.some(names, quorum.future());
    Predicate<MasterChange> isIts =
        change -> change.present().isOf(present) && change.future().isOf(future);
    List<MasterChange> all = changes(found);
    List<MasterChange> its = all.stream().filter(isIts).toList();
    if (command == Command.ABORT && its.isEmpty() && !known.written().isEmpty()) {
      return null; // although another one may be under way
    }
    if (command != Command.ABORT && all.size() > 1) {
      throw new Stopped(
          "several changes of masters are under way: end all but one: run " + ends(all));
    }
    if (its.isEmpty() && !all.isEmpty()) {
      throw new Stopped(
          "another change of masters is under way: name the masters as in its first command, or end"
              + " it: run "
              + ends(all));
    }
    if (its.isEmpty()) { // a void mark counts of one that cannot be undone any more
      its =
          pairs(marks(found, Node::founded)).stream()
              .filter(isIts)
              .filter(change -> change.isBound(states(found, change)))
              .toList();
    }
    if (!its.isEmpty()) { // of several the one that can be undone
      return its.stream()
          .filter(each -> !each.isBound(states(found, each)))
          .findFirst()
          .orElse(its.get(0));
    }
    return switch (command) {
      case PREPARE -> fresh(found, present, future);
      case COMMIT -> throw new Stopped("no change is prepared: run redlock resize prepare first");
      case FINISH -> finished(found, present, future);
      case ABORT -> null;
    };
  }

  /** Returns the commands that end these changes. */
  private static String ends(List<MasterChange> changes) {
    return changes.stream()
        .map(
            each ->
                "redlock resize abort --nodes "
                    + String.join(",", each.present().names())
                    + " --moving-to "
                    + String.join(",", each.future().names()))
        .distinct()
        .collect(Collectors.joining(" or "));
  }

  /** Returns the changes that are under way, as masters show that serve anybody. */
  public static List<MasterChange> changes(List<Audited> found) {
    Predicate<BirthMark> serves = mark -> !mark.serves().isNobody();
    boolean isAnyServing = marks(found, Node::member).anyMatch(serves);
    return pairs( // all have restarted, if none serves
        marks(found, isAnyServing ? Node::member : Node::founded).filter(serves));
  }

  /** Returns the changes that marks show, under the terms for which masters abstain longest. */
  private static List<MasterChange> pairs(Stream<BirthMark> shown) {
    List<BirthMark> marks = shown.toList();
    Optional<Agreement> longest =
        marks.stream().map(BirthMark::agreement).max(Agreement.BY_CAUTION);
    return marks.stream()
        .map(BirthMark::sets)
        .filter(sets -> sets.size() > 1)
        .distinct()
        .map(sets -> new MasterChange(sets.get(0), sets.get(1), longest.orElseThrow()))
        .sorted(Comparator.comparing(change -> change.future().id()))
        .toList();
  }

  private MasterChange fresh(List<Audited> found, List<String> present, List<String> future) {
    List<Audited> members =
        found.stream().filter(each -> !isJoining(each) && each.node().isMember()).toList();
    if (members.isEmpty()) {
      throw new Stopped(
          "the set of the present masters is not founded: run " + rules.command("adopt", present));
    }
    Operation.requireOneSet(members, present);
    BirthMark mark = members.get(0).node().shown();
    return new MasterChange(mark.last(), new MasterSet(drawn, future), mark.agreement());
  }

  /**
   * Returns a change that no master shows any more. One that leaves may have lost its data, or its
   * mark, before it was marked so.
   */
  private MasterChange finished(List<Audited> found, List<String> present, List<String> future) {
    List<MasterChange> all = new ArrayList<>();
    for (Audited each : found) {
      if (role(each) == Role.LEAVING) {
        if (each.node().founded() != null) {
          throw new Stopped(NO_CHANGE + ", and " + each.name() + " has not left");
        }
        continue;
      }
      BirthMark mark = each.node().member();
      if (mark == null || !mark.last().isOf(future) || !mark.serves().includes(mark.last().id())) {
        throw new Stopped(NO_CHANGE + ", and " + each.name() + " is no master of " + future);
      }
      all.add(new MasterChange(new MasterSet(drawn, present), mark.last(), mark.agreement()));
    }
    return all.get(0);
  }

  // Marks.

  private Step write(Step.Let let, List<Audited> found, MasterChange change, Known known) {
    Audited target =
        found.stream().filter(each -> each.index() == let.master()).findFirst().orElseThrow();
    boolean isFirst = known.written().isEmpty();
    List<Audited> fresh = // before the first write all of them, so that none is in the way later
        found.stream()
            .filter(each -> isFirst || each.equals(target))
            .filter(each -> each.node().answer().birth().isEmpty() && mayBeNew(each, found, change))
            .toList();
    known.ask(Question.KEY, fresh);
    for (Audited each : fresh) {
      String key = known.answer(Question.KEY, each);
      if (!key.isEmpty()) {
        throw new Stopped(
            each,
            "it is not new: it holds lock keys, for example "
                + Brief.text(key)
                + ": "
                + CORRECT
                + ", or empty it, or wait until its locks have expired");
      }
    }
    List<MasterSet> sets = change.sets(let.serves());
    BirthMark old = target.node().member();
    if (old == null && !target.hasCheckedClock()) {
      throw new Stopped(target, Audited.UNCHECKED);
    }
    BirthMark mark =
        old == null
            ? BirthMark.fresh(
                target.node().answer(), fresh.contains(target), let.serves(), sets, change.terms())
            : old.serving(
                let.serves(),
                sets,
                old.serves().isNobody() // and what its clients agreed on is over
                    ? change.terms()
                    : old.agreement());
    Set<Integer> sources = new TreeSet<>(); // M5
    found.stream()
        .filter(each -> let.carries() && !isJoining(each) && !each.equals(target))
        .forEach(each -> sources.add(each.index()));
    return new Step.Write(
        Map.of(target.index(), target.writing(mark)),
        sources,
        let.isWaitedFor(),
        let.isSaved(),
        " serves " + mark.inWords());
  }

  /**
   * Returns true if a master without a mark is brand-new if it has no keys, so that it need not
   * abstain: no client can have used it.
   */
  private boolean mayBeNew(Audited target, List<Audited> found, MasterChange change) {
    return command == Command.PREPARE
        && isJoining(target)
        && presentMarks(found)
            .flatMap(text -> text.serves().changes().stream())
            .noneMatch(label -> label.startsWith(change.present().id() + ">"));
  }
}
