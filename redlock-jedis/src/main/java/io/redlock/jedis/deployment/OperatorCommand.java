package io.redlock.jedis.deployment;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.AdoptReport.Outcome;
import io.redlock.jedis.deployment.ChangedMasters.NoAnswer;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.Membership;
import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.membership.Operation.Step;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A run of an operator's command, whose steps its {@link Operation} decides. */
final class OperatorCommand {

  private static final Duration DISK_PAUSE = Duration.ofMillis(250);

  /** The time between two lines that say what it waits for. */
  private static final Duration SHOWN = Duration.ofSeconds(5);

  private final Operation operation;
  private final ChangedMasters masters;
  private final Consumer<String> out;

  private final Map<Integer, Integer> tries = new TreeMap<>();
  private final Map<Integer, String> written = new TreeMap<>();
  private final Map<Question, Map<Integer, String>> answers = new EnumMap<>(Question.class);
  private final Map<String, Membership.Node> beside = new TreeMap<>();
  private List<Audited> audits = List.of();
  private Progress progress = Progress.NONE;
  private @Nullable Step end;
  private int unanswered = -1; // the master whose silence was the end
  private Duration left = Duration.ZERO; // of a wait
  private String until = ""; // of it
  private Duration onDisks = Duration.ZERO; // the time for which it has waited for them

  /**
   * @param out takes a line of what it does, and every few seconds of what it waits for
   */
  OperatorCommand(Operation operation, ChangedMasters masters, Consumer<String> out) {
    this.operation = operation;
    this.masters = masters;
    this.out = out;
  }

  /** Runs the command to its end. An interrupt ends it early and stays set. Returns this. */
  OperatorCommand run() {
    try {
      for (Optional<Duration> pause = step(); pause.isPresent(); pause = step()) {
        long nanos = pause.get().toNanos();
        long startNanos = System.nanoTime();
        while (System.nanoTime() - startNanos < nanos) {
          TimeUnit.NANOSECONDS.sleep(nanos - (System.nanoTime() - startNanos));
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return this;
  }

  boolean hasSucceeded() {
    return end instanceof Step.Done;
  }

  /** Performs the next step. Returns the pause before the one after it; empty at the end. */
  Optional<Duration> step() {
    if (isWaiting()) {
      return waiting();
    }
    audits = masters.audit();
    Step step = operation.next(audits, new Known(progress, written, tries, answers, beside));
    try {
      return perform(step);
    } catch (NoAnswer silent) {
      unanswered = silent.master;
      end = Step.refuse(silent.master, silent.getMessage() + ": run the command again");
      return Optional.empty();
    }
  }

  /** Returns true if a wait is not over after the last pause. */
  boolean isWaiting() {
    return !left.isZero();
  }

  private Optional<Duration> waiting() {
    out.accept(
        "waiting for "
            + left.plusMillis(999).toSeconds()
            + "s, until every lease "
            + until
            + " has ended");
    Duration part = left.compareTo(SHOWN) < 0 ? left : SHOWN;
    left = left.minus(part);
    return Optional.of(part);
  }

  private Optional<Duration> perform(Step step) {
    if (step instanceof Step.Wait wait) {
      progress = progress.after(wait, Map.of());
      beside.clear(); // they are read again, too
      left = wait.time();
      until = wait.until();
      return waiting();
    } else if (step instanceof Step.Save save) {
      return save(save);
    } else if (step instanceof Step.Write write) {
      answers.remove(Question.KEY);
      Map<Integer, String> shown = new TreeMap<>();
      write.marks().forEach((master, mark) -> shown.put(master, write(write, master, mark)));
      progress = progress.after(write, shown);
    } else if (step instanceof Step.Ask ask) {
      for (int master : ask.masters()) {
        answers
            .computeIfAbsent(ask.question(), key -> new TreeMap<>())
            .put(master, masters.ask(ask.question(), master));
      }
    } else if (step instanceof Step.Look look) {
      masters.audit(look.names()).forEach(each -> beside.put(each.name(), each.node()));
    } else {
      end = step;
      return Optional.empty();
    }
    return Optional.of(Duration.ZERO);
  }

  private Optional<Duration> save(Step.Save save) {
    Map<Integer, String> saved = new TreeMap<>();
    List<String> unsaved = new ArrayList<>();
    for (Audited each : audits) {
      NodeAudit audit = each.audit();
      if (audit != null && !progress.isSaved(each)) {
        if (masters.isOnDisk(each.index(), audit, out)) {
          saved.put(each.index(), audit.birth());
        } else {
          unsaved.add(each.name());
        }
      }
    }
    progress = progress.after(save, saved);
    if (unsaved.isEmpty()) {
      return Optional.of(Duration.ZERO);
    }
    onDisks = onDisks.plus(DISK_PAUSE);
    if (onDisks.toMillis() % SHOWN.toMillis() == 0) {
      out.accept(
          "waiting for the disks of " + unsaved + ", for " + onDisks.toSeconds() + "s so far");
    }
    return Optional.of(DISK_PAUSE);
  }

  /** Returns the mark that the master shows then. */
  private String write(Step.Write write, int master, Refresh refresh) {
    tries.merge(master, 1, Integer::sum);
    write.carries().forEach(from -> masters.carry(from, master, out));
    String birth = masters.write(master, refresh).birth();
    if (write.isDone(master, birth)) {
      written.put(master, birth);
      if (!write.told().isEmpty()) {
        out.accept(audits.get(master).name() + write.told());
      }
    }
    return birth;
  }

  // What it says at the end.

  /** Returns the message of its end; empty if it has not ended. */
  Optional<String> said() {
    return end instanceof Step.Refuse refuse
        ? refuse.reasons().entrySet().stream()
            .map(
                each ->
                    (each.getKey() < 0 ? "" : audits.get(each.getKey()).name() + ": ")
                        + each.getValue())
            .findFirst()
        : end instanceof Step.Done done ? Optional.of(done.message()) : Optional.empty();
  }

  /** Returns the outcome of a founding for each master. */
  AdoptReport report() {
    return new AdoptReport(audits.stream().map(this::entry).toList());
  }

  private AdoptReport.Node entry(Audited master) {
    int index = master.index();
    if (end instanceof Step.Done) {
      boolean isMember = master.around() != null && master.around().advice() instanceof Advice.Keep;
      return new AdoptReport.Node(
          master.name(),
          written.containsKey(index) ? Outcome.ADOPTED : Outcome.ALREADY_FOUNDED,
          isMember ? "" : "a client marks it when it answers");
    }
    if (end instanceof Step.Refuse refuse && refuse.reasons().containsKey(index)) {
      boolean isSilent = master.audit() == null || index == unanswered;
      Outcome why = isSilent ? Outcome.UNREACHABLE : Outcome.REFUSED;
      return new AdoptReport.Node(
          master.name(), refuse.isOther() ? Outcome.OTHER_LIST : why, refuse.reasons().get(index));
    }
    String goesOn =
        written.isEmpty() ? "all masters are adopted, or none" : "run it again, and it goes on";
    return new AdoptReport.Node(
        master.name(),
        Outcome.LEFT_ALONE,
        end == null ? "interrupted: run it again, and it goes on" : goesOn);
  }
}
