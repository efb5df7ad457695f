package io.redlock.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.redlock.AcquireResult;
import io.redlock.AcquireResult.Outcome;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.RedlockListener;
import io.redlock.Votes;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Observes each call for a lease and each lease, so that a trace shows the wait, the vote of each
 * master, and the hold. Both are children of the observation that is current when the lease is
 * called for.
 *
 * <pre>{@code
 * Redlock redlock =
 *     JedisRedlock.builder().node(masters).listener(RedlockObservations.of(registry)).build();
 * }</pre>
 *
 * <p>To change names and key values, set a global convention for {@link AcquireContext} or {@link
 * HoldContext} in the registry.
 */
public final class RedlockObservations implements RedlockListener {

  private static final AcquireContext.Convention ACQUIRE = new AcquireContext.Convention();
  private static final HoldContext.Convention HOLD = new HoldContext.Convention();

  private final ObservationRegistry registry;

  private RedlockObservations(ObservationRegistry registry) {
    this.registry = registry;
  }

  /**
   * Returns a listener that observes with the handlers of a registry.
   *
   * @param registry the registry
   * @return the listener, for any number of lock services
   */
  public static RedlockObservations of(ObservationRegistry registry) {
    return new RedlockObservations(
        Objects.requireNonNull(registry, "registry is null: give an ObservationRegistry"));
  }

  @Override
  public RedlockListener onCall(LeaseRequest request) {
    return registry.isNoop() ? this : new Call(request);
  }

  /**
   * One call and its lease. Its events come on different threads, the end of a lease perhaps before
   * its beginning.
   */
  private final class Call implements RedlockListener {

    private final AcquireContext context;
    private final Observation acquire;
    private @Nullable HoldContext holdContext; // guarded by this; null until acquired
    private @Nullable Observation hold; // guarded by this; null until acquired
    private @Nullable LeaseEnd end; // guarded by this; null until ended
    private boolean stopped; // guarded by this; true once the acquire has ended

    Call(LeaseRequest request) {
      context = new AcquireContext(request);
      acquire = Observation.start(null, ACQUIRE, () -> context, registry);
    }

    @Override
    public synchronized void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      if (!stopped) {
        context.end(result);
        events(acquire, result.votes());
        if (result.outcome() == Outcome.UNAVAILABLE || result.outcome() == Outcome.TOO_SLOW) {
          acquire.error(new LockNotAcquiredException(request, result));
        }
        stop();
      }
      result.lease().ifPresent(this::hold);
    }

    @Override
    public synchronized void onGiveUp(LeaseRequest request, Duration waited) {
      if (!stopped) {
        stop();
      }
    }

    private void stop() {
      stopped = true;
      acquire.stop();
    }

    private void hold(Lease lease) {
      HoldContext begun = new HoldContext(lease);
      Observation caller =
          acquire.getContextView().getParentObservation() instanceof Observation parent
              ? parent
              : acquire;
      holdContext = begun;
      hold =
          Observation.createNotStarted(null, HOLD, () -> begun, registry)
              .parentObservation(caller)
              .start();
      if (end != null) {
        stop(lease, end);
      }
    }

    @Override
    public synchronized void onExtend(Lease lease, ExtendResult result, Duration took) {
      if (hold != null && result.outcome() != ExtendResult.Outcome.EXTENDED) {
        events(hold, result.votes());
      }
    }

    @Override
    public synchronized void onEnd(Lease lease, LeaseEnd how, Duration held) {
      end = how;
      stop(lease, how);
    }

    private void stop(Lease lease, LeaseEnd how) {
      if (hold != null && holdContext != null) {
        holdContext.end(how);
        if (how.lost()) {
          hold.error(new LeaseLostException(lease, how));
        }
        hold.stop();
      }
    }

    private static void events(Observation observation, Votes votes) {
      votes
          .nodes()
          .forEach(vote -> observation.event(Observation.Event.of("vote", vote.toString())));
    }
  }
}
