package io.redlock.protocol;

import io.redlock.protocol.Tenure.Phase;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The value of a tenure. Two tenures with equal states go on alike. */
public record TenureState(
    Phase phase,
    @Nullable AcquireRound acquire,
    List<ExtendRound> extending,
    int begun,
    long token,
    long leaseToken,
    long reported,
    long longestTtlMillis,
    @Nullable Deadline deadline,
    @Nullable Deadline lossTime,
    Footprint footprint,
    long unanswered,
    boolean isLast,
    @Nullable ReleaseRound release,
    @Nullable Renewal renewal,
    @Nullable Reaffirmation reaffirmation,
    Repeats repeats) {

  /** Returns the state of the tenure. */
  public static TenureState of(Tenure tenure) {
    return new TenureState(
        tenure.phase,
        tenure.acquire,
        tenure.extending,
        tenure.begun,
        tenure.token,
        tenure.leaseToken,
        tenure.reported,
        tenure.longestTtlMillis,
        tenure.deadline,
        tenure.lossTime,
        tenure.footprint,
        tenure.unanswered,
        tenure.isLast,
        tenure.release,
        tenure.renewal,
        tenure.reaffirmation,
        tenure.repeats);
  }

  /** Returns true if an answer with this tag counts in a round that is under way. */
  public static boolean counts(Tenure tenure, int tag) {
    AcquireRound round = tenure.acquire;
    return round != null && tenure.rules.counts(round, tag) || tenure.extending(tag) != null;
  }

  /** Makes it the state of the tenure. */
  public void restore(Tenure tenure) {
    tenure.phase = phase;
    tenure.acquire = acquire;
    tenure.extending = extending;
    tenure.begun = begun;
    tenure.token = token;
    tenure.leaseToken = leaseToken;
    tenure.reported = reported;
    tenure.longestTtlMillis = longestTtlMillis;
    tenure.deadline = deadline;
    tenure.lossTime = lossTime;
    tenure.footprint = footprint;
    tenure.unanswered = unanswered;
    tenure.isLast = isLast;
    tenure.release = release;
    tenure.renewal = renewal;
    tenure.reaffirmation = reaffirmation;
    tenure.repeats = repeats;
  }
}
