package io.redlock.driver;

import io.redlock.Redlock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The one logger of this module, by the name that users configure: that of {@link Redlock}. */
final class Log {

  static final Logger LOG = LoggerFactory.getLogger("io.redlock.Redlock");

  private Log() {}
}
