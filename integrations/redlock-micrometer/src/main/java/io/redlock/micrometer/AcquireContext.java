package io.redlock.micrometer;

import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The observation of one call for a lease, from the call to its result. */
public final class AcquireContext extends Observation.Context {

  private final LeaseRequest request;
  private volatile @Nullable AcquireResult result;

  AcquireContext(LeaseRequest request) {
    this.request = request;
  }

  void end(AcquireResult end) {
    result = end;
  }

  /** Returns the resources and terms. */
  public LeaseRequest request() {
    return request;
  }

  /** Returns the result; null until there is one, and if the call was given up. */
  public @Nullable AcquireResult result() {
    return result;
  }

  /** The names and key values of this observation. Subclasses can change them. */
  public static class Convention implements ObservationConvention<AcquireContext> {

    /** Creates the convention that is used by default. */
    public Convention() {}

    @Override
    public boolean supportsContext(Observation.Context context) {
      return context instanceof AcquireContext;
    }

    @Override
    public String getName() {
      return "redlock.call";
    }

    @Override
    public String getContextualName(AcquireContext context) {
      return "acquire lease";
    }

    /**
     * Returns the keys {@code shared} and {@code outcome}: as in the meter, or {@code none} without
     * a result.
     */
    @Override
    public KeyValues getLowCardinalityKeyValues(AcquireContext context) {
      AcquireResult result = context.result();
      String outcome = result == null ? "none" : result.outcome().name().toLowerCase(Locale.ROOT);
      return KeyValues.of(
          "outcome", outcome, "shared", String.valueOf(context.request().isShared()));
    }

    /** Returns the resources, the terms, the votes, and the token of the lease. */
    @Override
    public KeyValues getHighCardinalityKeyValues(AcquireContext context) {
      LeaseRequest request = context.request();
      KeyValues values =
          KeyValues.of(
              "redlock.resources", String.join(",", request.resources()),
              "redlock.request", request.toString());
      AcquireResult result = context.result();
      if (result == null) {
        return values;
      }
      KeyValues answered = values.and("redlock.votes", result.votes().toString());
      return result
          .lease()
          .map(Lease::fencingToken)
          .map(token -> answered.and("redlock.token", Long.toString(token)))
          .orElse(answered);
    }
  }
}
