package io.redlock.spring.boot;

import io.redlock.settings.Setting;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.boot.context.properties.source.ConfigurationProperty;
import org.springframework.boot.context.properties.source.ConfigurationPropertyName;
import org.springframework.boot.context.properties.source.ConfigurationPropertySource;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.core.env.Environment;

/**
 * Shows settings that were refused as Spring Boot shows its own failures, without a stack trace,
 * and where each setting comes from.
 */
final class InvalidSettingsAnalyzer extends AbstractFailureAnalyzer<InvalidSettingsException> {

  private final Environment environment;

  InvalidSettingsAnalyzer(Environment environment) {
    this.environment = environment;
  }

  @Override
  protected FailureAnalysis analyze(Throwable failure, InvalidSettingsException cause) {
    String origins =
        Setting.ALL.stream()
            .flatMap(this::origin)
            .map(line -> System.lineSeparator() + "    " + line)
            .collect(Collectors.joining());
    return new FailureAnalysis(
        "The lock service was not started: " + cause.getMessage(),
        origins.isEmpty()
            ? "Set redlock.nodes, for example"
                + " redlock.nodes=10.0.0.1:6379,10.0.0.2:6379,10.0.0.3:6379,"
                + " or define a Redlock bean of your own."
            : "Correct the setting where it comes from:" + origins,
        failure);
  }

  /** Returns the property of a setting and its source; nothing if it is not set. No value. */
  private Stream<String> origin(Setting<?> setting) {
    ConfigurationPropertyName name = ConfigurationPropertyName.of(setting.property());
    for (ConfigurationPropertySource source : ConfigurationPropertySources.get(environment)) {
      for (ConfigurationPropertyName each : List.of(name, name.append("[0]"))) {
        ConfigurationProperty property = source.getConfigurationProperty(each);
        if (property != null) {
          return Stream.of(name + ": " + property.getOrigin());
        }
      }
    }
    return Stream.empty();
  }
}
