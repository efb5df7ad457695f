package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.spi.Scheduler.Cancellable;
import org.jspecify.annotations.Nullable;

/**
 * Finds out whether a quorum still holds a lease after a node was reset: extends it until the
 * result is certain, at most {@link #MOST} times, after pauses that double. Then it gives up, which
 * is safe: a node that did not answer still holds what it held, or its own reset will be noticed.
 * Another reset meanwhile starts the extensions anew.
 */
final class Reaffirmation {

  /** The largest number of extensions per reset. */
  static final int MOST = 8;

  private final Extension.Extendable lease;
  private final ServiceContext context;

  private boolean asking; // guarded by this; an extension is under way
  private boolean outdated; // guarded by this; its answers may be from before the latest reset
  private int asked; // guarded by this; extensions since the latest reset
  private @Nullable Cancellable timer; // guarded by this; of the next extension

  Reaffirmation(Extension.Extendable lease, ServiceContext context) {
    this.lease = lease;
    this.context = context;
  }

  /** Extends after a reset: at once, or as soon as the extension under way has ended. */
  void begin() {
    synchronized (this) {
      asked = 0;
      outdated = asking; // E10
      if (timer != null) {
        timer.cancel();
      }
    }
    ask();
  }

  private void ask() {
    synchronized (this) {
      if (asking) {
        return;
      }
      asking = true;
      asked++;
    }
    lease.confirm(this::answered);
  }

  private synchronized void answered(ExtendResult result) {
    asking = false;
    if (outdated) {
      outdated = false;
      timer = context.scheduler.schedule(this::ask, 0);
    } else if (result.outcome() == ExtendResult.Outcome.UNKNOWN && asked < MOST) {
      long ceilingNanos = context.settings.nodeTimeoutNanos() << asked;
      timer =
          context.scheduler.schedule(
              this::ask, ceilingNanos / 2 + context.random.nextLong(ceilingNanos / 2));
    }
  }
}
