package io.redlock.driver;

import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** A thread that takes a step only when it is told to. */
final class Actor extends Thread {
  private final Semaphore mayGo = new Semaphore(0);
  private final Semaphore hasGone = new Semaphore(0);
  boolean isOver; // these are written before a release of hasGone
  @Nullable Throwable failure;
  private @Nullable Future<?> awaited;

  Actor(Runnable body) {
    super(body);
    setDaemon(true);
  }

  /** Waits for the next step, on this thread. */
  static void point() {
    if (currentThread() instanceof Actor actor) {
      actor.hasGone.release();
      actor.mayGo.acquireUninterruptibly();
    }
  }

  /** Takes no step until this is done, on this thread. */
  static void await(Future<?> future) {
    if (currentThread() instanceof Actor actor) {
      actor.awaited = future;
      point();
    }
  }

  boolean isReady() {
    return !isOver && (awaited == null || awaited.isDone());
  }

  @Override
  public void run() {
    mayGo.acquireUninterruptibly();
    try {
      super.run();
    } catch (Throwable e) {
      failure = e;
    }
    isOver = true;
    hasGone.release();
  }

  void go() {
    mayGo.release();
    hasGone.acquireUninterruptibly();
  }
}
