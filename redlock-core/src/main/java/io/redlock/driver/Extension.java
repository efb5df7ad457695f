package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.protocol.Extending;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.Turn;
import io.redlock.protocol.Turn.Outcome;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One extend of one lease. */
final class Extension extends Fanout implements Timeouts.Timed {

  /** A lease that can be extended. */
  interface Extendable extends Lease {

    /** Returns true if its holder has released it. */
    boolean isReleased();

    /** Takes notice that its deadline may have moved. Called under the owner's lock. */
    void lengthened();

    /** Ends the lease, unless it has ended already. */
    void lose(LeaseEnd how);
  }

  private static final LeaseEnd TOO_LATE =
      new LeaseEnd(Cause.EXPIRED, "its deadline came before the extension");
  private static final LeaseEnd NOT_HELD =
      new LeaseEnd(Cause.REFUSED, "too few nodes still hold it");

  private final Extendable lease;
  private final FlightEvents.@Nullable Extend event = FlightEvents.extending();
  private final CompletableFuture<ExtendResult> future = new CompletableFuture<>();
  private final ExtendResult unknown;
  private String freedBy = ""; // guarded by owner

  /**
   * @param startNanos the monotonic time before anything is sent
   */
  Extension(Extendable lease, Owner owner, long startNanos) {
    super(owner, startNanos);
    this.lease = lease;
    this.unknown = ExtendResult.unknown(context.noVotes);
  }

  /** Extends the lease for its holder. */
  CompletableFuture<ExtendResult> start(long ttlMillis) {
    LeaseTerms terms = context.settings.terms(context.quorum, ttlMillis);
    long startWallMicros = context.ticker.wallMicros();
    owner.wake(); // a lease that expired in a pause has ended
    Extending begun;
    synchronized (owner) {
      begun = owner.tenure.extend(terms, startNanos, startWallMicros).extending();
    }
    if (begun == null) {
      finish(ExtendResult.lost(context.noVotes));
    } else {
      send(begun);
    }
    return future;
  }

  /** Sends an extend that has begun. */
  void send(Extending begun) {
    long ttlMillis = begun.round().terms().ttlMillis();
    NodeRequest extend;
    try {
      extend =
          new NodeRequest.Extend(
              owner.names,
              owner.id,
              lease.fencingToken(),
              ttlMillis,
              context.clock.micros(),
              owner.tenure.isShared());
    } catch (Throwable e) {
      owner.handed(begun.tag(), false); // memory is short; or the release would never be sent
      throw e;
    }
    send(extend, begun.tag());
    context.timeouts.add(this, startNanos);
  }

  @Override
  public void onTimeout() {
    timeout();
  }

  @Override
  void record(NodeReply reply) {
    String label = ReplyText.freedBy(reply);
    freedBy = label.isEmpty() ? freedBy : label;
  }

  @Override
  void decided() {
    lease.lengthened();
  }

  @Override
  void act(Turn turn) {
    Outcome outcome = turn.outcome();
    try {
      if (outcome == Outcome.REFUSED) {
        lease.lose(new LeaseEnd(Cause.REFUSED, refusal()));
      } else {
        loseIfLost(outcome);
      }
      finish(
          switch (outcome) {
            case EXTENDED -> ExtendResult.extended(lease.remaining(), votes());
            case UNKNOWN -> ExtendResult.unknown(votes());
            default -> ExtendResult.lost(votes());
          });
    } finally { // what follows needs no memory
      goOn(outcome);
    }
  }

  private void loseIfLost(Outcome outcome) {
    if (outcome == Outcome.EXPIRED) {
      lease.lose(TOO_LATE);
    } else if (outcome == Outcome.REFUSED) {
      lease.lose(NOT_HELD);
    }
  }

  /** Lets all that wait for this go on, whatever has failed. */
  private void goOn(Outcome outcome) {
    try {
      loseIfLost(outcome);
    } finally {
      future.complete(unknown);
      owner.plan();
    }
  }

  private String refusal() {
    String operator;
    synchronized (owner) {
      operator = freedBy.isEmpty() ? "" : "an operator set it free (" + freedBy + "): ";
    }
    return operator + "too few nodes still hold it: " + votes();
  }

  private void finish(ExtendResult result) {
    future.complete(result);
    if (result.outcome() == ExtendResult.Outcome.LOST && lease.isReleased()) {
      return; // so nothing was lost
    }
    FlightEvents.extended(event, lease, result);
    long tookNanos = context.ticker.monotonicNanos() - startNanos;
    owner.listeners.report(
        listener -> listener.onExtend(lease, result, Duration.ofNanos(tookNanos)));
  }
}
