package io.redlock.settings;

import io.redlock.spi.HolderLabel;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A setting of a lock service. Builders, properties, the environment, Spring's metadata and
 * docs/configuration.md follow from {@link #ALL}.
 *
 * @param <T> the type of its value
 * @param name its name in properties, without the prefix: {@code max-ttl}
 * @param type the class of its value
 * @param byDefault its default; empty if it has none, or one that depends on other settings
 * @param defaultText its default as the page says it
 * @param meaning what it means, in a phrase
 * @param check returns why a value is refused, with the fix; empty if it is fine by itself
 * @param isShared true if it must be the same for all clients
 */
public record Setting<T>(
    String name,
    Class<T> type,
    Optional<T> byDefault,
    String defaultText,
    String meaning,
    Function<T, Optional<String>> check,
    boolean isShared) {

  /** The beginning of the name of a property. */
  public static final String PROPERTY = "redlock.";

  /** The beginning of the names of the library's own keys; no lock has such a name. */
  public static final String RESERVED = "redlock:";

  static final Duration MOST_DRIFT_PER_SECOND = Duration.ofMillis(499);

  private static final Duration YEAR = Duration.ofDays(365);

  /** The addresses of the masters. */
  public static final Setting<String> NODES =
      text("nodes", "none", "the addresses of the masters", value -> Optional.empty()).shared();

  /** The addresses of the future masters. */
  public static final Setting<String> MOVING_TO =
      text(
          "moving-to",
          "none",
          "the future masters, while the masters are being changed",
          value -> Optional.empty());

  /** The time for which a round waits for its nodes. */
  public static final Setting<Duration> NODE_TIMEOUT =
      duration(
          "node-timeout",
          Duration.ofMillis(50),
          "how long a round waits for a master; must be below half of every ttl",
          Duration.ofMillis(1),
          YEAR,
          "");

  /** The upper bound of every ttl. A master that lost its data abstains for that long. */
  public static final Setting<Duration> MAX_TTL =
      duration(
              "max-ttl",
              Duration.ofSeconds(30),
              "the longest ttl, an hour at most",
              Duration.ofMillis(10),
              Duration.ofHours(1),
              ", and renewFor for longer holds")
          .shared();

  /** True if a master that lost its data abstains. */
  public static final Setting<Boolean> RESTART_GUARD =
      new Setting<>(
          "restart-guard",
          Boolean.class,
          Optional.of(true),
          "true",
          "a master that lost its data abstains",
          value -> Optional.empty(),
          true);

  /** The largest difference between the clocks of two nodes. */
  public static final Setting<Duration> CLOCK_SKEW =
      duration(
              "clock-skew",
              Duration.ofSeconds(2),
              "the largest difference between the clocks of two masters",
              Duration.ofMillis(1),
              Duration.ofMinutes(10),
              ", and set the clocks by NTP")
          .shared();

  /** The label of the client. */
  public static final Setting<String> HOLDER =
      text(
          "holder",
          "host and process id",
          "the label of this client, which refusals, lock keys and connections name; 1 to 64"
              + " printable ASCII characters without blanks and slashes, not freed or shared; no secret",
          HolderLabel::problem);

  /** The prefix of every key. */
  public static final Setting<String> KEY_PREFIX =
      text(
              "key-prefix",
              "empty",
              "the prefix of every lock key",
              prefix ->
                  prefix.startsWith(RESERVED)
                      ? Optional.of(reserved("keyPrefix", prefix))
                      : Optional.empty())
          .shared();

  /** The time that a node's clock may gain on the client's in a second. */
  public static final Setting<Duration> DRIFT_PER_SECOND =
      duration(
              "drift-per-second",
              Duration.ofMillis(10),
              "how much a master's clock may gain on this machine's in a second; 10 ms is 1 %",
              Duration.ZERO,
              MOST_DRIFT_PER_SECOND,
              ", 10ms is usual")
          .shared();

  /** The time before its deadline at which a lease is declared lost. */
  public static final Setting<Duration> LOSS_MARGIN =
      duration(
          "loss-margin",
          null,
          "the time between the loss signal and the deadline of a lease",
          Duration.ZERO,
          YEAR,
          "",
          "ttl / 10");

  /** The shortest validity of a lease when it is acquired or extended. */
  public static final Setting<Duration> MIN_VALIDITY =
      duration(
          "min-validity",
          Duration.ZERO,
          "the least validity of a lease that is acquired or extended; counts against every ttl",
          Duration.ZERO,
          YEAR,
          "",
          "0");

  /**
   * The time for which a master keeps an unused counter. Its range depends on others: the lane
   * checks it.
   */
  public static final Setting<Duration> FENCE_RETENTION =
      new Setting<>(
          "fence-retention",
          Duration.class,
          Optional.empty(),
          "the longest of 10 min, ten times maxTtl, and maxTtl + 4 × clockSkew",
          "how long masters keep an unused counter",
          value -> Optional.empty(),
          true);

  /**
   * The time until a silent connection is replaced. Its range depends on others: the lane checks
   * it.
   */
  public static final Setting<Duration> SILENCE_TIMEOUT =
      new Setting<>(
          "silence-timeout",
          Duration.class,
          Optional.empty(),
          "20 node timeouts, at least 2 s",
          "the time until a connection without answers is replaced",
          value -> Optional.empty(),
          false);

  /** All settings, in the order of the page. */
  public static final List<Setting<?>> ALL =
      List.of(
          NODES,
          MOVING_TO,
          NODE_TIMEOUT,
          MAX_TTL,
          RESTART_GUARD,
          CLOCK_SKEW,
          HOLDER,
          KEY_PREFIX,
          DRIFT_PER_SECOND,
          LOSS_MARGIN,
          MIN_VALIDITY,
          FENCE_RETENTION,
          SILENCE_TIMEOUT);

  private static Setting<String> text(
      String name, String defaultText, String meaning, Function<String, Optional<String>> check) {
    return new Setting<>(name, String.class, Optional.empty(), defaultText, meaning, check, false);
  }

  private static Setting<Duration> duration(
      String name,
      Duration byDefault,
      String meaning,
      Duration least,
      Duration most,
      String instead) {
    String text = Brief.exact(byDefault).replaceFirst("(?<=\\d)(?=\\D)", " ");
    return duration(name, byDefault, meaning, least, most, instead, text);
  }

  private static Setting<Duration> duration(
      String name,
      @Nullable Duration byDefault,
      String meaning,
      Duration least,
      Duration most,
      String instead,
      String defaultText) {
    String fix = least.isZero() ? "zero or more" : "at least " + Brief.exact(least);
    Function<Duration, Optional<String>> check =
        value -> {
          String shown = method(name) + " " + Brief.exact(value) + " is too ";
          if (value.compareTo(least) < 0) {
            return Optional.of(shown + "short: use " + fix);
          }
          return value.compareTo(most) <= 0
              ? Optional.empty()
              : Optional.of(shown + "long: use at most " + Brief.exact(most) + instead);
        };
    return new Setting<>(
        name, Duration.class, Optional.ofNullable(byDefault), defaultText, meaning, check, false);
  }

  /** Returns why a key, or a prefix of keys, that begins like those of the library is refused. */
  public static String reserved(String what, String key) {
    String why = " begins with " + RESERVED + ", which is reserved: choose another";
    return what + " " + Brief.text(key) + why;
  }

  private Setting<T> shared() {
    return new Setting<>(name, type, byDefault, defaultText, meaning, check, true);
  }

  /** Returns the name of its property: {@code redlock.max-ttl}. */
  public String property() {
    return PROPERTY + name;
  }

  /** Returns the name of its environment variable: {@code REDLOCK_MAX_TTL}. */
  public String variable() {
    return property().replaceAll("[.-]", "_").toUpperCase(Locale.ROOT);
  }

  /** Returns the name of its method in builders and messages: {@code maxTtl}. */
  public String method() {
    return this == NODES ? "node" : method(name);
  }

  private static String method(String name) {
    return Pattern.compile("-(.)")
        .matcher(name)
        .replaceAll(match -> match.group(1).toUpperCase(Locale.ROOT));
  }

  /** Returns the value of a setting of this name, which may be left out but not be null. */
  public static <V> V given(@Nullable V value, String name) {
    return Objects.requireNonNull(
        value, () -> name + " is null: give a value, or leave the setting out for its default");
  }

  @Override
  public String toString() {
    return method();
  }
}
