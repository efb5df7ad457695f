package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.Probe.Answer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Guard;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.RequestEncoder;
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
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;

/**
 * A command of a change of masters. It reads all masters, performs the next step that {@link
 * MasterChange} decides, and begins again until nothing is left to do.
 */
final class Resize {

  private static final String FENCES = RequestEncoder.FENCE_PREFIX + "*";
  private static final String OWNER = "redlock-resize";
  private static final int BATCH = 500;
  private static final String NO_CHANGE = "no change of these masters is under way";

  private final Probe probe;
  private final Survey survey;
  private final Quorum quorum;
  private final TrustRules rules;
  private final RequestEncoder encoder;
  private final String keyPrefix;
  private final Set<String> without;
  private final Duration settle;
  private final PrintStream out;

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
      Probe probe,
      Survey survey,
      Quorum quorum,
      TrustRules rules,
      RequestEncoder encoder,
      String keyPrefix,
      Set<String> without,
      Duration settle,
      PrintStream out) {
    this.probe = probe;
    this.survey = survey;
    this.quorum = quorum;
    this.rules = rules;
    this.encoder = encoder;
    this.keyPrefix = keyPrefix;
    this.without = without;
    this.settle = settle;
    this.out = out;
  }

  /** Runs a command; returns true if nothing is left to do. */
  boolean run(Command command) throws InterruptedException {
    try {
      requireMajorities();
      boolean waited = false;
      boolean hasWritten = false;
      while (true) {
        List<Found> found = read();
        @Nullable MasterChange change = change(command, found);
        if (change == null) {
          out.println(command == Command.FINISH || hasWritten ? done(command) : NO_CHANGE);
          return true;
        }
        Step step = change.next(command, found.stream().map(Found::master).toList(), waited);
        if (step instanceof Step.Done) {
          out.println(done(command));
          return true;
        } else if (step instanceof Step.Refuse refuse) {
          String who = refuse.master() < 0 ? "" : found.get(refuse.master()).name + ": ";
          throw new Stopped(who + refuse.reason());
        } else if (step instanceof Step.Wait) {
          await(found);
          waited = true;
        } else if (step instanceof Step.Write write) {
          perform(command, write, found);
          waited &= write.carries();
          hasWritten = true;
        }
      }
    } catch (Stopped stopped) {
      out.println(stopped.getMessage());
      return false;
    }
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
    for (int index = 0; index < probe.masters().size(); index++) {
      String name = probe.masters().get(index).name();
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
    List<Audited> audits = survey.audit();
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
  private @Nullable MasterChange change(Command command, List<Found> found) {
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
    String masters = hash();
    for (String id : ids) {
      if (!id.startsWith(masters)) {
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
        new MasterChange(joint.masters(), joint.future(), masters + Integer.toHexString(random()));
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
      for (int index = 0; index < probe.masters().size(); index++) {
        if ((group & 1 << index) != 0) {
          names.add(probe.masters().get(index).name());
        }
      }
      sum.update(names.toString().getBytes(StandardCharsets.UTF_8));
    }
    return String.format("%08x", sum.getValue());
  }

  // Steps.

  private void perform(Command command, Step.Write write, List<Found> found)
      throws InterruptedException {
    Found target = found.get(write.master());
    BirthMark mark = target.mark;
    if (mark == null) {
      mark =
          new BirthMark(
              target.audit.runId(),
              target.audit.replId(),
              BirthMark.NOW,
              isNew(command, target, found),
              longestMillis(found),
              write.serves(),
              true);
    }
    if (write.carries()) {
      carry(target, found);
    }
    Refresh refresh = new Refresh(target.audit.birth(), mark.serving(write.serves()));
    Served serves = ask(target, connection -> written(connection, refresh));
    if (!serves.equals(write.serves())) {
      throw new Stopped(
          target.name + ": its birth mark was changed meanwhile: run the command again");
    }
    out.println(target.name + " serves " + serves);
    TimeUnit.NANOSECONDS.sleep(settle.toNanos());
  }

  private static Served written(Connection connection, Refresh refresh) {
    NodeAudit after = AuditCall.over(connection, AuditCall.invocation(1, refresh));
    BirthMark mark = BirthMark.parse(after.birth());
    return mark == null ? Served.NOBODY : mark.serves();
  }

  /**
   * Returns true if a master without a mark is brand-new, so that it need not abstain: no client
   * can have used it.
   */
  private boolean isNew(Command command, Found target, List<Found> found) {
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
    String key = ask(target, connection -> LockKeys.any(connection, keyPrefix));
    if (!target.audit.birth().isEmpty() || !key.isEmpty()) {
      throw new Stopped(
          target.name
              + ": it is not new: "
              + (key.isEmpty() ? "it lost its data" : "it holds lock keys, for example " + key)
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

  private void await(List<Found> found) throws InterruptedException {
    long nanos = TimeUnit.MILLISECONDS.toNanos(longestMillis(found));
    long startNanos = System.nanoTime();
    out.println(
        "waiting for "
            + TimeUnit.NANOSECONDS.toSeconds(nanos)
            + "s, until every lease of a client that does not move has ended");
    while (System.nanoTime() - startNanos < nanos) {
      TimeUnit.NANOSECONDS.sleep(nanos - (System.nanoTime() - startNanos));
    }
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
          Map<String, Long> its = ask(each, connection -> fences(connection, sinceMicros));
          for (Map.Entry<String, Long> fence : its.entrySet()) {
            lately.merge(fence.getKey(), fence.getValue(), Math::max);
          }
        }
      }
      counters = lately;
    }
    List<Map.Entry<String, Long>> all = List.copyOf(lately.entrySet());
    for (int from = 0; from < all.size(); from += BATCH) {
      List<Map.Entry<String, Long>> batch = all.subList(from, Math.min(all.size(), from + BATCH));
      ask(target, connection -> raise(connection, batch));
    }
  }

  private boolean raise(Connection connection, List<Map.Entry<String, Long>> fences) {
    for (Map.Entry<String, Long> fence : fences) {
      Invocation release =
          encoder.encode(
              new NodeRequest.Release(
                  List.of(fence.getKey()), OWNER, fence.getValue(), fence.getValue(), false, null));
      connection.sendCommand(release.byText(Guard.NONE));
    }
    connection.getMany(fences.size()).stream()
        .filter(RuntimeException.class::isInstance)
        .map(RuntimeException.class::cast)
        .forEach(
            failure -> {
              throw failure;
            });
    return true;
  }

  /** Returns the counters above that time, by the names of their resources. */
  private static Map<String, Long> fences(Connection connection, long sinceMicros) {
    Map<String, Long> found = new TreeMap<>();
    LockKeys.scan(
        connection,
        FENCES,
        keys -> {
          CommandArguments get = new CommandArguments(Protocol.Command.MGET);
          keys.forEach(get::add);
          List<?> values = keys.isEmpty() ? List.of() : (List<?>) connection.executeCommand(get);
          for (int i = 0; i < values.size(); i++) {
            if (values.get(i) instanceof byte[] value) {
              long counter = Long.parseLong(new String(value, StandardCharsets.UTF_8));
              if (counter > sinceMicros) {
                found.put(keys.get(i).substring(RequestEncoder.FENCE_PREFIX.length()), counter);
              }
            }
          }
          return true;
        });
    return found;
  }

  private interface Question<T> {
    T ask(Connection connection);
  }

  private <T> T ask(Found master, Question<T> question) {
    Answer<T> answer = probe.askOne(master.index, (index, connection) -> question.ask(connection));
    T value = answer.value();
    if (value == null) {
      throw new Stopped(master.name + ": " + answer.failureText() + ": run the command again");
    }
    return value;
  }

  private String done(Command command) {
    return switch (command) {
      case PREPARE ->
          "prepared: now run every client with movingTo, one after the other; then run redlock"
              + " resize commit";
      case COMMIT ->
          "committed: now run every client with the "
              + rules.membership().future()
              + " future masters as its nodes, and without movingTo; then run redlock resize finish";
      case FINISH -> "finished: masters that have left can be shut down";
      case ABORT -> "aborted: run the clients without movingTo";
    };
  }
}
