package io.redlock.jedis.membership;

import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * A command of an operator, as a pure function from what all masters show to its next step. A run
 * reads all masters, performs the step, and begins again, so it may be interrupted anywhere and
 * repeated.
 */
public interface Operation {

  /** A command writes a master three times at most, if nobody else does, and it answers in time. */
  int MOST_TRIES = 10;

  /** The advice for a master that should not join. */
  String CORRECT = "correct the list of future masters";

  /** A question to one master, beyond its audit. */
  enum Question {
    /** If its counters can be carried. Has no answer if it denies that. */
    RIGHTS,
    /** Which key a lock left behind; empty if there is none. */
    KEY,
    /** Which locks last longer than the longest ttl of the settings; empty if none does. */
    LONGER,
    /** Why it may have been used; empty if nothing shows it. */
    USE
  }

  /** The next step. Masters are named by their index in the lists. */
  sealed interface Step {

    /** Returns true if it follows that all masters have on disk what they show (M6). */
    default boolean isSaved() {
      return false;
    }

    /** Nothing is left to do. */
    record Done(String message, boolean isSaved) implements Step {}

    /**
     * Let time pass.
     *
     * @param until what has ended then
     * @param marks the marks that must still be there then, by the master
     */
    record Wait(Duration time, String until, Map<Integer, String> marks, boolean isSaved)
        implements Step {}

    /** Let all masters that answer have on disk what they show, at the same time. */
    record Save() implements Step {}

    /**
     * Write these marks, each unless another one was written meanwhile.
     *
     * @param carries true if the counters of these masters must be carried to it first
     * @param isWaitedFor true if what was waited for is not undone by it
     * @param isSaved true if it need not be saved itself, either
     * @param told what is said of a master that has its mark
     */
    record Write(
        Map<Integer, Refresh> marks,
        Set<Integer> carries,
        boolean isWaitedFor,
        boolean isSaved,
        String told)
        implements Step {

      /**
       * Returns true if a master that shows this mark now has the one that was to be written.
       * Otherwise too much time has passed since it was read, or somebody else wrote.
       */
      public boolean isDone(int master, String shown) {
        BirthMark mark = BirthMark.parse(shown);
        BirthMark meant = Objects.requireNonNull(marks.get(master)).mark();
        return mark != null && mark.dated(0).equals(meant.dated(0));
      }
    }

    /**
     * Let a master serve these clients, if it still serves those that were read. {@link Resize}
     * makes a write of it.
     *
     * @param carries true if the counters of the present masters must be carried to it first
     */
    record Let(int master, Served serves, boolean carries, boolean isWaitedFor, boolean isSaved)
        implements Step {}

    /** Ask these masters. */
    record Ask(Question question, Set<Integer> masters) implements Step {}

    /** Read these masters, too, which are in no list. */
    record Look(Set<String> names) implements Step {}

    /**
     * The command cannot go on.
     *
     * @param reasons by the master; by −1 if it is none of them
     * @param isOther true if the list is the other one of a change that is under way
     */
    record Refuse(Map<Integer, String> reasons, boolean isOther) implements Step {}

    /** Returns the refusal to go on because of one master; −1 for none of them. */
    static Refuse refuse(int master, String reason) {
      return new Refuse(Map.of(master, reason), false);
    }
  }

  /**
   * The steps that a run has done.
   *
   * @param waited true if it has waited, and has written nothing since that must be waited for
   * @param marks the marks that must be there for that, by the master; others show that somebody
   *     wrote meanwhile
   * @param saved the marks that need not be saved, by the master: they are on disk, or were written
   *     when all were
   */
  record Progress(boolean waited, Map<Integer, String> marks, Map<Integer, String> saved) {

    /** Nothing is done. */
    public static final Progress NONE = new Progress(false, Map.of(), Map.of());

    /** Makes the maps unmodifiable. */
    public Progress {
      marks = Map.copyOf(marks);
      saved = Map.copyOf(saved);
    }

    /** Returns true if a master need not be saved. */
    public boolean isSaved(Audited master) {
      NodeAudit audit = master.audit();
      return audit != null && audit.birth().equals(saved.get(master.index()));
    }

    /** Returns the same after a step, when the masters that it is done on show these marks. */
    public Progress after(Step step, Map<Integer, String> shown) {
      if (step instanceof Step.Wait wait) {
        return new Progress(true, wait.marks, saved);
      }
      Map<Integer, String> onDisk = new HashMap<>(saved);
      if (!(step instanceof Step.Write write)) {
        onDisk.putAll(shown);
        return new Progress(waited, marks, onDisk);
      }
      boolean goesOn = waited && write.isWaitedFor;
      Map<Integer, String> still = new HashMap<>(goesOn ? marks : Map.of());
      shown.forEach(
          (master, mark) -> {
            if (write.isDone(master, mark)) {
              still.computeIfPresent(master, (key, before) -> mark);
              onDisk.compute(master, (key, before) -> write.isSaved ? mark : before);
            }
          });
      return new Progress(goesOn, still, onDisk);
    }
  }

  /**
   * The knowledge of a run, besides what the masters show.
   *
   * @param written the marks that it wrote last, by the master
   * @param tries how often it tried to write, by the master
   * @param answers by the question and the master
   * @param beside other masters that were read, by the name
   */
  record Known(
      Progress progress,
      Map<Integer, String> written,
      Map<Integer, Integer> tries,
      Map<Question, Map<Integer, String>> answers,
      Map<String, Membership.Node> beside) {

    /** Nothing is known besides what masters show. */
    public static final Known NOTHING =
        new Known(Progress.NONE, Map.of(), Map.of(), Map.of(), Map.of());

    /** Returns the answer of a master that was asked. */
    String answer(Question question, Audited master) {
      return String.valueOf(answers.getOrDefault(question, Map.of()).get(master.index()));
    }

    /** Stops to ask those of these masters that were not asked. */
    void ask(Question question, List<Audited> masters) {
      Set<Integer> unasked = new TreeSet<>(masters.stream().map(Audited::index).toList());
      unasked.removeAll(answers.getOrDefault(question, Map.of()).keySet());
      if (!unasked.isEmpty()) {
        throw new Stopped(new Step.Ask(question, unasked));
      }
    }
  }

  /**
   * The rules for a step, in their order: the first one that fits a master decides.
   *
   * @param step what they decided; empty if no rule fits any master so far
   */
  record Rules<T>(List<T> masters, Optional<Step> step) {

    static <T> Rules<T> of(List<T> masters) {
      return new Rules<>(masters, Optional.empty());
    }

    /** Adds the rule what follows for the first master that it fits. */
    Rules<T> on(Predicate<T> fits, Function<T, Step> next) {
      return new Rules<>(
          masters, step.or(() -> masters.stream().filter(fits).findFirst().map(next)));
    }
  }

  /** Ends a decision at once, with a step that comes first. */
  final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final transient Step step;

    Stopped(Step step) {
      super(null, null, false, false);
      this.step = step;
    }

    Stopped(String reason) {
      this(Step.refuse(-1, reason));
    }

    Stopped(Audited master, String reason) {
      this(Step.refuse(master.index(), reason));
    }
  }

  /**
   * Returns the next step.
   *
   * @param masters all masters of the lists, also those that are gone for good
   */
  default Step next(List<Audited> masters, Known known) {
    try {
      Step step = step(masters, known);
      boolean isOnDisk =
          masters.stream().allMatch(each -> each.audit() == null || known.progress.isSaved(each));
      if (step.isSaved() && !isOnDisk) {
        return new Step.Save();
      }
      Set<Integer> written = step instanceof Step.Write write ? write.marks.keySet() : Set.of();
      for (int master : written) {
        if (known.tries.getOrDefault(master, 0) >= MOST_TRIES) {
          return Step.refuse(
              master,
              "its mark is changed again and again, or it answers too slowly: run the command again");
        }
      }
      return step;
    } catch (Stopped stopped) {
      return stopped.step;
    }
  }

  /** Returns the next step, or throws {@link Stopped}. */
  Step step(List<Audited> masters, Known known);

  /**
   * Returns the masters that take part: all that are not gone for good, and those must answer (M4).
   *
   * @param mayBeWrong true for a master that need not be one
   */
  static List<Audited> present(
      List<Audited> masters,
      Quorum quorum,
      TrustRules rules,
      Set<String> gone,
      Predicate<Audited> mayBeWrong) {
    List<Audited> present = masters.stream().filter(each -> !gone.contains(each.name())).toList();
    if (!quorum.isReachedBy(Audited.bits(present))) {
      throw new Stopped(tooMany(quorum));
    }
    for (Audited each : masters) {
      String fault = fault(each, rules, gone);
      fault = fault.isEmpty() ? each.node().unreadable() : fault;
      if (!fault.isEmpty()) {
        String silent =
            mayBeWrong.test(each)
                ? ": " + CORRECT + ", or run the command again when it is back"
                : ": run the command again when it is back, or, if it is gone for good, with --without "
                    + each.name();
        String again = each.audit() == null ? silent : "";
        throw new Stopped(
            each, fault + (each.isMisconfigured() ? ": then run the command again" : again));
      }
    }
    return present;
  }

  /** Stops if one of these is no master of the set of this list, or of that of the first. */
  static void requireOneSet(List<Audited> members, List<String> names) {
    for (Audited each : members) {
      BirthMark mark = each.node().shown();
      MasterSet set = mark.last();
      if (mark.serves().isNobody()) {
        throw new Stopped(each, Membership.LEFT);
      }
      if (mark.sets().size() > 1) {
        throw new Stopped(
            each, "a change of masters is under way: finish it, or run redlock resize abort");
      }
      if (!set.isOf(names)) {
        throw new Stopped(
            each, "it is a master of " + set.names() + ": list all of these as their clients do");
      }
      if (!members.get(0).node().shown().last().id().equals(set.id())) {
        throw new Stopped(each, Membership.SAME_NAMES);
      }
    }
  }

  /** Returns why a master is in the way, whatever its mark says; empty if it is not. */
  static String fault(Audited master, TrustRules rules, Set<String> gone) {
    NodeAudit audit = master.audit();
    if (gone.contains(master.name())) {
      return audit == null ? "" : "it answers, so it is not gone: leave out --without for it";
    }
    return audit == null
        ? master.failureText()
        : rules.misconfiguration(audit, master.surroundings());
  }

  /** Returns why the others cannot go on without those that are gone, and the ways out. */
  static String tooMany(Quorum quorum) {
    return "too many masters are gone: "
        + quorum
        + " are needed: start empty servers in their place, and leave out --without"
        + (quorum.isJoint()
            ? "; or, to undo the change, run redlock resize abort with the same --without"
            : "");
  }
}
