package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Membership.Node;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.LongSummaryStatistics;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The founding of a set by an operator (N4, N7).
 *
 * <p>All masters of the list first get a mark that counts for nobody. When no lease of the past can
 * be alive any more, all are read again, and get marks that count. Meanwhile a client that has a
 * quorum writes its own mark over the first one, so a wrong list fails.
 *
 * @param client the settings under which the set is founded
 * @param isNew true if the operator knows that no lease of the past is alive
 * @param drawn the id of the set if no mark shows one of these masters
 */
public record Founding(Quorum quorum, TrustRules client, boolean isNew, Waiver waiver, String drawn)
    implements Operation {

  /** Commands of audits, connecting and founding; earlier servers count no subcommands. */
  private static final Set<String> HARMLESS =
      Set.of(
          ("auth hello ping quit info time get scan eval evalsha script script|load client"
                  + " client|setname client|setinfo client|info acl acl|setuser")
              .split(" "));

  private static final Pattern CALLS = Pattern.compile("cmdstat_([^:\\s]+):calls=(\\d+)");

  private static final String USED = "it is not new, as it shows ";

  /** A client with a quorum has long overwritten a founding mark by then. */
  private static final long SEEN_MILLIS = 10_000;

  @Override
  public Step step(List<Audited> masters, Known known) {
    List<Node> nodes = masters.stream().map(Audited::node).toList();
    Membership membership = new Membership(nodes, quorum, client, "", Optional.empty());
    List<Audited> members =
        masters.stream()
            .filter(each -> membership.advice(each.index()) instanceof Membership.Advice.Keep)
            .toList();
    Set<String> named = waiver.replaced().keySet();
    boolean isReplaced = members.stream().map(Audited::name).toList().containsAll(named);
    // A set that is founded on new masters replaces nothing, so nothing older can come back.
    if (quorum.isReachedBy(Audited.bits(members)) && isReplaced) {
      boolean mustSave = !isNew && !(known.written().isEmpty() && named.isEmpty());
      return new Step.Done("", mustSave);
    }
    known.ask(
        Question.USE, masters.stream().filter(each -> isNew && each.audit() != null).toList());
    waiver.look(masters, known);
    MasterSet set = set(membership, nodes);
    Optional<Agreement> kept =
        nodes.stream()
            .filter(node -> node.founded() != null && node.isOf(set))
            .map(Node::terms)
            .max(Agreement.BY_CAUTION);
    boolean goesOn =
        isNew
            && nodes.stream()
                .allMatch(
                    node -> isBegun(node, set) || isServing(node, set) && node.shown().isAdopted());
    String difference = kept.map(client::difference).orElse("");
    List<Audited> left =
        masters.stream().filter(each -> !waiver.gone().contains(each.name())).toList();
    boolean isEnough = quorum.isReachedBy(Audited.bits(left));
    Map<Integer, String> reasons = new TreeMap<>();
    for (Audited each : masters) {
      String hindrance =
          isEnough || left.contains(each) || each.audit() != null
              ? hindrance(each, known, membership, set, goesOn)
              : Operation.tooMany(quorum);
      boolean isKept = each.node().founded() != null && each.node().isOf(set);
      String reason = hindrance.isEmpty() && isKept ? difference : hindrance;
      if (!reason.isEmpty()) {
        reasons.put(each.index(), reason);
      }
    }
    return reasons.isEmpty()
        ? found(left, agreement(nodes, kept), set, known)
        : new Step.Refuse(reasons, nodes.stream().anyMatch(node -> isLeftBehind(node, set)));
  }

  /**
   * Returns why a master may have been used; empty if nothing shows it.
   *
   * @param statistics its calls of each command
   * @param key a key that a lock left behind; empty if there is none
   */
  public static String use(String statistics, String key) {
    Matcher calls = CALLS.matcher(statistics);
    boolean isCounted = false;
    while (calls.find()) {
      isCounted = true;
      String command = calls.group(1).toLowerCase(Locale.ROOT);
      if (!HARMLESS.contains(command) && !calls.group(2).equals("0")) {
        return USED + "calls of " + command + ": leave out --new, or restart it empty";
      }
    }
    if (!isCounted) {
      return "its statistics do not show that it is new: leave out --new";
    }
    return key.isEmpty() ? "" : USED + Brief.text(key) + ": leave out --new";
  }

  // The set.

  /** Returns the set of this list as its clients find it, else as any mark does, else a new one. */
  private MasterSet set(Membership membership, List<Node> nodes) {
    List<String> names = nodes.stream().map(Node::name).toList();
    return membership
        .set()
        .or(() -> shown(nodes.stream().map(Node::founded), names))
        .or(() -> shown(nodes.stream().map(Node::mark), names))
        .orElseGet(() -> new MasterSet(drawn, names));
  }

  private static Optional<MasterSet> shown(Stream<@Nullable BirthMark> marks, List<String> names) {
    return Membership.mostShown(
        marks
            .filter(Objects::nonNull)
            .flatMap(mark -> mark.sets().stream())
            .filter(set -> set.isOf(names)));
  }

  /** Returns true if its valid mark serves the clients of the set. */
  private static boolean isServing(Node node, MasterSet set) {
    return node.isMember() && node.isOf(set) && node.shown().serves().includes(set.id());
  }

  /** Returns true if the set is the other one of a change that is under way, or was. */
  private static boolean isLeftBehind(Node node, MasterSet set) {
    return node.isMember()
        && node.isOf(set)
        && !isServing(node, set)
        && !node.shown().serves().changes().isEmpty();
  }

  /** Returns true if the set is being founded with its mark. */
  private boolean isBegun(Node node, MasterSet set) {
    return node.valid() != null
        && !node.shown().isFounded()
        && node.shown().isAdopted() == isNew
        && node.isOf(set);
  }

  // Hindrances.

  /** Returns why this master cannot be adopted; empty if it can, or is a member. */
  private String hindrance(
      Audited master, Known known, Membership membership, MasterSet set, boolean goesOn) {
    Node node = master.node();
    NodeAudit audit = node.audit();
    String fault = Operation.fault(master, client, waiver.gone());
    if (audit == null || !fault.isEmpty()) {
      return fault;
    }
    String written = known.written().getOrDefault(master.index(), audit.birth());
    if (!written.equals(audit.birth()) && (isNew || node.valid() != null)) {
      return "its mark was changed or lost meanwhile: run the command again, and one at a time";
    }
    String use = isNew ? known.answer(Question.USE, master) : "";
    if (!use.isEmpty()) {
      return use;
    }
    if (node.isOf(set) && node.shown().serves().isNobody()) {
      return Membership.LEFT;
    }
    if (quorum.isJoint() || node.isOf(set) && !node.shown().serves().equals(Served.of(set.id()))) {
      return membership.advice(master.index()) instanceof Membership.Advice.Refuse refuse
          ? refuse.reason()
          : Membership.CHANGING;
    }
    if (isNew && !goesOn && !audit.birth().isEmpty() && !isBegun(node, set)) {
      return "it has a birth mark, so it was used: leave out --new";
    }
    if (node.unreadable().equals(BirthMark.UNREADABLE)) {
      return BirthMark.UNREADABLE;
    }
    String objection = membership.objection(master.index());
    if (node.mark() != null && !objection.isEmpty() && !waiver.replaces(node)) {
      return objection;
    }
    if (!isServing(node, set) && !master.hasCheckedClock()) {
      return Audited.UNCHECKED;
    }
    return waiver.objection(node, known);
  }

  // Marks.

  /** Returns the terms of the set: those that its marks show, else those of this client. */
  private Agreement agreement(List<Node> nodes, Optional<Agreement> kept) {
    long longestMillis =
        nodes.stream()
            .filter(node -> node.mark() != null)
            .mapToLong(node -> node.terms().abstentionMillis())
            .reduce(0, Math::max);
    return kept.orElse(client.terms()).abstainingFor(longestMillis);
  }

  private Step found(List<Audited> masters, Agreement agreement, MasterSet set, Known known) {
    List<Audited> members = masters.stream().filter(each -> isServing(each.node(), set)).toList();
    List<Audited> others = masters.stream().filter(each -> !members.contains(each)).toList();
    boolean isQuorum = quorum.isReachedBy(Audited.bits(members));
    long leastMillis = isNew ? 0 : isQuorum ? SEEN_MILLIS : agreement.abstentionMillis();
    LongSummaryStatistics agesMillis =
        others.stream()
            .map(Audited::node)
            .filter(node -> isBegun(node, set) && node.terms().equals(agreement))
            .mapToLong(node -> node.answer().nodeMillis() - node.shown().firstSeenMillis())
            .summaryStatistics();
    boolean isBegun =
        agesMillis.getCount() == others.size() && agesMillis.getMax() <= leastMillis + SEEN_MILLIS;
    boolean isOnDisk = masters.stream().allMatch(known.progress()::isSaved);
    if (isBegun && !isNew && !isOnDisk) { // so that nothing older comes back when the set counts
      return new Step.Save(); // M6
    }
    long leftMillis = leastMillis - agesMillis.getMin();
    if (isBegun && leftMillis > 0) {
      return new Step.Wait(
          Duration.ofMillis(leftMillis), "that these masters may have forgotten", Map.of(), false);
    }
    Map<Integer, Refresh> marks = new TreeMap<>();
    for (Audited each : others) { // all begin anew, so that none is too old when the last is not
      Node node = each.node();
      List<MasterSet> replaced = isBegun ? List.of() : waiver.sets(node);
      List<MasterSet> sets = Stream.concat(replaced.stream(), Stream.of(set)).toList();
      Served serves = Served.of(set.id());
      BirthMark mark =
          isBegun
              ? node.shown().serving(serves, sets, agreement)
              : BirthMark.fresh(node.answer(), isNew, serves, sets, agreement);
      marks.put(each.index(), each.writing(mark.founded(isBegun)));
    }
    return new Step.Write(marks, Set.of(), true, isOnDisk && !isBegun, "");
  }
}
