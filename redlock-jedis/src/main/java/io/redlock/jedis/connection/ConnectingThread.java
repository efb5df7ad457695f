package io.redlock.jedis.connection;

import io.redlock.spi.LibraryThread;

/** A thread that may connect to nodes; no other thread may, see {@link NodePools}. */
public final class ConnectingThread extends LibraryThread {

  private boolean mayConnect = true; // of this thread

  /** Makes a thread, which is not started. */
  public ConnectingThread(Runnable task, String name) {
    super(task, name);
  }

  /** Sets whether the current thread may connect from now on. It must be one of these. */
  public static void mayConnect(boolean may) {
    ((ConnectingThread) Thread.currentThread()).mayConnect = may;
  }

  /** Returns true if the current thread may connect. */
  public static boolean currentMayConnect() {
    return Thread.currentThread() instanceof ConnectingThread thread && thread.mayConnect;
  }
}
