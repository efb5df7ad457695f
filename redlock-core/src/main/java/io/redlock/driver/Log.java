package io.redlock.driver;

import io.redlock.Redlock;
import io.redlock.spi.BackgroundLog;

/** The only log of this module, under the name that users configure: {@link Redlock}. */
final class Log {

  static final BackgroundLog LOG = BackgroundLog.of("io.redlock.Redlock");

  private Log() {}
}
