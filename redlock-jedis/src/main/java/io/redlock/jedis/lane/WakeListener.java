package io.redlock.jedis.lane;

import io.redlock.jedis.connection.ConnectingThread;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * Hears on one node when this client's fair waiters are woken: a second connection, subscribed to
 * the client's channel, with a thread that reads it. Both are there from the first refusal of a
 * fair waiter until none has been refused for a while, and come back when the node does. Without
 * them waiters only ask less often than they could.
 */
final class WakeListener {

  static final String CHANNEL_PREFIX = "redlock:wake:";

  private static final Logger LOG = LoggerFactory.getLogger(NodeLane.LOGGER);
  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long FIRST_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final int MAX_DOUBLINGS = 7;

  private final String node;
  private final Pool<Connection> pool;
  private final LaneSettings settings;
  private final Ticker ticker;
  private final Scheduler scheduler;
  private final LockNode.Observer observer;

  /** Whoever has it writes to the subscription's connection. */
  private final ReentrantLock writeLock = new ReentrantLock();

  private volatile @Nullable String client;
  private volatile long neededNanos;
  private volatile @Nullable Thread thread; // written under this
  private volatile @Nullable Subscription subscription; // written by the thread
  private volatile boolean closed;
  private volatile boolean failed; // for good
  private boolean warned; // of the thread; handed from one to the next under this

  WakeListener(
      String node,
      Pool<Connection> pool,
      LaneSettings settings,
      Ticker ticker,
      Scheduler scheduler,
      LockNode.Observer observer) {
    this.node = node;
    this.pool = pool;
    this.settings = settings;
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.observer = observer;
  }

  /** This is the client whose waiters will wait, if any does. Any thread. */
  void expect(String theClient) {
    if (client == null) {
      client = theClient;
    }
  }

  /** A fair waiter was refused and waits to be woken. Any thread. */
  void need() {
    neededNanos = ticker.monotonicNanos();
    if (thread == null) {
      startIfNeeded();
    }
  }

  private synchronized void startIfNeeded() {
    String channelOf = client;
    if (thread != null || channelOf == null || !isNeeded()) {
      return;
    }
    Thread fresh = new ConnectingThread(() -> listen(channelOf), "redlock-wake-" + node);
    try {
      fresh.start();
    } catch (OutOfMemoryError e) { // no more threads: not for a hint shall the lane's worker end
      if (!warned) {
        warned = true;
        LOG.warn("node {} wakes no fair waiters, they ask every second instead", node, e);
      }
      return;
    }
    thread = fresh;
    scheduler.schedule(() -> beat(fresh), settings.pingNanos());
  }

  private boolean isNeeded() {
    return !closed && !failed && ticker.monotonicNanos() - neededNanos < IDLE_NANOS;
  }

  /** Once a second: is the connection good, and is it needed? */
  private void beat(Thread listening) {
    if (thread == listening) {
      tell(isNeeded());
      scheduler.schedule(() -> beat(listening), settings.pingNanos());
    }
  }

  /** Asks whether the node is there, or ends the subscription. */
  private void tell(boolean needed) {
    Subscription current = subscription;
    if (current == null || !current.isSubscribed() || !writeLock.tryLock()) {
      return;
    }
    try {
      if (needed) {
        current.probe();
      } else {
        current.end();
      }
    } catch (JedisException e) {
      LOG.debug("node {}: the connection for wake-ups is lost", node, e); // its reader knows too
    } finally {
      writeLock.unlock();
    }
  }

  void close() {
    closed = true;
    LockSupport.unpark(thread);
    tell(false);
  }

  private void listen(String channelOf) {
    int failures = 0;
    try {
      while (isNeeded()) {
        failures = subscribe(channelOf) ? 0 : Math.min(failures + 1, MAX_DOUBLINGS);
        if (failures > 0 && isNeeded()) {
          LockSupport.parkNanos(FIRST_BACKOFF_NANOS << failures);
        }
      }
    } catch (RuntimeException | Error e) {
      failed = true;
      LOG.error("node {} wakes no fair waiters any more, they ask every second", node, e);
    } finally {
      synchronized (this) {
        thread = null;
      }
      startIfNeeded(); // somebody may have come meanwhile
    }
  }

  /** One connection from its first byte to its last; true if it was of use. */
  private boolean subscribe(String channelOf) {
    Connection connection = null;
    Subscription fresh = null;
    int pooledSoTimeoutMillis = 0;
    boolean whole = false;
    try {
      ConnectingThread.mayConnect(true);
      connection = pool.getResource();
      ConnectingThread.mayConnect(
          false); // from now on this thread runs waiters, who write to lanes
      pooledSoTimeoutMillis = connection.getSoTimeout();
      connection.setHandlingPool(null);
      String channel = CHANNEL_PREFIX + channelOf;
      fresh = new Subscription(connection, channel);
      subscription = fresh;
      fresh.proceed(connection, channel);
      connection.setSoTimeout(pooledSoTimeoutMillis);
      whole = true;
    } catch (JedisDataException e) {
      warn(e);
    } catch (RuntimeException e) {
      LOG.debug("node {}: wake-ups do not get through for now", node, e);
    } finally {
      subscription = null;
      giveBack(connection, whole);
    }
    return fresh != null && fresh.began;
  }

  private void warn(JedisDataException refusal) {
    if (!warned) {
      warned = true;
      LOG.warn(
          "node {} wakes no fair waiters, they ask every second instead: {}",
          node,
          ReplyMapper.error(refusal).detail());
    }
  }

  private void giveBack(@Nullable Connection connection, boolean whole) {
    if (connection == null) {
      return;
    }
    try {
      ConnectingThread.mayConnect(true); // of a broken connection the pool may make a replacement
      if (whole) {
        pool.returnResource(connection);
      } else {
        connection.setBroken();
        pool.returnBrokenResource(connection);
      }
    } catch (RuntimeException e) {
      LOG.debug("node {}: the connection for wake-ups did not close cleanly", node, e);
    }
  }

  private final class Subscription extends JedisPubSub {
    private final Connection connection;
    private final String channel;
    private boolean began;
    private boolean ending; // guarded by the write lock

    Subscription(Connection connection, String channel) {
      this.connection = connection;
      this.channel = channel;
    }

    /**
     * Asks for an answer by subscribing once more, which changes nothing. Jedis has a ping, but its
     * reader may meet the answer before it knows of the question, and gives the connection up.
     * Under the write lock.
     */
    void probe() {
      if (!ending) {
        subscribe(channel);
      }
    }

    /**
     * Ends it once: the answer to a second request would be left in a connection that goes back to
     * its pool. Under the write lock.
     */
    void end() {
      if (!ending) {
        ending = true;
        unsubscribe();
      }
    }

    @Override
    public void onSubscribe(String channel, int channels) {
      if (began) {
        return; // the answer to a probe
      }
      began = true;
      warned = false;
      // Jedis waits without end; probes are answered, so nothing at all means that it is broken.
      connection.setSoTimeout(settings.soTimeoutMillis());
      LOG.debug("node {}: wake-ups get through", node);
      observer.onListening();
    }

    @Override
    public void onMessage(String channel, String waiter) {
      try {
        observer.onWake(Long.parseLong(waiter));
      } catch (NumberFormatException e) {
        LOG.debug("node {}: somebody else writes to {}", node, channel);
      }
    }
  }
}
