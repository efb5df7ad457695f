package io.redlock;

import io.redlock.LeaseEnd.Cause;
import io.redlock.protocol.Ballot;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.ExtendRound.Decision;
import io.redlock.protocol.Terms;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One extend of one lease: the driver of an {@link ExtendRound}. */
final class Extension extends Fanout implements Timeouts.Waiting {

  private final HeldLease lease;
  private final Terms terms;
  private final FlightEvents.@Nullable Extend event = FlightEvents.extending();
  private final CompletableFuture<ExtendResult> future = new CompletableFuture<>();
  private ExtendRound round; // guarded by claim
  private Decision decision = Decision.WAIT; // guarded by claim

  Extension(HeldLease lease, Claim claim, long ttlMillis) {
    super(claim);
    this.lease = lease;
    this.terms = cluster.settings.terms(cluster.nodes.size(), ttlMillis);
    this.round = ExtendRound.begin(terms, startNanos, startWallMicros);
  }

  CompletableFuture<ExtendResult> start() {
    long sentMicros = cluster.clock.micros();
    NodeRequest extend =
        new NodeRequest.Extend(
            claim.names, claim.owner, lease.fencingToken(), terms.ttlMillis(), sentMicros);
    if (!lease.hasEnded() && send(extend, terms.ttlMillis())) {
      cluster.timeouts.add(this, startNanos);
    } else {
      finish(new ExtendResult.Lost(new Votes(List.of(), Ballot.quorum(terms.nodes()))));
    }
    return future;
  }

  @Override
  public void onTimeout() {
    timeout();
  }

  @Override
  void record(int node, NodeReply reply) {
    round = round.answered(node, reply);
  }

  @Override
  void close() {
    round = round.timedOut();
  }

  @Override
  boolean decide(long nowNanos, long nowWallMicros) {
    decision =
        lease.isValid() ? round.decide(lease.deadline(), nowNanos, nowWallMicros) : Decision.LOST;
    if (decision == Decision.EXTENDED) {
      lease.lengthen(round.deadline(), terms.ttlMillis());
    }
    return decision != Decision.WAIT;
  }

  @Override
  void act() {
    switch (decision) {
      case EXTENDED -> finish(new ExtendResult.Extended(lease.remaining()));
      case LOST -> {
        lease.lose(lossCause());
        finish(new ExtendResult.Lost(votes()));
      }
      default -> finish(new ExtendResult.Unknown(votes()));
    }
  }

  private LeaseEnd lossCause() {
    return lease.isValid()
        ? new LeaseEnd(Cause.REFUSED, "too few nodes still hold it: " + votes())
        : new LeaseEnd(Cause.EXPIRED, "its deadline came before the extension");
  }

  private void finish(ExtendResult result) {
    future.complete(result);
    FlightEvents.extended(event, lease, result);
    long tookNanos = cluster.ticker.monotonicNanos() - startNanos;
    cluster.tell(listener -> listener.onExtend(lease, result, Duration.ofNanos(tookNanos)));
  }
}
