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
 * The resources to lock, and the terms. An immutable value: each wither returns a changed copy. A
 * {@link Redlock} checks a request against its own settings before it sends anything.
 */
public final class LeaseRequest {

  /** All that a request says. Each wither copies it here, so that none forgets the others. */
  private record Terms(
      Set<String> resources,
      Duration ttl,
      boolean any,
      @Nullable Duration waitUpTo,
      @Nullable Duration renewFor,
      boolean fair,
      boolean unlessHeld,
      boolean shared,
      String note) {

    Terms {
      Objects.requireNonNull(ttl, "ttl is null: give a duration of a few seconds");
    }

    static Terms plain(Set<String> resources, Duration ttl, boolean any) {
      return new Terms(resources, ttl, any, null, null, false, false, false, "");
    }

    Terms waiting(Duration waitUpTo) {
      return new Terms(resources, ttl, any, waitUpTo, renewFor, fair, unlessHeld, shared, note);
    }

    Terms renewed(Duration renewFor) {
      return new Terms(resources, ttl, any, waitUpTo, renewFor, fair, unlessHeld, shared, note);
    }

    Terms inTurn() {
      return new Terms(resources, ttl, any, waitUpTo, renewFor, true, unlessHeld, shared, note);
    }

    Terms endingIfHeld() {
      return new Terms(resources, ttl, any, waitUpTo, renewFor, fair, true, shared, note);
    }

    Terms forReading() {
      return new Terms(resources, ttl, any, waitUpTo, renewFor, fair, unlessHeld, true, note);
    }

    Terms noted(String note) {
      return new Terms(resources, ttl, any, waitUpTo, renewFor, fair, unlessHeld, shared, note);
    }
  }

  private final Terms terms;

  private LeaseRequest(Terms terms) {
    this.terms = terms;
  }

  /**
   * Returns a request for one resource, without a wait and without renewal.
   *
   * @param resource the name to lock: not blank; with the key prefix at most 512 bytes in UTF-8,
   *     and not beginning with {@code redlock:}
   * @param ttl how long nodes hold the lock unless it is extended: more than the drift allowance,
   *     the loss margin and {@code minValidity} together, more than twice the node timeout, at most
   *     the service's {@code maxTtl}; rounded up to milliseconds. Checked when the request is used
   * @return the request
   * @throws NullPointerException if an argument is null
   */
  public static LeaseRequest of(String resource, Duration ttl) {
    Objects.requireNonNull(resource, "resource is null: give the name to lock");
    return new LeaseRequest(Terms.plain(Collections.singleton(resource), ttl, false));
  }

  /**
   * Returns a request for several resources at once, all or none. Each node grants all of them in
   * one step or refuses, so overlapping requests cannot deadlock. The lease has one fencing token,
   * above the counters of all.
   *
   * @param resources the names to lock: 1 to 16, each as in {@link #of}; a name given twice counts
   *     once, and the order does not matter
   * @param ttl as in {@link #of}
   * @return the request
   * @throws NullPointerException if an argument or a name is null
   */
  public static LeaseRequest ofAll(Collection<String> resources, Duration ttl) {
    return new LeaseRequest(Terms.plain(names(resources), ttl, false));
  }

  /**
   * Returns a request for any one of several resources. {@link Lease#resources()} says which one
   * was free. So k names are a semaphore with k permits: never more than k are held, because each
   * is a lock of its own.
   *
   * <p>An attempt tries one name at random. If that is taken, it looks at the others, and tries
   * those that look free, until it has found all of them taken, or for two node timeouts. With a
   * wait, calls of one process for the same names take turns at the masters; a name that another
   * process releases is found by asking again, as for one name. Not in turn: {@link #fair} is
   * refused.
   *
   * @param resources the names to choose from: 1 to 1,000, each as in {@link #of}; a name given
   *     twice counts once
   * @param ttl as in {@link #of}
   * @return the request
   * @throws NullPointerException if an argument or a name is null
   */
  public static LeaseRequest anyOf(Collection<String> resources, Duration ttl) {
    return new LeaseRequest(Terms.plain(names(resources), ttl, true));
  }

  private static Set<String> names(Collection<String> resources) {
    Set<String> names = new TreeSet<>();
    for (String name :
        Objects.requireNonNull(resources, "resources is null: give the names to lock")) {
      names.add(
          Objects.requireNonNull(name, "resources contains null: give each name to lock as text"));
    }
    return Collections.unmodifiableSet(names);
  }

  /**
   * Returns a copy that is tried for this long. Without it, an acquire makes one attempt and {@link
   * LeaseLock#lock()} waits without end; with zero, every method makes one attempt.
   *
   * @param waitUpTo how long to go on after the first attempt has failed: zero or more; more than
   *     292 years counts as without end
   * @return the changed copy
   * @throws NullPointerException if the argument is null
   */
  public LeaseRequest waitUpTo(Duration waitUpTo) {
    Objects.requireNonNull(waitUpTo, "waitUpTo is null: leave it out for one attempt");
    return new LeaseRequest(terms.waiting(waitUpTo));
  }

  /**
   * Returns a copy whose lease is renewed: it is extended in the background every third of its ttl
   * until it ends or has been held for {@code renewFor}. After that it expires within a ttl, with
   * {@link LeaseEnd.Cause#RENEWAL_ENDED}.
   *
   * @param renewFor the longest time to renew for, positive: a holder that hangs must not keep the
   *     resource
   * @return the changed copy
   * @throws NullPointerException if the argument is null
   */
  public LeaseRequest renewFor(Duration renewFor) {
    Objects.requireNonNull(renewFor, "renewFor is null: leave it out for no renewal");
    return new LeaseRequest(terms.renewed(renewFor));
  }

  /**
   * Returns a copy that is served first come, first served among all fair requests for the
   * resource, across processes. A refused request leaves a ticket with the masters. The masters
   * grant a free resource only to the lowest ticket, and wake its owner.
   *
   * <ul>
   *   <li>Each process has one of its waiters in the queue at a time, in the order in which they
   *       came. The next one takes its ticket when the lease of its process has ended, behind the
   *       processes that already wait.
   *   <li>Tickets are ordered by the masters' median clock, as each process knows it. A waiter that
   *       is paused or cut off for three seconds is skipped; it keeps its ticket if it returns
   *       before its wait ends.
   *   <li>Requests without this bypass the queue: use it for all requests for a resource, or for
   *       none.
   *   <li>Without a wait, or with a wait of zero, it leaves no ticket, and fails while others wait.
   * </ul>
   *
   * <p>For one resource only; a request for several is refused when it is used.
   *
   * @return the changed copy
   */
  public LeaseRequest fair() {
    return new LeaseRequest(terms.inTurn());
  }

  /**
   * Returns a copy whose wait is not for a holder: it ends as {@link
   * AcquireResult.Outcome#CONTENDED} as soon as a quorum of nodes names one owner. The wait is for
   * a decision: requests that come together can each get a part of the nodes, so that nobody holds
   * the resource. With this, they ask again after random pauses until one of them holds it. For
   * work that one of several processes does at a time, and that the others leave out.
   *
   * <p>Does nothing without {@link #waitUpTo}; one or two seconds are enough. A call acquires a
   * lease that was released between two of its attempts: let the winner hold it for as long as the
   * others ask. Bypasses the local queue, as a call without a wait does. Not with {@link #anyOf},
   * {@link #fair} or {@link Redlock#asLock}: they refuse it when it is used.
   *
   * @return the changed copy
   */
  public LeaseRequest unlessHeld() {
    return new LeaseRequest(terms.endingIfHeld());
  }

  /**
   * Returns a copy that asks for a shared lease, for reading. Any number of clients hold shared
   * leases on a resource at once. A shared and an exclusive lease exclude each other; a request
   * without this is exclusive.
   *
   * <p>A shared request never passes a writer that waits {@linkplain #fair() fairly}: it is
   * refused, or waits, although the resource is only read. Writers that do not ask fairly may wait
   * without end while readers overlap.
   *
   * <p>The {@linkplain Lease#fencingToken() token} of a shared lease is above those of all earlier
   * exclusive leases and below those of all later ones. Leases that are shared at the same time
   * have tokens in no particular order; two may even be equal.
   *
   * <p>For one resource only; a request for several, or for {@link #anyOf}, is refused when it is
   * used.
   *
   * @return the changed copy
   */
  public LeaseRequest shared() {
    return new LeaseRequest(terms.forReading());
  }

  /**
   * Returns a copy that says what the lease is for. The note is stored with the masters and shown
   * beside the holder to everybody who is refused or asks who holds the resource; it is no secret.
   * Readers of one name are shown with their notes, waiters without.
   *
   * @param note for example {@code nightly report}: 1 to 48 printable ASCII characters without
   *     slashes, not only blanks; an underscore is shown as a blank. Empty for none. Checked when
   *     the request is used
   * @return the changed copy
   * @throws NullPointerException if the argument is null
   */
  public LeaseRequest note(String note) {
    Objects.requireNonNull(note, "note is null: leave it out");
    return new LeaseRequest(terms.noted(note));
  }

  /** Returns the names to lock, or to choose one from, in alphabetical order. */
  public Set<String> resources() {
    return terms.resources;
  }

  /** Returns how long nodes hold the lock unless it is extended. */
  public Duration ttl() {
    return terms.ttl;
  }

  /** Returns how long to go on after the first attempt has failed; empty if that was not set. */
  public Optional<Duration> waitUpTo() {
    return Optional.ofNullable(terms.waitUpTo);
  }

  /** Returns how long the lease is renewed; empty if it is not. */
  public Optional<Duration> renewFor() {
    return Optional.ofNullable(terms.renewFor);
  }

  /** Returns what the lease is for; empty if nothing was said. */
  public String note() {
    return terms.note;
  }

  /** Returns true if it is served first come, first served. */
  public boolean isFair() {
    return terms.fair;
  }

  /** Returns true if it asks for a shared lease, false if for an exclusive one. */
  public boolean isShared() {
    return terms.shared;
  }

  /** Returns true if it asks for one of its resources, false if for all of them. */
  public boolean isAnyOf() {
    return terms.any;
  }

  /** Returns true if its wait ends as soon as another client is known to hold the resource. */
  public boolean isUnlessHeld() {
    return terms.unlessHeld;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof LeaseRequest that && terms.equals(that.terms);
  }

  @Override
  public int hashCode() {
    return terms.hashCode();
  }

  /** For example {@code orders/42 for 30s, waiting up to 5s, renewed for 10m, fair}. */
  @Override
  public String toString() {
    return (terms.any ? "any of " : "")
        + Brief.names(terms.resources)
        + " for "
        + Brief.exact(terms.ttl)
        + (terms.waitUpTo == null ? "" : ", waiting up to " + Brief.exact(terms.waitUpTo))
        + (terms.unlessHeld ? ", unless held" : "")
        + (terms.renewFor == null ? "" : ", renewed for " + Brief.exact(terms.renewFor))
        + (terms.fair ? ", fair" : "")
        + (terms.shared ? ", shared" : "")
        + (terms.note.isEmpty() ? "" : ", for " + terms.note);
  }
}
