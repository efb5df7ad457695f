package io.redlock.simulation;

import java.util.Map;
import java.util.TreeMap;

/** How often each fault has struck. */
final class FaultCount {

  private final long[] counts = new long[SimFault.values().length];

  void count(SimFault fault) {
    counts[fault.ordinal()]++;
  }

  void add(FaultCount other) {
    for (int i = 0; i < counts.length; i++) {
      counts[i] += other.counts[i];
    }
  }

  long of(SimFault fault) {
    return counts[fault.ordinal()];
  }

  /** By kind, without those that did not strike. */
  Map<SimFault, Long> byKind() {
    Map<SimFault, Long> byKind = new TreeMap<>();
    for (SimFault fault : SimFault.values()) {
      if (of(fault) > 0) {
        byKind.put(fault, of(fault));
      }
    }
    return byKind;
  }
}
