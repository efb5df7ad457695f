package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.ChangedMasters.NoAnswer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A command that changes what all masters agreed on. It reads all masters, performs the next step,
 * and begins again until nothing is left to do, so it may be interrupted anywhere and repeated.
 */
abstract class OperatorCommand {

  final ChangedMasters masters;
  final Quorum quorum;
  final TrustRules rules;
  final PrintStream out;

  /** What this run has done. */
  Progress progress;

  private static final Duration DISK_PAUSE = Duration.ofMillis(500);

  private final Set<String> without;
  private boolean succeeded;

  /**
   * What a run has done.
   *
   * @param waited true if it has waited, and nothing since that must be waited for
   * @param saved the marks that need not be saved, by the master: they are on disk, or were written
   *     when all were
   */
  record Progress(boolean waited, Map<Integer, String> saved) {
    static final Progress NONE = new Progress(false, Map.of());

    /** Makes the map unmodifiable. */
    Progress {
      saved = Map.copyOf(saved);
    }

    boolean isSaved(int master, NodeAudit audit) {
      return audit.birth().equals(saved.get(master));
    }

    Progress saving(int master, String mark) {
      Map<Integer, String> more = new HashMap<>(saved);
      more.put(master, mark);
      return new Progress(waited, more);
    }

    Progress after(boolean isWaitedFor) {
      return new Progress(waited && isWaitedFor, saved);
    }
  }

  /**
   * A master that was read.
   *
   * @param text the mark that it shows; null if there is none
   */
  record Read(
      int index, String name, NodeAudit audit, Surroundings around, @Nullable BirthMark text) {

    /** Returns its mark; null if it is not that of its data, or of no founded set. */
    @Nullable BirthMark mark() {
      return text != null && text.isOf(audit) && text.isFounded() ? text : null;
    }
  }

  /** Stops a command, with the reason. */
  static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1;

    Stopped(String reason) {
      super(reason, null, false, false);
    }
  }

  /**
   * @param without the masters that are gone for good
   * @param begun what this run has done already
   */
  OperatorCommand(
      ChangedMasters masters,
      Quorum quorum,
      TrustRules rules,
      Set<String> without,
      Progress begun,
      PrintStream out) {
    this.masters = masters;
    this.quorum = quorum;
    this.rules = rules;
    this.without = without;
    this.progress = begun;
    this.out = out;
  }

  /** Runs the command to its end; returns true if nothing is left to do. */
  final boolean run() throws InterruptedException {
    for (Optional<Duration> pause = step(); pause.isPresent(); pause = step()) {
      long nanos = pause.get().toNanos();
      long startNanos = System.nanoTime();
      while (System.nanoTime() - startNanos < nanos) {
        TimeUnit.NANOSECONDS.sleep(nanos - (System.nanoTime() - startNanos));
      }
    }
    return succeeded;
  }

  /** Returns true if the command has ended with nothing left to do. */
  final boolean hasSucceeded() {
    return succeeded;
  }

  /** Performs the next step. Returns the pause before the one after it; empty at the end. */
  final Optional<Duration> step() {
    try {
      return next(read());
    } catch (Stopped stopped) {
      out.println(stopped.getMessage());
    } catch (NoAnswer silent) {
      out.println(
          masters.names().get(silent.master)
              + ": "
              + silent.getMessage()
              + ": run the command again");
    }
    return Optional.empty();
  }

  /** Performs the next step on these masters. */
  abstract Optional<Duration> next(List<Read> read);

  /** Lets a master have what it shows on disk. Returns the pause before the next step. */
  final Duration save(int master, NodeAudit audit) {
    if (masters.isOnDisk(master, audit, out::println)) {
      progress = progress.saving(master, audit.birth());
      return Duration.ZERO;
    }
    return DISK_PAUSE;
  }

  final Optional<Duration> succeed(String message) {
    out.println(message);
    succeeded = true;
    return Optional.empty();
  }

  /** Reads all masters but those that are gone for good. */
  private List<Read> read() {
    requireMajorities();
    List<Read> all = new ArrayList<>();
    List<Audited> audits = masters.audit();
    for (int index = 0; index < audits.size(); index++) {
      Audited audited = audits.get(index);
      NodeAudit audit = audited.audit();
      if (without.contains(audited.name())) {
        if (audit != null) {
          throw new Stopped(
              audited.name() + ": it answers, so it is not gone: leave out --without for it");
        }
        continue;
      }
      Surroundings around = audited.around();
      if (audit == null || around == null) {
        NodeReply failure = audited.failure();
        boolean isThere = failure != null && failure.kind() == NodeReply.Kind.MISCONFIGURED;
        throw new Stopped(
            audited.name()
                + ": "
                + audited.failureText()
                + (isThere
                    ? ": then run the command again"
                    : ": run the command again when it is back" + orGone(index, audited.name())));
      }
      String fault = rules.misconfiguration(audit, around);
      BirthMark text = BirthMark.parse(audit.birth());
      if (fault == null && text == null && !audit.birth().isEmpty()) {
        fault = BirthMark.unreadable(audit.birth());
      }
      if (fault != null) {
        throw new Stopped(audited.name() + ": " + fault);
      }
      all.add(new Read(index, audited.name(), audit, around, text));
    }
    return all;
  }

  /** Returns what else to do about a master that does not answer. */
  String orGone(int index, String name) {
    return ", or, if it is gone for good, with --without " + name;
  }

  private void requireMajorities() {
    Set<String> unknown = new TreeSet<>(without);
    int left = 0;
    List<String> names = masters.names();
    for (int index = 0; index < names.size(); index++) {
      String name = names.get(index);
      unknown.remove(name);
      left |= without.contains(name) ? 0 : 1 << index;
    }
    if (!unknown.isEmpty()) {
      throw new Stopped(unknown + " is none of the masters: name it as in the lists");
    }
    if (!quorum.isReachedBy(left)) {
      // M4
      throw new Stopped("too many masters are gone: " + quorum + " are needed");
    }
  }
}
