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

  /** Returns how many of its timers are set. */
  public static int pending(Scheduler scheduler) {
    int pending = 0;
    SystemSources.OneThread.Alarm each = ((SystemSources.OneThread) scheduler).last;
    for (; each != null; each = each.before) {
      pending += each.dueNanos.get() == Long.MAX_VALUE ? 0 : 1;
    }
    return pending;
  }
}
