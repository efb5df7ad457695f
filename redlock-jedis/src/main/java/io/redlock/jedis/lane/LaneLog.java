package io.redlock.jedis.lane;

import io.redlock.spi.BackgroundLog;

/** The log for everything about a node; users configure it by this name. */
final class LaneLog {

  static final BackgroundLog LOG = BackgroundLog.of("io.redlock.jedis.NodeLane");

  private LaneLog() {}
}
