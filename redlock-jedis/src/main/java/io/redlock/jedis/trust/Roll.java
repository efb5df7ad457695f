package io.redlock.jedis.trust;

import io.redlock.jedis.trust.Agreement.MasterSet;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The set of masters as the marks on the nodes of a client's list show it: which clients this one
 * is, what each node may do for it, and which marks it may write. A pure function of the marks.
 *
 * <p>A mark is copied, never invented (N1). A client writes a mark if a quorum of its list shows
 * valid marks of its set, or if all nodes of its list answer and none shows a mark of another set.
 * A set is founded in two steps (N4): first all members carry its id, then all are told so, and
 * only then they vote. So of two new sets that share a node none is ever founded.
 */
public final class Roll {

  private final List<Node> nodes;
  private final Quorum quorum;
  private final TrustRules client;
  private final List<String> present;
  private final List<String> future;
  private final Optional<Mine> mine;

  /**
   * A node of the list.
   *
   * @param audit its last audit; null if it does not answer
   * @param mark the mark in that audit; null if there is none that can be read
   */
  public record Node(String name, @Nullable NodeAudit audit, @Nullable BirthMark mark) {

    /** Returns a node that gave this audit. */
    public static Node of(String name, @Nullable NodeAudit audit) {
      return new Node(name, audit, audit == null ? null : BirthMark.parse(audit.birth()));
    }

    /** Returns its mark, where it is known to have one. */
    private BirthMark shown() {
      return Objects.requireNonNull(mark);
    }

    /** Returns its audit, where it is known to answer. */
    private NodeAudit answer() {
      return Objects.requireNonNull(audit);
    }

    private boolean isValid() {
      return mark != null && mark.isOf(answer());
    }

    /** Returns true if its mark is valid, and the abstention that it asks for is over. */
    boolean isInUse() {
      return isValid() && shown().isSettled(answer());
    }

    /** Returns true if its mark is valid and of a founded set. */
    private boolean isMember() {
      return isValid() && shown().isFounded();
    }

    private boolean isUnreadable() {
      return audit != null && mark == null && !audit.birth().isEmpty();
    }

    private boolean hasFoundedText() {
      return mark != null && mark.isFounded();
    }

    /** Returns true if its mark is valid, and of the set of this id. */
    private boolean shows(String id) {
      return isValid() && shown().agreement().set(id).isPresent();
    }
  }

  /** The advice for one node. */
  public sealed interface Advice {

    /** Its mark is right. */
    record Keep() implements Advice {}

    /** Its mark must be written first. */
    record Write(Served serves, Agreement agreement, boolean isFounded) implements Advice {}

    /**
     * It does not vote yet, and no mark may be written.
     *
     * @param soon true if only answers of other nodes are missing that are under way
     */
    record Wait(String reason, boolean soon) implements Advice {}

    /** An operator has to fix something. */
    record Refuse(String reason) implements Advice {}
  }

  /** The clients of which this is one, with the sets that their label names. */
  private record Mine(String label, List<MasterSet> sets) {

    boolean isIn(BirthMark mark) {
      return sets.stream().allMatch(set -> mark.agreement().set(set.id()).isPresent());
    }
  }

  private Roll(List<Node> nodes, Quorum quorum, TrustRules client, String known) {
    this.nodes = nodes;
    this.quorum = quorum;
    this.client = client;
    this.present = names(quorum.present());
    this.future = names(quorum.future());
    this.mine = quorum.isJoint() ? moving(known) : settled(known);
  }

  /**
   * Returns what the marks show.
   *
   * @param nodes the nodes of the list
   * @param quorum those that are enough
   * @param client the settings of the client
   * @param known the label that the client had before, when its list was found to be its set; empty
   *     if it had none
   */
  public static Roll of(List<Node> nodes, Quorum quorum, TrustRules client, String known) {
    return new Roll(List.copyOf(nodes), quorum, client, known);
  }

  /**
   * Returns what the marks show to an operator who adopts the nodes: without those of sets that
   * were never founded, except the one that these nodes found now (N7).
   */
  public static Roll adopting(List<Node> nodes, Quorum quorum, TrustRules client) {
    List<String> identities =
        nodes.stream().map(node -> node.audit == null ? "" : node.audit.replId()).toList();
    List<Node> counted = new ArrayList<>();
    for (Node node : nodes) {
      BirthMark mark = node.mark;
      boolean counts =
          mark == null
              || mark.isFounded()
              || mark.isFoundedBy(identities) && client.difference(mark.agreement()).isEmpty();
      counted.add(counts ? node : Node.of(node.name, node.answer().unmarked()));
    }
    return of(counted, quorum, client, "");
  }

  /** Returns the name of these clients in marks; empty if no mark shows it. */
  public String label() {
    return mine.map(Mine::label).orElse("");
  }

  /** Returns true if all nodes answer, and yet no majority shows on what they agreed. */
  public boolean isDivided() {
    return areAll(node -> node.audit != null)
        && (mine.isEmpty()
            ? nodes.stream().noneMatch(Node::isMember)
                && nodes.stream().anyMatch(Node::hasFoundedText)
            : IntStream.range(0, nodes.size())
                .anyMatch(node -> advice(node) instanceof Advice.Wait));
  }

  private List<String> names(int group) {
    return IntStream.range(0, nodes.size())
        .filter(node -> (group & 1 << node) != 0)
        .mapToObj(node -> nodes.get(node).name)
        .toList();
  }

  /** Returns the nodes whose marks name their set: the members, or if none is, all of any past. */
  private List<Node> witnesses() {
    boolean hasMembers = nodes.stream().anyMatch(Node::isMember);
    return nodes.stream().filter(hasMembers ? Node::isMember : Node::hasFoundedText).toList();
  }

  private boolean areAll(Predicate<Node> condition) {
    return nodes.stream().allMatch(condition);
  }

  private static <T> Optional<T> mostShown(List<T> all) {
    return all.stream()
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
  private Optional<Mine> settled(String known) {
    List<MasterSet> alike = new ArrayList<>();
    List<MasterSet> whole = new ArrayList<>();
    for (Node node : witnesses()) {
      for (MasterSet set : node.shown().agreement().sets()) {
        if (set.isOf(present) || set.id().equals(known)) {
          alike.add(set);
        } else if (set.names().size() == present.size()
            && areAll(each -> each.isMember() && each.shown().serves().includes(set.id()))) {
          whole.add(set);
        }
      }
    }
    return mostShown(alike.isEmpty() ? whole : alike).map(set -> new Mine(set.id(), List.of(set)));
  }

  /**
   * Finds the change in which a client moves: the one of its lists that most nodes show. Marks say
   * only by names which master is a present one and which a future one.
   */
  private Optional<Mine> moving(String known) {
    List<Mine> shown = new ArrayList<>();
    for (Node node : witnesses()) {
      for (String label : node.shown().serves().changes()) {
        int arrow = label.indexOf('>');
        Agreement agreement = node.shown().agreement();
        Optional<MasterSet> from =
            agreement.set(label.substring(0, arrow)).filter(set -> set.isOf(present));
        Optional<MasterSet> to =
            agreement.set(label.substring(arrow + 1)).filter(set -> set.isOf(future));
        if (known.isEmpty() || known.equals(label)) {
          from.flatMap(old -> to.map(next -> new Mine(label, List.of(old, next))))
              .ifPresent(shown::add);
        }
      }
    }
    return mostShown(shown);
  }

  // What each node may do.

  /** Returns the advice for a node that answers, and whose mark is none or can be read. */
  public Advice advice(int index) {
    Node node = nodes.get(index);
    if (mine.isPresent()) {
      return known(node, index, mine.get());
    }
    if (quorum.isJoint()) {
      return new Advice.Refuse(unmoved(node, index));
    }
    if (nodes.stream().anyMatch(Node::isMember)) {
      return stranger(node);
    }
    Optional<Node> silent = nodes.stream().filter(each -> each.audit == null).findFirst();
    if (silent.isPresent()) {
      return new Advice.Wait(
          "no majority of the masters knows their set, so all must answer first; "
              + silent.get().name
              + " does not",
          false);
    }
    return founding(node);
  }

  private Advice known(Node node, int index, Mine its) {
    if (node.isMember()) {
      BirthMark mark = node.shown();
      String difference = client.difference(mark.agreement());
      return !mark.serves().includes(its.label)
          ? new Advice.Refuse(unserved(mark, its.label))
          : difference.isEmpty() ? new Advice.Keep() : new Advice.Refuse(difference);
    }
    if (node.isValid()
        && !its.isIn(node.shown())
        && node.shown().agreement().sets().stream().noneMatch(set -> set.isOf(present))) {
      return foreign(node);
    }
    return copied(node, index, its);
  }

  /** Returns the mark for a node without one that counts: what the others agreed on. */
  private Advice copied(Node node, int index, Mine its) {
    List<Agreement> terms =
        witnesses().stream()
            .filter(each -> its.isIn(each.shown()))
            .map(each -> each.shown().agreement().of(List.of()))
            .toList();
    Optional<Agreement> shown = mostShown(terms);
    boolean isFounding = node.isValid() && its.isIn(node.shown());
    boolean isAgreed = quorum.isReachedBy(showing(its, shown));
    if (!isAgreed && !isFounding && !noneDiffers(its)) {
      return new Advice.Wait(needs(its), false);
    }
    // While an operator changes the terms, a lease may have lived for as long as any of them says.
    Optional<Agreement> agreed = isAgreed ? shown : terms.stream().max(Agreement.BY_CAUTION);
    // If all must answer, a void mark counts too: it may show a later step of a change.
    Predicate<Node> isSource = isAgreed ? Node::isMember : Node::hasFoundedText;
    int group = group(index);
    List<Node> sources =
        IntStream.range(0, nodes.size())
            .filter(i -> (group & 1 << i) != 0)
            .mapToObj(nodes::get)
            .filter(isSource)
            .filter(each -> its.isIn(each.shown()))
            .toList();
    Served common =
        sources.stream()
            .map(each -> each.shown().serves())
            .reduce(Served::common)
            .map(serves -> listing(index, serves, its))
            .orElse(Served.NOBODY);
    if (!common.includes(its.label) || common.isAborting()) {
      return new Advice.Wait(TrustRules.UNMARKED_IN_A_CHANGE, false);
    }
    List<MasterSet> sets =
        sources.stream()
            .filter(each -> each.shown().serves().equals(common))
            .map(each -> each.shown().agreement().sets())
            .findFirst()
            .orElse(its.sets);
    Agreement agreement = agreed.orElseThrow().of(sets);
    String difference = client.difference(agreement);
    return difference.isEmpty()
        ? new Advice.Write(common, agreement, true)
        : new Advice.Refuse(difference);
  }

  /**
   * The nodes whose clients a node shares: those of its own set, or of both while it is in both.
   */
  private int group(int index) {
    return !quorum.isJoint() || (quorum.present() & 1 << index) != 0
        ? quorum.present()
        : quorum.future();
  }

  /** Returns the served clients without those whose list lacks the node. */
  private Served listing(int index, Served serves, Mine its) {
    Served listing = serves;
    if (!quorum.isJoint()) {
      return serves;
    }
    if ((quorum.present() & 1 << index) == 0) {
      listing = listing.without(its.sets.get(0).id());
    }
    return (quorum.future() & 1 << index) == 0 ? listing.without(its.sets.get(1).id()) : listing;
  }

  private int showing(Mine its, Optional<Agreement> agreed) {
    int showing = 0;
    for (int i = 0; i < nodes.size(); i++) {
      Node each = nodes.get(i);
      boolean agrees =
          each.isMember()
              && its.isIn(each.shown())
              && agreed.equals(Optional.of(each.shown().agreement().of(List.of())));
      showing |= agrees ? 1 << i : 0;
    }
    return showing;
  }

  /** Returns true if all nodes answer, and none shows the mark of another set. */
  private boolean noneDiffers(Mine its) {
    return areAll(
        each ->
            each.audit != null
                && !each.isUnreadable()
                && (each.mark == null
                    || (each.mark.isFounded()
                        ? its.isIn(each.mark)
                        : its.isIn(each.mark)
                            || each.mark.agreement().sets().stream()
                                .anyMatch(set -> set.isOf(present)))));
  }

  private String needs(Mine its) {
    List<String> missing = new ArrayList<>();
    for (Node each : nodes) {
      if (each.audit == null) {
        missing.add(each.name + " must answer");
      } else if (each.mark != null && each.mark.isFounded() && !its.isIn(each.mark)) {
        missing.add(
            each.name + " has the mark of another set: empty it, if no other clients use it");
      }
    }
    if (areAll(each -> each.audit != null)) {
      missing.add("run redlock adopt");
    }
    return "its data is new, and no majority of the masters shows the agreement: "
        + String.join(", ", missing);
  }

  /** Explains why the masters are not those of the list. */
  private Advice stranger(Node node) {
    MasterSet other =
        mostShown(
                nodes.stream()
                    .filter(Node::isMember)
                    .map(each -> each.shown().agreement().sets())
                    .map(sets -> sets.get(sets.size() - 1))
                    .toList())
            .orElseThrow();
    boolean hasLeft = node.isMember() && node.shown().serves().isNobody();
    return new Advice.Refuse(hasLeft ? LEFT : differs(other));
  }

  /** The message for a master that has left. */
  public static final String LEFT = "it has left this deployment: list the present masters";

  /** The message for a master of a set that was founded again without it. */
  public static final String SAME_NAMES =
      "it has the mark of another set with the names of these masters: empty it, then it is marked"
          + " as the others are";

  /** Returns in which members a set differs from the list. */
  private String differs(MasterSet other) {
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

  private Advice foreign(Node node) {
    MasterSet other = node.shown().agreement().sets().get(0);
    return new Advice.Refuse(
        node.name + " is claimed by clients with another list: " + differs(other));
  }

  /** Founds a set: all nodes answer, and none is a member of any. */
  private Advice founding(Node node) {
    for (Node each : nodes) {
      if (each.isUnreadable()) {
        return new Advice.Wait(each.name + ": " + BirthMark.UNREADABLE, false);
      }
      if (each.hasFoundedText()) {
        return new Advice.Refuse(
            each.name
                + " was started with the data of other masters, "
                + each.shown().agreement().sets().get(0).names()
                + ": list the same masters on every client; masters of nobody are adopted with"
                + " redlock adopt");
      }
    }
    String id = Agreement.idOf(nodes.stream().map(each -> each.answer().replId()).toList());
    Optional<Agreement> begun = Optional.empty();
    long earlierMillis = 0;
    boolean isMarked = true;
    for (Node each : nodes) {
      BirthMark mark = each.mark;
      isMarked &= each.shows(id);
      String difference = "";
      if (mark != null && mark.isOfEarlierVersion()) {
        earlierMillis = Math.max(earlierMillis, mark.agreement().abstentionMillis());
        difference = client.differenceInGuard(mark.agreement());
      } else if (each.isValid()) {
        Agreement agreement = each.shown().agreement();
        if (each.shows(id)) {
          begun = Optional.of(agreement);
        } else if (!agreement.sets().get(0).isOf(present)) {
          return foreign(each);
        }
        difference = client.difference(agreement);
      }
      if (!difference.isEmpty()) {
        return new Advice.Refuse(difference);
      }
    }
    Agreement agreement =
        begun.orElse(
            client.agreement(List.of(new MasterSet(id, present))).abstainingFor(earlierMillis));
    return isMarked || !node.shows(id)
        ? new Advice.Write(Served.of(id), agreement, isMarked)
        : new Advice.Wait("the set is being founded: not all of its masters are marked", true);
  }

  /**
   * Returns the advice for each node, if an operator declares that the list is the set of its
   * masters, and that some are gone for good: those that answer take up the set that they show, or
   * found it anew. A member of another set is left alone.
   */
  public static List<Advice> without(
      List<Node> nodes, Quorum quorum, TrustRules client, Set<String> gone) {
    Roll roll = of(nodes, quorum, client, "");
    MasterSet set = roll.declaredSet();
    Mine its = new Mine(set.id(), List.of(set));
    Agreement agreement =
        nodes.stream()
            .filter(node -> node.hasFoundedText() && its.isIn(node.shown()))
            .map(node -> node.shown().agreement())
            .max(Agreement.BY_CAUTION)
            .orElse(client.agreement(List.of(set)));
    String difference = client.difference(agreement);
    List<Advice> all = new ArrayList<>();
    for (Node node : nodes) {
      if (gone.contains(node.name) || node.isMember() && its.isIn(node.shown())) {
        all.add(new Advice.Keep());
      } else if (quorum.isJoint() || agreement.sets().size() > 1) {
        all.add(
            new Advice.Refuse(
                "a change of masters is under way: run its command again, with --without"));
      } else if (node.isUnreadable()) {
        all.add(new Advice.Refuse(BirthMark.UNREADABLE));
      } else if (node.isMember()) {
        List<MasterSet> others = node.shown().agreement().sets();
        all.add(
            new Advice.Refuse(
                node.shown().serves().isNobody()
                    ? LEFT
                    : roll.differs(others.get(others.size() - 1))));
      } else {
        all.add(
            difference.isEmpty()
                ? new Advice.Write(Served.of(set.id()), agreement, true)
                : new Advice.Refuse(difference));
      }
    }
    return all;
  }

  /** Returns why a node serves no client that moves as this one does. */
  private String unmoved(Node node, int index) {
    if (!node.isMember()) {
      return TrustRules.UNPREPARED;
    }
    BirthMark mark = node.shown();
    if (mark.serves().isNobody()) {
      boolean hasLeft = (quorum.present() & 1 << index) != 0;
      return hasLeft ? LEFT : TrustRules.UNPREPARED;
    }
    List<MasterSet> sets = mark.agreement().sets();
    MasterSet last = sets.get(sets.size() - 1);
    if (last.isOf(future) && !last.isOf(present) && mark.serves().includes(last.id())) {
      return "the change to "
          + future.size()
          + " masters is finished: list these as the nodes, and leave movingTo out";
    }
    return sets.size() == 1
        ? TrustRules.UNPREPARED
        : "it takes part in another change of masters than this client, from "
            + sets.get(0).names()
            + " to "
            + last.names()
            + ": list these, written alike, as the nodes and in movingTo, and restart the client";
  }

  /** Returns the set of this list as its members show it, else as any mark does, else a new one. */
  private MasterSet declaredSet() {
    for (Predicate<Node> shows : List.<Predicate<Node>>of(Node::isMember, Node::hasFoundedText)) {
      Optional<MasterSet> shown =
          mostShown(
              nodes.stream()
                  .filter(shows)
                  .flatMap(node -> node.shown().agreement().sets().stream())
                  .filter(set -> set.isOf(present))
                  .toList());
      if (shown.isPresent()) {
        return shown.get();
      }
    }
    List<String> identities =
        nodes.stream().filter(node -> node.audit != null).map(node -> node.audit.replId()).toList();
    return new MasterSet(Agreement.idOf(identities), present);
  }

  /** Returns why a node does not serve this client, and which step was skipped. */
  private String unserved(BirthMark mark, String label) {
    Served served = mark.serves();
    if (served.isNobody()) {
      return LEFT;
    }
    if (served.isAborting()) {
      return "a change of its masters is being undone: if redlock resize abort was interrupted, run"
          + " it again";
    }
    List<MasterSet> sets = mark.agreement().sets();
    MasterSet last = sets.get(sets.size() - 1);
    if (quorum.isJoint()) {
      return "it takes part in another change of masters than this client: restart the client";
    }
    if (sets.get(0).id().equals(label)) {
      return "its clients move from "
          + present
          + " to "
          + last.names()
          + ", which is committed: first run this client with movingTo";
    }
    if (last.id().equals(label)) {
      return "its clients move to "
          + present
          + ", which is not committed: first run redlock resize commit";
    }
    return differs(last);
  }
}
