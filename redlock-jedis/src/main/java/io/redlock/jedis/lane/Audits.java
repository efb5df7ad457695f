package io.redlock.jedis.lane;

import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * The audits of a node: when the next is due, what it writes, and what the last answer means. A
 * part of the {@link LaneMachine}, and guarded like it.
 *
 * <p>Audits do not wait in the queue, so nothing that happens to requests affects them.
 */
final class Audits {

  /** The kind of an answer to an audit. */
  enum Answer {
    /** It led to a new verdict. */
    VERDICT,
    /** An error that passes by itself. */
    TRANSIENT_ERROR,
    /** It does not answer this audit. */
    FOREIGN
  }

  private final NodeTrust trust;
  private final NodeClock clock;
  private final Ticker ticker; // for the verdict only
  private final Consumer<String> resets;
  private final long periodNanos;

  private long number;
  private boolean underWay;
  private boolean failed; // for an unknown reason, and not since
  private long dueNanos;
  private @Nullable Refresh refresh; // goes with each audit until one has its facts
  private long sentNanos; // the last that succeeded
  private long succeededNanos; // or later, by the pauses of this process
  private Verdict verdict = Verdict.refused("not audited");
  private List<Argument> guard = ScriptCommand.NO_GUARD;

  /**
   * @param resets takes the reason when the node may have lost earlier grants
   * @param periodNanos the time between two audits
   */
  Audits(
      NodeTrust trust, NodeClock clock, Ticker ticker, Consumer<String> resets, long periodNanos) {
    this.trust = trust;
    this.clock = clock;
    this.ticker = ticker;
    this.resets = resets;
    this.periodNanos = periodNanos;
  }

  /** Returns the verdict of the last audit that succeeded. */
  Verdict verdict() {
    return verdict;
  }

  /** Returns true if the last verdict lets the node vote. */
  boolean isFavorable() {
    return verdict.stand() == Verdict.Stand.VOTES;
  }

  /** Returns the guard of this node: {@link ScriptCommand}. */
  List<Argument> guard() {
    return guard;
  }

  Call call(@Nullable Refresh due) {
    refresh = due;
    return new Call(AuditCall.invocation(number++, due), 0, null);
  }

  /** Returns the audit to send now; null if none is due. {@link #sent} follows. */
  @Nullable Call due(long nowNanos) {
    return !underWay && nowNanos - dueNanos >= 0 ? call(refresh) : null;
  }

  /** Returns true while an audit is unanswered. */
  boolean isUnderWay() {
    return underWay;
  }

  /** Takes note that the audit that was due is sent. */
  void sent(long nowNanos) {
    underWay = true;
    dueNanos = nowNanos + periodNanos;
  }

  void hasten(long nowNanos) {
    dueNanos = nowNanos;
  }

  long dueNanos() {
    return dueNanos;
  }

  /** Returns when the last success becomes too old, if that is before the next audit is due. */
  long dueOrStaleNanos(long nowNanos) {
    long staleNanos = succeededNanos + NodeAudit.FRESH_NANOS + 1;
    return staleNanos - nowNanos > 0 ? LaneTicks.earlier(staleNanos, dueNanos) : dueNanos;
  }

  boolean isStale(long nowNanos) {
    return nowNanos - succeededNanos > NodeAudit.FRESH_NANOS;
  }

  /** Lets the last success count for longer: this process was paused until now. */
  void paused(long nanos, long nowNanos) {
    succeededNanos = LaneTicks.later(succeededNanos, nanos, nowNanos);
  }

  /** Takes an answer to an audit. */
  Answer answered(Call audit, @Nullable Object reply, long nowNanos) {
    Verdict made;
    if (reply instanceof JedisDataException error) {
      made = hindered(error);
    } else {
      NodeAudit told = AuditCall.parse(reply, audit.invocation());
      if (told == null) {
        return Answer.FOREIGN;
      }
      clock.learn(told.nodeMicros(), audit.sinceNanos, nowNanos);
      failed = false;
      made = trust.judge(told, audit.sinceNanos, nowNanos, ticker, resets);
      refresh = made.refresh();
    }
    underWay = false;
    if (made == null) {
      return Answer.TRANSIENT_ERROR;
    }
    verdict = made;
    guard = List.of(Argument.of(made.birth()), Argument.of(trust.served()));
    sentNanos = audit.sinceNanos;
    succeededNanos = nowNanos;
    return Answer.VERDICT;
  }

  /** Returns the verdict that an error means; null if it passes by itself, or may for once. */
  private @Nullable Verdict hindered(JedisDataException error) {
    NodeReply reply = ReplyMapper.error(error);
    return switch (reply.kind()) {
      case MISCONFIGURED, DENIED -> Verdict.refused(reply.detail());
      case OUT_OF_MEMORY ->
          Verdict.abstains(-1, "its birth mark cannot be written: " + reply.detail(), null);
      case UNKNOWN -> {
        boolean isRepeated = failed;
        failed = true;
        yield isRepeated ? Verdict.refused(ReplyMapper.repeated(reply.detail())) : null;
      }
      default -> null;
    };
  }

  /**
   * Plans the next audit: one period after the last, or earlier if a mark is to be written or an
   * abstention ends.
   */
  void plan(long nowNanos) {
    dueNanos = sentNanos + periodNanos;
    long remainingNanos = TimeUnit.MILLISECONDS.toNanos(verdict.remainingMillis());
    if (verdict.refresh() != null) {
      dueNanos = nowNanos;
    } else if (verdict.stand() == Verdict.Stand.ABSTAINS
        && remainingNanos >= 0
        && remainingNanos < periodNanos) {
      dueNanos = nowNanos + remainingNanos;
    }
  }

  /** Takes note that the connection is given up. */
  void left() {
    underWay = false;
    refresh = null;
    trust.left();
  }
}
