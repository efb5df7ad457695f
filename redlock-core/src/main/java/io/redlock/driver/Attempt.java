package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.protocol.LeaseTerms;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One attempt to acquire a lease: up to three rounds under one new owner id, all within one node
 * timeout. It ends with a lease, or fails; then every key that it may have left is released.
 */
final class Attempt implements Timeouts.Timed {

  private final ServiceContext context;
  private final LeaseRequest request;
  private final Set<String> resources;
  private final Claim claim;
  private final LeaseTerms terms;
  private final Consumer<AttemptEnd> whenDone;
  private final Consumer<Throwable> whenFailed;
  private volatile @Nullable GrantFanout current;
  private volatile boolean timedOut;
  private volatile boolean done;

  /**
   * @param resources those of the request, or the one to try of a request for any one
   * @param names their keys
   * @param whenDone receives its end
   * @param whenFailed receives an exception or error of this library, and then abandons the attempt
   */
  Attempt(
      ServiceContext context,
      LeaseRequest request,
      Set<String> resources,
      List<String> names,
      String owner,
      @Nullable QueuePlace place,
      Listeners listeners,
      Consumer<AttemptEnd> whenDone,
      Consumer<Throwable> whenFailed) {
    this.context = context;
    this.request = request;
    this.resources = resources;
    this.claim = new Claim(context, names, owner, place, listeners);
    this.terms = context.settings.terms(context.quorum, Settings.ceilMillis(request.ttl()));
    this.whenDone = whenDone;
    this.whenFailed = whenFailed;
  }

  void start() {
    long token = context.tokens.next();
    GrantFanout first = new GrantFanout(token);
    context.timeouts.add(this, first.startNanos);
    first.start();
  }

  /**
   * Ends the attempt without a result. The release is sent once all its requests were.
   *
   * @return the claim that is released
   */
  Claim abandon() {
    done = true;
    claim.end();
    return claim;
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
    if (outcome.lease() == null) {
      if (claim.place == null || outcome.keepsPlace()) {
        claim.fail();
      } else {
        claim.end();
      }
    }
    whenDone.accept(outcome);
  }

  private final class GrantFanout extends ClaimFanout {
    private AcquireRound round; // guarded by claim
    private Decision decision = Decision.WAIT; // guarded by claim
    private boolean abandoned; // guarded by claim
    private long heldRemainingMillis = -1; // guarded by claim
    private final NamedOwners owners = new NamedOwners(context.quorum); // guarded by claim

    GrantFanout(long token) {
      super(Attempt.this.claim);
      round = AcquireRound.first(terms, token, startNanos, startWallMicros);
    }

    GrantFanout(AcquireRound previous) {
      super(Attempt.this.claim);
      round = previous.next(startNanos, startWallMicros);
    }

    void start() {
      current = this;
      QueuePlace place = claim.place;
      NodeRequest grant =
          new NodeRequest.Grant(
              claim.names,
              claim.owner,
              round.token(),
              round.highestSeen(),
              terms.ttlMillis(),
              place == null ? null : place.ticket(round.token()));
      send(grant, terms.ttlMillis()); // sends nothing if the attempt was abandoned
      if (timedOut) {
        timeout(); // the timeout came between two rounds
      }
    }

    @Override
    Quorum quorum() {
      return round.terms().quorum();
    }

    @Override
    void record(int node, NodeReply reply) {
      round = round.answered(node, reply);
      boolean refused = reply.kind() == NodeReply.Kind.HELD || reply.kind() == NodeReply.Kind.WAIT;
      if (refused && reply.remainingMillis() >= 0) {
        long left = reply.remainingMillis();
        heldRemainingMillis = heldRemainingMillis < 0 ? left : Math.min(heldRemainingMillis, left);
      }
      if (reply.kind() == NodeReply.Kind.HELD) {
        owners.named(node, reply.owner());
      }
    }

    @Override
    void close() {
      round = round.timedOut();
    }

    @Override
    boolean decide(long nowNanos, long nowWallMicros) {
      decision = round.decide(nowNanos, nowWallMicros);
      abandoned = claim.hasEnded();
      return abandoned || decision != Decision.WAIT && !isHolderOpen();
    }

    /** Returns true if the call ends when one client holds the resource, and that may show yet. */
    private boolean isHolderOpen() {
      return request.isUnlessHeld()
          && decision == Decision.CONTENDED
          && owners.mayBeSettledBy(round.pending());
    }

    @Override
    void act() {
      if (abandoned) {
        return;
      }
      try {
        switch (decision) {
          case HELD -> finish(outcome(held()));
          case PROPOSE_HIGHER -> new GrantFanout(round).start();
          default -> finish(outcome(null));
        }
      } catch (RuntimeException | Error e) { // on a lane's thread, nobody else would see it
        whenFailed.accept(e);
      }
    }

    private AttemptEnd outcome(@Nullable Lease lease) {
      return new AttemptEnd(
          decision,
          lease,
          votes(),
          heldRemainingMillis,
          decision != Decision.TOO_SLOW && round.reachedQuorum(),
          decision == Decision.CONTENDED && !round.wasGrantedAnywhere(),
          owners.by(round.rulesOutAnother()));
    }

    private HeldLease held() {
      return HeldLease.begin(claim, request, resources, round);
    }
  }
}
