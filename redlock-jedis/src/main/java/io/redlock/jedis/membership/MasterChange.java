package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Operation.Rules;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A change of masters, as a pure function from the clients that each master serves to the next step
 * of a command. A command reads all masters, performs the step, and begins again, so it may be
 * interrupted anywhere and repeated.
 *
 * <p>While clients move, each lease needs a majority of the present masters and a majority of the
 * future ones. So leases of clients that move exclude those of all others. Leases of clients of the
 * present masters and of the future ones do not exclude each other; they are kept apart in time:
 * the future clients are served only after the last lease of the present ones has ended.
 *
 * <p>A decision stands on the masters that it binds, on disk, before anybody acts on it (M6).
 *
 * @param present the id of the set of present masters
 * @param future the id of the set of future masters, drawn with the change and thus its name
 * @param leaseMillis the time after which no lease of a client of the present masters is left
 */
public record MasterChange(String present, String future, long leaseMillis) {

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
   * @param serves the clients that it serves; null if it has no mark of its data
   * @param shows those in its mark, valid or void, as far as that binds this change; else null
   */
  public record Master(int index, Role role, @Nullable Served serves, @Nullable Served shows) {

    private boolean isPresent() {
      return role != Role.JOINING;
    }

    private boolean isFuture() {
      return role != Role.LEAVING;
    }

    private boolean serves(Served... any) {
      return serves != null && List.of(any).contains(serves.without(Served.NO_RETURN));
    }

    private boolean is(Role its, Served... any) {
      return role == its && serves(any);
    }

    private boolean isUnmarked(Role its) {
      return role == its && serves == null;
    }

    private Served with(String label) {
      return Objects.requireNonNull(serves).with(label);
    }

    private boolean hasNoReturn() {
      return serves != null && serves.includes(Served.NO_RETURN);
    }

    private boolean hasLeft() {
      return role == Role.LEAVING && shows != null && shows.isNobody();
    }

    /** Returns true if prepare has yet to let it serve clients that move. */
    private boolean mayJoin() {
      return !isPresent() && (serves == null || serves.isNobody());
    }

    /** Returns true if abort may let it serve the clients of the present masters again. */
    private boolean mayReturn() {
      return isPresent() && shows != null && !shows.isNobody();
    }
  }

  /** The command that has come furthest, and if it is done. */
  public record Reached(Command command, boolean isDone) {}

  private static final String INTERRUPTED = "abort was interrupted: run redlock resize abort again";

  private Served before() {
    return Served.of(present);
  }

  private String joint() {
    return Served.label(List.of(present, future));
  }

  private Served prepared() {
    return Served.of(present, joint());
  }

  private Served committed() {
    return Served.of(joint());
  }

  private Served opened() {
    return Served.of(joint(), future);
  }

  private Served finished() {
    return Served.of(future);
  }

  /** Returns the bar of an abort for a master that serves these: nobody loses its service. */
  private static Served barred(Served serves) {
    return serves.with(Served.ABORTING);
  }

  /** Returns a master as it was read. */
  public Master master(Audited read, Role role) {
    Membership.Node node = read.node();
    if (node.founded() == null) {
      return new Master(read.index(), role, null, null);
    }
    BirthMark mark = node.shown();
    Served serves = mark.serves();
    boolean isIts = mark.agreement().set(future).isPresent();
    boolean isOfPresent = mark.agreement().sets().get(0).id().equals(present);
    Served shows = isIts ? serves : serves.without(Served.NO_RETURN);
    return new Master(
        read.index(),
        role,
        node.valid() == null ? null : serves,
        (serves.isNobody() ? isIts : isOfPresent) ? shows : null);
  }

  /**
   * Returns the next step.
   *
   * @param masters all masters that are not gone for good
   * @param waited true if this run of the command has waited since its last write that follows
   *     nothing: what must be written again was undone meanwhile
   */
  public Step next(Command command, List<Master> masters, boolean waited) {
    Rules<Master> rules = new Rules<>(masters);
    if (command != Command.ABORT) { // which passes over others
      rules.on(
          each -> !isKnown(each),
          refuse("whom it serves does not fit this change: see redlock doctor"));
    }
    switch (command) { // M2
      case PREPARE -> prepare(masters, rules);
      case COMMIT -> commit(masters, rules, waited);
      case FINISH -> finish(masters, rules);
      case ABORT -> abort(masters, rules);
    }
    return rules.orElse(new Step.Done(command.done, command == Command.ABORT));
  }

  /** Returns the point that the change has reached on these masters. */
  public Reached reached(List<Master> masters) {
    boolean isCommitted = any(masters, each -> each.isPresent() && each.serves(committed()));
    Command last = isBound(masters) || isCommitted ? Command.COMMIT : Command.PREPARE;
    last = any(masters, this::isEnding) ? Command.FINISH : last;
    last = any(masters, this::isBarred) ? Command.ABORT : last;
    return new Reached(last, next(last, masters, false) instanceof Step.Done);
  }

  private boolean isKnown(Master master) {
    return master.serves == null
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

  private boolean isFinished(Master master) {
    return master.isFuture() && master.serves(finished());
  }

  /** Returns true if a master shows that finish was begun. */
  private boolean isEnding(Master master) {
    return master.hasLeft() || isFinished(master);
  }

  /** Returns true if no future master shows that it serves anybody of the change. */
  boolean isLost(List<Master> masters) {
    return !any(
        masters,
        each ->
            each.isFuture()
                && (each.serves != null || each.shows != null && !each.shows.isNobody()));
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
                    && each.shows != null
                    && (each.shows.includes(Served.NO_RETURN)
                        || each.shows.includes(future)
                        || each.shows.isNobody()));
  }

  private static boolean any(List<Master> masters, Predicate<Master> condition) {
    return masters.stream().anyMatch(condition);
  }

  // What follows for the first master that a rule fits.

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

  private void prepare(List<Master> masters, Rules<Master> rules) {
    boolean isBound = isBound(masters);
    // A master without a mark has lost its data: it must not serve clients that another one left.
    boolean hasLeft = any(masters, each -> each.isPresent() && each.serves(committed()));
    Served unmarked = hasLeft ? committed() : prepared();
    rules
        .on(each -> isBound, stop("the change is committed: run redlock resize commit"))
        .on(this::isBarred, refuse(INTERRUPTED))
        .on(Master::mayJoin, let(committed()))
        .on(each -> each.isPresent() && each.serves(before()), let(prepared()))
        .on(each -> each.isPresent() && each.serves == null, let(unmarked));
  }

  private void commit(List<Master> masters, Rules<Master> rules, boolean waited) {
    boolean isBound = isBound(masters);
    boolean mustWait = !isOpen(masters) && !waited;
    Predicate<Master> isUnprepared =
        each -> each.isPresent() ? each.serves(before()) : each.mayJoin();
    Predicate<Master> isServing =
        each -> each.serves(prepared()) || isBound && (isBarred(each) || each.serves(before()));
    Predicate<Master> isClosed = each -> each.isFuture() && !each.serves(opened(), finished());
    Served bound = committed().with(Served.NO_RETURN);
    rules
        .on(this::isEnding, stop("finish was begun: run redlock resize finish"))
        .on(each -> !isBound && isBarred(each), refuse(INTERRUPTED))
        .on(
            each -> !isBound && isUnprepared.test(each),
            refuse("it is not prepared: run redlock resize prepare first"))
        .on(each -> each.isPresent() && isServing.test(each), let(committed()))
        .on(each -> each.isPresent() && each.serves == null, let(isBound ? bound : committed()))
        .on(each -> mustWait, each -> waiting()) // M3
        .on(
            each -> each.isPresent() && each.serves(opened(), committed()) && !each.hasNoReturn(),
            each -> new Step.Let(each.index, each.with(Served.NO_RETURN), false, true, false))
        .on(isClosed, this::opening);
  }

  private Step waiting() {
    return new Step.Wait(
        Duration.ofMillis(leaseMillis), "of a client that does not move", Map.of(), true);
  }

  private Step opening(Master master) {
    Served open = master.isPresent() ? opened().with(Served.NO_RETURN) : opened();
    return new Step.Let(master.index, open, true, true, true);
  }

  private void finish(List<Master> masters, Rules<Master> rules) {
    boolean isOpen = isOpen(masters);
    boolean isBegun = any(masters, this::isEnding);
    Predicate<Master> isPast =
        each -> each.serves == null || each.serves(opened()) || isBegun && each.serves(committed());
    Predicate<Master> isStill =
        each -> each.serves == null || each.serves(before(), prepared(), committed());
    rules
        .on(
            each -> !isOpen || each.isFuture() && !isPast.test(each) && !isFinished(each),
            refuse("it is not committed: run redlock resize commit first"))
        .on(each -> each.role == Role.LEAVING && isStill.test(each), let(Served.NOBODY))
        .on(
            each -> each.isFuture() && isPast.test(each),
            each -> new Step.Let(each.index, finished(), false, true, true));
  }

  private void abort(List<Master> masters, Rules<Master> rules) {
    boolean isBound = isBound(masters);
    boolean mayAny = any(masters, Master::mayReturn);
    // Each future master is barred first, which a commit that is under way elsewhere respects. As
    // long as one is, the change can be seen.
    rules
        .on(
            each -> isBound,
            stop(
                "the change is committed: run redlock resize commit, then finish it, then change the"
                    + " masters back"))
        .on(
            each -> !mayAny,
            stop("no present master shows the mark of its set: run redlock resize commit"))
        .on(
            each -> each.isUnmarked(Role.JOINING) || each.is(Role.JOINING, committed()),
            let(Served.NOBODY))
        .on(
            each -> each.is(Role.STAYING, prepared(), committed()),
            each -> let(each.with(Served.ABORTING)).apply(each))
        .on(each -> each.mayReturn() && each.isUnmarked(Role.STAYING), let(barred(committed())))
        .on(
            each ->
                each.mayReturn()
                    && (each.isUnmarked(Role.LEAVING)
                        || each.is(Role.LEAVING, prepared(), committed())),
            let(before()))
        .on(each -> each.mayReturn() && each.role == Role.STAYING && isBarred(each), let(before()));
  }
}
