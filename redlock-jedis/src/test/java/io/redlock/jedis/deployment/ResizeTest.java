package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.deployment.Survey.Answer;
import io.redlock.jedis.deployment.Survey.Timed;
import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.Agreement.MasterSet;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.AuditedMaster;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.Marks;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.Served;
import io.redlock.jedis.membership.TermsChange;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.Waiver;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What the commands of operators do to masters in every state, and what they say. */
class ResizeTest {

  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final TrustRules RULES = Marks.rules(true);
  private static final Pattern DRAWN_ID = Pattern.compile("\\b(?=\\w*\\d)[0-9a-z]{12}\\b");

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Stream.of("Resize", "Agree")
        .flatMap(each -> Scenes.of("jedis/deployment/" + each + ".txt", Life::new));
  }

  /** Masters that are a table, and an operator who changes them, or the terms of their clients. */
  private static final class Life extends Scenes.Teller implements Ticker {

    private final Map<String, AuditedMaster> masters = new TreeMap<>();
    private final Map<String, String> lockKeys = new HashMap<>();
    private final Map<String, MasterSet> sets = new HashMap<>();
    private final Map<String, OperatorCommand> begun = new HashMap<>();
    private final Map<String, String> drawnIds = new HashMap<>();
    private final SplittableRandom random = new SplittableRandom(1);
    private final List<String> tried = new ArrayList<>();
    private final List<String> carried = new ArrayList<>();
    private final List<String> waits = new ArrayList<>();
    private final List<String> saved = new ArrayList<>();
    private final Map<String, Integer> slow = new HashMap<>(); // by so many looks at their disks
    private Map<String, String> before = new TreeMap<>();
    private List<String> present = names("a b c");
    private List<String> future = names("a b c d e");
    private TrustRules terms = RULES;
    private Set<String> without = Set.of();
    private final Map<String, String> replaced = new HashMap<>();
    private Unmoved unmoved = new Unmoved(Set.of(), Map.of());
    private boolean forces;
    private String silent = "";
    private NodeReply failure = NodeReply.unreachable("refused connection");

    Life() {
      perform("set", "old a b c");
      perform("set", "new a b c d e");
    }

    @Override
    public long monotonicNanos() {
      return 7_000_000_000L;
    }

    @Override
    public long wallMicros() {
      return NOW_MILLIS * 1_000;
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
        case "emptied" -> names(rest).forEach(name -> master(name).birth = "");
        case "founding" ->
            master(rest).birth = master(rest).birth.replace(" founded ", " founding ");
        case "restarted" -> names(rest).forEach(name -> master(name).run += "x");
        case "unreadable" -> master(rest).birth = "5 ?";
        case "copied" -> master(words[1]).birth = master(words[0]).birth;
        case "waits?" -> waits.forEach(this::tell);
        case "slow" -> slow.put(words[0], Integer.parseInt(words[1]));
        case "locked" -> lockKeys.put(rest, "lock");
        case "silent" -> silent = rest;
        case "denies" -> {
          silent = words[0];
          failure = NodeReply.misconfigured(words[1]);
        }
        case "without" -> without = Set.copyOf(names(rest));
        case "replace" -> replaced.put(words[0], words[1]);
        case "unmoved" -> unmoved = new Unmoved(Set.of(rest), unmoved.unknown());
        case "denies-names" -> unmoved = new Unmoved(Set.of(), Map.of(words[0], words[1]));
        case "force" -> forces = true;
        case "lists" -> {
          present = names(rest.split(" to ")[0]);
          future = names(rest.split(" to ")[1]);
        }
        case "agree" -> perform(agree(rest), false);
        case "agree-step-by-step" -> perform(agree(rest), true);
        case "begin" -> {
          OperatorCommand agree = agree(words[1]);
          begun.put(words[0], agree);
          while (next(agree).orElseThrow().isZero()) {
            // it goes on at once
          }
        }
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

    private AuditedMaster master(String name) {
      return masters.computeIfAbsent(name, key -> new AuditedMaster("run" + key, "repl" + key));
    }

    /** Marks masters: which, whom they serve, and of which sets, if those do not name them. */
    private void mark(String[] parts, long ageMillis) {
      boolean isNobody = parts[1].equals("nobody");
      String ids = isNobody ? parts[2] : parts[1].replace(">", " ");
      List<MasterSet> members =
          names(ids).stream().distinct().filter(sets::containsKey).map(sets::get).toList();
      for (String name : names(parts[0])) {
        AuditedMaster master = master(name);
        master.birth =
            new BirthMark(
                    master.run,
                    master.repl,
                    NOW_MILLIS - ageMillis,
                    false,
                    true,
                    0,
                    isNobody ? Served.NOBODY : Served.of(parts[1].split(" ")),
                    terms.agreement(members))
                .toString();
      }
    }

    /** Returns terms by their name, or by a ttl and an abstention, in seconds. */
    private static TrustRules terms(String name) {
      String[] words = name.split(" ");
      return switch (words[0]) {
        case "unguarded" -> Marks.rules(false);
        case "usual" -> RULES;
        case "shorter" -> terms(true, RULES.maxTtlMillis() / 2, RULES.abstentionMillis() / 2);
        case "longer" -> terms(true, RULES.maxTtlMillis() * 2, RULES.abstentionMillis() * 2);
        default ->
            terms(
                words.length == 2,
                1_000 * Long.parseLong(words[0]),
                1_000 * Long.parseLong(words[1]));
      };
    }

    private static TrustRules terms(boolean guarded, long maxTtlMillis, long abstentionMillis) {
      return new TrustRules(guarded, maxTtlMillis, abstentionMillis, RULES.skewMicros(), "");
    }

    // Commands.

    private OperatorCommand resize(Command command) {
      List<String> all = Stream.concat(present.stream(), future.stream()).distinct().toList();
      Quorum quorum = Quorum.of(present, future);
      Unmoved left = command == Command.COMMIT ? unmoved : new Unmoved(Set.of(), Map.of());
      String stops = left.stopping(forces, this::tell);
      String drawn = Agreement.newId(random);
      Operation resize =
          new Resize(command, quorum, RULES, new Waiver(without, replaced), stops, drawn);
      return new OperatorCommand(resize, new Masters(this, all, quorum), this::hear);
    }

    private OperatorCommand agree(String terms) {
      Quorum quorum = Quorum.of(present.size());
      Masters found = new Masters(this, present, quorum);
      Operation agree = new TermsChange(quorum, terms(terms), without, forces);
      return new OperatorCommand(agree, found, this::hear);
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

    /** Tells what was tried, carried and written since the last time. */
    private void tellChanges() {
      if (!tried.isEmpty()) {
        tell("tries to carry from " + String.join(" ", tried));
      }
      if (!carried.isEmpty()) {
        tell("carries " + String.join(" ", carried));
      }
      if (!saved.isEmpty()) {
        tell("has on disk what is on " + String.join(" ", saved));
      }
      tried.clear();
      carried.clear();
      saved.clear();
      Marks.changes(before, births(), Life::text).forEach(change -> tell(withoutDrawnIds(change)));
      before = births();
    }

    private Map<String, String> births() {
      Map<String, String> births = new TreeMap<>();
      masters.forEach((name, master) -> births.put(name, master.birth));
      return births;
    }

    private static String text(String birth) {
      BirthMark mark = BirthMark.parse(birth);
      Agreement terms = mark.agreement();
      boolean isUsual = terms.abstentionMillis() == RULES.abstentionMillis();
      return mark.serves()
          + (" of " + terms.sets().stream().map(MasterSet::names).toList())
          + (mark.isAdopted() ? " adopted" : "")
          + (mark.firstSeenMillis() == NOW_MILLIS ? " now" : "")
          + (terms.maxTtlMillis() == RULES.maxTtlMillis() ? "" : " ttl " + terms.maxTtlMillis())
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

  private record Masters(Life life, List<String> names, Quorum quorum) implements ChangedMasters {

    @Override
    public List<Audited> audit() {
      List<Answer<Timed>> answers = new ArrayList<>();
      for (String name : names) {
        long nowNanos = life.monotonicNanos();
        NodeAudit audit = life.master(name).audit(life.wallMicros());
        answers.add(
            name.equals(life.silent)
                ? new Answer<>(name, null, life.failure)
                : new Answer<>(name, new Timed(audit, nowNanos, nowNanos), null));
      }
      return Survey.judge(quorum, RULES, answers, life);
    }

    @Override
    public NodeAudit write(int master, Refresh refresh) {
      AuditedMaster written = life.master(names.get(master));
      written.write(refresh, NOW_MILLIS);
      return written.audit(life.wallMicros());
    }

    @Override
    public boolean isOnDisk(int master, NodeAudit audit, Consumer<String> out) {
      int left = life.slow.merge(names.get(master), -1, Integer::sum);
      if (left < 0) {
        life.saved.add(names.get(master));
      }
      return left < 0;
    }

    @Override
    public List<Audited> audit(Collection<String> others) {
      return new Masters(life, List.copyOf(others), Quorum.of(others.size())).audit();
    }

    @Override
    public String ask(Question question, int master) {
      String name = names.get(master);
      if (question == Question.RIGHTS) {
        life.tried.add(name);
      }
      return question == Question.RIGHTS ? "" : life.lockKeys.getOrDefault(name, "");
    }

    @Override
    public void carry(int from, int to, Consumer<String> warnings) {
      life.carried.add(names.get(from) + names.get(to));
    }
  }
}
