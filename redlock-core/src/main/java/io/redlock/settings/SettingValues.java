package io.redlock.settings;

import io.redlock.text.Brief;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The settings that were given. Not thread-safe. */
public final class SettingValues {

  private final Map<String, Object> given = new TreeMap<>(); // by name

  /** Creates values without any that is given. */
  public SettingValues() {}

  /** Sets a value; the last one counts. */
  public <T> void set(Setting<T> setting, @Nullable T value) {
    given.put(setting.name(), Setting.given(value, setting.method()));
  }

  /** Returns the value that was given, or the default; empty if there is neither. */
  public <T> Optional<T> find(Setting<T> setting) {
    Object value = given.get(setting.name());
    return value == null ? setting.byDefault() : Optional.of(setting.type().cast(value));
  }

  /** Returns the value that was given, or the default of a setting that has one. */
  public <T> T get(Setting<T> setting) {
    return find(setting).orElseThrow();
  }

  /** Returns the drift per second in parts per million, rounded up; within its range. */
  public long driftPartsPerMillion() {
    Duration drift = get(Setting.DRIFT_PER_SECOND);
    Duration most = Setting.MOST_DRIFT_PER_SECOND;
    long nanos = drift.isNegative() ? 0 : (drift.compareTo(most) < 0 ? drift : most).toNanos();
    return (nanos + 999) / 1_000;
  }

  /** Returns these settings as an operator types them before a command, but no defaults. */
  public String typed(Setting<?>... some) {
    StringBuilder typed = new StringBuilder();
    for (Setting<?> each : some) {
      if (!find(each).equals(each.byDefault())) {
        Object value = find(each).orElseThrow();
        String exact = value instanceof Duration time ? Brief.exact(time) : value.toString();
        // Fractions of a second are written as in ISO 8601.
        String text = exact.contains(".") ? value.toString() : exact;
        typed.append(each.variable()).append('=').append(text).append(' ');
      }
    }
    return typed.toString();
  }

  /** Returns why values are refused, each by itself. */
  public List<String> problems() {
    return Setting.ALL.stream().map(this::problem).flatMap(Optional::stream).toList();
  }

  private <T> Optional<String> problem(Setting<T> setting) {
    return find(setting).flatMap(setting.check());
  }
}
