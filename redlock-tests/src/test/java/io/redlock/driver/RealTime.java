package io.redlock.driver;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;

/** The clocks and the scheduler that a lock service has by default, for nodes that stand alone. */
public final class RealTime {

  private RealTime() {}

  public static Ticker ticker() {
    return Ticker.system();
  }

  /** A new one; close it. */
  public static Scheduler scheduler() {
    return SystemSources.scheduler();
  }

  /** Returns how many tasks of it have neither begun nor been cancelled. */
  public static int pending(Scheduler scheduler) {
    return ((SystemSources.SingleThread) scheduler).executor.getQueue().size();
  }
}
