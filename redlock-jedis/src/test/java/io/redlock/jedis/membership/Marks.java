package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.spi.NodeReply;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Marks of founded sets, and the settings of their clients. */
public final class Marks {

  public static final long MAX_TTL_MILLIS = 30_000;
  public static final long ABSTENTION_MILLIS = 34_302;
  public static final long SKEW_MICROS = 2_000_000;

  static final TrustRules GUARDED = rules(true);

  private static final String ID = "k7f2";

  private Marks() {}

  public static TrustRules rules(boolean guarded) {
    Agreement terms = new Agreement(guarded, MAX_TTL_MILLIS, ABSTENTION_MILLIS);
    return new TrustRules(terms, SKEW_MICROS, "");
  }

  /** Returns the mark of a master of a set with these members. */
  public static BirthMark founded(
      String runId, String replId, long firstSeenMillis, boolean guarded, List<String> names) {
    List<MasterSet> sets = List.of(new MasterSet(ID, names));
    return founded(runId, replId, firstSeenMillis, Served.of(ID), sets)
        .serving(Served.of(ID), sets, rules(guarded).terms());
  }

  static BirthMark founded(
      String runId, String replId, long firstSeenMillis, Served serves, List<MasterSet> sets) {
    return new BirthMark(
        runId, replId, firstSeenMillis, false, true, 0, serves, sets, GUARDED.terms());
  }

  /** Returns what an operator reads of these masters, which have good clocks. */
  static List<Audited> read(List<Membership.Node> nodes) {
    return read(nodes, OptionalLong.of(0));
  }

  /** Returns what an operator reads of these masters, whose clocks may be wrong by so much. */
  static List<Audited> read(List<Membership.Node> nodes, OptionalLong beyondSkewMicros) {
    return nodes.stream().map(node -> read(node, beyondSkewMicros)).toList();
  }

  private static Audited read(Membership.Node node, OptionalLong beyondSkewMicros) {
    NodeAudit audit = node.audit();
    return audit == null
        ? new Audited(node, null, null, NodeReply.unreachable("no answer"))
        : new Audited(
            node,
            new Surroundings(audit.nodeMicros(), true, beyondSkewMicros, 0, new Advice.Keep(), ""),
            null,
            null);
  }

  /** Returns what a run knows that has done this, when so many masters look new. */
  static Known knowing(Progress progress, int masters, Membership.Node... beside) {
    Map<Integer, String> nothing =
        IntStream.range(0, masters).boxed().collect(Collectors.toMap(i -> i, i -> ""));
    Map<Question, Map<Integer, String>> answers =
        Stream.of(Question.values()).collect(Collectors.toMap(each -> each, each -> nothing));
    return new Known(
        progress,
        Map.of(),
        Map.of(),
        answers,
        Stream.of(beside).collect(Collectors.toMap(Membership.Node::name, each -> each)));
  }

  /** Returns the marks that are others now, as texts, each with the masters that have it. */
  public static List<String> changes(
      Map<String, String> before, Map<String, String> now, UnaryOperator<String> text) {
    Map<String, List<String>> names = new LinkedHashMap<>();
    now.forEach(
        (name, birth) -> {
          if (!birth.equals(before.getOrDefault(name, ""))) {
            names.computeIfAbsent(text.apply(birth), key -> new ArrayList<>()).add(name);
          }
        });
    return names.entrySet().stream()
        .map(each -> String.join(" ", each.getValue()) + ": " + each.getKey())
        .toList();
  }

  /** Returns so many microseconds: a sum of numbers, hours, seconds, skews and abstentions. */
  static long micros(String text) {
    long sum = 0;
    for (String each : text.replace("-", "+-").split("\\+")) {
      String word = each.replace("-", "");
      long size =
          switch (word) {
            case "" -> 0;
            case "hour" -> 3_600_000_000L;
            case "second" -> 1_000_000;
            case "skew" -> SKEW_MICROS;
            case "abstention" -> ABSTENTION_MILLIS * 1_000;
            default -> Long.parseLong(word);
          };
      sum += each.startsWith("-") ? -size : size;
    }
    return sum;
  }
}
