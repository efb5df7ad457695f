package io.redlock.driver;

import io.redlock.ExtendResult;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.Votes;
import io.redlock.protocol.Extending;
import io.redlock.protocol.Tenure.Phase;
import io.redlock.protocol.Turn;
import io.redlock.protocol.Turn.Outcome;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One extend of one lease. */
final class Extension extends Fanout {

  private static final LeaseEnd TOO_LATE =
      new LeaseEnd(Cause.EXPIRED, "its deadline came before the extension");
  private static final LeaseEnd NOT_HELD =
      new LeaseEnd(Cause.REFUSED, "too few nodes still hold it");

  final CompletableFuture<ExtendResult> future = new CompletableFuture<>();
  private final Owner.Held lease;
  private final FlightEvents.@Nullable Extend event = FlightEvents.extending();
  private final ExtendResult unknown;
  private String freedBy = ""; // guarded by owner

  Extension(Owner.Held lease, Owner owner, NodeRequest extend, Extending begun, long timeoutNanos) {
    super(owner, extend, begun.tag(), begun.round().startNanos(), timeoutNanos);
    this.lease = lease;
    this.unknown = ExtendResult.unknown(owner.context.noVotes);
  }

  @Override
  void record(NodeReply reply) {
    String label = ReplyText.freedBy(reply);
    freedBy = label.isEmpty() ? freedBy : label;
  }

  @Override
  void decided(Turn decision) {
    lease.lengthened();
    if (decision.outcome() == Outcome.EXPIRED) {
      lease.ends(TOO_LATE);
    } else if (decision.outcome() == Outcome.REFUSED) {
      String operator = freedBy.isEmpty() ? "" : "an operator set it free (" + freedBy + "): ";
      lease.ends(new LeaseEnd(Cause.REFUSED, operator + "too few nodes still hold it: " + votes()));
    }
  }

  @Override
  Runnable report(Turn decision) {
    Votes votes = votes();
    return () ->
        finish(
            switch (decision.outcome()) {
              case EXTENDED -> ExtendResult.extended(lease.remaining(), votes);
              case UNKNOWN -> ExtendResult.unknown(votes);
              default -> ExtendResult.lost(votes);
            });
  }

  @Override
  Runnable report(Throwable why) {
    synchronized (owner) {
      owner.tenure.failed(tag, owner.context.ticker.monotonicNanos());
      if (owner.tenure.phase() == Phase.LOST) {
        lease.ends(NOT_HELD); // unless there was memory to say more
      }
    }
    return () -> future.complete(unknown);
  }

  /** Passes the result to the holder and the listeners. */
  void finish(ExtendResult result) {
    future.complete(result);
    if (result.outcome() == ExtendResult.Outcome.LOST && lease.isReleased()) {
      return; // so nothing was lost
    }
    FlightEvents.extended(event, lease, result);
    long tookNanos = owner.context.ticker.monotonicNanos() - startNanos;
    owner.listeners.report(
        listener -> listener.onExtend(lease, result, Duration.ofNanos(tookNanos)));
  }
}
