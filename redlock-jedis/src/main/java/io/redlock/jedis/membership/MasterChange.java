package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Operation.Rules;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * A change of masters, as a pure function from the clients that each master serves to the next step
 * of a command.
 *
 * <p>While clients move, each lease needs a majority of the present masters and a majority of the
 * future ones. So leases of clients that move exclude those of all others. Leases of clients of the
 * present masters and of the future ones do not exclude each other; they are kept apart in time:
 * the future clients are served only after the last lease of the present ones has ended.
 *
 * <p>A decision stands on the masters that it binds, on disk, before anybody acts on it (M6).
 *
 * @param present the set of present masters
 * @param future the set of future masters; its id is drawn with the change and names it
 * @param terms the terms of the clients, and of a master that is new to them
 */
public record MasterChange(MasterSet present, MasterSet future, Agreement terms) {

  /** The commands of an operator. */
  public enum Command {
    /** Lets clients move. */
    PREPARE(
        "prepared: now run every client with movingTo, one after the other; then run redlock resize"
            + " commit"),
    /** Leaves the clients of the present masters behind, then serves those of the future ones. */
    COMMIT(
        "committed: now run every client with the future masters as its nodes, and without"
            + " movingTo; then run redlock resize finish"),
    /** Leaves clients that move behind, and the masters that are no longer needed. */
    FINISH("finished: only the future masters are needed"),
    /** Undoes a change that is not committed. */
    ABORT("aborted: run the clients without movingTo");

    /** The message at its end: what is done, and what follows. */
    public final String done;

    Command(String done) {
      this.done = done;
    }
  }

  /** The parts of a master in the change. */
  public enum Role {
    /** It is a present master only. */
    LEAVING,
    /** It is a present and a future master. */
    STAYING,
    /** It is a future master only. */
    JOINING;

    /** Returns the part of the master of this index. */
    public static Role of(int index, Quorum quorum) {
      boolean isFuture = (quorum.future() & 1 << index) != 0;
      return (quorum.present() & 1 << index) == 0 ? JOINING : isFuture ? STAYING : LEAVING;
    }
  }

  /**
   * A master as it was read.
   *
   * @param index its index in the lists
   * @param serves the clients that it serves by a mark of its data
   * @param shows those in its mark, valid or void, as far as that binds this change
   */
  public record Master(int index, Role role, Served serves, Served shows) {

    private boolean isPresent() {
      return role != Role.JOINING;
    }

    private boolean isFuture() {
      return role != Role.LEAVING;
    }

    private boolean serves(Served... any) {
      return List.of(any).contains(serves.without(Served.NO_RETURN));
    }

    private boolean showsAny() {
      return !shows.equals(Served.UNMARKED) && !shows.isNobody();
    }
  }

  private static final String INTERRUPTED = "abort was interrupted: run redlock resize abort again";

  private Served before() {
    return Served.of(present.id());
  }

  private String joint() {
    return Served.label(List.of(present.id(), future.id()));
  }

  private Served prepared() {
    return Served.of(present.id(), joint());
  }

  private Served committed() {
    return Served.of(joint());
  }

  private Served opened() {
    return Served.of(joint(), future.id());
  }

  private Served finished() {
    return Served.of(future.id());
  }

  /** Returns the bar of an abort for a master that serves these: nobody loses its service. */
  private static Served barred(Served serves) {
    return serves.with(Served.ABORTING);
  }

  /** Returns the sets in the mark of a master that serves these clients. */
  List<MasterSet> sets(Served serves) {
    return serves.equals(before())
        ? List.of(present)
        : serves.equals(finished()) ? List.of(future) : List.of(present, future);
  }

  /** Returns a master as it was read. */
  public Master master(Audited read, Role role) {
    Membership.Node node = read.node();
    if (node.founded() == null) {
      return new Master(read.index(), role, Served.UNMARKED, Served.UNMARKED);
    }
    BirthMark mark = node.shown();
    Served serves = mark.serves();
    boolean isIts = mark.sets().contains(future);
    boolean isOfPresent = mark.sets().get(0).equals(present);
    Served shows = isIts ? serves : serves.without(Served.NO_RETURN);
    return new Master(
        read.index(),
        role,
        node.valid() == null ? Served.UNMARKED : serves,
        (serves.isNobody() ? isIts : isOfPresent) ? shows : Served.UNMARKED);
  }

  /**
   * Returns the next step.
   *
   * @param masters all masters that are not gone for good
   * @param waited true if this run of the command has waited since its last write that follows
   *     nothing: what must be written again was undone meanwhile
   */
  public Step next(Command command, List<Master> masters, boolean waited) {
    Rules<Master> known =
        Rules.of(masters)
            .on(
                each -> !isKnown(each),
                refuse("whom it serves does not fit this change: see redlock doctor"));
    Rules<Master> rules =
        switch (command) {
          case PREPARE -> prepare(masters, known); // M2
          case COMMIT -> commit(masters, known, waited);
          case FINISH -> finish(masters, known);
          case ABORT -> abort(masters); // it passes over others
        };
    return rules.step().orElse(new Step.Done(command.done, command == Command.ABORT));
  }

  /** Returns the command that has come furthest on these masters. */
  public Command reached(List<Master> masters) {
    if (any(masters, this::isBarred)) {
      return Command.ABORT;
    }
    if (any(masters, this::isEnding)) {
      return Command.FINISH;
    }
    boolean isCommitted = isBound(masters) || any(masters, present(committed()));
    return isCommitted ? Command.COMMIT : Command.PREPARE;
  }

  private boolean isKnown(Master master) {
    return master.serves(Served.UNMARKED)
        || switch (master.role) {
          case LEAVING -> master.serves(before(), prepared(), committed(), Served.NOBODY);
          case STAYING ->
              isBarred(master)
                  || master.serves(before(), prepared(), committed(), opened(), finished());
          case JOINING -> master.serves(committed(), opened(), finished(), Served.NOBODY);
        };
  }

  private boolean isBarred(Master master) {
    return master.serves(barred(prepared()), barred(committed()));
  }

  /** Returns true if a master shows that finish was begun. */
  private boolean isEnding(Master master) {
    return master.isFuture() ? master.serves(finished()) : master.shows.isNobody();
  }

  /** Returns true if no future master shows that it serves anybody of the change. */
  boolean isLost(List<Master> masters) {
    return !any(
        masters, each -> each.isFuture() && (!each.serves(Served.UNMARKED) || each.showsAny()));
  }

  /** Returns true if clients of the future masters are or were served. */
  private boolean isOpen(List<Master> masters) {
    return any(masters, each -> each.serves(opened()) || isEnding(each));
  }

  /** Returns true if the change cannot be undone any more. */
  boolean isBound(List<Master> masters) {
    return isOpen(masters)
        || any(
            masters,
            each ->
                each.isPresent()
                    && (each.shows.includes(Served.NO_RETURN)
                        || each.shows.includes(future.id())
                        || each.shows.isNobody()));
  }

  private static boolean any(List<Master> masters, Predicate<Master> condition) {
    return masters.stream().anyMatch(condition);
  }

  // The masters that a rule fits, and what follows for the first of them.

  private static Predicate<Master> is(Role role, Served... any) {
    return each -> each.role == role && each.serves(any);
  }

  private static Predicate<Master> present(Served... any) {
    return each -> each.isPresent() && each.serves(any);
  }

  private static Function<Master, Step> stop(String reason) {
    return each -> Step.refuse(-1, reason);
  }

  private static Function<Master, Step> refuse(String reason) {
    return each -> Step.refuse(each.index, reason);
  }

  private static Function<Master, Step> let(Served clients) {
    return each -> new Step.Let(each.index, clients, false, false, false);
  }

  // The commands.

  private Rules<Master> prepare(List<Master> masters, Rules<Master> rules) {
    boolean isBound = isBound(masters);
    // A master without a mark has lost its data: it must not serve clients that another one left.
    Served unmarked = any(masters, present(committed())) ? committed() : prepared();
    return rules
        .on(each -> isBound, stop("the change is committed: run redlock resize commit"))
        .on(this::isBarred, refuse(INTERRUPTED))
        .on(is(Role.JOINING, Served.UNMARKED, Served.NOBODY), let(committed()))
        .on(present(before()), let(prepared()))
        .on(present(Served.UNMARKED), let(unmarked));
  }

  private Rules<Master> commit(List<Master> masters, Rules<Master> rules, boolean waited) {
    boolean isBound = isBound(masters);
    boolean mustWait = !isOpen(masters) && !waited;
    Duration lastLease = Duration.ofMillis(terms.abstentionMillis());
    Step wait = new Step.Wait(lastLease, "of a client that does not move", Map.of(), true);
    Predicate<Master> isUnprepared =
        present(before()).or(is(Role.JOINING, Served.UNMARKED, Served.NOBODY));
    Predicate<Master> isLate = present(before(), barred(prepared()), barred(committed()));
    Predicate<Master> isServing = present(prepared()).or(each -> isBound && isLate.test(each));
    Served bound = committed().with(Served.NO_RETURN);
    return rules
        .on(this::isEnding, stop("finish was begun: run redlock resize finish"))
        .on(each -> !isBound && isBarred(each), refuse(INTERRUPTED))
        .on(
            each -> !isBound && isUnprepared.test(each),
            refuse("it is not prepared: run redlock resize prepare first"))
        .on(isServing, let(committed()))
        .on(present(Served.UNMARKED), let(isBound ? bound : committed()))
        .on(each -> mustWait, each -> wait) // M3
        .on(
            present(committed(), opened()).and(each -> !each.serves.includes(Served.NO_RETURN)),
            each ->
                new Step.Let(each.index, each.serves.with(Served.NO_RETURN), false, true, false))
        .on(each -> each.isFuture() && !each.serves(opened(), finished()), this::opening);
  }

  private Step opening(Master master) {
    Served open = master.isPresent() ? opened().with(Served.NO_RETURN) : opened();
    return new Step.Let(master.index, open, true, true, true);
  }

  private Rules<Master> finish(List<Master> masters, Rules<Master> rules) {
    boolean isOpen = isOpen(masters);
    boolean isBegun = any(masters, this::isEnding);
    Predicate<Master> isPast =
        each ->
            each.isFuture()
                && (each.serves(Served.UNMARKED, opened()) || isBegun && each.serves(committed()));
    return rules
        .on(
            each -> !isOpen || each.isFuture() && !isPast.test(each) && !each.serves(finished()),
            refuse("it is not committed: run redlock resize commit first"))
        .on(
            is(Role.LEAVING, Served.UNMARKED, before(), prepared(), committed()),
            let(Served.NOBODY))
        .on(isPast, each -> new Step.Let(each.index, finished(), false, true, true));
  }

  private Rules<Master> abort(List<Master> masters) {
    boolean isBound = isBound(masters);
    Predicate<Master> mayReturn = each -> each.isPresent() && each.showsAny();
    boolean mayAny = any(masters, mayReturn);
    // Each future master is barred first, which a commit that is under way elsewhere respects. As
    // long as one is, the change can be seen.
    return Rules.of(masters)
        .on(
            each -> isBound,
            stop(
                "the change is committed: run redlock resize commit, then finish it, then change the"
                    + " masters back"))
        .on(
            each -> !mayAny,
            stop("no present master shows the mark of its set: run redlock resize commit"))
        .on(is(Role.JOINING, Served.UNMARKED, committed()), let(Served.NOBODY))
        .on(is(Role.STAYING, prepared(), committed()), each -> let(barred(each.serves)).apply(each))
        .on(mayReturn.and(is(Role.STAYING, Served.UNMARKED)), let(barred(committed())))
        .on(
            mayReturn.and(is(Role.LEAVING, Served.UNMARKED, prepared(), committed())),
            let(before()))
        .on(
            mayReturn.and(is(Role.STAYING, barred(prepared()), barred(committed()))),
            let(before()));
  }
}
