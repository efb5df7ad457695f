package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.AuditedMaster;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.Founding;
import io.redlock.jedis.membership.Marks;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.Served;
import io.redlock.jedis.membership.TermsChange;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.Waiver;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What the commands of operators do to masters in every state, and what they say. */
class ResizeTest {

  private static final TrustRules RULES = Marks.rules(true);
  private static final Agreement TERMS = RULES.terms();
  private static final Pattern DRAWN_ID = Pattern.compile("\\b(?=\\w*\\d)[0-9a-z]{12}\\b");

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Stream.of("Resize", "Agree")
        .flatMap(each -> Scenes.of("jedis/deployment/" + each + ".txt", Life::new));
  }

  /** Masters that are a table, and an operator who changes them, or the terms of their clients. */
  private static final class Life extends Scenes.Teller {

    private final Map<String, TableMaster> masters = new TreeMap<>();
    private final Map<String, MasterSet> sets = new HashMap<>();
    private final Map<String, OperatorCommand> begun = new HashMap<>();
    private final Map<String, String> drawnIds = new HashMap<>();
    private final SplittableRandom random = new SplittableRandom(1);
    private final List<String> waits = new ArrayList<>();
    private final long nowMillis = System.currentTimeMillis();
    private Map<String, String> before = new TreeMap<>();
    private List<String> present = names("a b c");
    private List<String> future = names("a b c d e");
    private Agreement terms = TERMS;
    private Set<String> without = Set.of();
    private final Map<String, String> replaced = new HashMap<>();
    private boolean forces;

    Life() {
      perform("set", "old a b c");
      perform("set", "new a b c d e");
    }

    @Override
    protected void perform(String command, String rest) {
      before = births();
      String[] words = rest.split(" ", 2);
      switch (command) {
        case "set" -> sets.put(words[0], new MasterSet(words[0], names(words[1])));
        case "under" -> terms = terms(rest);
        case "mark" -> mark(rest.split(", "), 10 * Marks.ABSTENTION_MILLIS);
        case "mark-now" -> mark(rest.split(", "), 0);
        case "emptied" -> names(rest).forEach(name -> node(name).birth = "");
        case "founding" -> node(rest).birth = node(rest).birth.replace(" founded ", " founding ");
        case "restarted" -> names(rest).forEach(name -> node(name).run += "x");
        case "unreadable" -> node(rest).birth = "5 ?";
        case "copied" -> node(words[1]).birth = node(words[0]).birth;
        case "waits?" -> waits.forEach(this::tell);
        case "slow" -> table(words[0]).looksAtABusyDisk = Integer.parseInt(words[1]);
        case "locked" -> {
          table(rest).answers.put("SCAN 0 MATCH redlock:*", "[0 redlock:fence:lock");
          table(rest).answers.put("SCAN 0 MATCH redlock:fence:*", "[0 redlock:fence:lock");
          table(rest).answers.put("PTTL lock", ":" + Long.MAX_VALUE);
        }
        case "silent" -> {
          masters.values().forEach(each -> each.answers.remove("audit"));
          names(rest).forEach(name -> table(name).answers.put("audit", "!reset"));
        }
        case "a", "b", "c" ->
            table(command).answers.put(rest.split(" = ")[0], rest.split(" = ")[1]);
        case "without" -> without = Set.copyOf(names(rest));
        case "replace" -> replaced.put(words[0], words[1]);
        case "force" -> forces = true;
        case "lists" -> {
          present = names(rest.split(" to ")[0]);
          future = names(rest.split(" to ")[1]);
        }
        case "agree" -> perform(agree(rest), false);
        case "agree-step-by-step" -> perform(agree(rest), true);
        case "begin" -> {
          OperatorCommand its = words[1].equals("adopt") ? adopt() : agree(words[1]);
          begun.put(words[0], its);
          while (next(its).orElseThrow().isZero()) {
            // it goes on at once
          }
        }
        case "end" -> perform(begun.get(rest), false);
        case "go-on" -> {
          tellPause(next(begun.get(rest)).orElseThrow());
          tellChanges();
        }
        default -> perform(resize(Command.valueOf(command.toUpperCase(Locale.ROOT))), false);
      }
    }

    private static List<String> names(String list) {
      return List.of(list.split(" "));
    }

    private TableMaster table(String name) {
      return masters.computeIfAbsent(
          name,
          key -> {
            TableMaster made = new TableMaster(key);
            made.answers.put("SCAN 0 MATCH redlock:fence:*", "[0 redlock:fence:" + key);
            made.answers.put("GET redlock:fence:" + key, "1");
            return made;
          });
    }

    private AuditedMaster node(String name) {
      return table(name).node;
    }

    /** Marks masters: which, whom they serve, and of which sets, if those do not name them. */
    private void mark(String[] parts, long ageMillis) {
      boolean isNobody = parts[1].equals("nobody");
      String ids = isNobody ? parts[2] : parts[1].replace(">", " ");
      List<MasterSet> members =
          names(ids).stream().distinct().filter(sets::containsKey).map(sets::get).toList();
      for (String name : names(parts[0])) {
        AuditedMaster master = node(name);
        master.birth =
            new BirthMark(
                    master.run,
                    master.repl,
                    nowMillis - ageMillis,
                    false,
                    true,
                    0,
                    isNobody ? Served.NOBODY : Served.of(parts[1].split(" ")),
                    members,
                    terms)
                .toString();
      }
    }

    /** Returns terms by their name, or by a ttl and an abstention, in seconds. */
    private static Agreement terms(String name) {
      String[] words = name.split(" ");
      return switch (words[0]) {
        case "unguarded" -> Marks.rules(false).terms();
        case "usual" -> TERMS;
        case "shorter" ->
            new Agreement(true, TERMS.maxTtlMillis() / 2, TERMS.abstentionMillis() / 2);
        case "longer" ->
            new Agreement(true, TERMS.maxTtlMillis() * 2, TERMS.abstentionMillis() * 2);
        default ->
            new Agreement(
                words.length == 2,
                1_000 * Long.parseLong(words[0]),
                1_000 * Long.parseLong(words[1]));
      };
    }

    // Commands.

    private OperatorCommand resize(Command command) {
      Survey found =
          survey(Stream.concat(present.stream(), future.stream()), Quorum.of(present, future));
      String stops =
          command == Command.COMMIT ? Unmoved.of(found, without).stopping(forces, this::tell) : "";
      Waiver waiver = new Waiver(without, replaced);
      String drawn = MasterSet.newId(random);
      return command(new Resize(command, found.quorum(), RULES, waiver, stops, drawn), found);
    }

    private OperatorCommand agree(String terms) {
      Survey found = survey(present.stream(), Quorum.of(present.size()));
      TrustRules rules = new TrustRules(terms(terms), RULES.skewMicros(), "");
      return command(new TermsChange(found.quorum(), rules, without, forces), found);
    }

    private OperatorCommand adopt() {
      Survey found = survey(present.stream(), Quorum.of(present.size()));
      Waiver waiver = new Waiver(without, replaced);
      String drawn = MasterSet.newId(random);
      return command(new Founding(found.quorum(), RULES, false, waiver, drawn), found);
    }

    private OperatorCommand command(Operation operation, Survey found) {
      return new OperatorCommand(operation, new ProbedMasters(found, "", Set.of()), this::hear);
    }

    private Survey survey(Stream<String> names, Quorum quorum) {
      LaneSettings settings =
          new LaneSettings(0, Duration.ofMinutes(1).toNanos(), 0, 0, new RequestEncoder(90_000, 0));
      List<NodePool> pools = names.distinct().map(name -> pool(name, true)).toList();
      return new Survey(pools, quorum, settings, RULES, name -> pool(name, false));
    }

    private NodePool pool(String name, boolean isOwn) {
      return new NodePool(name, table(name).pool, isOwn);
    }

    private void perform(OperatorCommand command, boolean tellsEachStep) {
      int steps = 0;
      for (Optional<Duration> pause = next(command); pause.isPresent(); pause = next(command)) {
        if (tellsEachStep) {
          tellChanges();
        }
        tellPause(pause.get());
        assertTrue(steps++ < 100, "it never ends");
      }
      tellChanges();
      tell(
          withoutDrawnIds(
              (command.hasSucceeded() ? "yes: " : "no: ") + command.said().orElseThrow()));
    }

    private void hear(String line) {
      waits.addAll(line.startsWith("waiting") ? List.of(line) : List.of());
    }

    /** Performs the next step; the whole of a wait. */
    private static Optional<Duration> next(OperatorCommand command) {
      Optional<Duration> pause = command.step();
      while (command.isWaiting()) {
        pause = Optional.of(pause.orElseThrow().plus(command.step().orElseThrow()));
      }
      return pause;
    }

    private void tellPause(Duration pause) {
      if (!pause.isZero()) {
        tellChanges();
        tell("waits " + pause.toMillis() + " ms");
      }
    }

    /** Tells what was tried, carried, saved and written since the last time. */
    private void tellChanges() {
      tellHeard("tries to carry from ", Pattern.compile("GET redlock:fence:()"));
      tellHeard("carries ", Pattern.compile("DEL redlock:floor:(.*)"));
      tellHeard("has on disk what is on ", Pattern.compile("INFO persistence()"));
      masters.values().forEach(master -> master.heard.clear());
      Marks.changes(before, births(), this::text).forEach(change -> tell(withoutDrawnIds(change)));
      before = births();
    }

    private void tellHeard(String what, Pattern command) {
      List<String> heard = new ArrayList<>();
      masters.forEach(
          (name, master) ->
              master.heard.stream()
                  .map(command::matcher)
                  .filter(Matcher::matches)
                  .forEach(each -> heard.add(each.group(1) + name)));
      tell(heard.isEmpty() ? List.of() : List.of(what + String.join(" ", heard)));
    }

    private Map<String, String> births() {
      Map<String, String> births = new TreeMap<>();
      masters.forEach((name, master) -> births.put(name, master.node.birth));
      return births;
    }

    private String text(String birth) {
      BirthMark mark = BirthMark.parse(birth);
      Agreement terms = mark.agreement();
      boolean isUsual = terms.abstentionMillis() == TERMS.abstentionMillis();
      return mark.serves()
          + (" of " + mark.sets().stream().map(MasterSet::names).toList())
          + (mark.isAdopted() ? " adopted" : "")
          + (mark.firstSeenMillis() >= nowMillis ? " now" : "")
          + (terms.maxTtlMillis() == TERMS.maxTtlMillis() ? "" : " ttl " + terms.maxTtlMillis())
          + (isUsual ? "" : " for " + terms.abstentionMillis() + " ms")
          + (terms.guarded() ? "" : " unguarded");
    }

    private String withoutDrawnIds(String text) {
      return DRAWN_ID
          .matcher(text)
          .replaceAll(
              id -> drawnIds.computeIfAbsent(id.group(), key -> "drawn" + (1 + drawnIds.size())));
    }
  }
}
