package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseLostException;
import io.redlock.ReleaseResult;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The reports of the end of one lease. Thread-safe. */
final class Ending {

  private static final LeaseEnd NOT_HELD =
      new LeaseEnd(Cause.REFUSED, "no majority held it when it was released");

  private final Lease lease;
  private final Owner owner;
  private final ServiceContext context;
  private final long startNanos;
  private final FlightEvents.@Nullable LeaseEnded event = FlightEvents.holding();
  private Callbacks.@Nullable Handover<LeaseEnd> ended; // guarded by owner; null until asked for
  private boolean isTold; // guarded by owner; who asks from then on passes the end on
  private Consumer<LeaseEnd> watcher = how -> {}; // guarded by owner

  /**
   * @param startNanos when the lease began, on the monotonic clock
   */
  Ending(Lease lease, Owner owner, long startNanos) {
    this.lease = lease;
    this.owner = owner;
    this.context = owner.context;
    this.startNanos = startNanos;
  }

  /** Returns the loss of the lease, given the result of its release; empty if it was not lost. */
  Optional<LeaseLostException> loss(@Nullable ReleaseResult released) {
    LeaseEnd how = owner.ending();
    if (how == null || !how.lost()) {
      how = released == ReleaseResult.NOT_HELD ? NOT_HELD : null;
    }
    return Optional.ofNullable(how).map(lost -> new LeaseLostException(lease, lost));
  }

  void throwIfLost(@Nullable ReleaseResult released) {
    Optional<LeaseLostException> loss = loss(released);
    if (loss.isPresent()) {
      throw loss.get();
    }
  }

  /** Tells everybody, once. Called without locks. */
  void report() {
    LeaseEnd how = Objects.requireNonNull(owner.ending());
    Callbacks.Handover<LeaseEnd> awaited;
    Consumer<LeaseEnd> watching;
    synchronized (owner) {
      if (isTold) {
        return;
      }
      isTold = true;
      awaited = ended;
      watching = watcher;
    }
    try {
      watching.accept(how);
    } finally {
      report(how, awaited);
    }
  }

  private void report(LeaseEnd how, Callbacks.@Nullable Handover<LeaseEnd> awaited) {
    long heldNanos = context.ticker.monotonicNanos() - startNanos;
    if (awaited != null) {
      awaited.pass(how, null);
    }
    owner.listeners.reportEnd(
        how, listener -> listener.onEnd(lease, how, Duration.ofNanos(heldNanos)));
    if (how.lost()) {
      Log.LOG.warn("{} is lost: {}, {}", lease, how.cause(), how.detail());
    }
    FlightEvents.ended(event, lease, how);
  }

  /** Returns the end to come. */
  CompletionStage<LeaseEnd> stage() {
    Callbacks.Handover<LeaseEnd> asked;
    LeaseEnd how = null;
    synchronized (owner) {
      if (ended == null) {
        ended = context.callbacks.handover();
        how = isTold ? owner.ending() : null;
      }
      asked = ended;
    }
    if (how != null) {
      asked.pass(how, null);
    }
    return asked.future.minimalCompletionStage();
  }

  /**
   * Has the end passed to code of the library, on the thread that ends the lease: now, if it has
   * ended. The watcher must neither block nor throw.
   */
  void watch(Consumer<LeaseEnd> code) {
    LeaseEnd how;
    synchronized (owner) {
      how = owner.ending();
      watcher = how == null ? code : watcher;
    }
    if (how != null) {
      code.accept(how);
    }
  }
}
