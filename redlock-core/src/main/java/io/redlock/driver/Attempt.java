package io.redlock.driver;

import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.Rivals;
import io.redlock.protocol.Turn;
import io.redlock.protocol.Turn.Attempted;
import io.redlock.protocol.Turn.Outcome;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to acquire a lease: up to three rounds under one new owner id, all within one node
 * timeout. It ends with a lease, or fails; then every key that it may have left is released.
 */
final class Attempt implements Timeouts.Timed {

  /** The call that makes it. */
  interface Caller {
    /** Ends because this library failed, for example for want of memory; abandons the attempt. */
    void failed(Throwable why);

    /** Returns true if its result is this lease. */
    boolean hasTaken(Lease lease);
  }

  private final ServiceContext context;
  private final LeaseRequest request;
  private final Set<String> resources;
  private final Owner owner;
  private final LeaseTerms terms;
  private final Caller caller;
  private final Consumer<AttemptEnd> whenDone;
  private final long resets; // of nodes, before the first grant
  private volatile @Nullable GrantFanout current;
  private volatile boolean timedOut;
  private volatile boolean done;

  /**
   * @param resources those of the request, or the one to try of a request for any one
   * @param names their keys
   * @param whenDone receives its end
   */
  Attempt(
      ServiceContext context,
      LeaseRequest request,
      Set<String> resources,
      List<String> names,
      String ownerId,
      @Nullable QueuePlace place,
      Listeners listeners,
      Caller caller,
      Consumer<AttemptEnd> whenDone) {
    this.context = context;
    this.request = request;
    this.resources = resources;
    this.owner = new Owner(context, names, ownerId, place, listeners, request);
    this.terms = context.settings.terms(context.quorum, Settings.ceilMillis(request.ttl()));
    this.caller = caller;
    this.whenDone = whenDone;
    this.resets = context.resets.get();
  }

  void start() {
    long token = context.clock.nextToken();
    long startNanos = context.ticker.monotonicNanos();
    long startWallMicros = context.ticker.wallMicros();
    context.timeouts.add(this, startNanos);
    boolean begins;
    synchronized (owner) {
      Turn turn = owner.tenure.begin(terms, token, startNanos, startWallMicros);
      begins = turn.outcome() == Outcome.PROPOSED;
    }
    if (begins) {
      propose(startNanos);
    }
  }

  /** Sends the grant of the round that has begun, unless the attempt was abandoned since. */
  private void propose(long startNanos) {
    GrantFanout fanout = null;
    NodeRequest grant = null;
    try {
      fanout = new GrantFanout(startNanos);
      grant = fanout.grant();
    } finally {
      if (grant == null) {
        owner.handed(0, false); // also where memory is short, or the release would never be sent
      }
    }
    if (grant != null) {
      fanout.start(grant);
    }
  }

  /**
   * Ends the attempt without a result. The release is sent once all its requests were.
   *
   * @return the owner that is released
   */
  Owner abandon() {
    done = true;
    owner.end();
    return owner;
  }

  @Override
  public boolean isDecided() {
    return done;
  }

  @Override
  public void onTimeout() {
    timedOut = true;
    GrantFanout round = current;
    if (round != null) {
      round.timeout();
    }
  }

  private void finish(AttemptEnd outcome) {
    done = true;
    Log.LOG.debug("{}: {}", request, outcome.decision());
    whenDone.accept(outcome);
  }

  private final class GrantFanout extends Fanout {
    private int number; // of the round

    GrantFanout(long startNanos) {
      super(Attempt.this.owner, startNanos);
    }

    /** Returns the grant; null if the attempt was abandoned. */
    @Nullable NodeRequest grant() {
      synchronized (owner) {
        number = owner.tenure.round();
        if (number == 0) {
          return null;
        }
        QueuePlace place = owner.place;
        Ticket ticket = place == null ? null : place.ticket(owner.tenure.token());
        return owner.tenure.grant(owner.names, owner.id, ticket, context.clock.micros());
      }
    }

    void start(NodeRequest grant) {
      current = this;
      send(grant, number);
      if (timedOut) {
        timeout(); // the timeout came between two rounds
      }
    }

    @Override
    void act(Turn turn) {
      HeldLease lease = null;
      try {
        owner.releaseIfDue(turn); // first: whatever fails from here on, the keys go
        if (turn.outcome() == Outcome.PROPOSED) {
          propose(decidedNanos());
          return;
        }
        Attempted attempted = turn.attempted();
        if (attempted != null) {
          lease = turn.outcome() == Outcome.HELD ? held(attempted.round()) : null;
          finish(end(attempted, lease));
        }
      } catch (RuntimeException | Error e) { // on a lane's thread, nobody else would see it
        failed(e, lease);
      }
    }

    private void failed(Throwable why, @Nullable HeldLease lease) {
      try {
        caller.failed(why);
      } finally {
        discardUnlessTaken(lease);
      }
    }

    private void discardUnlessTaken(@Nullable HeldLease lease) {
      if (lease != null && !caller.hasTaken(lease)) {
        lease.discard();
      }
    }

    private AttemptEnd end(Attempted attempted, @Nullable Lease lease) {
      return new AttemptEnd(
          attempted.decision(),
          lease,
          votes(),
          attempted.rivals().remainingMillis(),
          attempted.keepsPlace(),
          attempted.isBehindOthers(),
          by(attempted));
    }

    private By by(Attempted attempted) {
      Rivals rivals = attempted.rivals();
      if (rivals.isOne(context.quorum)) {
        return By.HOLDER;
      }
      return rivals.isSplit(context.quorum, attempted.round().rulesOutAnother())
          ? By.SPLIT
          : By.UNKNOWN;
    }

    private HeldLease held(AcquireRound round) {
      return HeldLease.begin(owner, request, resources, round, resets);
    }
  }
}
