package io.redlock.jedis.lane;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The logger for everything about a node; users configure it by this name. */
final class LaneLog {

  static final Logger LOG = LoggerFactory.getLogger("io.redlock.jedis.NodeLane");

  private LaneLog() {}
}
