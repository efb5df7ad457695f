package io.redlock.driver;

import io.redlock.LeaseRequest;
import io.redlock.protocol.Terms;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The numbers a lock service runs on, checked, in the units of the arithmetic.
 *
 * @param nodeTimeoutNanos how long a round waits for a node
 * @param maxTtlMillis the upper bound of any ttl
 * @param driftPartsPerMillion the part of a ttl allowed for clock drift
 * @param skewMicros how far node clocks may lie apart
 * @param lossMarginNanos how long before its deadline a lease is lost; −1 for a tenth of its ttl
 * @param minValidityNanos the least time a lease must be good for when it is handed out
 * @param keyPrefix what stands before every resource in its key
 */
record Settings(
    long nodeTimeoutNanos,
    long maxTtlMillis,
    long driftPartsPerMillion,
    long skewMicros,
    long lossMarginNanos,
    long minValidityNanos,
    String keyPrefix) {

  static final String RESERVED_PREFIX = "redlock:";
  private static final int MAX_NAME_BYTES = 512;
  private static final int MAX_RESOURCES = 16;
  private static final Duration LONGEST = Duration.ofDays(365);

  /** A master that lost its data abstains for as long as any client may hold anything. */
  static final Duration LONGEST_TTL = Duration.ofHours(1);

  static final Duration LONGEST_SKEW = Duration.ofMinutes(10);

  /** Nanoseconds, saturating: a wait of centuries is as good as endless. */
  static long saturatedNanos(Duration duration) {
    try {
      return duration.toNanos();
    } catch (ArithmeticException beyondTheRange) {
      return duration.isNegative() ? Long.MIN_VALUE : Long.MAX_VALUE;
    }
  }

  /** Milliseconds, rounded up: nodes never hold a key for less than was asked. */
  static long ceilMillis(Duration duration) {
    long millis = duration.toMillis();
    return duration.minusMillis(millis).isZero() ? millis : millis + 1;
  }

  /** Before the deadline of a lease with this ttl, the time at which it is declared lost. */
  long lossMarginNanos(long ttlMillis) {
    return lossMarginNanos >= 0 ? lossMarginNanos : ttlMillis * 1_000_000 / 10;
  }

  /**
   * A ttl with which a lease is good for that long, and by no more than the drift allowance and a
   * millisecond longer; at most maxTtl.
   */
  long ttlMillisFor(long validNanos) {
    long driftNanos = Terms.driftNanos(validNanos / 1_000_000, 2 * driftPartsPerMillion);
    return Math.min(maxTtlMillis, Math.max(1, (validNanos + driftNanos) / 1_000_000 + 1));
  }

  /** The terms of an operation with this ttl over so many nodes. */
  Terms terms(int nodes, long ttlMillis) {
    return new Terms(
        nodes,
        ttlMillis,
        Terms.driftNanos(ttlMillis, driftPartsPerMillion),
        lossMarginNanos(ttlMillis) + minValidityNanos);
  }

  /** The keys that a request locks, in alphabetical order of the resources. */
  List<String> names(LeaseRequest request) {
    return List.copyOf(
        keyPrefix.isEmpty()
            ? request.resources()
            : request.resources().stream().map(keyPrefix::concat).toList());
  }

  /** Everything that is wrong with a request, each with its fix. */
  List<String> problems(LeaseRequest request) {
    List<String> problems = new ArrayList<>();
    int count = request.resources().size();
    if (count == 0 || count > MAX_RESOURCES) {
      problems.add(count + " resources: name 1 to " + MAX_RESOURCES + " in one request");
    }
    for (String resource : request.resources()) {
      String name = keyPrefix + resource;
      int bytes = name.getBytes(StandardCharsets.UTF_8).length;
      if (resource.isBlank()) {
        problems.add("resource \"" + resource + "\" is blank: give it a name");
      } else if (!StandardCharsets.UTF_8.newEncoder().canEncode(name)) {
        problems.add(
            "resource \""
                + resource
                + "\" has half a surrogate pair, which UTF-8 cannot encode:"
                + " choose another name");
      } else if (bytes > MAX_NAME_BYTES) {
        problems.add(
            "resource with its prefix has " + bytes + " bytes: use at most " + MAX_NAME_BYTES);
      } else if (name.startsWith(RESERVED_PREFIX)) {
        problems.add(
            "key " + name + " begins with redlock:, which is reserved: choose another name");
      }
    }
    if (request.isFair() && count > 1) {
      problems.add("fairly() with " + count + " resources: ask for one, or leave fairly() out");
    }
    problems.addAll(ttlProblems(request.ttl()));
    request
        .maxWait()
        .filter(Duration::isNegative)
        .ifPresent(
            maxWait -> problems.add("maxWait " + maxWait + " is negative: zero means one attempt"));
    request
        .maxHold()
        .filter(maxHold -> maxHold.isNegative() || maxHold.isZero())
        .ifPresent(
            maxHold ->
                problems.add(
                    "maxHold " + maxHold + " is not positive: give the longest time to hold"));
    return problems;
  }

  /** Everything that is wrong with a ttl, each with its fix. */
  List<String> ttlProblems(Duration ttl) {
    List<String> problems = new ArrayList<>();
    if (ttl.isNegative() || ttl.isZero()) {
      problems.add("ttl " + ttl + " is not positive: use a few seconds, at most maxTtl");
      return problems;
    }
    if (ttl.compareTo(Duration.ofMillis(maxTtlMillis)) > 0) {
      problems.add(
          "ttl "
              + ttl
              + " is above maxTtl "
              + Duration.ofMillis(maxTtlMillis)
              + ": shorten it, or raise maxTtl on every client");
      return problems;
    }
    long ttlMillis = ceilMillis(ttl);
    long lostNanos =
        Terms.driftNanos(ttlMillis, driftPartsPerMillion)
            + lossMarginNanos(ttlMillis)
            + minValidityNanos;
    if (lostNanos >= ttlMillis * 1_000_000) {
      problems.add(
          "ttl "
              + ttl
              + " leaves no validity: drift allowance, loss margin and minimal validity"
              + " take "
              + Duration.ofNanos(lostNanos)
              + " of it; lengthen it");
    }
    if (nodeTimeoutNanos >= ttlMillis * 1_000_000 / 2) {
      problems.add(
          "nodeTimeout "
              + Duration.ofNanos(nodeTimeoutNanos)
              + " is not below half of ttl "
              + ttl
              + ": lengthen the ttl or shorten the timeout");
    }
    return problems;
  }

  /** Throws if there is a problem, naming them all. */
  static void reject(String what, List<String> problems) {
    if (!problems.isEmpty()) {
      throw new IllegalArgumentException(what + ": " + String.join("; ", problems));
    }
  }

  /** Checks a duration against its range and reports under its name. */
  static void check(
      List<String> problems, String name, Duration value, Duration least, String fix) {
    check(problems, name, value, least, fix, LONGEST, "");
  }

  /** The same with another upper bound; what else to do follows it. */
  static void check(
      List<String> problems,
      String name,
      Duration value,
      Duration least,
      String fix,
      Duration most,
      String instead) {
    if (value.compareTo(least) < 0) {
      problems.add(name + " " + value + " is too short: " + fix);
    } else if (value.compareTo(most) > 0) {
      problems.add(name + " " + value + " is too long: use at most " + most + instead);
    }
  }
}
