package io.redlock.testkit;

/** Makes the model of a node. */
public interface NodeRules {
  NodeModel with(long skewMicros, long retentionMillis);
}
