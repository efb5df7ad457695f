package io.redlock;

import io.redlock.text.Brief;
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
  private final boolean fair;

  private LeaseRequest(
      Set<String> resources,
      Duration ttl,
      Duration maxWait,
      @Nullable Duration maxHold,
      boolean fair) {
    this.resources = resources;
    this.ttl = ttl;
    this.maxWait = maxWait;
    this.maxHold = maxHold;
    this.fair = fair;
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
        null,
        false);
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
        null,
        false);
  }

  /**
   * The same request, tried for longer.
   *
   * @param maxWait how long to go on trying; zero for one attempt, not negative; a wait longer than
   *     292 years is as good as endless
   * @return the changed copy
   */
  public LeaseRequest waitUpTo(Duration maxWait) {
    return new LeaseRequest(
        resources, ttl, Objects.requireNonNull(maxWait, "maxWait"), maxHold, fair);
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
    return new LeaseRequest(
        resources, ttl, maxWait, Objects.requireNonNull(maxHold, "maxHold"), fair);
  }

  /**
   * The same request, first come, first served among all fair requests for the resource, in
   * whichever process. A request that is refused leaves a ticket with the masters, and they grant a
   * free resource only to the lowest ticket; whoever comes first is woken when the resource becomes
   * free.
   *
   * <ul>
   *   <li>Each process stands in the queue with one of its waiters at a time, in the order in which
   *       they came; the next takes its ticket when the lease of its process has ended, behind the
   *       processes that wait already.
   *   <li>Tickets are in the order of the masters' median clock, as each process knows it. Who is
   *       paused or cut off for three seconds is passed over, and keeps its ticket if it comes back
   *       in time to wait on.
   *   <li>Requests without this are not held up by the queue: use it for all or for none.
   *   <li>With a {@link #maxWait()} of zero it leaves no ticket, but fails where others wait.
   * </ul>
   *
   * <p>For one resource only; together with several it is refused.
   *
   * @return the changed copy
   */
  public LeaseRequest fairly() {
    return new LeaseRequest(resources, ttl, maxWait, maxHold, true);
  }

  /** What to lock, in alphabetical order. */
  public Set<String> resources() {
    return resources;
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

  /** Whether it is served in the order of arrival. */
  public boolean isFair() {
    return fair;
  }

  /** For example {@code orders/42 for PT30S, waiting up to PT5S}. */
  @Override
  public String toString() {
    return Brief.names(resources)
        + " for "
        + ttl
        + (maxWait.isZero() ? "" : ", waiting up to " + maxWait)
        + (fair ? ", fairly" : "");
  }
}
