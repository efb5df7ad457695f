package io.redlock.jedis.trust;

import io.redlock.spi.Quorum;
import java.util.List;
import java.util.Optional;
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
 * @param present the id of the set of present masters
 * @param future the id of the set of future masters, drawn with the change and thus its name
 */
public record MasterChange(String present, String future) {

  /** The commands of an operator. */
  public enum Command {
    /** Lets clients move. */
    PREPARE,
    /** Leaves the clients of the present masters behind, then serves those of the future ones. */
    COMMIT,
    /** Leaves clients that move behind, and the masters that are no longer needed. */
    FINISH,
    /** Undoes a change that is not committed. */
    ABORT
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
      return of((quorum.present() & 1 << index) != 0, (quorum.future() & 1 << index) != 0);
    }

    /** Returns the part of a master of one set, or of both. */
    public static Role of(boolean isPresent, boolean isFuture) {
      return isPresent ? isFuture ? STAYING : LEAVING : JOINING;
    }
  }

  /**
   * A master as it was read.
   *
   * @param serves the clients that it serves; null if it has no mark of its data
   */
  public record Master(Role role, @Nullable Served serves) {

    private boolean isPresent() {
      return role != Role.JOINING;
    }

    private boolean isFuture() {
      return role != Role.LEAVING;
    }

    private boolean serves(Served... any) {
      return serves != null && List.of(any).contains(serves);
    }
  }

  /** The point that a change has reached. */
  public enum Stage {
    /** No master takes part in it. */
    NONE,
    /** Some masters are prepared. */
    PREPARING,
    /** Clients may move. */
    PREPARED,
    /** Some present masters have left clients behind that do not move, or have lost their data. */
    LEAVING_CLIENTS,
    /** Clients of the present masters are refused, those of the future ones not served yet. */
    COMMITTING,
    /** Clients of the future masters are served. */
    COMMITTED,
    /** Some masters have left clients behind that move. */
    FINISHING,
    /** Only clients of the future masters are served. */
    FINISHED,
    /** It is being undone. */
    ABORTING
  }

  /** The next step of a command. */
  public sealed interface Step {

    /** Nothing is left to do. */
    record Done() implements Step {}

    /** Let all leases of clients of the present masters end, by a clock that is not set. */
    record Wait() implements Step {}

    /**
     * Let a master serve these clients, if it still serves those that were read.
     *
     * @param carries true if the counters of the present masters must be carried to it first
     */
    record Write(int master, Served serves, boolean carries) implements Step {}

    /** The command cannot go on. */
    record Refuse(int master, String reason) implements Step {}
  }

  private Served before() {
    return Served.of(present);
  }

  private String joint() {
    return Served.moving(present, future);
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

  private Served aborting() {
    return Served.of(joint(), Served.ABORTING);
  }

  /**
   * Returns the next step.
   *
   * @param masters all masters that are not gone for good
   * @param waited true if this run of the command has waited since it last wrote without carrying
   *     counters: what must be written again was undone meanwhile
   */
  public Step next(Command command, List<Master> masters, boolean waited) {
    for (int i = 0; i < masters.size(); i++) {
      if (command != Command.ABORT && !isKnown(masters.get(i))) { // abort passes over others
        return new Step.Refuse(
            i, "it serves other clients, " + masters.get(i).serves + ": see redlock doctor");
      }
    }
    return switch (command) {
      case PREPARE -> prepare(masters);
      case COMMIT -> commit(masters, waited); // M2
      case FINISH -> finish(masters);
      case ABORT -> abort(masters);
    };
  }

  /** Returns the point that the change has reached on these masters. */
  public Stage stage(List<Master> masters) {
    if (isOver(masters)) {
      return Stage.FINISHED;
    }
    if (isOpen(masters)) {
      boolean isFinishing = masters.stream().anyMatch(each -> isFinished(each));
      Stage served = isFinishing ? Stage.FINISHING : Stage.COMMITTED;
      return next(Command.COMMIT, masters, false) instanceof Step.Done ? served : Stage.COMMITTING;
    }
    if (aborted(masters).isPresent()) {
      return Stage.ABORTING;
    }
    boolean isPrepared = next(Command.PREPARE, masters, false) instanceof Step.Done;
    boolean hasPrepared = masters.stream().anyMatch(each -> each.serves(prepared()));
    boolean hasLeft =
        masters.stream().anyMatch(each -> each.isPresent() && each.serves(committed()));
    if (hasLeft) {
      return hasPrepared ? Stage.LEAVING_CLIENTS : Stage.COMMITTING;
    }
    boolean isBegun = masters.stream().anyMatch(each -> each.serves(prepared(), committed()));
    return isPrepared ? Stage.PREPARED : isBegun ? Stage.PREPARING : Stage.NONE;
  }

  private boolean isFinished(Master master) {
    return master.isFuture() && master.serves(finished());
  }

  private static boolean hasLeft(Master master) {
    return master.role == Role.LEAVING && master.serves(Served.NOBODY);
  }

  private boolean isKnown(Master master) {
    return master.serves == null
        || switch (master.role) {
          case LEAVING -> master.serves(before(), prepared(), committed(), Served.NOBODY);
          case STAYING ->
              master.serves(before(), prepared(), committed(), opened(), finished(), aborting());
          case JOINING -> master.serves(committed(), opened(), finished(), Served.NOBODY);
        };
  }

  /** Returns true if clients of the future masters are or were served. */
  private boolean isOpen(List<Master> masters) {
    return masters.stream()
        .anyMatch(master -> master.serves(opened()) || isFinished(master) || hasLeft(master));
  }

  /**
   * Returns true if all present masters stay and those that join are a majority without them. If
   * all present ones then lost their data, a client that was forgotten could found their set again.
   */
  private static boolean isLedByNewcomers(List<Master> masters) {
    long joining = masters.stream().filter(each -> each.role == Role.JOINING).count();
    boolean leaves = masters.stream().anyMatch(each -> each.role == Role.LEAVING);
    return !leaves && joining >= Quorum.majority(masters.size());
  }

  private static Optional<Step> write(
      List<Master> masters, Role role, Served target, List<Served> from, boolean unmarked) {
    for (int i = 0; i < masters.size(); i++) {
      Master master = masters.get(i);
      boolean applies = master.serves == null ? unmarked : from.contains(master.serves);
      if (master.role == role && applies) {
        return Optional.of(new Step.Write(i, target, false));
      }
    }
    return Optional.empty();
  }

  private Optional<Step> aborted(List<Master> masters) {
    for (int i = 0; i < masters.size(); i++) {
      if (masters.get(i).serves(aborting())) {
        return Optional.of(
            new Step.Refuse(i, "abort was interrupted: run redlock resize abort again"));
      }
    }
    return Optional.empty();
  }

  private Step prepare(List<Master> masters) {
    if (isOpen(masters)) {
      return new Step.Refuse(-1, "the change is committed: run redlock resize finish");
    }
    if (isLedByNewcomers(masters)) {
      return new Step.Refuse(
          -1,
          "the masters that join would be a majority without the present ones, which could all lose"
              + " their data: let fewer join first, for example one");
    }
    // A master without a mark has lost its data: it must not serve clients that another one left.
    boolean hasLeft =
        masters.stream().anyMatch(each -> each.isPresent() && each.serves(committed()));
    Served unmarked = hasLeft ? committed() : prepared();
    return aborted(masters)
        .or(() -> write(masters, Role.JOINING, committed(), List.of(Served.NOBODY), true))
        .or(() -> write(masters, Role.LEAVING, prepared(), List.of(before()), false))
        .or(() -> write(masters, Role.STAYING, prepared(), List.of(before()), false))
        .or(() -> write(masters, Role.LEAVING, unmarked, List.of(), true))
        .or(() -> write(masters, Role.STAYING, unmarked, List.of(), true))
        .orElseGet(Step.Done::new);
  }

  private Step commit(List<Master> masters, boolean waited) {
    boolean isOpen = isOpen(masters);
    if (!isOpen) {
      Optional<Step> refusal = aborted(masters).or(() -> unprepared(masters));
      if (refusal.isPresent()) {
        return refusal.get();
      }
    }
    Optional<Step> leaves =
        write(masters, Role.LEAVING, committed(), List.of(prepared()), true)
            .or(() -> write(masters, Role.STAYING, committed(), List.of(prepared()), !isOpen));
    if (leaves.isPresent()) {
      return leaves.get();
    }
    if (!isOpen && !waited) { // M3
      return new Step.Wait();
    }
    for (int i = 0; i < masters.size(); i++) {
      Master master = masters.get(i);
      if (master.isFuture() && !master.serves(opened()) && !master.serves(finished())) {
        return new Step.Write(i, opened(), true);
      }
    }
    return new Step.Done();
  }

  private Optional<Step> unprepared(List<Master> masters) {
    for (int i = 0; i < masters.size(); i++) {
      Master master = masters.get(i);
      boolean isNew = !master.isPresent() && (master.serves == null || master.serves.isNobody());
      if (isNew || master.isPresent() && master.serves(before())) {
        return Optional.of(
            new Step.Refuse(i, "it is not prepared: run redlock resize prepare first"));
      }
    }
    return Optional.empty();
  }

  private Step finish(List<Master> masters) {
    for (int i = 0; i < masters.size(); i++) {
      Master master = masters.get(i);
      boolean isReady = master.serves == null || master.serves(opened(), finished());
      if (master.isFuture() && !isReady || !isOpen(masters) && !isOver(masters)) {
        return new Step.Refuse(i, "it is not committed: run redlock resize commit first");
      }
    }
    List<Served> past = List.of(opened());
    return write(masters, Role.JOINING, finished(), past, true)
        .or(() -> write(masters, Role.STAYING, finished(), past, true))
        .or(
            () ->
                write(
                    masters,
                    Role.LEAVING,
                    Served.NOBODY,
                    List.of(before(), prepared(), committed()),
                    true))
        .orElseGet(Step.Done::new);
  }

  private boolean isOver(List<Master> masters) {
    return masters.stream()
        .allMatch(master -> master.serves(master.isFuture() ? finished() : Served.NOBODY));
  }

  private Step abort(List<Master> masters) {
    if (isOpen(masters)) {
      return new Step.Refuse(
          -1, "the change is committed: finish it, then change the masters back");
    }
    // Each future master is barred first, which a commit that is under way elsewhere respects. As
    // long as one is, the change can be seen.
    List<Served> past = List.of(prepared(), committed());
    return write(masters, Role.JOINING, Served.NOBODY, List.of(committed()), true)
        .or(() -> barred(masters))
        .or(() -> write(masters, Role.LEAVING, before(), past, true))
        .or(() -> write(masters, Role.STAYING, before(), List.of(aborting()), false))
        .orElseGet(Step.Done::new);
  }

  private Optional<Step> barred(List<Master> masters) {
    return write(masters, Role.STAYING, aborting(), List.of(prepared(), committed()), true);
  }
}
