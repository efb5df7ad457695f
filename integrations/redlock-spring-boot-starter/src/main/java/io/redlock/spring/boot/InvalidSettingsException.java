package io.redlock.spring.boot;

import java.util.Objects;

/** Settings that {@code build()} refused. */
final class InvalidSettingsException extends RuntimeException {

  private static final long serialVersionUID = 1;

  InvalidSettingsException(IllegalArgumentException refusal) {
    super(refusal.getMessage(), refusal);
  }

  /** Returns every fault with its fix. */
  String faults() {
    return Objects.requireNonNull(getMessage());
  }
}
