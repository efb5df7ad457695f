package io.redlock.jedis.lane;

import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.trust.NodeTrust;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeStatus;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * The one way to a master: a queue, one connection, and a worker that reads the replies.
 *
 * <p>Everything goes out in the order in which it was queued, over one connection, and the replies
 * come back in that order. Whoever finds the lane idle writes his request himself; while replies
 * are due, requests collect, and the worker writes them as one batch once it has read what it
 * waited for. So a lone caller pays for no change of threads, and many callers share system calls.
 * A worker that waits for a slow reply holds up nobody: then callers, and the {@link LaneWatch},
 * write past it. A release therefore reaches a slow node without waiting for the reply to an
 * earlier grant.
 *
 * <p>A slow reply costs no connection: callers have stopped waiting for it, and it is still read. A
 * connection is abandoned when it breaks, when nothing has come for a lane timeout, or when a reply
 * does not match the request it should answer. Then everything unanswered is unknown, what was
 * never sent is told so, and releases wait for the next connection, which carries the audit first
 * and them second.
 */
public final class NodeLane implements LockNode {

  /** Of all that concerns one node; users configure it by this name. */
  static final String LOGGER = "io.redlock.jedis.NodeLane";

  private static final Logger LOG = LoggerFactory.getLogger(LOGGER);

  /** With more unanswered calls than this, requests collect for the worker to write. */
  private static final int BUSY = 1;

  private final String name;
  private final Pool<Connection> pool;
  private final boolean ownsPool;
  private final RequestEncoder encoder;
  private final LaneSettings settings;
  private final NodeTrust trust;
  private final NodeClock clock = new NodeClock();
  private final Queue<Call> queue = new ConcurrentLinkedQueue<>();

  /** How many calls in the queue may still be sent; what was withdrawn does not count. */
  private final AtomicInteger queued = new AtomicInteger();

  /** Set by {@link #start}. */
  private volatile @Nullable Parts parts;

  /** The connection that is written to; null while there is none. Set by the worker. */
  private volatile @Nullable LaneConnection connection;

  private volatile boolean closed;

  /** What works between start and close. */
  private record Parts(
      Ticker ticker, LaneHealth health, LaneWorker worker, LaneWatch watch, WakeListener wakes) {}

  /**
   * @param pool where connections come from
   * @param ownsPool whether the pool is closed with the lane
   * @param trust what to make of the node's audits
   */
  public NodeLane(
      String name,
      Pool<Connection> pool,
      boolean ownsPool,
      RequestEncoder encoder,
      LaneSettings settings,
      NodeTrust trust) {
    this.name = name;
    this.pool = pool;
    this.ownsPool = ownsPool;
    this.encoder = encoder;
    this.settings = settings;
    this.trust = trust;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    LaneHealth health = new LaneHealth(name, ticker, observer, queued::get);
    LaneWatch watch = new LaneWatch(this, health, settings, ticker, scheduler);
    Auditor auditor = new Auditor(name, trust, clock, ticker, observer);
    WakeListener wakes = new WakeListener(name, pool, settings, ticker, scheduler, observer);
    LaneWorker worker =
        new LaneWorker(this, pool, ownsPool, health, auditor, watch, wakes, settings, ticker);
    parts = new Parts(ticker, health, worker, watch, wakes);
    trust.whenQuorum(() -> watch.audit(null));
    worker.start();
    watch.start();
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    Parts running = parts;
    boolean release = request instanceof NodeRequest.Release;
    if (running == null || closed) {
      return refuse(NodeReply.unreachable(closed ? "closed" : "not started"), slot, handler);
    }
    if (request instanceof NodeRequest.Grant grant && grant.ticket() != null) {
      running.wakes.expect(grant.ticket().client());
    }
    long nowNanos = running.ticker.monotonicNanos();
    running.watch.judge(nowNanos);
    NodeReply refusal = running.health.refusal(request);
    if (refusal != null) {
      return refuse(refusal, slot, handler);
    }
    if (queued.get() >= LaneSettings.MAX_QUEUED && !release) {
      String busy = "lane busy: " + LaneSettings.MAX_QUEUED + " requests are waiting to be sent";
      return refuse(NodeReply.unreachable(busy), slot, handler);
    }
    Call call = new Call(encoder.encode(request), slot, handler, nowNanos);
    enqueue(call);
    writeUnlessBusy(nowNanos);
    running.watch.look();
    // The lane may have gone down, or been closed, between the first look and the queue.
    NodeReply late = running.health.refusal(request);
    if (late != null) {
      call.answerUnsent(late);
    }
    return call;
  }

  private static Pending refuse(NodeReply reply, int slot, ReplyHandler handler) {
    handler.onReply(slot, reply);
    return Call.NOT_PENDING;
  }

  /** Asks the node what it is; the answer is the worker's. */
  void ping(Call ping, long nowNanos) {
    enqueue(ping);
    writeUnlessBusy(nowNanos);
  }

  private void enqueue(Call call) {
    call.countIn(queued);
    queue.add(call);
  }

  boolean hasQueued() {
    return !queue.isEmpty();
  }

  /** The connection in use; null while there is none. */
  @Nullable LaneConnection connection() {
    return connection;
  }

  private void writeUnlessBusy(long nowNanos) {
    LaneConnection current = connection;
    if (current != null
        && (current.unanswered() <= BUSY
            || current.isOverdue(nowNanos, LaneSettings.PATIENCE_NANOS))) {
      write(current, LaneSettings.MAX_UNANSWERED_BYTES_OF_OTHERS);
    }
  }

  /**
   * Writes what is queued, unless somebody else is doing so.
   *
   * @param maxUnansweredBytes when to stop, because the socket may take no more
   */
  void write(LaneConnection target, long maxUnansweredBytes) {
    do {
      if (!target.writeLock.tryLock()) {
        return; // whoever has it looks at the queue again below
      }
      try {
        if (!target.isWritable()) {
          return;
        }
        writeQueued(target, maxUnansweredBytes);
      } catch (JedisException e) {
        target.stopWriting();
        return;
      } finally {
        target.writeLock.unlock();
      }
    } while (!queue.isEmpty() && target.unanswered() <= BUSY);
  }

  private void writeQueued(LaneConnection target, long maxUnansweredBytes) {
    long nowNanos = ticker().monotonicNanos();
    while (target.unansweredBytes() < maxUnansweredBytes) {
      Call call = queue.poll();
      if (call == null) {
        break;
      }
      if (call.beginSending()) {
        target.write(call, nowNanos);
      }
    }
    target.flush();
  }

  private Ticker ticker() {
    Parts running = parts;
    if (running == null) {
      throw new IllegalStateException("not started");
    }
    return running.ticker;
  }

  /** Makes a connection the one that is written to, pending releases first. */
  void use(LaneConnection fresh) {
    List<Call> others = new ArrayList<>();
    fresh.writeLock.lock();
    try {
      long nowNanos = ticker().monotonicNanos();
      for (Call call = queue.poll(); call != null; call = queue.poll()) {
        if (!call.isRelease()) {
          others.add(call);
        } else if (call.beginSending()) {
          fresh.write(call, nowNanos);
        }
      }
      for (Call call : others) {
        if (call.beginSending()) {
          fresh.write(call, nowNanos);
        }
      }
      fresh.flush();
      connection = fresh;
    } catch (JedisException e) {
      fresh.stopWriting(); // the first read will say why
      others.forEach(call -> call.answerUnsent(NodeReply.unreachable("connection lost")));
    } finally {
      fresh.writeLock.unlock();
    }
  }

  /** Nothing is written to the connection any more. */
  void disuse(LaneConnection old) {
    connection = null;
    old.stopWriting();
  }

  /** Answers what is queued, all but the releases that can still be of use. */
  void refuseQueued(NodeReply refusal) {
    long nowNanos = ticker().monotonicNanos();
    queue.removeIf(
        call -> {
          boolean keep =
              !closed
                  && call.isRelease()
                  && call.isQueued()
                  && nowNanos - call.sinceNanos < settings.releaseLifeNanos();
          if (!keep) {
            call.answerUnsent(refusal);
          }
          return !keep;
        });
  }

  @Override
  public OptionalLong clockOffsetMicros() {
    return clock.offsetMicros();
  }

  @Override
  public NodeStatus status() {
    Parts running = parts;
    return running == null
        ? new NodeStatus(name, NodeStatus.State.CONNECTING, Duration.ZERO, "not started")
        : running.health.status();
  }

  /** True once the first attempt to connect has succeeded or failed. */
  public boolean awaitFirstAttempt(long nanos) throws InterruptedException {
    Parts running = parts;
    return running != null && running.worker.awaitFirstAttempt(nanos);
  }

  /** Closes the pool if it is the lane's. Worker only, once the lane has started. */
  void closePool() {
    try {
      if (ownsPool) {
        pool.close();
      }
    } catch (RuntimeException e) {
      LOG.debug("node {}: its pool did not close cleanly", name, e);
    }
  }

  /** The worker is gone, and with it whoever could answer. Worker only. */
  void ended() {
    closed = true;
    LaneConnection left = connection;
    if (left != null) {
      disuse(left);
      left.giveUp(NodeReply.unknown("closed before the answer came"));
    }
    Parts running = parts;
    if (running != null) {
      running.health.closed();
    }
    refuseQueued(NodeReply.unreachable("closed"));
    closePool();
  }

  @Override
  public void close() {
    Parts running;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      running = parts;
    }
    if (running == null) {
      closePool();
      return;
    }
    running.watch.close();
    running.wakes.close();
    enqueue(running.worker.farewell());
    LaneConnection current = connection;
    if (current != null) {
      write(current, LaneSettings.MAX_UNANSWERED_BYTES_OF_OTHERS);
    }
    boolean ended = running.worker.awaitEnd(settings.nodeTimeoutNanos());
    running.health.closed();
    refuseQueued(NodeReply.unreachable("closed"));
    if (!ended) {
      LaneConnection stuck = connection;
      if (stuck != null) {
        Thread closer = new Thread(stuck::disconnect, "redlock-closer-" + name);
        closer.setDaemon(true);
        closer.start();
        stuck.giveUp(NodeReply.unknown("closed before the answer came"));
      }
    }
  }
}
