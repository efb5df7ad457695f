package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.jedis.connection.ConnectingThread;
import io.redlock.jedis.connection.NodePools;
import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.Pool;

/**
 * Makes connections with Jedis. One daemon thread makes a connection, reads it, gives it back, and
 * makes the next; it ends when none is asked for. So neither DNS nor TLS nor a password holds up
 * anybody else.
 */
public final class JedisDialer implements Dialer {

  /** Jedis's buffer holds 8 KiB; flushed before it is full, it never writes in the middle. */
  private static final int FLUSH_BYTES = 7 << 10;

  private final String threadName;
  private final Pool<Connection> pool;
  private final boolean ownsPool;
  private final int soTimeoutMillis;
  private final Queue<Line> asked = new ArrayDeque<>(); // guarded by this
  private boolean working; // guarded by this; there is a thread
  private boolean closed; // guarded by this

  /**
   * @param threadName the name of its thread
   * @param pool gives the connections, and takes them back
   * @param ownsPool whether the pool is the lane's: closed with the dialer, and on database 0
   * @param settings how long a connection may say nothing
   */
  public JedisDialer(
      String threadName, Pool<Connection> pool, boolean ownsPool, LaneSettings settings) {
    this.threadName = threadName;
    this.pool = pool;
    this.ownsPool = ownsPool;
    this.soTimeoutMillis = settings.soTimeoutMillis();
  }

  @Override
  public void dial(Line line) {
    OutOfMemoryError failure;
    synchronized (this) {
      asked.add(line);
      if (working) {
        return;
      }
      try {
        new ConnectingThread(this::work, threadName).start();
        working = true;
        return;
      } catch (OutOfMemoryError e) { // no more threads
        asked.remove(line); // before anybody else can start a thread that serves it
        failure = e;
      }
    }
    line.failed(failure);
  }

  private void work() {
    ConnectingThread.mayConnect(false);
    for (Line line = next(); line != null; line = next()) {
      serve(line);
    }
  }

  private @Nullable Line next() {
    boolean ends;
    synchronized (this) {
      Line next = asked.poll();
      if (next != null) {
        return next;
      }
      working = false;
      ends = closed;
    }
    if (ends) {
      closePool();
    }
    return null;
  }

  /** One connection from its first byte to its last. */
  private void serve(Line line) {
    SocketWire wire;
    try {
      wire = lease();
    } catch (RuntimeException | Error e) {
      contain(() -> line.failed(e));
      return;
    }
    Throwable end;
    try {
      line.connected(wire);
      while (!wire.isEnded()) {
        line.received(wire.read());
      }
      end = new JedisConnectionException("given up");
    } catch (RuntimeException | Error e) {
      end = e;
    }
    Throwable why = end;
    contain(() -> line.lost(why));
    giveBack(wire);
  }

  private void contain(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException | Error e) {
      LOG.error("{}: a lane threw, which it must not", threadName, e);
    }
  }

  private SocketWire lease() {
    ConnectingThread.mayConnect(true);
    try {
      Connection connection = NodePools.lease(pool, ownsPool);
      SocketWire wire = new SocketWire(connection);
      try {
        connection.setSoTimeout(soTimeoutMillis);
        return wire;
      } catch (RuntimeException | Error e) {
        wire.giveBack(false);
        throw e;
      }
    } finally {
      ConnectingThread.mayConnect(false);
    }
  }

  /** Of a broken connection the pool makes a replacement there and then. */
  private void giveBack(SocketWire wire) {
    boolean ends;
    synchronized (this) {
      ends = closed;
    }
    if (ends) {
      closePool(); // a closed pool makes no replacement
    }
    ConnectingThread.mayConnect(true);
    try {
      wire.giveBack(wire.isWhole());
    } catch (RuntimeException | Error e) {
      LOG.debug("{}: a connection was not given back cleanly", threadName, e);
    } finally {
      ConnectingThread.mayConnect(false);
    }
  }

  private void closePool() {
    if (ownsPool) {
      try {
        pool.close();
      } catch (RuntimeException e) {
        LOG.debug("{}: the pool did not close cleanly", threadName, e);
      }
    }
  }

  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      if (working) {
        return; // its thread closes the pool when it ends
      }
    }
    closePool();
  }

  /** A connection of the pool. Read by the dialer's thread. */
  private final class SocketWire implements Wire {
    private final Connection connection;
    private final Thread reader = Thread.currentThread();
    private final int pooledSoTimeoutMillis;
    private int buffered; // of whoever writes
    private volatile boolean ended;
    private volatile boolean whole;

    SocketWire(Connection connection) {
      this.connection = connection;
      this.pooledSoTimeoutMillis = connection.getSoTimeout();
      connection.setHandlingPool(null); // close() hands it back, to whatever pool it came from
    }

    @Override
    public void write(CommandArguments command, int bytes) {
      if (ended || connection.isBroken() || !connection.isConnected()) {
        throw new JedisConnectionException("the connection was closed");
      }
      if (buffered + bytes > FLUSH_BYTES) {
        flush();
      }
      buffered += bytes;
      connection.sendCommand(command);
    }

    @Override
    public void flush() {
      if (buffered > 0) {
        buffered = 0;
        connection.getMany(0);
      }
    }

    /** Waits for the next answer; an error reply is one. */
    @Nullable Object read() {
      try {
        return connection.getUnflushedObject();
      } catch (JedisConnectionException e) {
        throw e;
      } catch (JedisDataException e) {
        return e;
      }
    }

    boolean isEnded() {
      return ended;
    }

    boolean isWhole() {
      return whole;
    }

    @Override
    public void end(boolean isWhole) {
      boolean byReader = Thread.currentThread() == reader;
      whole = isWhole && byReader;
      ended = true;
      if (!byReader) {
        // Ends the read that is under way. It may hang behind a write, so it has a thread.
        Thread closer = new Thread(this::disconnect, threadName + "-closer");
        closer.setDaemon(true);
        contain(closer::start);
      }
    }

    private void disconnect() {
      try {
        connection.disconnect();
      } catch (JedisException e) {
        LOG.debug("{}: a connection did not close cleanly", threadName, e);
      }
    }

    void giveBack(boolean isWhole) {
      if (isWhole) {
        connection.setSoTimeout(pooledSoTimeoutMillis);
        pool.returnResource(connection);
      } else {
        connection.setBroken();
        pool.returnBrokenResource(connection);
      }
    }
  }
}
