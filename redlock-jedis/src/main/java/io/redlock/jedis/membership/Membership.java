package io.redlock.jedis.membership;

import io.redlock.spi.Quorum;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The set of masters as the marks on the nodes of a client's list show it: which clients this one
 * is, what each node may do for it, and which marks it may write. A pure function of the marks.
 *
 * <p>A mark is copied, never invented (N1): nobody but an operator founds a set ({@link Founding}).
 * A client writes a mark if a quorum of its list shows valid marks of its set, or if all nodes of
 * its list answer, one of them shows a mark of its set, valid or void, and none shows that of
 * another set.
 */
public final class Membership {

  private final List<Node> nodes;
  private final Quorum quorum;
  private final TrustRules client;
  private final List<String> present;
  private final List<String> future;
  private final List<MasterSet> mine; // those that the label of these clients names
  private final Optional<Agreement> agreed; // when this client last saw it
  private final List<Sight> sights; // of the nodes

  /**
   * A node of the list.
   *
   * @param index its place in the list
   * @param audit its last audit; null if it does not answer
   * @param mark the mark in that audit; null if there is none that can be read
   */
  public record Node(int index, String name, @Nullable NodeAudit audit, @Nullable BirthMark mark) {

    /** Returns a node that gave this audit. */
    public static Node of(int index, String name, @Nullable NodeAudit audit) {
      return new Node(index, name, audit, audit == null ? null : BirthMark.parse(audit.birth()));
    }

    /** Returns its mark, where it is known to have one. */
    BirthMark shown() {
      return Objects.requireNonNull(mark);
    }

    Agreement terms() {
      return shown().agreement();
    }

    /** Returns its audit, where it is known to answer. */
    NodeAudit answer() {
      return Objects.requireNonNull(audit);
    }

    /** Returns the mark if it is that of the node's data; else null. */
    public @Nullable BirthMark valid() {
      return mark != null && mark.isOf(answer()) ? mark : null;
    }

    /** Returns true if its mark is valid and of a founded set. */
    boolean isMember() {
      return valid() != null && founded() != null;
    }

    /** Returns the mark of a member; else null. */
    @Nullable BirthMark member() {
      return isMember() ? mark : null;
    }

    /** Returns the mark of a founded set, valid or void; null if there is none. */
    @Nullable BirthMark founded() {
      return mark != null && mark.isFounded() ? mark : null;
    }

    /** Returns true if its mark is of the set, valid or void; a founding mark is of one. */
    boolean isOf(MasterSet set) {
      return mark != null && (mark.isFounded() ? mark.sets() : List.of(mark.last())).contains(set);
    }

    /** Returns why its mark cannot be read; empty if it can, or if there is none. */
    String unreadable() {
      boolean isRead = audit == null || mark != null || audit.birth().isEmpty();
      return isRead ? "" : BirthMark.unreadable(answer().birth());
    }
  }

  /** The part of a node among the masters of a client, by its mark. */
  private enum Sight {
    SILENT,
    EMPTY,
    /** It has a valid mark of the client's set. */
    MEMBER,
    /** It has a void mark of that set, or that set is being founded on it. */
    FORMER,
    /** A set of the same list is being founded on it, so that its mark may be replaced. */
    BEGUN,
    /** It has left another set. */
    LEFT,
    /** It has a valid mark of another set. */
    STRANGER,
    /** It has any other mark: void, of a set that is being founded, of another version. */
    DISPUTED
  }

  /** Those whose marks are not of the set of this list. */
  private static final Sight[] STRAY = {Sight.LEFT, Sight.STRANGER, Sight.DISPUTED};

  /** Those that may show another step than a quorum, or another set. */
  private static final Sight[] UNCLEAR = {
    Sight.SILENT, Sight.BEGUN, Sight.LEFT, Sight.STRANGER, Sight.DISPUTED
  };

  /** The advice for one node. */
  public sealed interface Advice {

    /** Its mark is right. */
    record Keep() implements Advice {}

    /** This mark must be written first. */
    record Write(Served serves, List<MasterSet> sets, Agreement agreement) implements Advice {}

    /** It does not vote yet, and no mark may be written. */
    record Wait(String reason) implements Advice {}

    /** An operator has to fix something. */
    record Refuse(String reason) implements Advice {}
  }

  /**
   * @param nodes the nodes of the list
   * @param quorum those that are enough
   * @param client the settings of the client
   * @param known the label that the client had before, when its list was found to be its set; empty
   *     if it had none
   * @param agreed what its masters showed last, for the message if they show nothing any more;
   *     empty if it has not seen them before
   */
  public Membership(
      List<Node> nodes,
      Quorum quorum,
      TrustRules client,
      String known,
      Optional<Agreement> agreed) {
    this.nodes = nodes;
    this.agreed = agreed;
    this.quorum = quorum;
    this.client = client;
    List<String> names = nodes.stream().map(Node::name).toList();
    this.present = some(names, quorum.present());
    this.future = some(names, quorum.future());
    this.mine =
        quorum.isJoint() ? moving(known).orElse(List.of()) : settled(known).stream().toList();
    this.sights = nodes.stream().map(this::sight).toList();
  }

  /** Returns the name of these clients in marks; empty if no mark shows it. */
  public String label() {
    return label(mine);
  }

  private static String label(List<MasterSet> sets) {
    return Served.label(sets.stream().map(MasterSet::id).toList());
  }

  /** Returns the set of clients that do not move; empty if no mark shows it. */
  Optional<MasterSet> set() {
    return mine.stream().filter(its -> !quorum.isJoint()).findFirst();
  }

  private boolean is(Node node, Sight... any) {
    return List.of(any).contains(sights.get(node.index));
  }

  private Stream<Node> as(Sight... some) {
    return nodes.stream().filter(each -> is(each, some));
  }

  private static boolean isIn(int group, int node) {
    return (group & 1 << node) != 0;
  }

  /** Returns the names of these bits. */
  static List<String> some(List<String> names, int group) {
    return IntStream.range(0, names.size())
        .filter(node -> isIn(group, node))
        .mapToObj(names::get)
        .toList();
  }

  /** Returns the marks that name their set: those of members, or if none is, all of any past. */
  private Stream<BirthMark> witnesses() {
    boolean hasMembers = nodes.stream().anyMatch(Node::isMember);
    return nodes.stream()
        .flatMap(node -> Stream.ofNullable(hasMembers ? node.member() : node.founded()));
  }

  static <T> Optional<T> mostShown(Stream<T> all) {
    return all
        .collect(Collectors.groupingBy(Function.identity(), Collectors.counting()))
        .entrySet()
        .stream()
        .max(
            Map.Entry.<T, Long>comparingByValue()
                .thenComparing(each -> each.getKey().toString(), Comparator.reverseOrder()))
        .map(Map.Entry::getKey);
  }

  // Whose client this is.

  /** Finds the set of a client that does not move: by its names, else by whom all nodes serve. */
  private Optional<MasterSet> settled(String known) {
    Predicate<MasterSet> isAlike = set -> set.isOf(present) || set.id().equals(known);
    Predicate<MasterSet> isWhole =
        set ->
            set.names().size() == present.size()
                && nodes.stream()
                    .allMatch(each -> each.isMember() && each.shown().serves().includes(set.id()));
    List<MasterSet> sets = witnesses().flatMap(mark -> mark.sets().stream()).toList();
    return mostShown(sets.stream().filter(isAlike))
        .or(() -> mostShown(sets.stream().filter(isWhole)));
  }

  /**
   * Finds the change in which a client moves: the one of its lists that most nodes show. Marks say
   * only by names which master is a present one and which a future one.
   */
  private Optional<List<MasterSet>> moving(String known) {
    return mostShown(
        witnesses()
            .filter(mark -> mark.serves().includes(label(mark.sets())))
            .map(BirthMark::sets)
            .filter(sets -> sets.size() > 1)
            .filter(sets -> sets.get(0).isOf(present) && sets.get(1).isOf(future))
            .filter(sets -> known.isEmpty() || known.equals(label(sets))));
  }

  // What each node may do.

  private Sight sight(Node node) {
    if (node.audit == null) {
      return Sight.SILENT;
    }
    if (node.audit.birth().isEmpty()) {
      return Sight.EMPTY;
    }
    if (!mine.isEmpty() && mine.stream().allMatch(node::isOf)) {
      return node.isMember() ? Sight.MEMBER : Sight.FORMER;
    }
    if (node.isMember()) {
      return node.shown().serves().isNobody() ? Sight.LEFT : Sight.STRANGER;
    }
    boolean isBegun = node.mark != null && !node.mark.isFounded() && node.mark.last().isOf(present);
    return isBegun ? Sight.BEGUN : Sight.DISPUTED;
  }

  private boolean isAny(Sight... some) {
    return as(some).findAny().isPresent();
  }

  /** Returns the advice for a node that answers. */
  public Advice advice(int index) {
    Node node = nodes.get(index);
    if (!mine.isEmpty()) {
      return switch (sights.get(index)) {
        case MEMBER, LEFT, STRANGER -> marked(node);
        default -> copied(index);
      };
    }
    if (quorum.isJoint()) {
      return new Advice.Refuse(unserved(node));
    }
    return isAny(Sight.LEFT, Sight.STRANGER) ? stranger(node) : unfounded();
  }

  private Advice marked(Node node) {
    String difference = client.difference(node.terms());
    return !node.shown().serves().includes(label())
        ? new Advice.Refuse(unserved(node))
        : difference.isEmpty() ? new Advice.Keep() : new Advice.Refuse(difference);
  }

  /** Returns the mark for a node without one that counts: what the others agreed on. */
  private Advice copied(int index) {
    Optional<Agreement> shared =
        as(Sight.MEMBER).map(Node::terms).filter(this::isShared).findFirst();
    boolean isAgreed = shared.isPresent();
    if (!isAgreed && isAny(UNCLEAR)) {
      boolean isDisputed = isAny(Sight.BEGUN, Sight.DISPUTED);
      return new Advice.Wait(quorum.isJoint() && isDisputed ? UNMARKED_IN_A_CHANGE : needs());
    }
    // If all must answer, a void mark counts too: it may show a later step of a change.
    List<Node> sources =
        (isAgreed ? as(Sight.MEMBER) : as(Sight.MEMBER, Sight.FORMER))
            .filter(each -> each.founded() != null)
            .toList();
    Served common = common(index, sources);
    if (!common.includes(label()) || common.includes(Served.ABORTING)) {
      return new Advice.Wait(UNMARKED_IN_A_CHANGE);
    }
    List<MasterSet> sets =
        sources.stream()
            .filter(each -> each.shown().serves().equals(common))
            .map(each -> each.shown().sets())
            .findFirst()
            .orElse(mine);
    // While an operator changes the terms, a lease may have lived for as long as any of them says.
    Stream<Agreement> all = as(isAny(Sight.MEMBER) ? Sight.MEMBER : Sight.FORMER).map(Node::terms);
    Agreement terms = shared.or(() -> all.max(Agreement.BY_CAUTION)).orElseThrow();
    String difference = client.difference(terms);
    return difference.isEmpty()
        ? new Advice.Write(common, sets, terms)
        : new Advice.Refuse(difference);
  }

  /** Returns true if a quorum of members shows these terms. */
  private boolean isShared(Agreement terms) {
    return quorum.isReachedBy(
        as(Sight.MEMBER)
            .filter(each -> each.terms().equals(terms))
            .mapToInt(each -> 1 << each.index)
            .sum());
  }

  /**
   * Returns the clients that a node may serve: its own as far as every source of them serves them.
   */
  private Served common(int index, List<Node> sources) {
    return Served.of(
        sources.stream()
            .flatMap(each -> each.shown().serves().labels().stream())
            .distinct()
            .filter(label -> isCommon(label, index, sources))
            .toList());
  }

  private boolean isCommon(String label, int index, List<Node> sources) {
    boolean isOfFuture = quorum.isJoint() && label.equals(mine.get(1).id());
    boolean isOfPresent = label.equals(mine.get(0).id()) || label.equals(Served.NO_RETURN);
    boolean isPresent = isIn(quorum.present(), index);
    int listing = isOfPresent || !isOfFuture && isPresent ? quorum.present() : quorum.future();
    List<Node> all = sources.stream().filter(each -> isIn(listing, each.index)).toList();
    return isIn(listing, index)
        && !all.isEmpty()
        && all.stream().allMatch(each -> each.shown().serves().includes(label));
  }

  private String needs() {
    return as(UNCLEAR)
        .map(each -> is(each, Sight.SILENT) ? each.name + " must answer" : stray(each))
        .collect(
            Collectors.joining(
                ", ", "its data is new, and no majority of the masters shows the agreement: ", ""));
  }

  /** Describes a mark that is not of the set of this list, and the fix. */
  private String stray(Node node) {
    BirthMark mark = node.mark;
    if (mark == null) {
      return node.name + ": " + node.unreadable();
    }
    MasterSet other = mark.last();
    return node.name
        + (mark.isFounded() ? " has the mark of the set " : " has the founding mark of the set ")
        + other.id()
        + ", "
        + other.names()
        + ", since "
        + Instant.ofEpochMilli(mark.firstSeenMillis()).truncatedTo(ChronoUnit.SECONDS)
        + ": "
        + replacing();
  }

  /** Returns the command that replaces all marks which are not of the set of this list. */
  private String replacing() {
    String command =
        as(STRAY)
            .filter(each -> each.mark != null)
            .map(each -> " --replace " + each.name + "=" + each.shown().last().id())
            .collect(Collectors.joining("", "adopt", ""));
    return "if nobody uses that set, run " + client.command(command, present);
  }

  /** Returns why a node does not count as one of this list; empty if it may. */
  String objection(int index) {
    Node each = nodes.get(index);
    return !is(each, STRAY) ? "" : is(each, Sight.LEFT) ? LEFT : stray(each);
  }

  /** Explains why the masters are not those of the list. */
  private Advice stranger(Node node) {
    MasterSet other =
        mostShown(as(Sight.LEFT, Sight.STRANGER).map(each -> each.shown().last())).orElseThrow();
    boolean isPart = present.containsAll(other.names());
    return new Advice.Refuse(
        is(node, Sight.LEFT) ? LEFT : differs(other) + (isPart ? "; " + replacing() : ""));
  }

  /** Explains why there is nothing to copy: only an operator founds a set. */
  private Advice unfounded() {
    Optional<Node> silent = as(Sight.SILENT).findFirst();
    if (silent.isPresent()) {
      return new Advice.Wait(
          "no majority of the masters knows their set, so all must answer first; "
              + silent.get().name
              + " does not");
    }
    Optional<String> stray = as(STRAY).findFirst().map(this::stray);
    String adopt = client.command("adopt", present);
    String terms = agreed.map(each -> "; their clients agreed on " + each.inWords()).orElse("");
    return new Advice.Refuse(
        stray.orElse(
            isAny(Sight.BEGUN)
                ? "its set is being founded: if that was interrupted, run " + adopt + " again"
                : "no set is founded on these masters: run " + adopt + terms));
  }

  private static final String UNPREPARED =
      "no change of masters is prepared on it: first run redlock resize prepare";

  /** The message for a master that cannot be marked while masters change. */
  static final String CHANGING =
      "a change of masters is under way: run the last redlock resize command again";

  private static final String UNMARKED_IN_A_CHANGE = "its data is new, and " + CHANGING;

  /** The message for a master that has left. */
  public static final String LEFT = "it has left this deployment: list the present masters";

  /** The message for a master of a set that was founded again without it. */
  public static final String SAME_NAMES =
      "it has the mark of another set with the names of these masters: empty it, then it is marked"
          + " as the others are";

  /** Returns in which members a set differs from the list. */
  String differs(MasterSet other) {
    if (other.isOf(present)) {
      return SAME_NAMES;
    }
    List<String> missing = new ArrayList<>(other.names());
    missing.removeAll(present);
    List<String> foreign = new ArrayList<>(present);
    foreign.removeAll(other.names());
    return "the list of this client is not the set of its masters, "
        + other.names()
        + ": "
        + (missing.isEmpty() ? "" : "missing " + missing)
        + (missing.isEmpty() || foreign.isEmpty() ? "" : ", ")
        + (foreign.isEmpty() ? "" : "foreign " + foreign)
        + ": list the same masters, written alike, on every client; to change them, see redlock"
        + " resize";
  }

  /** Returns why a node does not serve this client, and which step was skipped. */
  private String unserved(Node node) {
    if (!node.isMember()) {
      return UNPREPARED;
    }
    Served served = node.shown().serves();
    if (served.isNobody()) {
      return isIn(quorum.present(), node.index) ? LEFT : UNPREPARED;
    }
    if (served.includes(Served.ABORTING)) {
      return "a change of its masters is being undone: if redlock resize abort was interrupted, run"
          + " it again";
    }
    List<MasterSet> sets = node.shown().sets();
    MasterSet last = node.shown().last();
    if (quorum.isJoint()) {
      return sets.size() > 1
          ? "it takes part in another change of masters than this client, from "
              + sets.get(0).names()
              + " to "
              + last.names()
              + ": list these, written alike, as the nodes and in movingTo, and restart the client"
          : last.isOf(future)
              ? "the change to "
                  + future.size()
                  + " masters is finished: list these as the nodes, and leave movingTo out"
              : UNPREPARED;
    }
    if (sets.get(0).id().equals(label())) {
      return "its clients move from "
          + present
          + " to "
          + last.names()
          + ", which is committed: first run this client with movingTo";
    }
    if (last.id().equals(label())) {
      return "its clients move to "
          + present
          + ", which is not committed: first run redlock resize commit";
    }
    return differs(last);
  }
}
