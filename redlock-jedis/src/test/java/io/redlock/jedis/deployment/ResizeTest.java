package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.deployment.Probe.Answer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.deployment.Survey.Timed;
import io.redlock.jedis.trust.Agreement.MasterSet;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.Marks;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Served;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the commands of a change do to masters in every state, and what they say. */
class ResizeTest implements Ticker {

  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final TrustRules RULES = Marks.rules(true);
  private static final Duration SETTLE = Duration.ofMillis(1);

  private final Map<String, String> births = new TreeMap<>();
  private final Map<String, String> keys = new TreeMap<>();
  private final List<String> carried = new ArrayList<>();
  private final List<String> tried = new ArrayList<>();
  private final List<Duration> pauses = new ArrayList<>();
  private String silent = "";
  private NodeReply failure = NodeReply.unreachable("refused connection");
  private Set<String> without = Set.of();

  @Override
  public long monotonicNanos() {
    return 7_000_000_000L;
  }

  @Override
  public long wallMicros() {
    return NOW_MILLIS * 1_000;
  }

  private NodeAudit audit(String name) {
    return new NodeAudit(
        "7",
        "run" + name,
        "master",
        "standalone",
        "repl" + name,
        0,
        0,
        "noeviction",
        0,
        wallMicros(),
        births.getOrDefault(name, ""));
  }

  /** Masters that are a table. */
  private record Masters(ResizeTest test, List<String> names, Quorum quorum)
      implements ChangedMasters {

    @Override
    public List<Audited> audit() {
      List<Answer<Timed>> answers = new ArrayList<>();
      for (String name : names) {
        long nowNanos = test.monotonicNanos();
        answers.add(
            name.equals(test.silent)
                ? new Answer<>(null, test.failure)
                : new Answer<>(new Timed(test.audit(name), nowNanos, nowNanos), null));
      }
      return Survey.judge(names, quorum, RULES, answers, test);
    }

    @Override
    public NodeAudit write(int master, Refresh refresh) {
      String name = names.get(master);
      if (test.births.getOrDefault(name, "").equals(refresh.seen())) {
        String firstSeen = refresh.firstSeen();
        test.births.put(
            name,
            refresh.mark().head()
                + (firstSeen.startsWith("+") ? NOW_MILLIS : firstSeen)
                + refresh.mark().tail());
      }
      return test.audit(name);
    }

    @Override
    public String lockKey(int master) {
      return test.keys.getOrDefault(names.get(master), "");
    }

    @Override
    public void tryCarrying(int master) {
      test.tried.add(names.get(master));
    }

    @Override
    public void carry(int from, int to, PrintStream warnings) {
      test.carried.add(names.get(from) + names.get(to));
    }
  }

  private static List<String> names(String list) {
    return List.of(list.split(" "));
  }

  /** Runs a command to its end; returns the last line, after a yes or a no. */
  private String run(Command command, String present, String future, String change) {
    List<String> all =
        Stream.concat(names(present).stream(), names(future).stream()).distinct().toList();
    Quorum quorum = Quorum.of(names(present), names(future));
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Resize resize =
        new Resize(
            command,
            new Masters(this, all, quorum),
            quorum,
            RULES,
            without,
            change,
            SETTLE,
            new SplittableRandom(1),
            new PrintStream(out, true, StandardCharsets.UTF_8));
    int steps = 0;
    for (Optional<Duration> pause = resize.step(); pause.isPresent(); pause = resize.step()) {
      pauses.add(pause.get());
      assertTrue(steps++ < 100, "it never ends");
    }
    List<String> lines = out.toString(StandardCharsets.UTF_8).lines().toList();
    return (resize.hasSucceeded() ? "yes: " : "no: ") + lines.get(lines.size() - 1);
  }

  private String run(Command command) {
    return run(command, "a b c", "a b c d e", "");
  }

  private void mark(String list, Served serves, MasterSet... sets) {
    mark(RULES, list, serves, sets);
  }

  private void mark(TrustRules terms, String list, Served serves, MasterSet... sets) {
    for (String name : names(list)) {
      births.put(
          name,
          new BirthMark(
                  "run" + name,
                  "repl" + name,
                  NOW_MILLIS - 10 * Marks.ABSTENTION_MILLIS,
                  false,
                  true,
                  0,
                  serves,
                  terms.agreement(List.of(sets)))
              .toString());
    }
  }

  private static MasterSet set(String id, String list) {
    return new MasterSet(id, names(list));
  }

  private static final MasterSet OLD = set("old", "a b c");
  private static final MasterSet NEW = set("new", "a b c d e");

  private BirthMark mark(String name) {
    BirthMark mark = BirthMark.parse(births.getOrDefault(name, ""));
    assertNotNull(mark, name);
    return mark;
  }

  private String serves(String name) {
    return mark(name).serves().toString();
  }

  private static void assertSays(String part, String text) {
    assertTrue(text.contains(part), text);
  }

  @Test
  void changeGoesThroughItsCommands() {
    mark("a b c", Served.of("old"), OLD);
    assertSays("yes: ", run(Command.PREPARE));
    assertEquals(names("a b c d e"), tried, "the rights that commit needs are tried first");
    String id = mark("d").agreement().sets().get(1).id();
    assertEquals("|old|old>" + id + "|", serves("a"));
    assertEquals("|old>" + id + "|", serves("d"));
    assertTrue(mark("d").isAdopted(), "nobody has used it");
    assertEquals(List.of(), carried);
    assertSays("yes: ", run(Command.COMMIT));
    assertTrue(pauses.contains(Duration.ofMillis(Marks.ABSTENTION_MILLIS)), pauses::toString);
    assertEquals("|old>" + id + "|" + id + "|", serves("e"));
    assertTrue(carried.containsAll(List.of("ab", "bc", "ad", "bd", "cd", "ae")), carried::toString);
    assertSays("yes: finished", run(Command.FINISH));
    assertEquals(List.of(set(id, "a b c d e")), mark("a").agreement().sets());
    assertSays("yes: finished", run(Command.FINISH));
    assertSays("no: no change is prepared", run(Command.COMMIT));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "empty          | yes: ",
        "left this      | yes: ",
        "half-prepared  | yes: ",
        "lock keys      | no: d: it is not new: it holds lock keys, for example lock",
        "lost           | no: d: it is not new: it lost its data",
        "adopted        | no: d: it is a master of [d, e]: a master joins empty",
        "other          | no: d: it is a master of [d, x, y]: a master joins empty",
        "left other     | no: d: it is a master of [x, y, z]: a master joins empty",
        "other change   | no: another change of masters is under way, from [a, b, c] to [a, b, d]",
        "silent         | no: d: refused connection: run the command again when it is back"
      })
  void prepareTellsApartWhatIsFoundOnAJoiningMaster(String state, String says) {
    mark("a b c", Served.of("old"), OLD);
    switch (state) {
      case "left this" -> mark("d", Served.NOBODY, set("older", "a b c d"), OLD);
      case "half-prepared" -> mark("d", Served.of("old>new"), OLD, NEW);
      case "lock keys" -> keys.put("d", "lock");
      case "lost" -> births.put("d", births.get("a"));
      case "adopted" -> mark("d e", Served.of("x"), set("x", "d e"));
      case "other" -> mark("d", Served.of("x"), set("x", "d x y"));
      case "left other" -> mark("d", Served.NOBODY, set("w", "x d"), set("x", "x y z"));
      case "other change" -> mark("d", Served.of("old>x"), OLD, set("x", "a b d"));
      case "silent" -> silent = "d";
      default -> assertEquals("empty", state);
    }
    final Map<String, String> before = new TreeMap<>(births);
    assertSays(says, run(Command.PREPARE));
    if (says.startsWith("no")) {
      assertEquals(before, births, "nothing is written");
    } else {
      assertSays("|old|old>", serves("c"));
    }
  }

  @Test
  void masterThatLeftAnotherDeploymentDoesNotJoinAChangeThatIsHalfPrepared() {
    mark("a", Served.of("old", "old>new"), OLD, NEW);
    mark("b c", Served.of("old"), OLD);
    mark("d", Served.NOBODY, set("w", "x d"), set("x", "x y z"));
    final Map<String, String> before = new TreeMap<>(births);
    assertSays(
        "no: d: it was a master of [x, y, z]: a master joins empty; empty it only if nobody uses"
            + " it, or end the change with redlock resize abort",
        run(Command.PREPARE));
    assertEquals(before, births);
  }

  @Test
  void masterThatDeniesARightIsNotTakenForGone() {
    mark("a b c", Served.of("old"), OLD);
    silent = "b";
    failure = NodeReply.misconfigured("the user may not run info: allow it");
    assertEquals(
        "no: b: the user may not run info: allow it: then run the command again",
        run(Command.PREPARE));
  }

  @Test
  void presentMastersOfAnotherDeploymentAreNotChanged() {
    mark("a b c", Served.of("x"), set("x", "a b c x y"));
    assertSays(
        "no: a: it is a master of [a, b, c, x, y]: list the present masters", run(Command.PREPARE));
    births.clear();
    assertSays("no: the set of the present masters is not founded", run(Command.PREPARE));
    assertEquals(Map.of(), births);
  }

  // Several changes.

  private void twoPrepared() {
    MasterSet other = set("other", "a b f");
    mark("a", Served.of("old", "old>new"), OLD, NEW);
    mark("b c", Served.of("old", "old>other"), OLD, other);
    mark("d e", Served.of("old>new"), OLD, NEW);
    mark("f", Served.of("old>other"), OLD, other);
  }

  @Test
  void ofTwoChangesOneIsEndedByItsIdAndTheOtherGoesOn() {
    twoPrepared();
    for (Command each : Command.values()) {
      assertSays(
          "no: several changes of masters are under way, [new, other]: end all but one", run(each));
    }
    Map<String, String> before = new TreeMap<>(births);
    assertSays(
        "no: [f] took part in the change", run(Command.ABORT, "a b c", "a b c d e", "other"));
    assertEquals(before, births);
    assertSays("yes: aborted", run(Command.ABORT, "a b c", "a b f", "other"));
    assertEquals("|old|", serves("b"));
    assertEquals("|", serves("f"));
    assertEquals("|old|old>new|", serves("a"));
    assertSays("yes: prepared", run(Command.PREPARE));
    assertSays("yes: committed", run(Command.COMMIT));
    assertSays("yes: finished", run(Command.FINISH));
    assertEquals("|new|", serves("b"));
  }

  /** The parts of the masters are those of the change, not those of the lists. */
  @Test
  void changeIsEndedByItsIdFromListsOfAnother() {
    MasterSet other = set("other", "a b f");
    mark("a b c", Served.of("old", "old>other"), OLD, other);
    mark("f", Served.of("old>other"), OLD, other);
    assertSays("end it with redlock resize abort --change other", run(Command.PREPARE));
    assertSays("yes: aborted", run(Command.ABORT, "a b", "a b c d e f", "other"));
    assertEquals("|old|", serves("c"));
    assertEquals("|", serves("f"));
    assertEquals("", births.getOrDefault("d", "") + births.getOrDefault("e", ""));
    assertSays("yes: no change", run(Command.ABORT, "a b c", "a b f", "unknown"));
  }

  // The end.

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "finished    | yes: finished: masters that have left",
        "nothing     | no: no change of these masters is under way, and a is no master of",
        "not begun   | no: no change of these masters is under way, and a is no master of",
        "one is left | no: no change of these masters is under way, and d is no master of",
        "not left    | no: no change of these masters is under way, and c has not left",
        "prepared    | no: a: it is not committed: run redlock resize commit first"
      })
  void finishSucceedsOnlyIfAllAreSeenToBeFinished(String state, String says) {
    MasterSet future = set("new", "a b d");
    mark("a b d", Served.of("new"), future);
    mark("c", Served.NOBODY, OLD, future);
    switch (state) {
      case "nothing" -> births.clear();
      case "not begun" -> {
        mark("a b c", Served.of("old"), OLD);
        births.remove("d");
      }
      case "one is left" -> births.remove("d");
      case "not left" -> mark("c", Served.of("old"), OLD);
      case "prepared" -> {
        mark("a b c", Served.of("old", "old>new"), OLD, future);
        mark("d", Served.of("old>new"), OLD, future);
      }
      default -> assertEquals("finished", state);
    }
    final Map<String, String> before = new TreeMap<>(births);
    assertSays(says, run(Command.FINISH, "a b c", "a b d", ""));
    assertEquals(before, births);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void masterThatRestartedBeforeItWasToldToLeaveIsTold(boolean isEmpty) {
    MasterSet future = set("new", "a b d");
    mark("a b d", Served.of("new"), future);
    mark("c", Served.of("old>new"), OLD, future);
    births.computeIfPresent("c", (name, mark) -> isEmpty ? null : mark.replace("runc", "gone"));
    assertSays("yes: finished", run(Command.FINISH, "a b c", "a b d", ""));
    assertEquals("|", serves("c"));
  }

  @Test
  void masterThatIsGoneForGoodIsNamed() {
    mark("a b c", Served.of("old"), OLD);
    silent = "c";
    without = Set.of("x");
    assertSays("no: [x] is none of the masters", run(Command.PREPARE, "a b c", "a b d", ""));
    without = Set.of("c");
    assertSays("yes: prepared", run(Command.PREPARE, "a b c", "a b d", ""));
    assertSays("yes: committed", run(Command.COMMIT, "a b c", "a b d", ""));
    assertSays("yes: finished", run(Command.FINISH, "a b c", "a b d", ""));
    without = Set.of("a", "c");
    assertSays("no: too many masters are gone", run(Command.PREPARE, "a b c", "a b d", ""));
  }

  // Other terms.

  private String agree(TrustRules terms) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    Agree agree = agreeing(terms, out);
    for (Optional<Duration> pause = agree.step(); pause.isPresent(); pause = agree.step()) {
      if (!pause.get().isZero()) {
        pauses.add(pause.get());
        births.values().forEach(mark -> assertTrue(mark.contains(abstention(RULES)), mark));
      }
    }
    String[] lines = out.toString(StandardCharsets.UTF_8).strip().split("\\R");
    return (agree.hasSucceeded() ? "yes: " : "no: ") + lines[lines.length - 1];
  }

  private Agree agreeing(TrustRules terms, ByteArrayOutputStream out) {
    return new Agree(
        new Masters(this, names("a b c"), Quorum.of(3)),
        Quorum.of(3),
        terms,
        without,
        List.of(),
        new PrintStream(out, true, StandardCharsets.UTF_8));
  }

  /** Returns a command that has begun to wait. */
  private Agree waiting(TrustRules terms) {
    Agree agree = agreeing(terms, new ByteArrayOutputStream());
    while (agree.step().orElseThrow().isZero()) {
      // it goes on at once
    }
    return agree;
  }

  private static String abstention(TrustRules rules) {
    return " " + rules.abstentionMillis() + " ";
  }

  private static TrustRules terms(long times) {
    return new TrustRules(
        true,
        RULES.maxTtlMillis() * times / 2,
        RULES.abstentionMillis() * times / 2,
        RULES.skewMicros());
  }

  @Test
  void longerTermsHoldAtOnceAndShorterOnesAfterTheLastLease() {
    mark("a b c", Served.of("old"), OLD);
    TrustRules longer = terms(4);
    assertSays("yes: agreed", agree(longer));
    assertEquals(List.of(), pauses);
    births.values().forEach(mark -> assertTrue(mark.contains(abstention(longer)), mark));

    mark("a b c", Served.of("old"), OLD);
    TrustRules shorter = terms(1);
    assertSays("yes: agreed", agree(shorter));
    assertEquals(List.of(Duration.ofMillis(2 * RULES.abstentionMillis() + 3_000)), pauses);
    births.values().forEach(mark -> assertTrue(mark.contains(abstention(shorter)), mark));
  }

  @Test
  void termsThatWereChangedBackDuringTheWaitAreWaitedForAnew() {
    mark("a b c", Served.of("old"), OLD);
    TrustRules shorter = terms(1);
    Agree first = waiting(shorter);
    assertSays("yes: agreed", agree(RULES));
    waiting(shorter);
    assertEquals(
        Optional.of(Duration.ofMillis(2 * RULES.abstentionMillis() + 3_000)), first.step());
    births.values().forEach(mark -> assertTrue(mark.contains(abstention(RULES)), mark));
    assertEquals(Optional.of(Duration.ZERO), first.step(), "nobody wrote meanwhile");
    assertTrue(births.get("a").contains(abstention(shorter)), births::toString);
  }

  @Test
  void termsChangeForAllMastersOfTheSetOrForNone() {
    mark("a b c", Served.of("old"), OLD);
    Map<String, String> before = new TreeMap<>(births);
    silent = "b";
    assertSays("no: b: refused connection", agree(terms(4)));
    assertEquals(before, births);
    silent = "";
    mark("a b c", Served.of("new"), NEW);
    assertSays("list all of these as their clients do", agree(terms(4)));
    mark("a b c", Served.of("old", "old>new"), OLD, NEW);
    assertSays("a change of masters is under way", agree(terms(4)));
    mark("a b", Served.of("old"), OLD);
    mark("c", Served.of("older"), set("older", "a b c"));
    assertSays("no: c: it has the mark of another set", agree(terms(4)));
    births.clear();
    assertSays("no: a: its set is not founded", agree(terms(4)));
    assertEquals(Map.of(), births);
  }

  @Test
  void masterThatLostItsDataWhileTermsChangeIsMarkedUnderTheLongerOnes() {
    mark(terms(4), "a", Served.of("old"), OLD);
    mark("b", Served.of("old"), OLD);
    assertSays("yes: agreed", agree(terms(4)));
    BirthMark mark = BirthMark.parse(births.get("c"));
    assertNotNull(mark);
    assertEquals(NOW_MILLIS, mark.firstSeenMillis());
    assertEquals(terms(4).abstentionMillis(), mark.agreement().abstentionMillis());
  }

  @Test
  void termsChangeWithoutAMasterThatIsGoneForGood() {
    mark(terms(4), "a", Served.of("old"), OLD);
    mark("b c", Served.of("old"), OLD);
    without = Set.of("c");
    assertSays("no: c: it answers, so it is not gone", agree(terms(4)));
    silent = "c";
    assertSays("yes: agreed", agree(terms(4)));
    without = Set.of("b", "c");
    assertSays("no: too many masters are gone", agree(terms(4)));
  }

  @Test
  void guardIsNotSwitchedOffWhileAMasterAbstains() {
    mark("a b c", Served.of("old"), OLD);
    TrustRules unguarded = Marks.rules(false);
    births.computeIfPresent(
        "b",
        (name, mark) ->
            mark.replace("" + (NOW_MILLIS - 10 * Marks.ABSTENTION_MILLIS), "" + NOW_MILLIS));
    assertSays("no: b: it abstains: run the command again when it votes", agree(unguarded));
    assertTrue(births.get("b").contains(" guarded "), births::toString);
    mark("b", Served.of("old"), OLD);
    assertSays("yes: agreed", agree(unguarded));
  }

  @Test
  void changeOfMastersThatMetOneOfTermsKeepsTheTermsAndCanBeEnded() {
    MasterSet future = set("new", "a b c d e");
    for (TrustRules other : List.of(terms(4), Marks.rules(false))) {
      mark("a", Served.of("old", "old>new"), OLD, future);
      mark(other, "b", Served.of("old"), OLD);
      mark("c", Served.of("old"), OLD);
      births.keySet().removeAll(Set.of("d", "e"));
      final String before = births.get("b");
      assertSays(
          other.equals(terms(4))
              ? "no: the masters differ in the terms of their clients: run redlock resize abort"
              : "no: b: its clients run with restartGuard(false)",
          run(Command.PREPARE));
      assertSays("no: a: a change of masters is under way", agree(terms(4)));
      assertSays("yes: aborted", run(Command.ABORT));
      assertEquals(before, births.get("b"));
      assertSays("yes: agreed", agree(terms(4)));
    }
  }
}
