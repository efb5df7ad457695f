package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.ExtendRound.Decision;
import io.redlock.protocol.LeaseTerms;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One extend of one lease: the driver of an {@link ExtendRound}. */
final class Extension extends ClaimFanout implements Timeouts.Timed {

  /** A lease that can be extended. */
  interface Extendable extends Lease {

    /** Returns true if it has ended; checks its deadline if need be. */
    boolean hasEnded();

    /** Returns true if its holder has released it. */
    boolean isReleased();

    /** Returns the deadline that an extension has to meet. Called under the claim's lock. */
    Deadline deadline();

    /** Moves the deadline, since a quorum extended. Never back. Called under the claim's lock. */
    void lengthen(Deadline extended, long ttlMillis);

    /** Ends the lease, unless it has ended already. */
    void lose(LeaseEnd how);

    /**
     * Extends the lease in the background. An exception or error of this library counts as an
     * unknown result. What the next step throws is logged, and the lease is checked soon.
     */
    void extend(long ttlMillis, Consumer<ExtendResult> next);

    /** Extends the lease to its present deadline, to find out whether a quorum holds it. */
    void confirm(Consumer<ExtendResult> next);
  }

  private final Extendable lease;
  private final LeaseTerms terms;
  private final boolean lengthens;
  private final FlightEvents.@Nullable Extend event = FlightEvents.extending();
  private final CompletableFuture<ExtendResult> future = new CompletableFuture<>();
  private ExtendRound round; // guarded by claim
  private String freedBy = ""; // guarded by claim
  private Decision decision = Decision.WAIT; // guarded by claim

  Extension(Extendable lease, Claim claim, long ttlMillis, boolean lengthens) {
    super(claim);
    this.lease = lease;
    this.lengthens = lengthens;
    this.terms = context.settings.terms(context.quorum, ttlMillis);
    this.round = ExtendRound.begin(terms, startNanos, startWallMicros);
  }

  CompletableFuture<ExtendResult> start() {
    long sentMicros = context.clock.micros();
    NodeRequest extend =
        new NodeRequest.Extend(
            claim.names, claim.owner, lease.fencingToken(), terms.ttlMillis(), sentMicros);
    if (!lease.hasEnded() && send(extend, terms.ttlMillis())) {
      context.timeouts.add(this, startNanos);
    } else {
      finish(new ExtendResult.Lost(context.noVotes));
    }
    return future;
  }

  @Override
  public void onTimeout() {
    timeout();
  }

  @Override
  Quorum quorum() {
    return round.terms().quorum();
  }

  @Override
  void record(int node, NodeReply reply) {
    round = round.answered(node, reply);
    if (HolderLabel.tellsFreed(reply.detail())) {
      freedBy = reply.detail();
    }
  }

  @Override
  void close() {
    round = round.timedOut();
  }

  @Override
  boolean decide(long nowNanos, long nowWallMicros) {
    decision =
        lease.isValid() ? round.decide(lease.deadline(), nowNanos, nowWallMicros) : Decision.LOST;
    if (decision == Decision.EXTENDED && lengthens) {
      lease.lengthen(round.deadline(), terms.ttlMillis());
    }
    return decision != Decision.WAIT;
  }

  @Override
  void act() {
    try {
      finish(
          switch (decision) {
            case EXTENDED -> new ExtendResult.Extended(lease.remaining());
            case LOST -> lost();
            default -> new ExtendResult.Unknown(votes());
          });
    } finally { // a renewal that waits for this must go on after any failure
      future.complete(new ExtendResult.Unknown(context.noVotes));
    }
  }

  private ExtendResult lost() {
    lease.lose(lossCause());
    return new ExtendResult.Lost(votes());
  }

  private LeaseEnd lossCause() {
    if (!lease.isValid()) {
      return new LeaseEnd(Cause.EXPIRED, "its deadline came before the extension");
    }
    String operator;
    synchronized (claim) {
      operator = freedBy.isEmpty() ? "" : "an operator set it free (" + freedBy + "): ";
    }
    return new LeaseEnd(Cause.REFUSED, operator + "too few nodes still hold it: " + votes());
  }

  private void finish(ExtendResult result) {
    future.complete(result);
    if (result instanceof ExtendResult.Lost && lease.isReleased()) {
      return; // so nothing was lost
    }
    FlightEvents.extended(event, lease, result);
    long tookNanos = context.ticker.monotonicNanos() - startNanos;
    claim.listeners.report(
        listener -> listener.onExtend(lease, result, Duration.ofNanos(tookNanos)));
  }
}
