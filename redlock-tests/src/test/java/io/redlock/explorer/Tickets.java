package io.redlock.explorer;

import io.redlock.spi.NodeRequest.Ticket;

/** The tickets of fair waiters. Not final: a test breaks one of these rules. */
class Tickets {

  private static final long LIFE_MILLIS = 3_000;

  /** The ticket of a waiter that came at the given time, 0 for just now. */
  Ticket ticket(int waiter, boolean isShared, long micros, long token) {
    return place(waiter, isShared, micros == 0 ? token : micros);
  }

  /** The nodes that a waiter which leaves tells to take its ticket back, if not by a release. */
  int withdrawsFrom(int released) {
    return (1 << Scope.NODES) - 1 & ~released;
  }

  /** The ticket of a waiter that came at the given time. */
  static Ticket place(int waiter, boolean isShared, long micros) {
    return new Ticket(String.valueOf(waiter), 1, micros, LIFE_MILLIS, isShared);
  }
}
