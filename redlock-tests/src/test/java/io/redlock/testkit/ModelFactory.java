package io.redlock.testkit;

/** Makes the model of a node. */
public interface ModelFactory {
  NodeModel with(long skewMicros, long retentionMillis);
}
