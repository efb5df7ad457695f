package io.redlock.driver;

import io.redlock.protocol.Ballot;
import io.redlock.spi.LockNode;
import io.redlock.spi.Ticker;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/**
 * The median of the nodes' clocks, in microseconds since the epoch, so that the clients' own clocks
 * do not matter. Until a quorum of nodes has reported its time: the client's wall clock.
 */
final class MedianClock {

  private final List<LockNode> nodes;
  private final Ticker ticker;

  MedianClock(List<LockNode> nodes, Ticker ticker) {
    this.nodes = nodes;
    this.ticker = ticker;
  }

  long micros() {
    long[] offsets = new long[nodes.size()];
    int known = 0;
    for (LockNode node : nodes) {
      OptionalLong offset = node.clockOffsetMicros();
      if (offset.isPresent()) {
        offsets[known++] = offset.getAsLong();
      }
    }
    if (known < Ballot.quorum(nodes.size())) {
      return ticker.wallMicros();
    }
    Arrays.sort(offsets, 0, known);
    return offsets[(known - 1) / 2] + ticker.monotonicNanos() / 1_000;
  }
}
