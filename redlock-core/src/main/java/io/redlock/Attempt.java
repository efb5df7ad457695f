package io.redlock;

import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.AcquireRound.Decision;
import io.redlock.protocol.Terms;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One attempt at a lease: up to three acquire rounds under one fresh owner id, all within one node
 * timeout. It ends with a lease, or failed with everything it may have left behind being released.
 */
final class Attempt implements Timeouts.Waiting {

  private final Cluster cluster;
  private final LeaseRequest request;
  private final Claim claim;
  private final Terms terms;
  private final Consumer<Outcome> whenDone;
  private volatile @Nullable GrantFanout current;
  private volatile boolean timedOut;
  private volatile boolean done;

  /** How an attempt ended: with a lease, or with a decision and where it was made. */
  static final class Outcome {
    final Decision decision;
    final @Nullable HeldLease lease;
    private final GrantFanout last;

    Outcome(Decision decision, @Nullable HeldLease lease, GrantFanout last) {
      this.decision = decision;
      this.lease = lease;
      this.last = last;
    }

    AcquireResult result() {
      Votes votes = last.votes();
      if (lease != null) {
        return new AcquireResult.Acquired(lease, votes);
      }
      return switch (decision) {
        case CONTENDED -> new AcquireResult.Contended(votes);
        case TOO_SLOW -> new AcquireResult.TooSlow(votes);
        default -> new AcquireResult.Unavailable(votes);
      };
    }

    RetryStrategy.Cause cause() {
      return switch (decision) {
        case CONTENDED -> RetryStrategy.Cause.CONTENDED;
        case TOO_SLOW -> RetryStrategy.Cause.TOO_SLOW;
        default -> RetryStrategy.Cause.UNAVAILABLE;
      };
    }

    /**
     * The shortest life that a refusing node gave its present holder or the first ticket in its
     * queue; −1 where none has an end.
     */
    long takenRemainingMillis() {
      return last.takenRemainingMillis;
    }

    /**
     * Whether the caller's place in the queues is worth keeping: cut off from a quorum it would
     * only stand in the way of those who could win, and so it would if it is too slow.
     */
    boolean keepsPlace() {
      return decision != Decision.TOO_SLOW && last.round.reachedQuorum();
    }

    /** Whether nothing but others' leases and tickets stood in the way. */
    boolean isBehindOthers() {
      return decision == Decision.CONTENDED && !last.round.wasGrantedAnywhere();
    }
  }

  Attempt(
      Cluster cluster,
      LeaseRequest request,
      List<String> names,
      @Nullable QueuePlace place,
      Consumer<Outcome> whenDone) {
    this.cluster = cluster;
    this.request = request;
    this.claim = new Claim(cluster, names, place);
    this.terms = cluster.settings.terms(cluster.nodes.size(), Settings.ceilMillis(request.ttl()));
    this.whenDone = whenDone;
  }

  void start() {
    long token = cluster.tokens.next();
    GrantFanout first = new GrantFanout(token);
    cluster.timeouts.add(this, first.startNanos);
    first.start();
  }

  /**
   * Gives up, now or as soon as everything was handed over. The outcome is not reported.
   *
   * @return what is released
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

  private void finish(Outcome outcome) {
    done = true;
    Cluster.LOG.debug("{}: {} {}", request, outcome.decision, claim.owner);
    if (outcome.lease == null) {
      if (claim.place == null || outcome.keepsPlace()) {
        claim.fail();
      } else {
        claim.end();
      }
    }
    whenDone.accept(outcome);
  }

  private final class GrantFanout extends Fanout {
    private AcquireRound round; // guarded by claim
    private Decision decision = Decision.WAIT; // guarded by claim
    private boolean abandoned; // guarded by claim
    private long takenRemainingMillis = -1; // guarded by claim

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
      send(grant, terms.ttlMillis()); // sends nothing once the attempt was abandoned
      if (timedOut) {
        timeout(); // it struck while the rounds changed over
      }
    }

    @Override
    void record(int node, NodeReply reply) {
      round = round.answered(node, reply);
      boolean refused = reply.kind() == NodeReply.Kind.TAKEN || reply.kind() == NodeReply.Kind.WAIT;
      if (refused && reply.remainingMillis() >= 0) {
        long left = reply.remainingMillis();
        takenRemainingMillis =
            takenRemainingMillis < 0 ? left : Math.min(takenRemainingMillis, left);
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
      return abandoned || decision != Decision.WAIT;
    }

    @Override
    void act() {
      if (abandoned) {
        return;
      }
      switch (decision) {
        case HELD -> finish(new Outcome(decision, held(), this));
        case PROPOSE_HIGHER -> new GrantFanout(round).start();
        default -> finish(new Outcome(decision, null, this));
      }
    }

    private HeldLease held() {
      return HeldLease.begin(claim, request, round);
    }
  }
}
