package io.redlock.jedis.lane;

import io.redlock.jedis.connection.ConnectingThread;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.Script;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeTrust;
import io.redlock.jedis.trust.Verdict;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeStatus;
import io.redlock.spi.Ticker;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.util.Pool;

/** The thread of a lane: makes its connections, reads their replies, and closes them. */
final class LaneWorker implements Runnable {

  private static final Logger LOG = LoggerFactory.getLogger(NodeLane.LOGGER);
  private static final long FIRST_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long LONGEST_BACKOFF_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final NodeLane lane;
  private final Pool<Connection> pool;
  private final boolean ownsPool;
  private final LaneHealth health;
  private final Auditor auditor;
  private final LaneWatch watch;
  private final WakeListener wakes;
  private final LaneSettings settings;
  private final Ticker ticker;
  private final Thread thread;
  private final CountDownLatch firstAttempt = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);

  /** The last call of all; its answer ends the worker. */
  private volatile @Nullable Call farewell;

  LaneWorker(
      NodeLane lane,
      Pool<Connection> pool,
      boolean ownsPool,
      LaneHealth health,
      Auditor auditor,
      LaneWatch watch,
      WakeListener wakes,
      LaneSettings settings,
      Ticker ticker) {
    this.lane = lane;
    this.pool = pool;
    this.ownsPool = ownsPool;
    this.health = health;
    this.auditor = auditor;
    this.watch = watch;
    this.wakes = wakes;
    this.settings = settings;
    this.ticker = ticker;
    this.thread = new ConnectingThread(this, "redlock-lane-" + lane.name());
  }

  void start() {
    thread.start();
  }

  boolean awaitFirstAttempt(long nanos) throws InterruptedException {
    return firstAttempt.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Lets the worker end once everything queued before the call returned has been answered. */
  Call farewell() {
    Call last = new Call(AuditCall.invocation(0, null), 0, null, ticker.monotonicNanos());
    farewell = last;
    LockSupport.unpark(thread);
    auditor.trust().wake();
    return last;
  }

  /** False if the worker had not ended in time. An interrupt ends the wait. */
  boolean awaitEnd(long nanos) {
    try {
      return ended.await(nanos, TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return ended.getCount() == 0;
    }
  }

  @Override
  public void run() {
    try {
      int failures = 0;
      do {
        if (failures > 0) {
          backOff(failures);
        }
        failures = serve() ? 0 : failures + 1;
      } while (farewell == null);
    } catch (RuntimeException | Error e) {
      LOG.error("node {}: its lane failed; this is a defect of the lock library", lane.name(), e);
      throw e;
    } finally {
      lane.ended();
      ended.countDown();
    }
  }

  private void backOff(int failures) {
    long most = Math.min(LONGEST_BACKOFF_NANOS, FIRST_BACKOFF_NANOS << Math.min(failures, 10));
    long delay = ThreadLocalRandom.current().nextLong(most / 2, most);
    long start = ticker.monotonicNanos();
    while (farewell == null && ticker.monotonicNanos() - start < delay) {
      LockSupport.parkNanos(delay - (ticker.monotonicNanos() - start));
    }
  }

  /** One connection from its first byte to its last; true if the next may follow at once. */
  private boolean serve() {
    LaneConnection connection = connect();
    firstAttempt.countDown();
    if (connection == null) {
      return false;
    }
    lane.use(connection);
    if (health.state() != NodeStatus.State.UP) {
      watch.audit(null); // there may be a quorum since
    }
    lane.write(connection, LaneSettings.MAX_UNANSWERED_BYTES);
    watch.look();
    String lost = readUntilLost(connection);
    boolean whole = lost.isEmpty();
    lane.disuse(connection);
    auditor.trust().left();
    if (!whole) {
      health.lost(lost);
      watch.connecting();
    }
    connection.giveUp(NodeReply.unknown(lost));
    return close(connection, whole) && connection.hasAnswered();
  }

  private @Nullable LaneConnection connect() {
    LaneConnection connection = null;
    try {
      connection = LaneConnection.lease(pool, ownsPool, settings.soTimeoutMillis(), ticker);
      Verdict verdict = introduce(connection.bare());
      connection.heed(verdict);
      health.connected(verdict);
      watch.audited(verdict);
      return connection;
    } catch (RuntimeException e) {
      auditor.trust().left();
      failed(e);
      if (connection != null) {
        close(connection, false);
      }
      return null;
    }
  }

  private void failed(RuntimeException failure) {
    NodeReply refusal = ReplyMapper.connectFailure(failure);
    health.down(refusal);
    lane.refuseQueued(refusal);
  }

  /** False if the node could not be reached for another connection. */
  private boolean close(LaneConnection connection, boolean whole) {
    if (farewell != null) {
      lane.closePool(); // a closed pool makes no replacement
    }
    try {
      connection.close(whole);
      return true;
    } catch (RuntimeException e) {
      failed(e);
      return false;
    }
  }

  /**
   * The audit comes first. Lanes that start together wait for each other a moment: before a quorum
   * of nodes has been audited none votes.
   */
  private Verdict introduce(Connection bare) {
    NodeTrust trust = auditor.trust();
    boolean early = !trust.hasQuorum();
    Verdict verdict = auditor.introduce(bare);
    auditor.loadScripts(bare);
    return early && trust.awaitQuorum(settings.nodeTimeoutNanos(), this::isEnding)
        ? auditor.introduce(bare)
        : verdict;
  }

  private boolean isEnding() {
    return farewell != null;
  }

  /** Why the connection is of no more use; empty if everything was answered. */
  private String readUntilLost(LaneConnection connection) {
    try {
      while (true) {
        Object reply = connection.read();
        Call call = connection.oldest();
        if (call == null) {
          return "out of step: an answer that nobody waits for";
        }
        if (!deliver(connection, call, reply)) {
          return "out of step: an answer to something else";
        }
        if (call == farewell) {
          return "";
        }
        if (connection.unanswered() == 0 && lane.hasQueued()) {
          lane.write(connection, LaneSettings.MAX_UNANSWERED_BYTES);
        }
      }
    } catch (RuntimeException e) {
      return ReplyMapper.lost(e);
    }
  }

  /** False if this is not the answer to that call. */
  private boolean deliver(LaneConnection connection, Call call, @Nullable Object reply) {
    if (reply instanceof JedisNoScriptException && !call.byText) {
      connection.removeOldest();
      call.byText = true;
      connection.writeAtOnce(call);
      return true;
    }
    if (call.isPing()) {
      return deliverPing(connection, call, reply);
    }
    NodeReply answer =
        reply instanceof JedisDataException error
            ? ReplyMapper.error(error)
            : ReplyMapper.reply(reply, call.invocation);
    if (answer == null) {
      return false;
    }
    connection.removeOldest();
    if (answer.kind() == NodeReply.Kind.CLOCK && reply instanceof byte[] clockReply) {
      long nodeMicros = ReplyMapper.nodeMicros(clockReply);
      auditor.clock().learn(nodeMicros, call.sinceNanos, connection.lastReadNanos());
    } else if (answer.kind() == NodeReply.Kind.ABSTAIN) {
      answer = abstention(answer);
    }
    if (call.invocation.script == Script.FAIR_GRANT
        && (answer.kind() == NodeReply.Kind.TAKEN || answer.kind() == NodeReply.Kind.WAIT)) {
      wakes.need();
    }
    health.answered(call.invocation.script, answer, connection.lastReadNanos() - call.sinceNanos);
    call.answerSent(answer);
    return true;
  }

  /** The node says that its data is not what was judged; why, if this is known by now. */
  private NodeReply abstention(NodeReply answer) {
    NodeReply known = health.toGrant();
    if (known == null) {
      watch.audit(null);
    }
    return known == null ? answer : known;
  }

  private boolean deliverPing(LaneConnection connection, Call ping, @Nullable Object reply) {
    Verdict verdict;
    if (reply instanceof JedisDataException error) {
      verdict = auditor.hindered(error);
    } else {
      NodeAudit audit = AuditCall.parse(reply, ping.invocation);
      if (audit == null) {
        return false;
      }
      verdict = auditor.judge(audit, ping.sinceNanos, connection.lastReadNanos());
    }
    connection.removeOldest();
    if (verdict == null) {
      health.answered();
    } else {
      connection.heed(verdict);
      health.audited(verdict);
    }
    watch.audited(verdict);
    return true;
  }
}
