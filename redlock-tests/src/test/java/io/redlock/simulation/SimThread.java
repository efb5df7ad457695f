package io.redlock.simulation;

import java.util.concurrent.Semaphore;

/**
 * A thread that works for long. It is a real one, so that it has a stack and interrupts of its own,
 * but it runs only while an event waits for it: one thread in the world runs at a time.
 */
final class SimThread extends Thread {

  private static final long BUSY_NANOS = 50_000;

  private final SimProcess process;
  private final SimProcess.Strand strand;
  private final Semaphore turn = new Semaphore(0);
  private final Semaphore pause = new Semaphore(0);
  private boolean isOver;

  SimThread(SimProcess process, Runnable task) {
    super(task, "thread of " + process);
    this.process = process;
    strand = process.strand();
    setDaemon(true);
    process.world.threads.add(this);
  }

  /** Starts it a little later. */
  @Override
  public void start() {
    process.world.after(BUSY_NANOS, () -> strand.run(this::startNow));
  }

  private void startNow() {
    super.start();
    pause.acquireUninterruptibly();
  }

  @Override
  public void run() {
    try {
      super.run();
    } finally {
      isOver = true;
      pause.release();
    }
  }

  /**
   * The world goes on without the current thread, which is one of these.
   *
   * @return false if the run is over
   */
  static boolean pauseFor(long nanos) {
    SimThread thread = (SimThread) currentThread();
    if (!thread.isOver) {
      thread.process.world.after(nanos, thread::wake);
      thread.pause.release();
      thread.turn.acquireUninterruptibly();
    }
    return !thread.isOver;
  }

  /** Ends it once the run is over: others may hold locks until then. */
  void end() {
    if (isAlive() && !isOver) {
      isOver = true;
      goOn();
    }
  }

  private void wake() {
    if (process.isFrozen() || !strand.isIdle()) {
      process.world.after(BUSY_NANOS, this::wake);
    } else {
      strand.run(this::goOn);
    }
  }

  private void goOn() {
    turn.release();
    pause.acquireUninterruptibly();
  }
}
