package io.redlock.driver;

import io.redlock.spi.LockNode;
import io.redlock.spi.Quorum;
import io.redlock.spi.Ticker;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;

/**
 * The median of the nodes' clocks, in microseconds since the epoch, so that the clients' own clocks
 * do not matter. Until a quorum of nodes has reported its time: the client's wall clock. It
 * proposes fencing tokens. Nodes decide; if a counter is higher, the next round proposes more.
 */
final class MedianClock {

  private final List<LockNode> nodes;
  private final Quorum quorum;
  private final Ticker ticker;
  private final long skewMicros; // how far above their own time nodes accept a token
  private long lastToken; // guarded by this

  MedianClock(List<LockNode> nodes, Quorum quorum, Ticker ticker, long skewMicros) {
    this.nodes = nodes;
    this.quorum = quorum;
    this.ticker = ticker;
    this.skewMicros = skewMicros;
  }

  /** Returns a token to propose: the time, but above earlier tokens if nodes may accept that. */
  synchronized long nextToken() {
    long now = micros();
    boolean isAhead = lastToken >= now && lastToken < now + skewMicros; // A2
    lastToken = isAhead ? lastToken + 1 : now;
    return lastToken;
  }

  long micros() {
    long[] offsets = new long[nodes.size()];
    int known = 0;
    int reporting = 0;
    for (int node = 0; node < offsets.length; node++) {
      OptionalLong offset = nodes.get(node).clockOffsetMicros();
      if (offset.isPresent()) {
        offsets[known++] = offset.getAsLong();
        reporting |= 1 << node;
      }
    }
    if (!quorum.isReachedBy(reporting)) {
      return ticker.wallMicros();
    }
    Arrays.sort(offsets, 0, known);
    return offsets[(known - 1) / 2] + ticker.monotonicNanos() / 1_000;
  }
}
