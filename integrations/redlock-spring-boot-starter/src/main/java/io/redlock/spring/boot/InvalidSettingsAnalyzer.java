package io.redlock.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Shows settings that were refused as Spring Boot shows its own failures, without a stack trace.
 */
final class InvalidSettingsAnalyzer extends AbstractFailureAnalyzer<InvalidSettingsException> {

  /** Creates the analyzer; called by Spring Boot. */
  InvalidSettingsAnalyzer() {}

  @Override
  protected FailureAnalysis analyze(Throwable failure, InvalidSettingsException cause) {
    return new FailureAnalysis(
        "The lock service was not started: " + cause.faults(),
        "Correct the properties redlock.*, for example"
            + " redlock.nodes=10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379,"
            + " or define a Redlock bean of your own.",
        failure);
  }
}
