package io.redlock.jedis;

import io.redlock.spi.NodeReply;
import io.redlock.spi.Ticker;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisNoScriptException;
import redis.clients.jedis.util.Pool;

/** The thread of a lane: makes its connections, reads their replies, and closes them. */
final class LaneWorker implements Runnable {

  private static final Logger LOG = LoggerFactory.getLogger(NodeLane.class);
  private static final Argument LOAD = Argument.of("LOAD");
  private static final List<Script> CACHED = List.of(Script.GRANT, Script.EXTEND, Script.RELEASE);
  private static final long FIRST_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(10);
  private static final long LONGEST_BACKOFF_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final NodeLane lane;
  private final Pool<Connection> pool;
  private final LaneHealth health;
  private final NodeClock clock;
  private final LaneWatch watch;
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
      LaneHealth health,
      NodeClock clock,
      LaneWatch watch,
      LaneSettings settings,
      Ticker ticker) {
    this.lane = lane;
    this.pool = pool;
    this.health = health;
    this.clock = clock;
    this.watch = watch;
    this.settings = settings;
    this.ticker = ticker;
    this.thread = new LaneThread(this, "redlock-lane-" + lane.name());
  }

  /** A thread that may connect. */
  static final class LaneThread extends Thread {
    LaneThread(Runnable worker, String name) {
      super(worker, name);
      setDaemon(true);
    }
  }

  void start() {
    thread.start();
  }

  boolean awaitFirstAttempt(long nanos) throws InterruptedException {
    return firstAttempt.await(nanos, TimeUnit.NANOSECONDS);
  }

  /** Lets the worker end once everything queued before the call returned has been answered. */
  Call farewell() {
    Call last = new Call(NodeAudit.invocation(0), 0, null, ticker.monotonicNanos());
    farewell = last;
    LockSupport.unpark(thread);
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
    if (connection == null) {
      firstAttempt.countDown();
      return false;
    }
    lane.use(connection);
    health.up();
    firstAttempt.countDown();
    lane.write(connection, LaneSettings.MAX_UNANSWERED_BYTES);
    watch.look();
    String lost = readUntilLost(connection);
    boolean whole = lost.isEmpty();
    lane.disuse(connection);
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
      connection = LaneConnection.lease(pool, settings.soTimeoutMillis(), ticker);
      handshake(connection.bare());
      return connection;
    } catch (RuntimeException e) {
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

  /** The audit, and the scripts, so that nothing else needs a second try. */
  private void handshake(Connection bare) {
    Invocation audit = NodeAudit.invocation(0);
    long beforeNanos = ticker.monotonicNanos();
    bare.sendCommand(audit.byText(Argument.EMPTY));
    for (Script script : CACHED) {
      bare.sendCommand(new CommandArguments(Protocol.Command.SCRIPT).add(LOAD).add(script.text));
    }
    // A user who may not load scripts has them cached by the first EVAL: no error counts but one.
    Object reply = bare.getMany(1 + CACHED.size()).get(0);
    long afterNanos = ticker.monotonicNanos();
    if (reply instanceof JedisDataException error) {
      throw error;
    }
    NodeAudit answer = NodeAudit.parse(reply, audit);
    if (answer == null) {
      throw new JedisException("the audit was answered by something else");
    }
    if (!answer.isMaster()) {
      throw new JedisDataException("READONLY it is a replica.");
    }
    clock.learn(answer.nodeMicros(), beforeNanos, afterNanos);
    LOG.debug("node {}: {}", lane.name(), answer);
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
        if (lane.hasQueued() && connection.unanswered() <= NodeLane.BATCH) {
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
    if (answer.kind() == NodeReply.Kind.CLOCK) {
      long nodeMicros = ReplyMapper.nodeMicros((byte[]) reply);
      clock.learn(nodeMicros, call.sinceNanos, connection.lastReadNanos());
    }
    health.answered(answer);
    call.answerSent(answer);
    return true;
  }

  private boolean deliverPing(LaneConnection connection, Call ping, @Nullable Object reply) {
    if (!(reply instanceof JedisDataException)) {
      NodeAudit audit = NodeAudit.parse(reply, ping.invocation);
      if (audit == null) {
        return false;
      }
      clock.learn(audit.nodeMicros(), ping.sinceNanos, connection.lastReadNanos());
    }
    connection.removeOldest();
    health.answered();
    return true;
  }
}
