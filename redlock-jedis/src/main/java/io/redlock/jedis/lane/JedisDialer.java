package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneSettings.LOG;

import io.redlock.jedis.connection.ConnectingThread;
import io.redlock.jedis.connection.NodePool;
import io.redlock.spi.LibraryThread;
import java.io.IOException;
import java.util.Objects;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * A dialer that uses Jedis. One daemon thread makes a connection, reads it, returns it to the pool,
 * and makes the next; it ends when no connection is asked for. So DNS, TLS and authentication delay
 * no other thread.
 */
public final class JedisDialer implements Dialer {

  /**
   * Less than Jedis's buffer of 8 KiB: a buffer that is flushed before it is full never writes a
   * part of a command.
   */
  private static final int FLUSH_BYTES = 7 << 10;

  /** The longest attempt to connect, in timeouts: TCP, TLS and the handshake may take one each. */
  private static final int LONGEST_TIMEOUTS = 5;

  /** The time between two attempts while memory is short. */
  private static final long PATIENCE_NANOS = 50_000_000;

  private final String threadName;
  private final NodePool pool;
  private final int soTimeoutMillis;
  private final ThreadPoolExecutor connections; // one at a time
  private volatile @Nullable ConnectingThread worker; // the last one

  /**
   * @param threadName the name of its thread
   * @param pool the source of the connections, which is closed with the dialer if it is our own
   * @param settings give the read timeout
   */
  public JedisDialer(String threadName, NodePool pool, LaneSettings settings) {
    this.threadName = threadName;
    this.pool = pool;
    this.soTimeoutMillis = settings.soTimeoutMillis();
    this.connections =
        new ThreadPoolExecutor(
            0, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), this::newWorker) {
          @Override
          protected void terminated() {
            closePool();
          }
        };
  }

  private Thread newWorker(Runnable work) {
    ConnectingThread fresh = new ConnectingThread(work, threadName);
    worker = fresh;
    return fresh;
  }

  @Override
  public void dial(Reader reader) {
    Runnable connection = () -> serve(reader);
    boolean isBegun = false;
    try {
      connections.execute(connection);
      isBegun = true;
    } finally {
      if (!isBegun) { // no memory, or no more threads
        connections.remove(connection);
      }
    }
  }

  /** Serves one connection from its first byte to its last. */
  private void serve(Reader reader) {
    SocketWire wire = null;
    Throwable why;
    try {
      wire = lease();
      reader.connected(wire);
      while (!wire.isEnded()) {
        reader.received(wire.read());
      }
      why = new JedisConnectionException("given up");
    } catch (RuntimeException | Error e) { // ends this connection
      why = e;
    }
    boolean isTold = false;
    while (!isTold || wire != null) {
      try {
        if (isTold) {
          giveBack(Objects.requireNonNull(wire));
          wire = null;
        } else {
          reader.lost(why);
        }
        isTold = true;
      } catch (OutOfMemoryError e) { // nobody else ends it: the pool would always count it
        LockSupport.parkNanos(PATIENCE_NANOS);
      } catch (RuntimeException | Error e) { // of a lane, or of a pool
        wire = isTold ? null : wire;
        isTold = true;
        LOG.error("{}: a lane or a pool threw, which it must not", threadName, e);
      }
    }
  }

  private SocketWire lease() {
    Connection leased = null;
    SocketWire wire = null;
    ConnectingThread.mayConnect(true);
    try {
      leased = pool.lease();
      wire = new SocketWire(leased, speaksResp3(leased));
      return wire;
    } finally {
      if (leased != null && wire == null) { // no memory: the pool would always count it
        pool.pool().returnBrokenResource(leased);
      }
      ConnectingThread.mayConnect(false);
    }
  }

  /** Changes to RESP3. Returns false if the server refuses that, as a proxy may. */
  private static boolean speaksResp3(Connection connection) {
    try {
      if (connection.getRedisProtocol() != RedisProtocol.RESP3) {
        connection.executeCommand(new CommandArguments(Protocol.Command.HELLO).add("3"));
      }
      return true;
    } catch (JedisDataException e) {
      return false;
    }
  }

  /**
   * Returns the connection to the pool as broken: it may be subscribed, or speak another protocol
   * than the pool's. The pool replaces it at once.
   */
  private void giveBack(SocketWire wire) {
    if (connections.isShutdown()) {
      closePool(); // a closed pool makes no replacement
    }
    ConnectingThread.mayConnect(true);
    try {
      wire.giveBack();
    } catch (RuntimeException e) {
      LOG.debug("{}: a connection was not given back cleanly", threadName, e);
    } finally {
      ConnectingThread.mayConnect(false);
    }
  }

  private void closePool() {
    if (pool.isOwn()) {
      try {
        pool.pool().close();
      } catch (RuntimeException e) {
        LOG.debug("{}: the pool did not close cleanly", threadName, e);
      }
    }
  }

  @Override
  public void check() {
    giveUpAfter(LONGEST_TIMEOUTS * TimeUnit.MILLISECONDS.toNanos(soTimeoutMillis));
    if (connections.getPoolSize() == 0 && !connections.getQueue().isEmpty()) {
      connections.execute(() -> {}); // no thread could be started before
    }
  }

  private void giveUpAfter(long nanos) {
    ConnectingThread current = worker;
    if (current != null) {
      current.giveUpAfter(nanos);
    }
  }

  @Override
  public void close() {
    connections.shutdown(); // its thread closes the pool when it ends
    giveUpAfter(0);
  }

  /** A connection of the pool. Read by the dialer's thread. */
  private final class SocketWire implements Wire {
    private final Connection connection;
    private final Thread reader = Thread.currentThread();
    private final boolean takesMessages;
    private int buffered; // only for the writing thread
    private volatile boolean ended;

    SocketWire(Connection connection, boolean takesMessages) {
      this.connection = connection;
      this.takesMessages = takesMessages;
      connection.setHandlingPool(null); // otherwise close() would return it to its pool
      connection.setSoTimeout(soTimeoutMillis);
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

    /** Waits for the next answer, which may be an error reply. */
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

    @Override
    public boolean takesMessages() {
      return takesMessages;
    }

    @Override
    public void end() {
      ended = true;
      if (Thread.currentThread() != reader) {
        // Ends the read or write that is under way. Has its own thread, because it may block.
        try {
          new LibraryThread(this::disconnect, threadName + "-closer").start();
        } catch (OutOfMemoryError e) { // the read timeout ends it
          LOG.error("{}: no thread could be started to close a connection", threadName, e);
        }
      }
    }

    private void disconnect() {
      try {
        connection.forceDisconnect();
      } catch (NoSuchMethodError e) { // Jedis 6 has only the one that waits for a write
        disconnectGently();
      } catch (IOException e) {
        LOG.debug("{}: a connection did not close cleanly", threadName, e);
      }
    }

    private void disconnectGently() {
      try {
        connection.disconnect();
      } catch (JedisException e) {
        LOG.debug("{}: a connection did not close cleanly", threadName, e);
      }
    }

    void giveBack() {
      connection.setBroken();
      pool.pool().returnBrokenResource(connection);
    }
  }
}
