package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.Survey.Answer;
import io.redlock.jedis.deployment.Survey.Timed;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.Waiver;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A production command of an operator, one step at a time, on masters that are a test's. */
public final class SteppedResize {

  /** A master of a test. */
  public interface TestMaster {

    String name();

    /** Audits it, and writes its mark first if there is one; null if it does not answer. */
    @Nullable NodeAudit audit(@Nullable Refresh refresh);

    /** Returns its counters by resource; null if it does not answer. */
    @Nullable Map<String, Long> counters();

    /** Executes a request; false if it does not answer. */
    boolean execute(NodeRequest request);

    /** Deletes the floor of a resource, as the operator does after each such request. */
    void forgetFloor(String resource);
  }

  private final OperatorCommand resize;
  private final Consumer<String> out;

  public SteppedResize(
      Operation operation,
      List<? extends TestMaster> masters,
      Quorum quorum,
      TrustRules rules,
      Ticker ticker,
      Consumer<String> out) {
    this(operation, new Masters(masters, quorum, rules, ticker), out);
  }

  /** A command on masters that are servers. */
  public SteppedResize(Command command, Survey masters, Consumer<String> out) {
    this(
        new Resize(
            command,
            masters.quorum(),
            masters.rules(),
            new Waiver(Set.of(), Map.of()),
            "",
            "drawn"),
        new ProbedMasters(masters, "", Set.of()),
        out);
  }

  private SteppedResize(Operation operation, ChangedMasters masters, Consumer<String> out) {
    this.out = out;
    resize = new OperatorCommand(operation, masters, out);
  }

  /** Performs the next step. Returns the pause before the one after it; empty at the end. */
  public Optional<Duration> step() {
    Optional<Duration> pause = resize.step();
    resize.said().ifPresent(out);
    return pause;
  }

  /** Returns true if it has ended with nothing left to do. */
  public boolean hasSucceeded() {
    return resize.hasSucceeded();
  }

  private record Masters(
      List<? extends TestMaster> all, Quorum quorum, TrustRules rules, Ticker ticker)
      implements ChangedMasters {

    @Override
    public List<Audited> audit() {
      List<Answer<Timed>> answers = new ArrayList<>();
      long nowNanos = ticker.monotonicNanos();
      for (TestMaster master : all) {
        NodeAudit audit = master.audit(null);
        answers.add(
            audit == null
                ? new Answer<>(master.name(), null, NodeReply.unreachable("no answer"))
                : new Answer<>(master.name(), new Timed(audit, nowNanos, nowNanos), null));
      }
      return Survey.judge(quorum, rules, answers, ticker);
    }

    @Override
    public NodeAudit write(int master, Refresh refresh) {
      return answered(master, all.get(master).audit(refresh));
    }

    @Override
    public boolean isOnDisk(int master, NodeAudit audit, Consumer<String> out) {
      return true;
    }

    @Override
    public List<Audited> audit(Collection<String> others) {
      throw new AssertionError("no set is replaced");
    }

    @Override
    public String ask(Question question, int master) {
      Map<String, Long> counters = answered(master, all.get(master).counters());
      return question == Question.KEY && !counters.isEmpty()
          ? counters.keySet().iterator().next()
          : "";
    }

    @Override
    public void carry(int from, int to, Consumer<String> warnings) {
      answered(from, all.get(from).counters())
          .forEach(
              (resource, counter) -> {
                if (!all.get(to).execute(ProbedMasters.raising(resource, counter))) {
                  throw new NoAnswer(to, "no answer");
                }
                all.get(to).forgetFloor(resource);
              });
    }

    private static <T> T answered(int master, @Nullable T answer) {
      if (answer == null) {
        throw new NoAnswer(master, "no answer");
      }
      return answer;
    }
  }
}
