package io.redlock.jedis.deployment;

import io.redlock.jedis.trust.Agreement;
import io.redlock.jedis.trust.Agreement.MasterSet;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.MasterChange;
import io.redlock.jedis.trust.MasterChange.After;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.jedis.trust.MasterChange.Master;
import io.redlock.jedis.trust.MasterChange.Role;
import io.redlock.jedis.trust.MasterChange.Step;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Roll;
import io.redlock.jedis.trust.Served;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A command of a change of masters, whose steps {@link MasterChange} decides. */
final class Resize extends OperatorCommand {

  private static final String NO_CHANGE = "no change of these masters is under way";
  private static final int MOST_TOO_LATE = 10;
  private static final String JOINS_EMPTY =
      ": a master joins empty; empty it only if nobody uses it";

  private final Command command;
  private final boolean forces;
  private final String wanted;
  private final Duration settle;
  private final RandomGenerator random;

  private boolean hasWritten;
  private @Nullable Sets undone; // no mark shows it at the end
  private int tooLate; // in a row

  /** The sets of the change, and the terms of a master that is new to it. */
  private record Sets(MasterSet present, MasterSet future, Agreement terms) {

    MasterChange change() {
      return new MasterChange(present.id(), future.id());
    }

    /** Returns the agreement of a master that serves these clients. */
    Agreement agreement(Served serves) {
      boolean isBefore = serves.equals(Served.of(present.id()));
      boolean isAfter = serves.equals(Served.of(future.id()));
      return terms.of(
          isBefore ? List.of(present) : isAfter ? List.of(future) : List.of(present, future));
    }
  }

  /**
   * @param without the masters that are gone for good
   * @param forces true if clients that do not move may be left behind
   * @param wanted the id of the change to abort, if it is another one than that of the lists; else
   *     empty
   * @param settle the time between two masters, in which clients audit the first again
   * @param random draws the id of a new set
   * @param begun what this run has done already
   */
  Resize(
      Command command,
      ChangedMasters masters,
      Quorum quorum,
      TrustRules rules,
      Set<String> without,
      boolean forces,
      String wanted,
      Duration settle,
      RandomGenerator random,
      Progress begun,
      PrintStream out) {
    super(masters, quorum, rules, without, begun, out);
    this.command = command;
    this.forces = forces;
    this.wanted = wanted;
    this.settle = settle;
    this.random = random;
  }

  @Override
  Optional<Duration> next(List<Read> read) {
    List<Found> all = read.stream().map(this::found).toList();
    if (command == Command.PREPARE && !hasWritten) {
      all.forEach(each -> masters.tryCarrying(each.index));
    }
    Sets shown = sets(all);
    Sets sets = shown == null ? undone : shown;
    if (sets == null) {
      return succeed(NO_CHANGE);
    }
    undone = command == Command.ABORT ? sets : null;
    List<Found> found = wanted.isEmpty() ? all : members(all, sets);
    if (command != Command.ABORT) {
      found.forEach(each -> requireKnown(each, sets));
    }
    List<Master> states = found.stream().map(each -> master(each, sets.change())).toList();
    Step step = sets.change().next(command, states, progress.waited());
    if (step instanceof Step.Refuse refuse) {
      String who = refuse.master() < 0 ? "" : found.get(refuse.master()).name + ": ";
      throw new Stopped(who + refuse.reason());
    } else if (step instanceof Step.Wait) {
      progress = new Progress(true, progress.saved());
      return Optional.of(lastLease(sets));
    } else if (step instanceof Step.Save save) {
      Found target = found.get(save.master());
      return Optional.of(save(target.index, target.audit));
    } else if (step instanceof Step.Write write) {
      if (command == Command.PREPARE) {
        requireSameTerms(found);
      }
      if (command == Command.COMMIT && sets.change().reached(states).command() == Command.PREPARE) {
        requireMoved();
      }
      if (!hasWritten) {
        found.stream().filter(each -> each.mark == null).forEach(each -> isNew(each, found, sets));
      }
      if (perform(write, found, sets)) {
        hasWritten = true;
        tooLate = 0;
        return Optional.of(settle);
      } else if (++tooLate > MOST_TOO_LATE) {
        throw new Stopped(
            found.get(write.master()).name + ": it answers too slowly: run the command again");
      }
      return Optional.of(Duration.ZERO);
    }
    return succeed(command.done);
  }

  private Master master(Found each, MasterChange change) {
    boolean isFounded = each.text != null && each.text.isFounded();
    return change.master(
        each.role,
        isFounded ? each.text : null,
        each.mark != null,
        progress.isSaved(each.index, each.audit));
  }

  /** Stops if a master that joins has left another deployment, or an earlier set of this one. */
  private static void requireKnown(Found each, Sets sets) {
    BirthMark mark = each.mark;
    if (each.role == Role.JOINING
        && mark != null
        && mark.serves().isNobody()
        && mark.agreement().set(sets.present.id()).isEmpty()) {
      throw new Stopped(
          each.name
              + ": it was a master of "
              + lastOf(mark)
              + JOINS_EMPTY
              + ", or end the change with redlock resize abort");
    }
  }

  private static List<String> lastOf(BirthMark mark) {
    List<MasterSet> sets = mark.agreement().sets();
    return sets.get(sets.size() - 1).names();
  }

  /**
   * A master that was read.
   *
   * @param mark its mark; null if it is not that of its data, or of no founded set
   * @param text the mark that it shows, even if it is not that of its data
   */
  private record Found(
      int index,
      String name,
      NodeAudit audit,
      @Nullable BirthMark mark,
      @Nullable BirthMark text,
      Role role) {

    boolean shows(MasterSet set) {
      return mark != null && mark.agreement().set(set.id()).isPresent();
    }
  }

  private Found found(Read read) {
    BirthMark mark = read.mark();
    if (mark != null && !mark.agreement().guarded() && command != Command.ABORT) {
      throw new Stopped(
          read.name()
              + ": its clients run with restartGuard(false): a change of masters needs the guard");
    }
    Role role = Role.of(read.index(), quorum);
    return new Found(read.index(), read.name(), read.audit(), mark, read.text(), role);
  }

  /** Stops if a client would be left behind, unless that is meant. */
  private void requireMoved() {
    Unmoved unmoved = masters.unmoved();
    if (!unmoved.clients().isEmpty() && !forces) {
      throw new Stopped(unmoved + ": run them with movingTo, or leave them behind with --force");
    }
    if (!unmoved.toString().isEmpty()) {
      out.println(unmoved);
    }
  }

  /** Stops if an operator changes the terms of the clients meanwhile. */
  private static void requireSameTerms(List<Found> found) {
    List<Agreement> terms =
        found.stream()
            .map(Found::mark)
            .filter(mark -> mark != null && !mark.serves().isNobody())
            .map(mark -> mark.agreement().of(List.of()))
            .distinct()
            .toList();
    if (terms.size() > 1) {
      throw new Stopped(
          "the masters differ in the terms of their clients: run redlock resize abort, then redlock"
              + " agree");
    }
  }

  /** Returns the masters of the change to abort, in the parts that they have in it. */
  private List<Found> members(List<Found> all, Sets sets) {
    List<String> present = sets.present.names();
    List<String> future = sets.future.names();
    Set<String> unlisted = new TreeSet<>(present);
    unlisted.addAll(future);
    unlisted.removeAll(masters.names());
    if (!unlisted.isEmpty()) {
      throw new Stopped(
          unlisted
              + " took part in the change, from "
              + present
              + " to "
              + future
              + ": name them in the lists, too");
    }
    return all.stream()
        .filter(each -> present.contains(each.name) || future.contains(each.name))
        .map(
            each ->
                new Found(
                    each.index,
                    each.name,
                    each.audit,
                    each.mark,
                    each.text,
                    Role.of(present.contains(each.name), future.contains(each.name))))
        .toList();
  }

  @Override
  String orGone(int index, String name) {
    return command == Command.PREPARE && Role.of(index, quorum) == Role.JOINING
        ? ", or correct the list of future masters"
        : super.orGone(index, name);
  }

  // The sets of the change.

  private List<String> names(int group) {
    List<String> names = new ArrayList<>();
    for (int index = 0; index < masters.names().size(); index++) {
      if ((group & 1 << index) != 0) {
        names.add(masters.names().get(index));
      }
    }
    return names;
  }

  /** Returns the sets of the change under way, or of a new one; null if nothing is left to do. */
  private @Nullable Sets sets(List<Found> found) {
    List<String> present = names(quorum.present());
    List<String> future = names(quorum.future());
    List<Sets> all = changes(found.stream().map(Found::mark).toList());
    if (found.stream().allMatch(each -> each.mark == null || each.mark.serves().isNobody())) {
      all = changes(found.stream().map(Found::text).toList()); // all have restarted
    }
    if (all.isEmpty() && command == Command.FINISH) {
      all = begun(found, present, future);
    }
    if (!wanted.isEmpty()) {
      all.removeIf(sets -> !sets.future.id().equals(wanted));
      if (all.isEmpty()) {
        return null;
      }
    }
    if (all.size() > 1) {
      List<String> ids = all.stream().map(sets -> sets.future.id()).distinct().sorted().toList();
      throw new Stopped(
          "several changes of masters are under way, "
              + ids
              + ": end all but one with redlock resize abort --change ID");
    }
    if (all.size() == 1) {
      Sets sets = all.get(0);
      boolean isIts = sets.present.isOf(present) && sets.future.isOf(future);
      if (!isIts && wanted.isEmpty()) {
        throw new Stopped(
            "another change of masters is under way, from "
                + sets.present.names()
                + " to "
                + sets.future.names()
                + ": name the masters as in its first command, or end it with redlock resize abort"
                + " --change "
                + sets.future.id());
      }
      return sets;
    }
    return switch (command) {
      case PREPARE -> fresh(found, present, future);
      case COMMIT -> throw new Stopped("no change is prepared: run redlock resize prepare first");
      case FINISH -> finished(found, present, future);
      case ABORT -> null;
    };
  }

  /** Returns the changes of masters that marks show. */
  private static List<Sets> changes(List<@Nullable BirthMark> shown) {
    List<BirthMark> marks = shown.stream().flatMap(Stream::ofNullable).toList();
    List<BirthMark> serving = marks.stream().filter(mark -> !mark.serves().isNobody()).toList();
    List<Sets> all = new ArrayList<>();
    for (BirthMark mark : serving) {
      for (String label : mark.serves().changes()) {
        MasterSet from = mark.agreement().set(label.substring(0, label.indexOf('>'))).orElse(null);
        MasterSet to = mark.agreement().set(label.substring(label.indexOf('>') + 1)).orElse(null);
        if (from != null && to != null) {
          Sets sets = new Sets(from, to, terms(serving));
          if (!all.contains(sets)) {
            all.add(sets);
          }
        }
      }
    }
    return all;
  }

  /** Returns the change of these lists that marks show, valid or void, if a valid one does. */
  private static List<Sets> begun(List<Found> found, List<String> present, List<String> future) {
    List<BirthMark> marks = found.stream().map(Found::text).flatMap(Stream::ofNullable).toList();
    Map<String, Sets> all = new TreeMap<>(); // by the id of the future set, which names a change
    for (BirthMark mark : marks) {
      List<MasterSet> sets = mark.agreement().sets();
      if (sets.size() > 1
          && sets.get(0).isOf(present)
          && sets.get(1).isOf(future)
          && found.stream().anyMatch(each -> each.shows(sets.get(1)))) {
        all.putIfAbsent(sets.get(1).id(), new Sets(sets.get(0), sets.get(1), terms(marks)));
      }
    }
    return List.copyOf(all.values());
  }

  /** Returns the terms under which masters abstain for longest. */
  private static Agreement terms(List<BirthMark> marks) {
    return marks.stream()
        .map(mark -> mark.agreement().of(List.of()))
        .max(Agreement.BY_CAUTION)
        .orElseThrow();
  }

  private Sets fresh(List<Found> found, List<String> present, List<String> future) {
    @Nullable Sets fresh = null;
    for (Found each : found) {
      BirthMark mark = each.mark;
      if (mark == null) {
        continue;
      }
      MasterSet its =
          mark.agreement().sets().stream()
              .filter(set -> set.isOf(present))
              .findFirst()
              .orElse(null);
      boolean hasLeft = mark.serves().isNobody() && each.role == Role.JOINING;
      if (its == null || !hasLeft && !mark.serves().includes(its.id())) {
        throw new Stopped(
            each.name
                + ": it is a master of "
                + lastOf(mark)
                + (each.role == Role.JOINING
                    ? JOINS_EMPTY
                    : ": list the present masters as their clients do"));
      }
      if (hasLeft) { // what its clients agreed on is over
        continue;
      }
      Sets sets =
          new Sets(
              its, new MasterSet(Agreement.newId(random), future), mark.agreement().of(List.of()));
      if (fresh != null && !fresh.present.id().equals(its.id())) {
        throw new Stopped(each.name + ": " + Roll.SAME_NAMES);
      }
      if (fresh != null && !fresh.terms.equals(sets.terms)) {
        throw new Stopped(
            each.name
                + ": its clients agreed on other terms than those of the masters before it: run"
                + " redlock agree");
      }
      fresh = fresh == null ? sets : fresh;
    }
    if (fresh == null) {
      throw new Stopped("the set of the present masters is not founded: run redlock adopt");
    }
    return fresh;
  }

  /**
   * Returns the sets of a change that no master shows any more. One that leaves may have lost its
   * data, or its mark, before it was marked so.
   */
  private Sets finished(List<Found> found, List<String> present, List<String> future) {
    List<Sets> all = new ArrayList<>();
    for (Found each : found) {
      BirthMark mark = each.mark;
      if (each.role != Role.LEAVING) {
        MasterSet set = mark == null ? null : mark.agreement().sets().get(0);
        if (mark == null || set == null || !set.isOf(future) || !mark.serves().includes(set.id())) {
          throw new Stopped(NO_CHANGE + ", and " + each.name + " is no master of " + future);
        }
        MasterSet past = new MasterSet(Agreement.newId(random), present);
        all.add(new Sets(past, set, mark.agreement().of(List.of())));
      }
    }
    Sets sets = all.get(0);
    for (Found each : found) {
      BirthMark text = each.text;
      boolean tookPart =
          text == null || text.agreement().set(sets.future.id()).isPresent(); // or is empty
      boolean hasLeft = each.mark == null ? tookPart : each.mark.serves().isNobody();
      if (each.role == Role.LEAVING && !hasLeft) {
        throw new Stopped(NO_CHANGE + ", and " + each.name + " has not left");
      }
    }
    return sets;
  }

  // Steps.

  /** Returns false if too much time had passed since the master was read. */
  private boolean perform(Step.Write write, List<Found> found, Sets sets) {
    Found target = found.get(write.master());
    Agreement agreement = sets.agreement(write.serves());
    BirthMark mark = target.mark;
    if (mark == null) {
      boolean isNew = isNew(target, found, sets);
      mark = BirthMark.fresh(target.audit, isNew, write.serves(), agreement);
    } else {
      boolean isOut = mark.serves().isNobody(); // and what its clients agreed on is over
      Agreement terms = isOut ? agreement : mark.agreement().of(agreement.sets());
      mark = mark.serving(write.serves(), terms);
    }
    if (write.carries()) {
      carry(target, found);
    }
    Refresh refresh = Refresh.of(target.audit, mark);
    String birth = masters.write(target.index, refresh).birth();
    if (birth.equals(refresh.seen())) {
      return false;
    }
    BirthMark after = BirthMark.parse(birth);
    Served serves = after == null ? Served.NOBODY : after.serves();
    if (!serves.equals(write.serves())) {
      throw new Stopped(
          target.name + ": its birth mark was changed meanwhile: run the command again");
    }
    progress = progress.after(write.after() != After.NOTHING);
    if (write.after() == After.DISK) {
      progress = progress.saving(target.index, birth);
    }
    out.println(target.name + " serves " + mark.inWords());
    return true;
  }

  /**
   * Returns true if a master without a mark is brand-new, so that it need not abstain: no client
   * can have used it.
   */
  private boolean isNew(Found target, List<Found> found, Sets sets) {
    boolean isUsed =
        found.stream()
            .anyMatch(
                each ->
                    each.role != Role.JOINING
                        && each.text != null
                        && each.text.serves().successorOf(sets.present.id()).isPresent());
    if (command != Command.PREPARE || target.role != Role.JOINING || isUsed) {
      return false;
    }
    String key = masters.lockKey(target.index);
    if (!target.audit.birth().isEmpty() || !key.isEmpty()) {
      throw new Stopped(
          target.name
              + ": it is not new: "
              + (key.isEmpty()
                  ? "it lost its data"
                  : "it holds lock keys, for example " + Brief.text(key))
              + ": empty it, or wait until its locks have expired");
    }
    return true;
  }

  private Duration lastLease(Sets sets) {
    Duration longest = Duration.ofMillis(sets.terms.abstentionMillis());
    out.println(
        "waiting for "
            + longest.toSeconds()
            + "s, until every lease of a client that does not move has ended");
    return longest;
  }

  /** Raises the counters of a future master to those of the present masters (M5). */
  private void carry(Found target, List<Found> found) {
    for (Found each : found) {
      if (each.role != Role.JOINING && each.index != target.index) {
        masters.carry(each.index, target.index, out);
      }
    }
  }
}
