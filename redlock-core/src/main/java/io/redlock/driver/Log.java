package io.redlock.driver;

import io.redlock.Redlock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The only logger of this module, under the name that users configure: {@link Redlock}. */
final class Log {

  static final Logger LOG = LoggerFactory.getLogger("io.redlock.Redlock");

  private Log() {}
}
