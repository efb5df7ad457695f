package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.spi.Scheduler.Cancellable;
import org.jspecify.annotations.Nullable;

/**
 * Finds out whether a quorum still holds a lease after nodes have lost their past: extends it until
 * the answer is certain, after pauses that double, and so often at most. Then it gives up, which is
 * safe: a node that could not be asked still holds what it held, or will be found to have lost its
 * past. A node that loses its past meanwhile starts the same chain of extensions anew.
 */
final class Reaffirmation {

  /** Extensions per lost past. */
  static final int MOST = 8;

  private final Extension.Extendable lease;
  private final ServiceContext cluster;

  private boolean asking; // guarded by this; an extension is under way
  private boolean outdated; // guarded by this; its answers may be from before the latest loss
  private int asked; // guarded by this; extensions since the latest loss
  private @Nullable Cancellable timer; // guarded by this; of the next extension

  Reaffirmation(Extension.Extendable lease, ServiceContext cluster) {
    this.lease = lease;
    this.cluster = cluster;
  }

  /** A node has lost its past: asks at once, or as soon as the present answer is there. */
  void begin() {
    synchronized (this) {
      asked = 0;
      outdated = asking;
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
      timer = cluster.scheduler.schedule(this::ask, 0);
    } else if (result instanceof ExtendResult.Unknown && asked < MOST) {
      long ceilingNanos = cluster.settings.nodeTimeoutNanos() << asked;
      timer =
          cluster.scheduler.schedule(
              this::ask, ceilingNanos / 2 + cluster.random.nextLong(ceilingNanos / 2));
    }
  }
}
