package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeTrust;
import io.redlock.jedis.trust.Verdict;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Ticker;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Asks a node what it is: on a new connection before anything else, later by pings. Worker only.
 */
final class Auditor {

  private static final Logger LOG = LoggerFactory.getLogger(NodeLane.LOGGER);
  private static final List<Script> CACHED =
      List.of(Script.GRANT, Script.FAIR_GRANT, Script.EXTEND, Script.RELEASE);

  /** Clients that write the same mark at the same time need no more tries than this. */
  private static final int MAX_RENEWALS = 4;

  private final String node;
  private final NodeTrust trust;
  private final NodeClock clock;
  private final Ticker ticker;
  private final LockNode.Observer observer;

  Auditor(
      String node, NodeTrust trust, NodeClock clock, Ticker ticker, LockNode.Observer observer) {
    this.node = node;
    this.trust = trust;
    this.clock = clock;
    this.ticker = ticker;
    this.observer = observer;
  }

  NodeTrust trust() {
    return trust;
  }

  NodeClock clock() {
    return clock;
  }

  /**
   * Audits over a connection that carries nothing else yet, and writes the birth mark if it is due.
   *
   * @throws JedisException the connection is of no use, or the server serves nobody just now
   */
  Verdict introduce(Connection bare) {
    Verdict verdict = ask(bare, AuditCall.invocation(0, null));
    for (int i = 1; verdict.renewal() != null && i <= MAX_RENEWALS; i++) {
      verdict = ask(bare, AuditCall.invocation(i, verdict.renewal()));
    }
    return verdict;
  }

  private Verdict ask(Connection bare, Invocation invocation) {
    long beforeNanos = ticker.monotonicNanos();
    try {
      NodeAudit audit = AuditCall.over(bare, invocation);
      return judge(audit, beforeNanos, ticker.monotonicNanos());
    } catch (JedisDataException e) {
      Verdict verdict = hindered(e);
      if (verdict == null) {
        throw e;
      }
      return verdict;
    }
  }

  /**
   * Has the scripts cached, so that no request needs a second try. A user who may not do this has
   * them cached by the first EVAL.
   */
  void loadScripts(Connection bare) {
    for (Script script : CACHED) {
      bare.sendCommand(new CommandArguments(Protocol.Command.SCRIPT).add("LOAD").add(script.text));
    }
    bare.getMany(CACHED.size());
  }

  /** What an audit means that was asked for between two readings of the monotonic clock. */
  Verdict judge(NodeAudit audit, long beforeNanos, long afterNanos) {
    clock.learn(audit.nodeMicros(), beforeNanos, afterNanos);
    Verdict verdict = trust.judge(audit, beforeNanos, afterNanos, ticker, observer);
    LOG.debug("node {}: {} {}", node, audit, verdict);
    return verdict;
  }

  /** What an error instead of an audit means; null if it will pass by itself. */
  @Nullable Verdict hindered(JedisDataException error) {
    NodeReply reply = ReplyMapper.error(error);
    return switch (reply.kind()) {
      case MISCONFIGURED -> Verdict.refused(reply.detail());
      case OUT_OF_MEMORY ->
          Verdict.abstains(-1, "its birth mark cannot be written: " + reply.detail(), null);
      default -> null;
    };
  }
}
