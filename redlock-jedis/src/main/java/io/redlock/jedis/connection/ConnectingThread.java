package io.redlock.jedis.connection;

/** A thread that may connect; no other may, see {@link NodePools}. */
public final class ConnectingThread extends Thread {

  private boolean mayConnect = true; // of this thread

  /** A daemon. */
  public ConnectingThread(Runnable task, String name) {
    super(task, name);
    setDaemon(true);
  }

  /** Whether the current thread may connect from now on. It has to be one of these. */
  public static void mayConnect(boolean may) {
    ((ConnectingThread) Thread.currentThread()).mayConnect = may;
  }

  static boolean currentMayConnect() {
    return Thread.currentThread() instanceof ConnectingThread thread && thread.mayConnect;
  }
}
