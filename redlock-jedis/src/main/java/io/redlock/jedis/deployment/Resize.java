package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.ChangedMasters.NoAnswer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.MasterChange;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.jedis.trust.MasterChange.Master;
import io.redlock.jedis.trust.MasterChange.Role;
import io.redlock.jedis.trust.MasterChange.Step;
import io.redlock.jedis.trust.Membership;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Served;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;

/**
 * A command of a change of masters. It reads all masters, performs the next step that {@link
 * MasterChange} decides, and begins again until nothing is left to do.
 */
final class Resize {

  private static final String NO_CHANGE = "no change of these masters is under way";

  private final Command command;
  private final ChangedMasters masters;
  private final Quorum quorum;
  private final TrustRules rules;
  private final Set<String> without;
  private final Duration settle;
  private final PrintStream out;

  private boolean waited;
  private boolean hasWritten;
  private boolean succeeded;

  /** The counters of the present masters that are so new that future masters need them. */
  private @Nullable Map<String, Long> counters;

  /** Stops a command, with the reason. */
  private static final class Stopped extends RuntimeException {
    private static final long serialVersionUID = 1;

    Stopped(String reason) {
      super(reason, null, false, false);
    }
  }

  /**
   * @param without the masters that are gone for good
   * @param settle the time between two masters, in which clients audit the first again
   */
  Resize(
      Command command,
      ChangedMasters masters,
      Quorum quorum,
      TrustRules rules,
      Set<String> without,
      Duration settle,
      PrintStream out) {
    this.command = command;
    this.masters = masters;
    this.quorum = quorum;
    this.rules = rules;
    this.without = without;
    this.settle = settle;
    this.out = out;
  }

  /** Runs the command to its end; returns true if nothing is left to do. */
  boolean run() throws InterruptedException {
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
  boolean hasSucceeded() {
    return succeeded;
  }

  /** Performs the next step. Returns the pause before the one after it; empty at the end. */
  Optional<Duration> step() {
    try {
      requireMajorities();
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

  private Optional<Duration> next(List<Found> found) {
    @Nullable MasterChange change = change(found);
    if (change == null) {
      return succeed(command == Command.FINISH || hasWritten ? done() : NO_CHANGE);
    }
    Step step = change.next(command, found.stream().map(Found::master).toList(), waited);
    if (step instanceof Step.Refuse refuse) {
      String who = refuse.master() < 0 ? "" : found.get(refuse.master()).name + ": ";
      throw new Stopped(who + refuse.reason());
    } else if (step instanceof Step.Wait) {
      waited = true;
      return Optional.of(lastLease(found));
    } else if (step instanceof Step.Write write) {
      perform(write, found);
      waited &= write.carries();
      hasWritten = true;
      return Optional.of(settle);
    }
    return succeed(done());
  }

  private Optional<Duration> succeed(String message) {
    out.println(message);
    succeeded = true;
    return Optional.empty();
  }

  /** A master that was read. */
  private record Found(
      int index, String name, NodeAudit audit, @Nullable BirthMark mark, Role role) {

    Master master() {
      return new Master(role, mark == null ? null : mark.serves());
    }
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
      throw new Stopped("too many masters are gone: " + quorum + " are needed");
    }
  }

  private List<Found> read() {
    List<Found> all = new ArrayList<>();
    List<Audited> audits = masters.audit();
    for (int index = 0; index < audits.size(); index++) {
      Audited audited = audits.get(index);
      if (without.contains(audited.name())) {
        continue;
      }
      NodeAudit audit = audited.audit();
      if (audit == null || audited.around() == null) {
        throw new Stopped(
            audited.name()
                + ": "
                + audited.failure()
                + ": run the command again when it is back, or, if it is gone for good, with"
                + " --without "
                + audited.name());
      }
      String fault = rules.misconfiguration(audit, audited.around());
      BirthMark parsed = BirthMark.parse(audit.birth());
      if (fault == null && parsed == null && !audit.birth().isEmpty()) {
        fault = BirthMark.UNREADABLE;
      }
      BirthMark mark = parsed == null || !parsed.isOf(audit) ? null : parsed;
      if (fault == null && mark != null && !mark.guarded()) {
        fault = "its clients run with restartGuard(false): a change of masters needs the guard";
      }
      if (fault != null) {
        throw new Stopped(audited.name() + ": " + fault);
      }
      all.add(new Found(index, audited.name(), audit, mark, Role.of(index, quorum)));
    }
    return all;
  }

  // The name of the change.

  /** Returns the change under way, or a new one to prepare; null if nothing is left to do. */
  private @Nullable MasterChange change(List<Found> found) {
    Membership joint = rules.membership();
    Set<String> ids = new TreeSet<>();
    for (Found each : found) {
      if (each.mark != null) {
        each.mark.serves().change(joint).ifPresent(ids::add);
      }
    }
    if (ids.size() > 1) {
      throw new Stopped("several changes of masters are under way: " + ids);
    }
    String name = hash();
    for (String id : ids) {
      if (!id.startsWith(name)) {
        throw new Stopped(
            "another change of "
                + joint.masters()
                + " to "
                + joint.future()
                + " masters is under way: name the masters as in its first command, or abort it");
      }
      return new MasterChange(joint.masters(), joint.future(), id);
    }
    MasterChange fresh =
        new MasterChange(joint.masters(), joint.future(), name + Integer.toHexString(random()));
    if (command == Command.PREPARE) {
      return fresh;
    }
    if (command == Command.COMMIT) {
      throw new Stopped("no change is prepared: run redlock resize prepare first");
    }
    if (command == Command.FINISH) {
      List<Master> all = found.stream().map(Found::master).toList();
      Step step = fresh.next(command, all, false);
      if (step instanceof Step.Refuse refuse) {
        throw new Stopped(refuse.reason());
      }
    }
    return null;
  }

  private static int random() {
    return new SecureRandom().nextInt(1 << 16, 1 << 24);
  }

  /** Returns digits that tell this change from one to other masters. */
  private String hash() {
    CRC32 sum = new CRC32();
    for (int group : new int[] {quorum.present(), quorum.future()}) {
      Set<String> names = new TreeSet<>();
      for (int index = 0; index < masters.names().size(); index++) {
        if ((group & 1 << index) != 0) {
          names.add(masters.names().get(index));
        }
      }
      sum.update(names.toString().getBytes(StandardCharsets.UTF_8));
    }
    return String.format("%08x", sum.getValue());
  }

  // Steps.

  private void perform(Step.Write write, List<Found> found) {
    Found target = found.get(write.master());
    BirthMark mark = target.mark;
    if (mark == null) {
      mark =
          new BirthMark(
              target.audit.runId(),
              target.audit.replId(),
              BirthMark.NOW,
              isNew(target, found),
              longestMillis(found),
              write.serves(),
              true);
    }
    if (write.carries()) {
      carry(target, found);
    }
    Refresh refresh = new Refresh(target.audit.birth(), mark.serving(write.serves()));
    BirthMark after = BirthMark.parse(masters.write(target.index, refresh).birth());
    Served serves = after == null ? Served.NOBODY : after.serves();
    if (!serves.equals(write.serves())) {
      throw new Stopped(
          target.name + ": its birth mark was changed meanwhile: run the command again");
    }
    out.println(target.name + " serves " + serves);
  }

  /**
   * Returns true if a master without a mark is brand-new, so that it need not abstain: no client
   * can have used it.
   */
  private boolean isNew(Found target, List<Found> found) {
    boolean isUsed =
        found.stream()
            .anyMatch(
                each ->
                    each.role != Role.JOINING
                        && each.mark != null
                        && each.mark.serves().change(rules.membership()).isPresent());
    if (command != Command.PREPARE || target.role != Role.JOINING || isUsed) {
      return false;
    }
    String key = masters.lockKey(target.index);
    if (!target.audit.birth().isEmpty() || !key.isEmpty()) {
      throw new Stopped(
          target.name
              + ": it is not new: "
              + (key.isEmpty()
                  ? "it lost its data"
                  : "it holds lock keys, for example " + Brief.text(key))
              + ": empty it, or wait until its locks have expired");
    }
    return true;
  }

  private long longestMillis(List<Found> found) {
    long longest = rules.abstentionMillis();
    for (Found each : found) {
      if (each.mark != null) {
        longest = Math.max(longest, each.mark.abstentionMillis());
      }
    }
    return longest;
  }

  private Duration lastLease(List<Found> found) {
    Duration longest = Duration.ofMillis(longestMillis(found));
    out.println(
        "waiting for "
            + longest.toSeconds()
            + "s, until every lease of a client that does not move has ended");
    return longest;
  }

  // Counters.

  /** Raises the counters of a future master to those that present masters have set lately. */
  private void carry(Found target, List<Found> found) {
    Map<String, Long> lately = counters;
    if (lately == null) {
      lately = new TreeMap<>();
      for (Found each : found) {
        if (each.role != Role.JOINING) {
          long sinceMicros =
              each.audit.nodeMicros() - longestMillis(found) * 1_000 - 2 * rules.skewMicros();
          Map<String, Long> its = masters.counters(each.index, sinceMicros);
          for (Map.Entry<String, Long> fence : its.entrySet()) {
            lately.merge(fence.getKey(), fence.getValue(), Math::max);
          }
        }
      }
      counters = lately;
    }
    masters.raise(target.index, lately);
  }

  private String done() {
    return switch (command) {
      case PREPARE ->
          "prepared: now run every client with movingTo, one after the other; then run redlock"
              + " resize commit";
      case COMMIT ->
          "committed: now run every client with the "
              + rules.membership().future()
              + " future masters as its nodes, and without movingTo; then run redlock resize"
              + " finish";
      case FINISH -> "finished: masters that have left can be shut down";
      case ABORT -> "aborted: run the clients without movingTo";
    };
  }
}
