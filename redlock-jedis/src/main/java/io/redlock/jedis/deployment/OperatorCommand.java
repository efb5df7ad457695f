package io.redlock.jedis.deployment;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.AdoptReport.Outcome;
import io.redlock.jedis.deployment.ChangedMasters.NoAnswer;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.Membership;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.membership.Operation.Step;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A run of an operator's command, whose steps its {@link Operation} decides. */
final class OperatorCommand {

  private static final Duration DISK_PAUSE = Duration.ofMillis(500);

  /** A command writes a master three times at most, if nobody else does, and it answers in time. */
  private static final int MOST_WRITES = 10;

  private final Operation operation;
  private final ChangedMasters masters;
  private final Duration settle;
  private final Consumer<String> out;

  private final Map<Integer, Integer> writes = new TreeMap<>(); // how often, by the master
  private final Map<Integer, String> written = new TreeMap<>();
  private final Map<Question, Map<Integer, String>> answers = new EnumMap<>(Question.class);
  private final Map<String, Membership.Node> beside = new TreeMap<>();
  private List<Audited> audits = List.of();
  private Progress progress = Progress.NONE;
  private @Nullable Step end;
  private int unanswered = -1; // the master whose silence was the end

  /**
   * @param settle the time after a write, in which clients audit the master again
   * @param out takes a line of what it does
   */
  OperatorCommand(
      Operation operation, ChangedMasters masters, Duration settle, Consumer<String> out) {
    this.operation = operation;
    this.masters = masters;
    this.settle = settle;
    this.out = out;
  }

  /** Runs the command to its end. An interrupt ends it early and stays set. */
  void run() {
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
  }

  boolean hasSucceeded() {
    return end instanceof Step.Done;
  }

  /** Performs the next step. Returns the pause before the one after it; empty at the end. */
  Optional<Duration> step() {
    audits = masters.audit();
    Step step = operation.next(audits, new Known(progress, written, answers, beside));
    try {
      return perform(step);
    } catch (NoAnswer silent) {
      unanswered = silent.master;
      return stop(silent.master, silent.getMessage() + ": run the command again");
    }
  }

  private Optional<Duration> stop(int master, String reason) {
    end = Step.refuse(master, reason);
    return Optional.empty();
  }

  private Optional<Duration> perform(Step step) {
    if (step instanceof Step.Wait wait) {
      out.accept(
          "waiting for "
              + wait.time().plusMillis(999).toSeconds()
              + "s, until every lease "
              + wait.until()
              + " has ended");
      progress = progress.waited(wait);
      return Optional.of(wait.time());
    } else if (step instanceof Step.Save save) {
      NodeAudit audit = Objects.requireNonNull(audits.get(save.master()).audit());
      if (!masters.isOnDisk(save.master(), audit, out)) {
        return Optional.of(DISK_PAUSE);
      }
      progress = progress.saved(save.master(), audit.birth());
    } else if (step instanceof Step.Write write) {
      answers.remove(Question.KEY);
      for (int master : write.marks().keySet()) {
        if (writes.merge(master, 1, Integer::sum) > MOST_WRITES) {
          return stop(
              master,
              "its mark is changed again and again, or it answers too slowly: run the command"
                  + " again");
        }
        write(write, master);
      }
      return Optional.of(settle);
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

  private void write(Step.Write write, int master) {
    write.carries().forEach(from -> masters.carry(from, master, out));
    Refresh refresh = Objects.requireNonNull(write.marks().get(master));
    String birth = masters.write(master, refresh).birth();
    BirthMark mark = BirthMark.parse(birth);
    // Else too much time has passed since it was read, or somebody else wrote: it is read again.
    boolean isWritten = mark != null && mark.dated(0).equals(refresh.mark().dated(0));
    progress = progress.wrote(write, master, isWritten ? birth : null);
    if (isWritten) {
      written.put(master, birth);
      if (!write.told().isEmpty()) {
        out.accept(audits.get(master).name() + write.told());
      }
    }
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
    if (end instanceof Step.Done done) {
      boolean isMember = (done.members() & 1 << index) != 0;
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
    boolean isUntouched = end != null && written.isEmpty();
    String goesOn = "run it again, and it goes on";
    return new AdoptReport.Node(
        master.name(),
        Outcome.LEFT_ALONE,
        isUntouched
            ? "all masters are adopted, or none"
            : end == null ? "interrupted: " + goesOn : goesOn);
  }
}
