package io.redlock.driver;

import io.redlock.LeaseRequest;
import io.redlock.protocol.LeaseTerms;
import io.redlock.settings.Setting;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** The checked settings of a lock service, as numbers in the units of the arithmetic. */
record Settings(
    long nodeTimeoutNanos, // how long a round waits for a node
    long maxTtlMillis, // of every lease
    long driftPartsPerMillion, // the part of a ttl allowed for clock drift
    long skewMicros, // the largest difference between node clocks
    long lossMarginNanos, // how long before its deadline a lease is lost; −1: a tenth of its ttl
    long minValidityNanos, // of a new lease
    String keyPrefix,
    String label) { // of the client; empty if it has none

  private static final int MAX_NAME_BYTES = 512;
  private static final int MAX_RESOURCES = 16;
  private static final int MAX_CHOICES = 1_000;

  /** Returns nanoseconds, saturating: a wait of centuries counts as endless. */
  static long saturatedNanos(Duration duration) {
    return TimeUnit.NANOSECONDS.convert(duration);
  }

  /** Returns milliseconds, rounded up: nodes never hold a key for less than requested. */
  static long ceilMillis(Duration duration) {
    long millis = duration.toMillis();
    return duration.getNano() % 1_000_000 == 0 ? millis : millis + 1;
  }

  long lossMarginNanos(long ttlMillis) {
    return lossMarginNanos >= 0 ? lossMarginNanos : ttlMillis * 1_000_000 / 10;
  }

  /**
   * Returns a ttl that makes a lease valid for this long, and longer by at most the drift allowance
   * and a millisecond; at most maxTtl.
   */
  long ttlMillisFor(long validNanos) {
    long driftNanos = LeaseTerms.driftNanos(validNanos / 1_000_000, 2 * driftPartsPerMillion);
    return Math.min(maxTtlMillis, Math.max(1, (validNanos + driftNanos) / 1_000_000 + 1));
  }

  LeaseTerms terms(Quorum quorum, long ttlMillis) {
    return new LeaseTerms(
        quorum,
        ttlMillis,
        LeaseTerms.driftNanos(ttlMillis, driftPartsPerMillion),
        lossMarginNanos(ttlMillis) + minValidityNanos,
        lossMarginNanos(ttlMillis));
  }

  /** Returns the keys of a request, in the alphabetical order of its resources. */
  List<String> names(LeaseRequest request) {
    return List.copyOf(
        keyPrefix.isEmpty()
            ? request.resources()
            : request.resources().stream().map(keyPrefix::concat).toList());
  }

  /** Returns the problems of a request, each with its fix. */
  List<String> problems(LeaseRequest request) {
    List<String> problems = new ArrayList<>();
    int count = request.resources().size();
    int most = request.isAnyOf() ? MAX_CHOICES : MAX_RESOURCES;
    if (count == 0 || count > most) {
      problems.add(count + " resources: name 1 to " + most + " in one request");
    }
    request.resources().forEach(resource -> problems.addAll(problems(resource)));
    String several = request.isAnyOf() ? "anyOf()" : count + " resources";
    if (request.isFair() && (request.isAnyOf() || count > 1)) { // Q9
      problems.add("fair() with " + several + ": ask for one name, or leave fair() out");
    }
    if (request.isShared() && (request.isAnyOf() || count > 1)) {
      problems.add("shared() with " + several + ": ask for one name, or leave shared() out");
    }
    if (request.isUnlessHeld() && (request.isFair() || request.isAnyOf())) {
      problems.add(
          text(
              "unlessHeld() with %s: it waits for nobody's turn and for no other name;"
                  + " leave one of them out",
              request.isFair() ? "fair()" : "anyOf()"));
    }
    if (!request.note().isEmpty()) {
      HolderLabel.problemOfNote(request.note()).ifPresent(problems::add);
    }
    problems.addAll(ttlProblems(request.ttl()));
    request
        .waitUpTo()
        .filter(Duration::isNegative)
        .map(time -> text("waitUpTo %s is negative: zero means one attempt", Brief.exact(time)))
        .ifPresent(problems::add);
    request
        .renewFor()
        .filter(time -> time.isNegative() || time.isZero())
        .map(Brief::exact)
        .map(time -> text("renewFor %s is not positive: give the longest time to hold", time))
        .ifPresent(problems::add);
    return problems;
  }

  List<String> problems(String resource) {
    String name = keyPrefix.concat(resource);
    int bytes = name.getBytes(StandardCharsets.UTF_8).length;
    if (resource.isBlank()) {
      return List.of("resource \"" + Brief.text(resource) + "\" is blank: give it a name");
    }
    if (!isEncodable(name)) {
      return List.of(
          text(
              "resource \"%s\" has half a surrogate pair, which UTF-8 cannot encode: choose another"
                  + " name",
              Brief.text(resource)));
    }
    if (bytes > MAX_NAME_BYTES) {
      return List.of(
          "resource with its prefix has " + bytes + " bytes: use at most " + MAX_NAME_BYTES);
    }
    return name.startsWith(Setting.RESERVED) ? List.of(Setting.reserved("key", name)) : List.of();
  }

  private static boolean isEncodable(String name) {
    for (int i = 0; i < name.length(); i++) {
      if (Character.isSurrogate(name.charAt(i))) {
        return StandardCharsets.UTF_8.newEncoder().canEncode(name);
      }
    }
    return true;
  }

  List<String> ttlProblems(Duration ttl) {
    if (ttl.isNegative() || ttl.isZero()) {
      return List.of(
          "ttl " + Brief.exact(ttl) + " is not positive: use a few seconds, at most maxTtl");
    }
    if (ttl.compareTo(Duration.ofMillis(maxTtlMillis)) > 0) {
      return List.of(
          text(
              "ttl %s is above maxTtl %s: shorten it, or raise maxTtl on every client",
              Brief.exact(ttl), Brief.exact(Duration.ofMillis(maxTtlMillis))));
    }
    List<String> problems = new ArrayList<>();
    long ttlMillis = ceilMillis(ttl);
    long lostNanos =
        LeaseTerms.driftNanos(ttlMillis, driftPartsPerMillion)
            + lossMarginNanos(ttlMillis)
            + minValidityNanos;
    if (lostNanos >= ttlMillis * 1_000_000) {
      problems.add(
          text(
              "ttl %s leaves no validity: drift allowance, loss margin and minimal validity take %s of"
                  + " it; lengthen it",
              Brief.exact(ttl), Brief.exact(Duration.ofNanos(lostNanos))));
    }
    if (nodeTimeoutNanos >= ttlMillis * 1_000_000 / 2) {
      problems.add(
          text(
              "nodeTimeout %s is not below half of ttl %s: lengthen the ttl or shorten the timeout",
              Brief.exact(Duration.ofNanos(nodeTimeoutNanos)), Brief.exact(ttl)));
    }
    return problems;
  }

  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }

  /** Throws if there is a problem; the message lists all. */
  static void reject(String what, List<String> problems) {
    if (!problems.isEmpty()) {
      throw new IllegalArgumentException(what + ": " + String.join("; ", problems));
    }
  }
}
