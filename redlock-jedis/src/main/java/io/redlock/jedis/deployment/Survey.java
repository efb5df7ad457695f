package io.redlock.jedis.deployment;

import io.redlock.jedis.connection.ConnectingThread;
import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.Membership.Node;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;

/**
 * Questions to all masters in parallel, without a lock service: audits, and others.
 *
 * @param masters the masters, in the order of the configuration
 * @param quorum those that are enough for a lease
 * @param settings the silence timeout is the time to connect to one address
 * @param rules the settings under which the masters are judged
 * @param others opens masters that are in no list, by name
 */
public record Survey(
    List<NodePool> masters,
    Quorum quorum,
    LaneSettings settings,
    TrustRules rules,
    Function<String, NodePool> others)
    implements AutoCloseable {

  /**
   * Several, as DNS has no timeout, and each address of a name may take the whole timeout to
   * connect.
   */
  private static final int TIMEOUTS = 5;

  /** The longest time for a question to one master, beyond that to connect. */
  private static final Duration LONGEST_ONE = Duration.ofMinutes(1);

  private static final Ticker CLOCKS = Ticker.system();

  /** Enough to meet each of a few servers that answer in turn. */
  private static final int CONNECTIONS = 5;

  /** Enough to meet one again if any of them answers. */
  private static final int MOST_CONNECTIONS = 16;

  /**
   * The answer of one master.
   *
   * @param master its name
   * @param value null if there is none
   * @param failure the reason if there is none; null otherwise
   */
  public record Answer<T>(String master, @Nullable T value, @Nullable NodeReply failure) {

    /** Returns the reason why there is no answer; empty if there is one. */
    public String failureText() {
      return failure == null ? "" : failure.detail();
    }
  }

  /** An audit, and the times before it was asked for and after it was answered. */
  record Timed(NodeAudit audit, long beforeNanos, long afterNanos) {}

  /** Closes the pools that were opened for it. */
  @Override
  public void close() {
    masters.stream().filter(NodePool::isOwn).forEach(each -> each.pool().close());
  }

  List<String> names() {
    return masters.stream().map(NodePool::name).toList();
  }

  // Questions.

  /** Returns the answer of one master. An interrupt stays set and ends the wait. */
  <T> Answer<T> askOne(int index, Function<Connection, T> question) {
    return ask(List.of(masters.get(index)), question, LONGEST_ONE).get(0);
  }

  /**
   * Returns the answers of some masters, in their order. An interrupt stays set and ends the wait.
   *
   * @param question throws if there is no answer
   * @param longest the longest time for the answer itself, beyond that to connect
   */
  public <T> List<Answer<T>> ask(
      List<NodePool> some, Function<Connection, T> question, Duration longest) {
    List<Asked<T>> pending = some.stream().map(each -> start(each, question)).toList();
    long startNanos = System.nanoTime();
    long patienceNanos = settings.silenceTimeoutNanos() * TIMEOUTS + longest.toNanos();
    return pending.stream()
        .map(each -> each.await(patienceNanos - (System.nanoTime() - startNanos)))
        .toList();
  }

  private static <T> Asked<T> start(NodePool master, Function<Connection, T> question) {
    CompletableFuture<Answer<T>> answer = new CompletableFuture<>();
    Runnable task = () -> answer.completeAsync(() -> ask(master, question), Runnable::run);
    ConnectingThread thread = new ConnectingThread(task, "redlock-probe-" + master.name());
    thread.start();
    return new Asked<>(master.name(), thread, answer);
  }

  private static <T> Answer<T> ask(NodePool master, Function<Connection, T> question) {
    Connection connection = null;
    try {
      if (master.isOwn()) {
        master.pool().clear(); // a server may have closed a connection that rested
      }
      connection = master.lease();
      Answer<T> answer = new Answer<>(master.name(), question.apply(connection), null);
      connection.close();
      return answer;
    } catch (RuntimeException e) {
      if (connection != null) {
        master.discard(connection, e);
      }
      return new Answer<>(master.name(), null, ReplyMapper.connectFailure(e));
    }
  }

  /** A question under way, on its own thread. */
  private record Asked<T>(
      String master, ConnectingThread thread, CompletableFuture<Answer<T>> answer) {

    /** Waits for the answer; without one, ends the connection. */
    Answer<T> await(long nanos) {
      String why = "no answer in time";
      try {
        TimeUnit.NANOSECONDS.timedJoin(thread, nanos);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        why = "interrupted";
      }
      if (!answer.isDone()) {
        thread.giveUpAfter(0);
      }
      return answer.getNow(new Answer<>(master, null, NodeReply.unreachable(why)));
    }
  }

  // Audits, which write nothing.

  /** Returns the results, in the order of the masters. */
  List<Audited> audit() {
    return judge(quorum, rules, ask(masters, Survey::audit, Duration.ZERO), CLOCKS);
  }

  /** Audits masters that are in no list. */
  List<Audited> auditOthers(Collection<String> names) {
    List<NodePool> opened = names.stream().map(others).toList();
    Quorum all = Quorum.of(opened.size());
    try (Survey survey = new Survey(opened, all, settings, rules, others)) {
      return survey.audit();
    }
  }

  /**
   * Returns the same after several audits of each master, each over a connection of its own: other
   * servers may answer at its address in turn.
   */
  public List<Audited> auditRepeatedly() {
    return audit().stream().map(each -> alternation(each).map(each::refused).orElse(each)).toList();
  }

  /** Returns that a server came back which another one had replaced: a process never does. */
  private Optional<String> alternation(Audited first) {
    NodeAudit audit = first.audit();
    Set<String> processes = new HashSet<>();
    String last = "";
    for (int i = 1; audit != null && i <= MOST_CONNECTIONS; i++) {
      boolean isOther = !audit.runId().equals(last);
      if (isOther && !processes.add(audit.runId())) {
        return Optional.of(Verdict.alternating(audit.runId(), last));
      }
      last = audit.runId();
      boolean isEnough = i >= CONNECTIONS && processes.size() == 1;
      audit = isEnough ? null : askOne(first.index(), Survey::audited).value();
    }
    return Optional.empty();
  }

  /** Returns what the answers mean, in the order of the masters. */
  static List<Audited> judge(
      Quorum quorum, TrustRules rules, List<Answer<Timed>> answers, Ticker clocks) {
    Peers peers = new Peers(answers.stream().map(Answer::master).toList(), quorum);
    List<Audited> audits = new ArrayList<>();
    for (int round = 0; round < 2; round++) { // so that the last count for the first verdicts
      audits.clear();
      for (Answer<Timed> answer : answers) {
        Timed timed = answer.value();
        NodeAudit audit = timed == null ? null : timed.audit;
        Node node = Node.of(audits.size(), answer.master, audit);
        Surroundings around =
            timed == null
                ? null
                : peers.hear(node, timed.beforeNanos, timed.afterNanos, clocks, rules);
        Verdict verdict = around == null ? null : rules.judge(node, around);
        audits.add(new Audited(node, around, verdict, answer.failure()));
      }
    }
    return audits;
  }

  private static Timed audit(Connection connection) {
    audited(connection); // loads the script, so that the second one is fast
    long beforeNanos = CLOCKS.monotonicNanos();
    NodeAudit audit = AuditCall.over(connection, AuditCall.invocation(1, null));
    return new Timed(audit, beforeNanos, CLOCKS.monotonicNanos());
  }

  private static NodeAudit audited(Connection connection) {
    return AuditCall.over(connection, AuditCall.invocation(0, null));
  }
}
