package io.redlock.driver;

import io.redlock.Redlock;
import io.redlock.spi.BackgroundLog;

/** The only log of this module, under the name that users configure: {@link Redlock}. */
final class Log {

  static final BackgroundLog LOG = BackgroundLog.of("io.redlock.Redlock");

  private Log() {}

  /** Reports that a step failed. Never throws. */
  static void failure(Object who, Throwable why) {
    boolean isShortage = why instanceof OutOfMemoryError;
    String line =
        isShortage
            ? "A step of {} failed: memory is short"
            : "A step of {} failed: this is a defect of the lock library";
    LOG.error(line, who, why);
  }
}
