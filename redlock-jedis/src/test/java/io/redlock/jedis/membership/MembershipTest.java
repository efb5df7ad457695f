package io.redlock.jedis.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.jedis.membership.Verdict.Stand;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which masters form a set, by the marks that clients find and write. */
class MembershipTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/membership/Membership.txt", () -> new MembershipTest().new Life());
  }

  private static final long Q = Marks.ABSTENTION_MILLIS;
  private static final String LOST = "";

  private long nowMillis = 1_700_000_000_000L;
  private int sets; // founded so far
  private final Map<String, Master> masters = new TreeMap<>();

  private final class Master extends AuditedMaster {
    final String name;
    boolean isSilent;

    Master(String name) {
      super("run" + name, "repl" + name);
      this.name = name;
    }

    NodeAudit audit() {
      return audit(nowMillis * 1_000);
    }

    BirthMark mark() {
      BirthMark mark = BirthMark.parse(birth);
      assertNotNull(mark, birth);
      return mark;
    }

    void write(Refresh refresh) {
      write(refresh, nowMillis);
      assertEquals(birth, mark().toString(), "what is written is read");
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

  private List<Membership.Node> nodes(List<String> names) {
    return names.stream()
        .map(
            name ->
                Membership.Node.of(
                    names.indexOf(name), name, master(name).isSilent ? null : master(name).audit()))
        .toList();
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
      List<Membership.Node> nodes =
          names.stream()
              .map(each -> Membership.Node.of(names.indexOf(each), each, heard.get(each)))
              .toList();
      Membership membership = new Membership(nodes, quorum, rules, known, Optional.empty());
      known = membership.label().isEmpty() ? known : membership.label();
      Surroundings around =
          new Surroundings(
              nowMillis * 1_000,
              true,
              OptionalLong.of(0),
              0,
              membership.advice(names.indexOf(name)),
              "");
      return rules.judge(nodes.get(names.indexOf(name)), around);
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
    MasterSet set = new MasterSet("set" + ++sets, names(list));
    for (String name : names(list)) {
      Master master = master(name);
      master.birth =
          Marks.founded(master.run, master.repl, nowMillis, Served.of(set.id()), List.of(set))
              .toString();
    }
    pass(Q);
    assertEquals(names(list), client(list).voters());
    return set;
  }

  private Map<String, String> births() {
    Map<String, String> births = new TreeMap<>();
    masters.values().forEach(each -> births.put(each.name, each.birth));
    return births;
  }

  /** Masters and clients, as a script tells. */
  private final class Life extends Scenes.Teller {

    private final Map<String, Client> clients = new TreeMap<>();
    private String kept = "";

    @Override
    protected void perform(String command, String rest) {
      Map<String, String> before = births();
      String[] words = rest.split(" ");
      Client client = clients.get(words[0]);
      if (command.equals("voters")) {
        tell(String.join(" ", client.voters()));
      } else if (command.equals("adopt")) {
        tell(adopt(words));
      } else if (command.equals("says")) {
        tell(client.says(words[1]));
      } else if (!(joins(command, words) || befalls(command, words))) {
        switch (command) {
          case "act" -> client.act();
          case "once" -> client.act(1);
          case "hear" -> client.hear(words[1]);
          case "hear-all" -> client.names.forEach(client::hear);
          case "write" -> client.write(words[1]);
          case "knows" -> tell(client.known.isEmpty() ? "nothing" : client.known);
          default -> throw new IllegalArgumentException(command);
        }
      }
      if (!command.equals("founded")) {
        tell(changes(before));
      }
    }

    /** The marks that are others now: of whom, when first seen, whom the master serves. */
    private List<String> changes(Map<String, String> before) {
      return Marks.changes(before, births(), this::text);
    }

    private String text(String birth) {
      BirthMark mark = BirthMark.parse(birth);
      return mark == null
          ? birth.isEmpty() ? "no mark" : "another mark"
          : (mark.isFounded() ? "" : "founding ")
              + mark.serves()
              + " of "
              + (nowMillis - mark.firstSeenMillis())
              + " ms, "
              + mark.agreement().abstentionMillis()
              + (mark.evictedKeys() == 0 || !mark.isFounded()
                  ? ""
                  : ", evicted " + mark.evictedKeys());
    }

    private boolean joins(String command, String[] words) {
      String list = String.join(" ", List.of(words).subList(1, words.length));
      TrustRules rules =
          switch (command) {
            case "unguarded" -> Marks.rules(false);
            case "observer" -> TrustRules.observing(false, Marks.SKEW_MICROS);
            case "longer-ttl" -> terms(60_000, 64_602);
            case "shorter-ttl" -> terms(10_000, Q);
            case "longer-abstention" -> terms(30_000, 36_302);
            default -> Marks.GUARDED;
          };
      if (rules == Marks.GUARDED && !command.equals("client")) {
        return false;
      }
      String[] lists = list.split(" to ");
      clients.put(words[0], new Client(rules, lists[0], lists.length == 1 ? "" : lists[1]));
      return true;
    }

    private static TrustRules terms(long maxTtlMillis, long abstentionMillis) {
      Agreement terms = new Agreement(true, maxTtlMillis, abstentionMillis);
      return new TrustRules(terms, Marks.SKEW_MICROS, "");
    }

    private boolean befalls(String command, String[] words) {
      switch (command) {
        case "founded" -> founded(String.join(" ", words));
        case "pass" -> pass(words[0].equals("abstention") ? Q : Long.parseLong(words[0]));
        case "change" -> step(words[0]);
        case "of-version" ->
            master(words[1]).birth = words[0] + " " + master(words[1]).run + " r 1 seen 34302 3";
        case "serve" -> {
          String[] lists = String.join(" ", words).split(", ");
          serve(lists[0], lists[1], lists[2], serves(lists[3]));
        }
        case "evicted" -> master(words[0]).evicted = Long.parseLong(words[1]);
        case "longer-agreement" -> {
          BirthMark mark = master(words[0]).mark();
          Agreement longer = new Agreement(true, 30_000, 2 * Q);
          master(words[0]).birth = mark.serving(mark.serves(), mark.sets(), longer).toString();
        }
        default -> {
          for (String name : words) {
            if (!befalls(command, master(name))) {
              return false;
            }
          }
        }
      }
      return true;
    }

    private boolean befalls(String command, Master master) {
      switch (command) {
        case "silence" -> master.isSilent = true;
        case "answers" -> master.isSilent = false;
        case "emptied" -> master.restart(false);
        case "restarted" -> master.restart(true);
        case "flushed" -> master.birth = LOST;
        case "forgotten" -> { // so that the next set has another id
          master.birth = LOST;
          master.repl += "x";
        }
        case "keep" -> kept = master.birth;
        case "restored" -> {
          master.run += "y";
          master.birth = kept;
        }
        case "alias" -> { // the same server under another name
          Master alias = master(master.name.toUpperCase(Locale.ROOT));
          alias.run = master.run;
          alias.repl = master.repl;
          alias.birth = master.birth;
        }
        default -> {
          return false;
        }
      }
      return true;
    }

    /** Lets an operator perform the next step for a list, under so many conditions before it. */
    private List<String> adopt(String[] words) {
      boolean isNew = false;
      Set<String> gone = new TreeSet<>();
      Map<String, String> replaced = new TreeMap<>();
      TrustRules rules = Marks.GUARDED;
      int at = 0;
      for (; words[at].startsWith("-"); at++) {
        String word = words[at];
        isNew |= word.equals("--new");
        if (word.startsWith("--without=")) {
          gone.add(word.substring(10));
        } else if (word.startsWith("--replace=")) {
          replaced.put(word.substring(10, 11), word.substring(12));
        } else if (word.equals("--longer")) {
          rules = terms(60_000, 64_602);
        } else if (word.equals("--shorter")) {
          rules = terms(10_000, 14_102);
        }
      }
      List<String> list = List.of(words).subList(at, words.length);
      List<String> others = new ArrayList<>(masters.keySet());
      others.removeAll(list);
      Founding founding =
          new Founding(
              Quorum.of(list.size()),
              rules,
              isNew,
              new Waiver(gone, replaced),
              "d" + String.join("", list));
      Membership.Node[] beside = nodes(others).toArray(new Membership.Node[0]);
      List<Audited> read = Marks.read(nodes(list));
      Operation.Step step = founding.next(read, Marks.knowing(Progress.NONE, list.size(), beside));
      List<String> told = new ArrayList<>();
      if (step instanceof Operation.Step.Save) {
        told.add("saves");
        Map<Integer, String> shown = new TreeMap<>();
        list.forEach(name -> shown.put(list.indexOf(name), master(name).birth));
        Progress progress = Progress.NONE.after(step, shown);
        step = founding.next(read, Marks.knowing(progress, list.size(), beside));
      }
      if (step instanceof Operation.Step.Write write) {
        write.marks().forEach((index, refresh) -> master(list.get(index)).write(refresh));
      } else if (step instanceof Operation.Step.Refuse refuse) {
        refuse.reasons().forEach((index, reason) -> told.add(list.get(index) + ": " + reason));
        told.add(refuse.isOther() ? "the other list" : "refused");
      } else {
        told.add(
            step instanceof Operation.Step.Wait wait
                ? "waits " + wait.time().toMillis() + " ms"
                : "already founded");
      }
      return told;
    }
  }

  /** The steps of a change from masters to others, as {@link MasterChange} makes them. */
  private void serve(String list, String present, String future, Served serves) {
    MasterSet from = new MasterSet("old", names(present));
    MasterSet to = new MasterSet("new", names(future));
    boolean isBefore = serves.equals(Served.of("old"));
    boolean isAfter = serves.equals(Served.of("new"));
    List<MasterSet> sets = isBefore ? List.of(from) : isAfter ? List.of(to) : List.of(from, to);
    for (String name : names(list)) {
      Master master = master(name);
      master.birth =
          Marks.founded(master.run, master.repl, nowMillis - 2 * Q, serves, sets).toString();
    }
  }

  private static final Served PREPARED = Served.of("old", "old>new");
  private static final Served COMMITTED = Served.of("old>new");
  private static final Served OPENED = Served.of("old>new", "new");

  private static Served serves(String point) {
    return switch (point) {
      case "prepared" -> PREPARED;
      case "committed" -> COMMITTED;
      case "opened" -> OPENED;
      case "bound" -> OPENED.with(Served.NO_RETURN);
      case "left" -> Served.NOBODY;
      default -> Served.of("new");
    };
  }

  /** Three masters become five. */
  private void step(String point) {
    String present = "a b c";
    String future = "a b c d e";
    Served staying = serves(point);
    serve("a b c", present, future, staying);
    serve("d e", present, future, point.equals("prepared") ? COMMITTED : staying);
    if (point.equals("finishing")) {
      serve("c e", present, future, OPENED);
    }
  }

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
            .map(name -> Membership.Node.of(0, name, master(name).audit()))
            .filter(node -> node.mark() != null && node.mark().isOf(node.audit()))
            .filter(node -> node.mark().isFounded() && node.mark().serves().includes(client.known))
            .count();
    return members > client.names.size() / 2;
  }
}
