package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.Turn;
import io.redlock.protocol.Turn.Attempted;
import io.redlock.protocol.Turn.Outcome;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One round of an attempt to acquire a lease. An attempt has up to three, under one new owner id
 * and within one node timeout. It ends with a lease, or fails; then every key that it may have left
 * is released.
 */
final class Attempt extends Fanout {

  /** The call that makes it. */
  interface Caller {
    /** Takes the end of the attempt. */
    void attempted(AttemptEnd end);

    /** Ends because this library failed, for example for want of memory. */
    void failed(Throwable why);

    /** Returns true if its result is this lease. */
    boolean hasTaken(Lease lease);
  }

  private final Set<String> resources;
  private final Caller caller;
  private @Nullable HeldLease lease; // written by the owner's steps

  private Attempt(
      Owner owner,
      Set<String> resources,
      Caller caller,
      NodeRequest grant,
      int round,
      long startNanos,
      long timeoutNanos) {
    super(owner, grant, round, startNanos, timeoutNanos);
    this.resources = resources;
    this.caller = caller;
  }

  /**
   * Starts the attempt of this owner, unless that was ended.
   *
   * @param resources those of the request, or the one to try of a request for any one
   */
  static void start(Owner owner, LeaseRequest request, Set<String> resources, Caller caller) {
    ServiceContext context = owner.context;
    LeaseTerms terms = context.settings.terms(context.quorum, Settings.ceilMillis(request.ttl()));
    long token = context.clock.nextToken();
    long startNanos = context.ticker.monotonicNanos();
    long startWallMicros = context.ticker.wallMicros();
    synchronized (owner) {
      if (!owner.tenure.begin(terms, token, startNanos, startWallMicros)) {
        return;
      }
    }
    owner.enter();
    long timeoutNanos = context.settings.nodeTimeoutNanos();
    propose(owner, resources, caller, startNanos, timeoutNanos);
    owner.drain();
  }

  /** Adds the round that has begun, unless the attempt was ended since. */
  private static void propose(
      Owner owner, Set<String> resources, Caller caller, long startNanos, long timeoutNanos) {
    long micros = owner.context.clock.micros();
    synchronized (owner) {
      int round = owner.tenure.round();
      if (round > 0) {
        QueuePlace place = owner.place;
        Ticket ticket = place == null ? null : place.ticket(owner.tenure.token());
        NodeRequest grant = owner.tenure.grant(owner.names, owner.id, ticket, micros);
        owner.add(new Attempt(owner, resources, caller, grant, round, startNanos, timeoutNanos));
      }
    }
  }

  @Override
  @Nullable Runnable report(Turn decision) {
    if (decision.outcome() == Outcome.PROPOSED) {
      propose(owner, resources, caller, decidedNanos(), leftNanos());
    }
    Attempted attempted = decision.attempted();
    if (attempted == null) {
      return null;
    }
    if (decision.outcome() == Outcome.HELD) {
      lease = new HeldLease(owner, resources, attempted.round());
      lease.enter();
    }
    AttemptEnd end = AttemptEnd.of(attempted, owner.context.quorum, lease, votes());
    Log.LOG.debug("{}: {}", owner, end.decision());
    return () -> caller.attempted(end);
  }

  @Override
  Runnable report(Throwable why) {
    HeldLease held = lease;
    if (held == null) {
      owner.end();
    } else if (!caller.hasTaken(held)) {
      held.discard();
    }
    return () -> caller.failed(why);
  }
}
