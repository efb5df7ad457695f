package io.redlock.chaos.history;

import java.time.Duration;
import java.time.Instant;

/**
 * What a run was set to, from its {@code run} event.
 *
 * @param wallAheadMicros the wall clock's microseconds since the epoch minus those of the monotonic
 *     clock
 * @param keepsTime whether nothing was done that leases assume not to happen: then I1 and I6 hold
 */
public record RunSettings(
    int nodes,
    long maxTtlMillis,
    long skewMillis,
    long wallAheadMicros,
    boolean guarded,
    boolean keepsTime) {

  static final long MILLI = 1_000_000;

  public static RunSettings of(History history) {
    HistoryEvent run = history.one("run");
    return new RunSettings(
        (int) run.number("nodes"),
        run.number("maxTtl"),
        run.number("skew"),
        run.number("wallAhead"),
        Boolean.parseBoolean(run.text("guarded")),
        Boolean.parseBoolean(run.text("keepsTime")));
  }

  /** The event of a run that begins now. */
  public static HistoryEvent event(
      int nodes, Duration maxTtl, Duration skew, boolean guarded, boolean keepsTime) {
    Instant now = Instant.now();
    long wallMicros = now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
    return HistoryEvent.now(
        "harness run nodes=%s maxTtl=%s skew=%s wallAhead=%s guarded=%s keepsTime=%s",
        nodes,
        maxTtl.toMillis(),
        skew.toMillis(),
        wallMicros - System.nanoTime() / 1_000,
        guarded,
        keepsTime);
  }

  /** Whether a node whose clock is right takes the token for one that may have been given out. */
  boolean isCredible(long token, long atNanos) {
    return token <= atNanos / 1_000 + wallAheadMicros + skewMillis * 1_000;
  }

  /** For how long a lease of that ttl can be good, counted from the start of its round. */
  static long goodNanos(long ttlMillis) {
    return ttlMillis * MILLI - (ttlMillis * MILLI / 100 + 2 * MILLI);
  }

  /** For how long a node that lost its past must not vote. */
  public long abstentionNanos() {
    return maxTtlMillis * MILLI + maxTtlMillis * MILLI / 100 + 2 * skewMillis * MILLI;
  }
}
