package io.redlock.jedis.trust;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.trust.Agreement.MasterSet;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.jedis.trust.Verdict.Stand;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which masters form a set, by the marks that clients find and write. */
class RollTest {

  private static final long Q = Marks.ABSTENTION_MILLIS;
  private static final String LOST = "";

  private long nowMillis = 1_700_000_000_000L;
  private final Map<String, Master> masters = new TreeMap<>();

  /** A master, which stores what is written if nobody wrote meanwhile. */
  private final class Master {
    final String name;
    String run;
    String repl;
    String birth = "";
    long evicted;
    boolean isSilent;

    Master(String name) {
      this.name = name;
      run = "run" + name;
      repl = "repl" + name;
    }

    NodeAudit audit() {
      long nowMicros = nowMillis * 1_000;
      return new NodeAudit(
          "7", run, "master", "standalone", repl, 0, 0, "noeviction", evicted, nowMicros, birth);
    }

    BirthMark mark() {
      BirthMark mark = BirthMark.parse(birth);
      assertNotNull(mark, birth);
      return mark;
    }

    void write(Refresh refresh) {
      if (refresh.seen().equals(birth)) {
        String firstSeen = refresh.firstSeen();
        birth =
            refresh.mark().head()
                + (firstSeen.startsWith("+") ? nowMillis : firstSeen)
                + refresh.mark().tail();
        assertEquals(birth, mark().toString(), "what is written is read");
      }
    }

    /** Restarts, with its data or without. */
    void restart(boolean withData) {
      run += "x";
      birth = withData ? birth : LOST;
    }
  }

  private Master master(String name) {
    return masters.computeIfAbsent(name, Master::new);
  }

  private static List<String> names(String list) {
    return List.of(list.split(" "));
  }

  /** A client, by its lists. */
  private final class Client {
    final List<String> names = new ArrayList<>();
    final Quorum quorum;
    final TrustRules rules;
    final Map<String, @Nullable NodeAudit> heard = new HashMap<>();
    String known = "";

    Client(TrustRules rules, String present, String future) {
      this.rules = rules;
      this.quorum = Quorum.of(names(present), future.isEmpty() ? List.of() : names(future));
      names.addAll(names(present));
      names(future.isEmpty() ? present : future).stream()
          .filter(name -> !names.contains(name))
          .forEach(names::add);
    }

    void hear(String name) {
      heard.put(name, master(name).isSilent ? null : master(name).audit());
    }

    /** Judges a master by what was heard last. */
    Verdict judge(String name) {
      List<Roll.Node> nodes =
          names.stream().map(each -> Roll.Node.of(each, heard.get(each))).toList();
      Roll roll = Roll.of(nodes, quorum, rules, known);
      known = roll.label().isEmpty() ? known : roll.label();
      Surroundings around =
          new Surroundings(
              nowMillis * 1_000,
              true,
              OptionalLong.of(0),
              0,
              true,
              roll.advice(names.indexOf(name)),
              "");
      return rules.judge(heard.get(name), around);
    }

    /** Writes what is due by what was heard last. */
    void write(String name) {
      Refresh refresh = heard.get(name) == null ? null : judge(name).refresh();
      if (refresh != null && !rules.observes()) {
        master(name).write(refresh);
      }
    }

    String says(String name) {
      names.forEach(this::hear);
      Verdict verdict = judge(name);
      return verdict.stand() + " " + verdict.reason();
    }

    /** Audits each master in turn, and writes what is due, so many times. */
    Client act(int times) {
      for (int i = 0; i < times; i++) {
        for (String name : names) {
          hear(name);
          write(name);
        }
      }
      return this;
    }

    Client act() {
      return act(5);
    }

    List<String> voters() {
      names.forEach(this::hear);
      return names.stream()
          .filter(name -> heard.get(name) != null && judge(name).stand() == Stand.VOTES)
          .toList();
    }
  }

  private Client client(String list) {
    return new Client(Marks.GUARDED, list, "");
  }

  private Client moving(String present, String future) {
    return new Client(Marks.GUARDED, present, future);
  }

  private void pass(long millis) {
    nowMillis += millis;
  }

  /** Gives masters the mark of a set whose abstention is over. */
  private MasterSet founded(String list) {
    Client client = client(list).act();
    pass(Q);
    assertEquals(names(list), client.voters());
    return master(names(list).get(0)).mark().agreement().sets().get(0);
  }

  private Map<String, String> births() {
    Map<String, String> births = new TreeMap<>();
    masters.values().forEach(each -> births.put(each.name, each.birth));
    return births;
  }

  private static void assertSays(String part, String text) {
    assertTrue(text.contains(part), text);
  }

  // Founding.

  @Test
  void setIsFoundedInTwoStepsAndVotesAfterItsAbstention() {
    Client client = client("a b c");
    client.act(1).hear("a"); // all must answer first
    client.write("a");
    assertSays("the set is being founded: not all of its masters are marked", client.says("a"));
    client.hear("b");
    client.write("b");
    client.hear("c");
    client.write("c");
    for (String name : names("a b c")) {
      assertFalse(master(name).mark().isFounded());
    }
    client.act(2);
    for (String name : names("a b c")) {
      assertTrue(master(name).mark().isFounded());
      assertEquals(Served.of(client.known), master(name).mark().serves());
    }
    pass(Q - 1);
    assertEquals(List.of(), client.voters());
    pass(1);
    assertEquals(names("a b c"), client.voters());
  }

  @Test
  void clientsOfOneListComputeOneSetWhateverItsOrder() {
    Client first = client("a b c");
    Client second = client("c a b");
    for (int i = 0; i < 5; i++) {
      first.act(1);
      second.act(1);
    }
    assertEquals(first.known, second.known);
    pass(Q);
    assertEquals(3, first.voters().size());
    assertEquals(3, second.voters().size());
  }

  @ParameterizedTest
  @CsvSource({"a b c d e, d e f g h", "a b c, c d e", "a, a b c", "a b c, a b d"})
  void ofTwoNewSetsThatShareAMasterOneAtMostIsFounded(String one, String other) {
    for (int seed = 0; seed < 100; seed++) {
      masters.clear();
      Random random = new Random(seed);
      Client first = client(one);
      Client second = client(other);
      for (int i = 0; i < 150; i++) { // each knows what it heard last, and writes later
        Client each = random.nextBoolean() ? first : second;
        String name = each.names.get(random.nextInt(each.names.size()));
        if (random.nextBoolean()) {
          each.hear(name);
        } else {
          each.write(name);
        }
      }
      first.act();
      second.act();
      int seen = seed;
      String births = births().toString();
      assertTrue(
          Stream.of(first, second)
                  .filter(each -> each.names.stream().anyMatch(n -> isFoundedBy(each, n)))
                  .count()
              < 2,
          () -> "seed " + seen + ": " + births);
      for (Client each : List.of(first, second)) {
        boolean isOurs = each.names.stream().anyMatch(name -> isFoundedBy(each, name));
        for (String name : each.names) {
          String says = each.says(name);
          assertTrue(
              isOurs
                  || says.contains("claimed by clients with another list")
                  || says.contains("is not the set of its masters"),
              () -> "seed " + seen + ": " + says);
        }
      }
    }
  }

  private boolean isFoundedBy(Client client, String name) {
    BirthMark mark = BirthMark.parse(master(name).birth);
    return mark != null && mark.isFounded() && mark.agreement().sets().get(0).isOf(client.names);
  }

  @Test
  void setIsNotFoundedBeforeAllAnswer() {
    Client client = client("a b c");
    master("c").isSilent = true;
    client.act();
    assertEquals(Map.of("a", "", "b", "", "c", ""), births());
    assertSays("all must answer first; c does not", client.says("a"));
  }

  @Test
  void singleMasterFoundsItsSet() {
    assertEquals(List.of("a"), founded("a").names());
  }

  @Test
  void withoutTheGuardAFoundedSetVotesAtOnce() {
    Client client = new Client(Marks.rules(false), "a b c", "").act();
    assertEquals(names("a b c"), client.voters());
  }

  // Lists.

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "a b c         | missing [d, e]:",
        "a b c d       | missing [e]:",
        "a b c d f     | missing [e], foreign [f]:",
        "a b c d e f g | foreign [f, g]:",
        "e f g h i     | missing [a, b, c, d], foreign [f, g, h, i]:",
        "a             | missing [b, c, d, e]:"
      })
  void otherListIsRefusedByNameAndWritesNothing(String list, String difference) {
    founded("a b c d e");
    Client other = client(list);
    for (String lost : List.of("none", "a", "b")) {
      master(lost).restart(false);
      Map<String, String> before = births();
      if (other.names.stream().allMatch(name -> master(name).birth.isEmpty())) {
        return; // nothing shows that this client's list is wrong
      }
      other.act();
      for (String name : other.names) {
        String says = other.says(name);
        assertSays("REFUSED the list of this client is not the set of its masters, ", says);
        assertSays(difference, says);
      }
      before.forEach((name, birth) -> assertEquals(birth, master(name).birth));
    }
  }

  @Test
  void listOfAnotherDeploymentIsRefused() {
    founded("a b c");
    founded("d e f");
    Map<String, String> before = births();
    Client other = client("a d e").act();
    assertEquals(before, births());
    for (String name : names("a d e")) {
      assertSays("missing [f], foreign [a]", other.says(name));
    }
  }

  @Test
  void listIsComparedByTheServersWhereTheSpellingDiffers() {
    founded("a b c");
    for (String name : names("a b c")) { // the same servers under other names
      Master alias = master(name.toUpperCase(Locale.ROOT));
      alias.run = master(name).run;
      alias.repl = master(name).repl;
      alias.birth = master(name).birth;
    }
    Client other = client("A B C");
    master("C").isSilent = true;
    assertSays("missing [a, b, c], foreign [A, B, C]: list the same", other.says("A"));
    assertSays("written alike", other.says("A"));
    master("C").isSilent = false;
    assertEquals(names("A B C"), other.voters());
    master("C").restart(false); // this process knows the set by now
    other.act();
    pass(Q);
    assertEquals(names("A B C"), other.voters());
    Client later = client("A B C");
    assertEquals(names("A B C"), later.voters());
    master("C").restart(false);
    assertSays("REFUSED", client("A B C").says("C"));
  }

  // Copies.

  @Test
  void masterThatLostItsDataIsMarkedIfAQuorumShowsTheSet() {
    MasterSet set = founded("a b c");
    master("c").restart(false);
    Client client = client("a b c").act();
    assertEquals(List.of(set), master("c").mark().agreement().sets());
    assertEquals(names("a b"), client.voters());
    pass(Q);
    assertEquals(names("a b c"), client.voters());
  }

  @Test
  void masterIsNotMarkedByLessThanAQuorumUnlessAllAnswer() {
    founded("a b c");
    master("b").isSilent = true;
    master("c").restart(false);
    Client client = client("a b c").act();
    assertEquals("", master("c").birth);
    assertSays("no majority of the masters shows the agreement: b must answer", client.says("c"));
    master("b").isSilent = false;
    master("b").restart(false);
    client.act();
    assertEquals(master("a").mark().serves(), master("b").mark().serves());
    assertEquals(master("a").mark().agreement(), master("c").mark().agreement());
  }

  @ParameterizedTest
  @CsvSource({"true, true, true", "true, true, false", "true, false, false", "false, false, false"})
  void afterAllLostTheirDataTheyVoteAgainAfterTheAbstention(boolean a, boolean b, boolean c) {
    founded("a b c");
    master("a").restart(a);
    master("b").restart(b);
    master("c").restart(c);
    Client client = client("a b c").act();
    assertEquals(List.of(), client.voters());
    pass(Q);
    assertEquals(names("a b c"), client.voters());
  }

  @Test
  void voidMarksDoNotCountInTheQuorum() {
    founded("a b c");
    master("a").restart(true);
    master("b").restart(true);
    master("c").isSilent = true;
    Map<String, String> before = births();
    Client client = client("a b c").act();
    assertEquals(before, births());
    assertSays("c must answer", client.says("a"));
  }

  @Test
  void voidMarkOfAnotherSetSpeaksAgainstFounding() {
    founded("a b c d e");
    for (String name : names("a b c d e")) {
      master(name).restart(name.equals("a"));
    }
    Client other = client("a b c").act();
    assertEquals("", master("b").birth);
    assertSays("started with the data of other masters, [a, b, c, d, e]", other.says("b"));
  }

  @Test
  void voidMarkOfAnotherSetSpeaksAgainstCopying() {
    founded("a b c");
    final String before = master("c").birth;
    for (String name : names("a b c")) {
      master(name).birth = "";
      master(name).repl += "x"; // so that the next set has another id
    }
    founded("a b c");
    master("b").restart(false);
    master("c").run += "y";
    master("c").birth = before;
    Client client = client("a b c").act();
    assertEquals("", master("b").birth);
    assertEquals(before, master("c").birth);
    assertSays("c has the mark of another set", client.says("b"));
  }

  @Test
  void foreignMarkOnAnEmptiedMasterCostsThatMasterOnly() {
    founded("a b c");
    master("c").restart(false);
    Client other = client("c d e");
    other.names.forEach(other::hear);
    other.write("c");
    assertFalse(master("c").mark().isFounded());
    Client client = client("a b c").act();
    assertEquals(names("a b"), client.voters());
    assertSays("c is claimed by clients with another list", client.says("c"));
    assertSays("missing [d, e], foreign [a, b]", client.says("c"));
  }

  @Test
  void observerWritesNothing() {
    TrustRules observing = TrustRules.observing(false, Marks.SKEW_MICROS);
    Client observer = new Client(observing, "a b c", "").act();
    assertEquals(Map.of("a", "", "b", "", "c", ""), births());
    founded("a b c");
    assertEquals(names("a b c"), observer.voters(), "it goes by the marks, not by its settings");
  }

  // Terms.

  private static TrustRules with(boolean guarded, long maxTtlMillis, long abstentionMillis) {
    return new TrustRules(guarded, maxTtlMillis, abstentionMillis, Marks.SKEW_MICROS);
  }

  @ParameterizedTest
  @CsvSource({
    "false, 30000, 34302, restartGuard(true), restartGuard(false)",
    "true, 60000, 64602, maxTtl 30s, maxTtl 1m",
    "true, 10000, 34302, maxTtl 30s, maxTtl 10s",
    "true, 30000, 36302, an abstention of 34.302s, 36.302s"
  })
  void clientWithOtherSettingsIsRefusedWithBothValuesAndWritesNothing(
      boolean guarded, long maxTtlMillis, long abstentionMillis, String agreed, String own) {
    client("a b c").act(1); // founding
    for (int losses = 0; losses < 3; losses++) {
      Client other = new Client(with(guarded, maxTtlMillis, abstentionMillis), "a b c", "");
      Map<String, String> before = births();
      other.act();
      assertEquals(before, births());
      for (String name : names("a b c")) {
        assertSays("REFUSED the clients of these masters agreed on " + agreed, other.says(name));
        assertSays("this client has " + own, other.says(name));
      }
      client("a b c").act();
      master("c").restart(losses == 1);
    }
  }

  @Test
  void whileTheTermsAreChangedTheLongestAbstentionIsCopied() {
    founded("a b c");
    Agreement longer = new Agreement(master("a").mark().agreement().sets(), true, 30_000, 2 * Q);
    master("a").birth = master("a").mark().serving(master("a").mark().serves(), longer).toString();
    master("c").restart(false);
    client("a b c").act();
    assertEquals(longer, master("c").mark().agreement());
  }

  // Marks of earlier versions.

  private void earlier(String name, int version, int size, long ageMillis, long abstentionMillis) {
    master(name).birth =
        version
            + " "
            + master(name).run
            + " "
            + master(name).repl
            + " "
            + (nowMillis - ageMillis)
            + " seen "
            + abstentionMillis
            + (version == 3 ? " |" + size + "|" : " " + size)
            + " guarded"
            + (version == 1 ? "" : " host:1");
  }

  @ParameterizedTest
  @CsvSource({"1", "2", "3"})
  void marksOfEarlierVersionsAreRewrittenWithTheirAge(int version) {
    for (String name : names("a b c")) {
      earlier(name, version, 3, name.equals("c") ? 1_000 : 2 * Q, Q);
    }
    Client client = client("a b c").act();
    assertEquals(names("a b"), client.voters());
    assertEquals(nowMillis - 1_000, master("c").mark().firstSeenMillis());
    assertTrue(master("c").birth.startsWith("4 "));
    pass(Q - 1_000);
    assertEquals(names("a b c"), client.voters());
  }

  @Test
  void abstentionThatAnEarlierVersionAskedForIsKept() {
    earlier("a", 3, 3, 4 * Q, Q);
    earlier("b", 3, 3, 4 * Q, Q);
    earlier("c", 3, 3, 2 * Q, 3 * Q);
    Client client = client("a b c").act();
    assertEquals(names("a b"), client.voters());
    pass(Q);
    assertEquals(names("a b c"), client.voters());
  }

  @Test
  void earlierMarksOfAnotherNumberAreRefused() {
    for (String name : names("a b c")) {
      earlier(name, 3, 5, 2 * Q, Q);
    }
    Map<String, String> before = births();
    Client client = client("a b c").act();
    assertEquals(before, births());
    assertSays("REFUSED a serves clients of another number of masters, |5|", client.says("b"));
  }

  // Evictions.

  @Test
  void evictionVoidsAMark() {
    founded("a b c");
    master("c").evicted = 1;
    Client client = client("a b c").act();
    assertEquals(1, master("c").mark().evictedKeys());
    assertEquals(nowMillis, master("c").mark().firstSeenMillis());
    assertEquals(names("a b"), client.voters());
  }

  @Test
  void resetOfTheStatisticsRewritesTheMarkAndLosesNothing() {
    founded("a b c");
    master("c").evicted = 5;
    Client client = client("a b c").act();
    pass(Q);
    master("c").evicted = 2;
    long firstSeenMillis = master("c").mark().firstSeenMillis();
    client.act();
    assertEquals(2, master("c").mark().evictedKeys());
    assertEquals(firstSeenMillis, master("c").mark().firstSeenMillis());
    assertEquals(names("a b c"), client.voters());
    master("c").evicted = 3;
    assertEquals(names("a b"), client.act().voters(), "what was evicted since is noticed");
  }

  // Changes.

  /** The steps of a change from masters to others, as {@link MasterChange} makes them. */
  private void serve(String list, String present, String future, Served serves) {
    MasterSet from = new MasterSet("old", names(present));
    MasterSet to = new MasterSet("new", names(future));
    boolean isBefore = serves.equals(Served.of("old"));
    boolean isAfter = serves.equals(Served.of("new"));
    Agreement agreement =
        Marks.GUARDED.agreement(
            isBefore ? List.of(from) : isAfter ? List.of(to) : List.of(from, to));
    for (String name : names(list)) {
      Master master = master(name);
      master.birth =
          Marks.founded(master.run, master.repl, nowMillis - 2 * Q, serves, agreement).toString();
    }
  }

  private static final Served PREPARED = Served.of("old", "old>new");
  private static final Served COMMITTED = Served.of("old>new");
  private static final Served OPENED = Served.of("old>new", "new");

  /** Three masters become five. */
  private void step(String point) {
    String present = "a b c";
    String future = "a b c d e";
    Served staying =
        switch (point) {
          case "prepared" -> PREPARED;
          case "committed" -> COMMITTED;
          case "opened" -> OPENED;
          default -> Served.of("new");
        };
    serve("a b c", present, future, staying);
    serve("d e", present, future, point.equals("prepared") ? COMMITTED : staying);
    if (point.equals("finishing")) {
      serve("c e", present, future, OPENED);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "prepared,  a, |old|old>new|, |old|old>new|, ",
    "prepared,  d,              , |old>new|    , ",
    "committed, a,              , |old>new|    , ",
    "committed, d,              , |old>new|    , ",
    "opened,    a,              , |old>new|new|, |old>new|new|",
    "opened,    d,              , |old>new|new|, |old>new|new|",
    "finishing, a,              ,              , |new|",
    "finishing, d,              ,              , |new|"
  })
  void masterThatLostItsDataInAChangeServesWhomAllOthersServe(
      String point, String lost, String byOld, String byMoving, String byNew) {
    Map<Client, String> expected = new LinkedHashMap<>();
    expected.put(client("a b c"), byOld);
    expected.put(moving("a b c", "a b c d e"), byMoving);
    expected.put(client("a b c d e"), byNew);
    expected.forEach(
        (client, serves) -> {
          step(point);
          master(lost).birth = "";
          if (client.names.contains(lost)) {
            client.act();
          }
          String birth = master(lost).birth;
          assertEquals(
              serves == null ? "" : serves,
              birth.isEmpty() ? "" : master(lost).mark().serves().toString());
        });
  }

  @Test
  void masterThatLeftIsListedNoMore() {
    serve("a b d", "a b c", "a b d", Served.of("new"));
    serve("c", "a b c", "a b d", Served.NOBODY);
    Map<String, String> before = births();
    Client old = client("a b c").act();
    assertSays("it has left this deployment", old.says("c"));
    assertSays("missing [d], foreign [c]", old.says("a"));
    assertEquals(names("a b d"), client("a b d").act().voters());
    assertEquals(before, births());
    master("a").restart(false);
    master("b").restart(false);
    old.act();
    assertEquals("", master("a").birth + master("b").birth, "it shows the set, but serves nobody");
  }

  /** A master that was left behind is no reason to take a step back. */
  @Test
  void voidMarkOfALaterStepSpeaksAgainstAnEarlierOne() {
    serve("a b", "a b c", "a b c d e", OPENED);
    serve("c", "a b c", "a b c d e", PREPARED);
    master("a").restart(true);
    master("b").restart(true);
    Map<String, String> before = births();
    client("a b c").act();
    assertEquals(before, births());
  }

  @ParameterizedTest
  @CsvSource({"a b, a b d, d, |old>new|", "a b c, a b, c, |old>new|"})
  void masterServesOnlyClientsThatListIt(
      String present, String future, String lost, String serves) {
    boolean isJoining = lost.equals("d");
    serve("a b", present, future, isJoining ? PREPARED : OPENED);
    serve(lost, present, future, COMMITTED);
    master(lost).restart(false);
    moving(present, future).act();
    assertEquals(serves, master(lost).mark().serves().toString());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {"a b c | a b f g h", "a b f | a b c d e", "a b c | a b c d f"})
  void movingClientWithAnotherListIsRefusedAndWritesNothing(String present, String future) {
    step("prepared");
    Client client = moving(present, future).act();
    Map<String, String> before = births();
    assertEquals(before, client.act() == null ? Map.of() : births());
    assertEquals(List.of(), client.voters());
    assertSays("from [a, b, c] to [a, b, c, d, e]", client.says("a"));
    assertEquals("", master("f").birth);
  }

  @Test
  void listUnderOtherNamesIsOnlyThatOfClientsThatAreServed() {
    serve("a b", "a b c", "a b d", OPENED);
    serve("c", "a b c", "a b d", COMMITTED);
    for (String name : names("a b c")) {
      Master alias = master(name.toUpperCase(Locale.ROOT));
      alias.run = master(name).run;
      alias.repl = master(name).repl;
      alias.birth = master(name).birth;
    }
    Client client = client("A B C");
    assertEquals(List.of(), client.voters());
    assertEquals("", client.known);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "old    | committed | a | committed: first run this client with movingTo",
        "old    | opened    | a | committed: first run this client with movingTo",
        "old    | finished  | a | missing [d, e]: list the same",
        "moving | finished  | a | the change to 5 masters is finished",
        "new    | prepared  | a | not committed: first run redlock resize commit",
        "new    | committed | d | not committed: first run redlock resize commit"
      })
  void clientThatSkippedAStepReadsWhichOne(String who, String point, String name, String says) {
    step(point);
    Client client =
        switch (who) {
          case "old" -> client("a b c");
          case "new" -> client("a b c d e");
          default -> moving("a b c", "a b c d e");
        };
    client.act();
    assertSays("REFUSED", client.says(name));
    assertSays(says, client.says(name));
  }

  @Test
  void movingClientNeedsAPreparedChange() {
    Client client = moving("a b c", "a b c d e").act();
    assertEquals("", master("a").birth);
    assertSays("REFUSED no change of masters is prepared on it", client.says("a"));
    founded("a b c");
    client.act();
    assertEquals("", master("d").birth);
    assertSays("REFUSED no change of masters is prepared on it", client.says("d"));
    assertSays("REFUSED no change of masters is prepared on it", client.says("a"));
  }

  // Losses.

  /** Any order of losses, restarts with data, old dumps and marks, with any answers missing. */
  @ParameterizedTest
  @CsvSource({
    "a b c,     a b c d e, true",
    "a b c d e, a b c,     true",
    "a b c,     a b d,     true",
    "a,         a b,       true",
    "a b,       a b c,     true",
    "a b c,     a b c d,   true",
    "a b c,     a b c d e, false",
    "b c d,     a b c,     false"
  })
  void noLossGivesTwoSetsAQuorum(String forgotten, String list, boolean isChanged) {
    for (int seed = 0; seed < 150; seed++) {
      masters.clear();
      Random random = new Random(seed);
      Client old = client(forgotten);
      Client present = client(list);
      Map<String, List<String>> dumps = new HashMap<>();
      if (isChanged) {
        old.known = "old";
        for (Served step : List.of(Served.of("old"), PREPARED, COMMITTED, OPENED)) {
          serve(forgotten, forgotten, list, step);
          old.names.forEach(
              name ->
                  dumps.computeIfAbsent(name, key -> new ArrayList<>()).add(master(name).birth));
        }
        serve(forgotten, forgotten, list, Served.NOBODY);
        serve(list, forgotten, list, Served.of("new"));
      } else {
        founded(list);
      }
      List<String> all = Stream.concat(old.names.stream(), present.names.stream()).toList();
      StringBuilder story = new StringBuilder("seed " + seed);
      for (int i = 0; i < 80 && !(hasQuorum(old) && hasQuorum(present)); i++) {
        Client client = random.nextBoolean() ? old : present;
        String name = all.get(random.nextInt(all.size()));
        List<String> dumped = dumps.getOrDefault(name, List.of(master(name).birth));
        switch (random.nextInt(10)) {
          case 0 -> master(name).restart(false);
          case 1 -> master(name).restart(true);
          case 2 -> {
            master(name).restart(true);
            master(name).birth = dumped.get(random.nextInt(dumped.size()));
          }
          default -> {
            client.heard.clear();
            client.names.stream().filter(each -> random.nextInt(6) > 0).forEach(client::hear);
            client.names.forEach(client::write);
          }
        }
        story.append("\n").append(client.names).append(name).append(births());
      }
      assertFalse(hasQuorum(old) && hasQuorum(present), story::toString);
    }
  }

  private boolean hasQuorum(Client client) {
    long members =
        client.names.stream()
            .map(name -> Roll.Node.of(name, master(name).audit()))
            .filter(node -> node.mark() != null && node.mark().isOf(node.audit()))
            .filter(node -> node.mark().isFounded() && node.mark().serves().includes(client.known))
            .count();
    return members > client.names.size() / 2;
  }

  // Masters that are gone for good.

  @Test
  void operatorLetsTheOthersGoOnWithoutOneThatIsGone() {
    MasterSet set = founded("a b c");
    master("b").restart(false);
    List<Roll.Node> nodes =
        List.of(
            Roll.Node.of("a", master("a").audit()),
            Roll.Node.of("b", master("b").audit()),
            Roll.Node.of("c", null));
    List<Roll.Advice> all = Roll.without(nodes, Quorum.of(3), Marks.GUARDED, Set.of("c"));
    assertEquals(new Roll.Advice.Keep(), all.get(0));
    assertEquals(
        new Roll.Advice.Write(Served.of(set.id()), Marks.GUARDED.agreement(List.of(set)), true),
        all.get(1));
    List<Roll.Advice> other =
        Roll.without(
            List.of(nodes.get(0), nodes.get(1), Roll.Node.of("d", null)),
            Quorum.of(3),
            Marks.GUARDED,
            Set.of("d"));
    assertNotEquals(all.get(1), other.get(1), "its list is another");
  }
}
