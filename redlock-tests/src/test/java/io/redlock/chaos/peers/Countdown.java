package io.redlock.chaos.peers;

import java.time.Duration;

/**
 * A lock whose library does not say what is left of it: the ttl from before the call, less one
 * percent and 2 ms. Whoever got a lock late, after a wait, is taken to have had it from the
 * beginning of the call: doubt in favour of the library.
 */
record Countdown(long untilNanos, Runnable unlock) implements PeerLocks.Held {

  static Countdown from(long calledNanos, Duration ttl, Runnable unlock) {
    return new Countdown(calledNanos + ttl.toNanos() - ttl.toNanos() / 100 - 2_000_000, unlock);
  }

  @Override
  public Duration left() {
    return Duration.ofNanos(Math.max(0, untilNanos - System.nanoTime()));
  }

  @Override
  public void release() {
    unlock.run();
  }
}
