package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;

/** What the lanes of a client know together of their nodes, and what each makes of its own. */
class PeersTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Stream.of("Peers", "NodeTrust")
        .flatMap(each -> Scenes.of("jedis/membership/" + each + ".txt", log.beside(Life::new)));
  }

  private final class Life extends Scenes.Teller implements Ticker {

    private static final long SECOND = 1_000_000;
    private static final long START_MICROS = 1_800_000_000 * SECOND;

    private final Map<Integer, AuditedMaster> masters = new TreeMap<>();
    private final Map<String, NodeTrust> trusts = new HashMap<>();
    private List<String> names = List.of("n0", "n1", "n2");
    private Peers peers = new Peers(names, Quorum.of(3));
    private long monotonicMicros = 77 * SECOND;
    private long sleptMicros;
    private @Nullable Refresh refresh;

    @Override
    public long monotonicNanos() {
      return monotonicMicros * 1_000;
    }

    @Override
    public long wallMicros() {
      return START_MICROS + monotonicMicros + sleptMicros;
    }

    private AuditedMaster master(int node) {
      return masters.computeIfAbsent(node, key -> new AuditedMaster("run" + node, "repl"));
    }

    private NodeAudit audit(AuditedMaster of) {
      return of.audit(wallMicros());
    }

    @Override
    protected void perform(String command, String rest) {
      String[] words = rest.split(" ", 2);
      switch (command) {
        case "moving" -> {
          names = List.of("n0", "n1", "n2", "n3", "n4");
          peers = new Peers(names, new Quorum(0b00111, 0b11111));
        }
        case "pass" -> monotonicMicros += Marks.micros(rest);
        case "sleep" -> sleptMicros += Marks.micros(rest);
        case "wait" -> peers.whenTold(2, () -> tell("told"));
        case "quorum?" -> tell(peers.hasQuorum() ? "yes" : "no");
        case "too-few?" -> tell(peers.tooFew());
        case "label?" -> tell(peers.label());
        default -> ofNode(command, Integer.parseInt(words[0]), words.length == 1 ? "" : words[1]);
      }
    }

    private void ofNode(String command, int node, String value) {
      AuditedMaster master = master(node);
      switch (command) {
        case "run" -> master.run = value;
        case "repl" -> master.repl = value;
        case "promoted" -> master.isOwnHistory = false;
        case "write" -> master.write(Objects.requireNonNull(refresh), wallMicros() / 1_000);
        case "role" -> master.role = value;
        case "replicas" -> master.replicas = Integer.parseInt(value);
        case "evicted" -> master.evicted = Long.parseLong(value);
        case "clock" -> master.aheadMicros = Marks.micros(value);
        case "marked" -> master.birth = mark(master.run, master.repl, Marks.micros(value));
        case "agreed" -> master.birth = agreed(master.birth);
        case "foreign" -> master.birth = mark("z", master.repl, Marks.micros(value));
        case "text" -> master.birth = value;
        case "serves" -> master.birth = serving(master, Served.of(value.split(",")));
        case "hear" -> tell(hear(node, Marks.micros(value) * 1_000), master);
        case "left" -> trust(node, Marks.GUARDED).left();
        case "accepted" -> tell(peers.judged(node, true) ? "a quorum" : "too few");
        case "refused" -> tell(peers.judged(node, false) ? "a quorum" : "too few");
        case "judge" -> judge(node, trust(node, Marks.GUARDED));
        case "served?" -> tell(trust(node, Marks.GUARDED).served());
        case "observer-served?" -> tell(observer(node).served());
        case "observe" -> judge(node, observer(node));
        default -> throw new IllegalArgumentException(command);
      }
    }

    private String mark(String run, String repl, long ageMicros) {
      return Marks.founded(run, repl, (wallMicros() - ageMicros) / 1_000, true, names).toString();
    }

    /** The mark after an operator has changed the terms. */
    private static String agreed(String birth) {
      BirthMark mark = Objects.requireNonNull(BirthMark.parse(birth));
      return mark.under(mark.agreement().abstainingFor(2 * Marks.ABSTENTION_MILLIS)).toString();
    }

    /** The mark of three masters that become five. */
    private String serving(AuditedMaster master, Served served) {
      MasterSet present = new MasterSet("k7f2", names.subList(0, 3));
      String future = served.changes().get(0).replaceFirst(".*>", "");
      List<MasterSet> both = List.of(present, new MasterSet(future, names));
      long seenMillis = wallMicros() / 1_000 - 2 * Marks.ABSTENTION_MILLIS;
      return Marks.founded(master.run, master.repl, seenMillis, served, both).toString();
    }

    private Surroundings hear(int node, long halfNanos) {
      long nanos = monotonicNanos();
      return peers.hear(
          Membership.Node.of(node, "n" + node, audit(master(node))),
          nanos - halfNanos,
          nanos + halfNanos,
          this,
          Marks.GUARDED);
    }

    private void tell(Surroundings around, AuditedMaster master) {
      long aheadMicros = around.clockMicros() - wallMicros();
      tell((around.byMedian() ? "median " : "own clock ") + aheadMicros);
      around.beyondSkewMicros().ifPresent(beyond -> tell("a quorum agrees within " + beyond));
      if (around.uncertaintyMicros() != 0) {
        tell("uncertain by " + around.uncertaintyMicros());
      }
      if (!around.sameServerAs().isEmpty()) {
        tell("the server of " + around.sameServerAs());
      }
      String wrong =
          TrustRules.observing(true, Marks.SKEW_MICROS).misconfiguration(audit(master), around);
      if (!wrong.isEmpty()) {
        tell("wrong: " + wrong.split(",")[0]);
      }
      tell(text(around.advice()));
    }

    private static String text(Advice advice) {
      return advice instanceof Advice.Wait wait
          ? "wait: " + brief(wait.reason())
          : advice instanceof Advice.Refuse refuse
              ? "refuse: " + refuse.reason()
              : advice.getClass().getSimpleName().toLowerCase(Locale.ROOT);
    }

    /** Returns a reason to wait without what the scenes of {@code Membership} have in full. */
    private static String brief(String reason) {
      return reason
          .replace("no majority of the masters knows their set, so ", "")
          .replace(", and no majority of the masters shows the agreement", "");
    }

    private NodeTrust trust(int node, TrustRules rules) {
      return trusts.computeIfAbsent(
          node + " " + rules.observes(),
          key -> new NodeTrust("n" + node, node, peers, rules, 10_000));
    }

    private NodeTrust observer(int node) {
      return trust(node, TrustRules.observing(false, Marks.SKEW_MICROS));
    }

    private void judge(int node, NodeTrust trust) {
      monotonicMicros += SECOND;
      long nanos = monotonicNanos();
      String birth = master(node).birth;
      Verdict verdict =
          trust.judge(audit(master(node)), nanos, nanos, this, loss -> tell("lost: " + loss));
      refresh = verdict.refresh();
      boolean isCarried = !verdict.birth().isEmpty() && birth.startsWith(verdict.birth());
      tell(
          (verdict.stand() + " " + brief(verdict.reason())).strip()
              + (isCarried ? ", carrying its mark" : "")
              + (refresh == null ? "" : ", to be marked"));
    }
  }
}
