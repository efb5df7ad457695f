package io.redlock.micrometer;

import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The observation of one lease, from its acquire to its end. */
public final class HoldContext extends Observation.Context {

  private final Lease lease;
  private volatile @Nullable LeaseEnd end;

  HoldContext(Lease lease) {
    this.lease = lease;
  }

  void end(LeaseEnd how) {
    end = how;
  }

  /** Returns the lease. */
  public Lease lease() {
    return lease;
  }

  /** Returns the end of the lease; null until it has ended. */
  public @Nullable LeaseEnd end() {
    return end;
  }

  /** The names and key values of this observation. Subclasses can change them. */
  public static class Convention implements ObservationConvention<HoldContext> {

    /** Creates the convention that is used by default. */
    public Convention() {}

    @Override
    public boolean supportsContext(Observation.Context context) {
      return context instanceof HoldContext;
    }

    @Override
    public String getName() {
      return "redlock.hold";
    }

    @Override
    public String getContextualName(HoldContext context) {
      return "hold lease";
    }

    /**
     * Returns the keys {@code shared} and {@code cause}: as in the meter, or {@code none} before
     * the end.
     */
    @Override
    public KeyValues getLowCardinalityKeyValues(HoldContext context) {
      LeaseEnd end = context.end();
      return KeyValues.of(
          "cause",
          end == null ? "none" : end.cause().name().toLowerCase(Locale.ROOT),
          "shared",
          String.valueOf(context.lease().isShared()));
    }

    /** Returns the resources, the token, and the end in words. */
    @Override
    public KeyValues getHighCardinalityKeyValues(HoldContext context) {
      KeyValues values =
          KeyValues.of(
              "redlock.resources", String.join(",", context.lease().resources()),
              "redlock.token", Long.toString(context.lease().fencingToken()));
      LeaseEnd end = context.end();
      return end == null ? values : values.and("redlock.end", end.detail());
    }
  }
}
