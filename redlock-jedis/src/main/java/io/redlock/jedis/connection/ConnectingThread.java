package io.redlock.jedis.connection;

import io.redlock.spi.LibraryThread;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.util.IOUtils;

/** A thread that may connect to nodes; no other thread may, see {@link NodePool}. */
public final class ConnectingThread extends LibraryThread {

  private boolean mayConnect = true; // of this thread
  private @Nullable Socket socket; // guarded by this; of the attempt under way
  private boolean isOver; // guarded by this; the attempt took too long, or nobody waits for it
  private long sinceNanos = System.nanoTime(); // guarded by this; the begin of the attempt

  /** Makes a thread, which is not started. */
  public ConnectingThread(Runnable task, String name) {
    super(task, name);
  }

  /**
   * Begins an attempt to connect on the current thread, or ends it. It must be one of these.
   *
   * @param may true from when on it may connect, false from when on it may not
   */
  public static void mayConnect(boolean may) {
    ((ConnectingThread) Thread.currentThread()).setMayConnect(may);
  }

  private synchronized void setMayConnect(boolean may) {
    mayConnect = may;
    socket = null;
    isOver = false;
    sinceNanos = System.nanoTime();
  }

  /** Returns true if the current thread may connect. */
  public static boolean currentMayConnect() {
    return Thread.currentThread() instanceof ConnectingThread thread && thread.mayConnect;
  }

  /** Takes note of the socket that the attempt on the current thread uses from now on. */
  static void opened(Socket socket) throws IOException {
    if (Thread.currentThread() instanceof ConnectingThread thread) {
      thread.use(socket);
    }
  }

  private synchronized void use(Socket opened) throws IOException {
    if (isOver) {
      throw new SocketException("the attempt to connect was given up");
    }
    socket = opened;
  }

  /**
   * Gives the attempt of this thread up if it is older than this, and closes its socket: a timeout
   * of each read does not end an attempt whose server sends a byte now and then. Neither blocks nor
   * throws.
   */
  public void giveUpAfter(long nanos) {
    Socket closed;
    synchronized (this) {
      if (!mayConnect || System.nanoTime() - sinceNanos < nanos) {
        return;
      }
      isOver = true;
      closed = socket;
    }
    try {
      if (closed != null) { // has its own thread, because it may block
        new LibraryThread(() -> IOUtils.closeQuietly(closed), getName() + "-closer").start();
      }
    } catch (OutOfMemoryError e) {
      // a timeout ends it, or the next call
    }
  }
}
