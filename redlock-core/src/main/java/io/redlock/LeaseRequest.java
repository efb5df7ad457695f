package io.redlock;

import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What to lock and on which terms. Immutable: each wither returns a changed copy. Ranges that
 * depend on the settings of a lock service are checked when the request is used, before anything is
 * sent.
 */
public final class LeaseRequest {

  private final Set<String> resources;
  private final Duration ttl;
  private final Duration maxWait;
  private final @Nullable Duration maxHold;

  private LeaseRequest(
      Set<String> resources, Duration ttl, Duration maxWait, @Nullable Duration maxHold) {
    this.resources = resources;
    this.ttl = ttl;
    this.maxWait = maxWait;
    this.maxHold = maxHold;
  }

  /**
   * A request for one resource: one attempt, no renewal.
   *
   * @param resource what to lock: not blank, at most 512 bytes in UTF-8
   * @param ttl for how long nodes shall hold the lock unless it is extended: above the drift
   *     allowance and twice the node timeout, at most the service's {@code maxTtl}; rounded up to
   *     milliseconds
   * @return the request
   */
  public static LeaseRequest of(String resource, Duration ttl) {
    return new LeaseRequest(
        Collections.singleton(Objects.requireNonNull(resource, "resource")),
        Objects.requireNonNull(ttl, "ttl"),
        Duration.ZERO,
        null);
  }

  /**
   * A request for several resources at once, all or none: each node grants all of them in one step
   * or refuses, so overlapping requests cannot deadlock. The lease has one fencing token, above the
   * counters of all.
   *
   * @param resources what to lock: 1 to 16 different names as in {@link #of}; their order does not
   *     matter
   * @param ttl as in {@link #of}
   * @return the request
   */
  public static LeaseRequest ofAll(Collection<String> resources, Duration ttl) {
    return new LeaseRequest(
        Collections.unmodifiableSet(new TreeSet<>(resources)),
        Objects.requireNonNull(ttl, "ttl"),
        Duration.ZERO,
        null);
  }

  /**
   * The same request, tried for longer.
   *
   * @param maxWait how long to go on trying; zero for one attempt, not negative; a wait longer than
   *     292 years is as good as endless
   * @return the changed copy
   */
  public LeaseRequest waitUpTo(Duration maxWait) {
    return new LeaseRequest(resources, ttl, Objects.requireNonNull(maxWait, "maxWait"), maxHold);
  }

  /**
   * The same request, renewed: the lease is extended in the background every third of its ttl until
   * it ends or has been held for {@code maxHold}; after that it runs out within a ttl, as {@link
   * LeaseEnd.Cause#MAX_HOLD}.
   *
   * @param maxHold the longest time to renew for, positive: a holder that hangs must not keep the
   *     resource for ever
   * @return the changed copy
   */
  public LeaseRequest renewFor(Duration maxHold) {
    return new LeaseRequest(resources, ttl, maxWait, Objects.requireNonNull(maxHold, "maxHold"));
  }

  /** What to lock, in alphabetical order. */
  public Set<String> resources() {
    return resources;
  }

  /** The resources as messages name them. */
  String label() {
    return String.join(" + ", resources);
  }

  /** For how long nodes shall hold the lock unless it is extended. */
  public Duration ttl() {
    return ttl;
  }

  /** How long to go on trying after the first attempt has failed. */
  public Duration maxWait() {
    return maxWait;
  }

  /** For how long the lease is renewed; empty if it is not. */
  public Optional<Duration> renewFor() {
    return Optional.ofNullable(maxHold);
  }

  /** For example {@code orders/42 for PT30S, waiting up to PT5S}. */
  @Override
  public String toString() {
    return label() + " for " + ttl + (maxWait.isZero() ? "" : ", waiting up to " + maxWait);
  }
}
