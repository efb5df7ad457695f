package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
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

  private final ServiceContext cluster;
  private final LeaseRequest request;
  private final Claim claim;
  private final Terms terms;
  private final Consumer<AttemptEnd> whenDone;
  private volatile @Nullable GrantFanout current;
  private volatile boolean timedOut;
  private volatile boolean done;

  Attempt(
      ServiceContext cluster,
      LeaseRequest request,
      List<String> names,
      String owner,
      @Nullable QueuePlace place,
      Consumer<AttemptEnd> whenDone) {
    this.cluster = cluster;
    this.request = request;
    this.claim = new Claim(cluster, names, owner, place);
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
        case HELD -> finish(outcome(held()));
        case PROPOSE_HIGHER -> new GrantFanout(round).start();
        default -> finish(outcome(null));
      }
    }

    private AttemptEnd outcome(@Nullable Lease lease) {
      return new AttemptEnd(
          decision,
          lease,
          votes(),
          takenRemainingMillis,
          decision != Decision.TOO_SLOW && round.reachedQuorum(),
          decision == Decision.CONTENDED && !round.wasGrantedAnywhere());
    }

    private HeldLease held() {
      return HeldLease.begin(claim, request, round);
    }
  }
}
