package io.redlock.spi;

import java.util.concurrent.ThreadFactory;

/**
 * A daemon thread of this library, and the only way in which it makes one. It may be started by any
 * caller, so it inherits nothing of that: no {@link InheritableThreadLocal}, thread group or
 * priority. Its context class loader is that of the library.
 */
public class LibraryThread extends Thread {

  private static final ThreadGroup GROUP = topmost(Thread.currentThread().getThreadGroup());

  /** Makes a thread, which is not started. */
  @SuppressWarnings("this-escape") // to Thread only, whose setters know no subclass
  public LibraryThread(Runnable task, String name) {
    super(GROUP, task, name, 0, false);
    setDaemon(true);
    setPriority(NORM_PRIORITY);
    setContextClassLoader(LibraryThread.class.getClassLoader());
  }

  /** Returns a factory of threads with this name. */
  public static ThreadFactory named(String name) {
    return task -> new LibraryThread(task, name);
  }

  private static ThreadGroup topmost(ThreadGroup group) {
    ThreadGroup parent = group.getParent();
    return parent == null ? group : topmost(parent);
  }
}
