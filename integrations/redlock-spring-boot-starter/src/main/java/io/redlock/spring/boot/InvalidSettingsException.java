package io.redlock.spring.boot;

/** Settings that {@code build()} refused; the message names every fault and its fix. */
final class InvalidSettingsException extends RuntimeException {

  private static final long serialVersionUID = 1;

  InvalidSettingsException(IllegalArgumentException refusal) {
    super(refusal.getMessage(), refusal);
  }
}
