package io.redlock.jedis.lane;

import io.redlock.jedis.connection.NodePools;
import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.trust.Verdict;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Ticker;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * One connection leased from the pool, and what was written to it and is not answered yet, in the
 * order in which the answers will come. Whoever holds {@link #writeLock} writes; only the lane's
 * worker reads.
 */
final class LaneConnection {

  /** Jedis's buffer holds 8 KiB; flushed before it is full, it never writes in the middle. */
  private static final int FLUSH_BYTES = 7 << 10;

  /** Guards everything that writes, {@link #buffered} and {@link #writable}. */
  final ReentrantLock writeLock = new ReentrantLock();

  private final Pool<Connection> pool;
  private final Connection connection;
  private final Ticker ticker;
  private final int pooledSoTimeoutMillis;
  private final Queue<Call> unanswered = new ConcurrentLinkedQueue<>();
  private final AtomicInteger unansweredCalls = new AtomicInteger();
  private final AtomicLong unansweredBytes = new AtomicLong();
  private int buffered;
  private boolean writable = true;

  /**
   * What grants and joins carry, for the node to compare with its birth mark; set by the worker.
   */
  private volatile Argument birth = Argument.EMPTY;

  /** Whether anything was answered. Worker only. */
  private boolean answered;

  /** When the last reply was read. Written by the worker. */
  private volatile long lastReadNanos;

  /** When a call was last written. Written under the write lock. */
  private volatile long lastWriteNanos;

  private LaneConnection(Pool<Connection> pool, Connection connection, Ticker ticker) {
    this.pool = pool;
    this.connection = connection;
    this.ticker = ticker;
    this.pooledSoTimeoutMillis = connection.getSoTimeout();
    this.lastReadNanos = ticker.monotonicNanos();
    this.lastWriteNanos = lastReadNanos;
    connection.setHandlingPool(null); // close() hands it back, to whatever pool it came from
  }

  /** Takes a connection from a pool, which may have to make it. Worker only. */
  static LaneConnection lease(
      Pool<Connection> pool, boolean ownsPool, int soTimeoutMillis, Ticker ticker) {
    LaneConnection leased = new LaneConnection(pool, NodePools.lease(pool, ownsPool), ticker);
    try {
      leased.connection.setSoTimeout(soTimeoutMillis);
      return leased;
    } catch (JedisException e) {
      leased.close(false);
      throw e;
    }
  }

  /** How many calls wait for their answer. Any thread. */
  int unanswered() {
    return unansweredCalls.get();
  }

  /** How many bytes wait for their answer, about. Any thread. */
  long unansweredBytes() {
    return unansweredBytes.get();
  }

  /** Since when the oldest unanswered call has been waiting, or the last reply if later. */
  long silentSinceNanos(long nowNanos) {
    Call oldest = unanswered.peek();
    if (oldest == null) {
      return nowNanos;
    }
    return oldest.sinceNanos - lastReadNanos > 0 ? oldest.sinceNanos : lastReadNanos;
  }

  long lastReadNanos() {
    return lastReadNanos;
  }

  /**
   * Whether to write past what is unanswered: nothing was read, and nothing written, for longer
   * than this. So those who find the node slow share their writes, too.
   */
  boolean isOverdue(long nowNanos, long patienceNanos) {
    return nowNanos - lastWriteNanos > patienceNanos
        && nowNanos - silentSinceNanos(nowNanos) > patienceNanos;
  }

  /** Whether writing still makes sense. Under the write lock. */
  boolean isWritable() {
    return writable && !connection.isBroken() && connection.isConnected();
  }

  /** Buffers a call. Under the write lock. From here on the call may have been executed. */
  void write(Call call, long nowNanos) {
    call.sinceNanos = nowNanos;
    lastWriteNanos = nowNanos;
    unanswered.add(call);
    unansweredCalls.incrementAndGet();
    int bytes = call.invocation.bytes;
    unansweredBytes.addAndGet(bytes);
    if (buffered + bytes > FLUSH_BYTES) {
      flush();
    }
    buffered += bytes;
    Invocation invocation = call.invocation;
    connection.sendCommand(call.byText ? invocation.byText(birth) : invocation.bySha(birth));
  }

  /** Hands what was buffered to the socket. Under the write lock. */
  void flush() {
    if (buffered > 0) {
      buffered = 0;
      connection.getMany(0);
    }
  }

  /** Writes a call past whatever is queued. */
  void writeAtOnce(Call call) {
    writeLock.lock();
    try {
      write(call, ticker.monotonicNanos());
      flush();
    } finally {
      writeLock.unlock();
    }
  }

  /** Writes no more; the worker will find out by reading. */
  void stopWriting() {
    writeLock.lock();
    try {
      writable = false;
    } finally {
      writeLock.unlock();
    }
  }

  /**
   * Waits for the next reply. Worker only.
   *
   * @return what came, or the error reply
   * @throws JedisConnectionException the connection is of no more use
   */
  @Nullable Object read() {
    Object reply;
    try {
      reply = connection.getUnflushedObject();
    } catch (JedisConnectionException e) {
      throw e;
    } catch (JedisDataException e) {
      reply = e;
    }
    lastReadNanos = ticker.monotonicNanos();
    return reply;
  }

  /** The call that the next reply answers; null if there is none. Worker only. */
  @Nullable Call oldest() {
    return unanswered.peek();
  }

  /** The oldest call has its answer. Worker only. */
  void removeOldest() {
    answered = true;
    Call call = unanswered.remove();
    unansweredCalls.decrementAndGet();
    unansweredBytes.addAndGet(-call.invocation.bytes);
  }

  /** What is written from now on goes by this verdict. Worker only. */
  void heed(Verdict verdict) {
    birth = Argument.of(verdict.birth());
  }

  /** Whether a call was ever answered. Worker only. */
  boolean hasAnswered() {
    return answered;
  }

  /**
   * Lets nobody wait any longer for what was written, but for releases, which are told again until
   * they are acknowledged. The replies are still read, to keep in step. Any thread.
   */
  void stopWaiting(NodeReply unknown) {
    for (Call call : unanswered) {
      if (!call.isRelease()) {
        call.answerSent(unknown);
      }
    }
  }

  /** Nobody will ever know what became of these. */
  void giveUp(NodeReply unknown) {
    for (Call call = unanswered.poll(); call != null; call = unanswered.poll()) {
      call.answerSent(unknown);
    }
  }

  /** The bare connection, for the handshake, before anybody else can see it. Worker only. */
  Connection bare() {
    return connection;
  }

  /**
   * Returns the connection to its pool. Of one that is broken the pool makes a replacement there
   * and then, which the next lease gets. Worker only.
   *
   * @throws JedisException there is no replacement
   */
  void close(boolean whole) {
    if (whole) {
      connection.setSoTimeout(pooledSoTimeoutMillis);
      pool.returnResource(connection);
    } else {
      connection.setBroken();
      pool.returnBrokenResource(connection);
    }
  }

  /** Ends a read that is under way. May hang: a thread of its own only. */
  void disconnect() {
    try {
      connection.disconnect();
    } catch (JedisException e) {
      // It is closed all the same.
    }
  }
}
