package io.redlock.explorer;

import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.TenureRules;
import io.redlock.spi.NodeRequest.Ticket;

/**
 * The rules of production. A tick is what a second is there, for owners that do by themselves what
 * is due; else what is random or short there takes no time here.
 */
class ExplorerRules extends TenureRules {

  /** How far the first token of a lease lies below the last that it may be passed on with. */
  static final long TOKENS_TO_PASS = 3;

  private static final long NEVER_NANOS = Long.MAX_VALUE / 2;
  private static final long TICKET_MILLIS = 3_000;

  private final Scope scope;

  ExplorerRules(Scope scope) {
    super(
        new Surroundings(
            scope.isDriven ? scope.nanos(1) / 2 : 0,
            0,
            validNanos -> termsFor(scope, validNanos),
            boundNanos -> 0));
    this.scope = scope;
  }

  private static LeaseTerms termsFor(Scope scope, long validNanos) {
    int ticks = 1;
    while (scope.ttlMillis(ticks) * 1_000_000 - scope.driftMicros * 1_000 < validNanos) {
      ticks++;
    }
    return scope.terms(ticks);
  }

  /** Returns the nodes to release on although the round succeeded, as bits. */
  int releasedWhenHeld(AcquireRound round) {
    return 0; // R4
  }

  /** Returns the token to which a lease with this one is passed on. */
  long nextToken(long token) {
    return token + 1; // P2
  }

  /** Returns the ticket of a waiter that came at the given time, 0 for just now. */
  Ticket ticket(int waiter, boolean isShared, long micros, long token) {
    return place(waiter, isShared, micros == 0 ? token : micros);
  }

  /** Returns the nodes that a waiter which leaves tells so, if not by a release, as bits. */
  int withdrawsFrom(int released) {
    return (1 << Scope.NODES) - 1 & ~released;
  }

  /** Returns the ticket of a waiter that came at the given time. */
  static Ticket place(int waiter, boolean isShared, long micros) {
    return new Ticket(String.valueOf(waiter), 1, micros, TICKET_MILLIS, isShared);
  }

  @Override
  protected Outcome decide(AcquireRound round, long nowNanos, long nowWallMicros) {
    Outcome decision = super.decide(round, nowNanos, nowWallMicros);
    boolean isLast = round.number() >= scope.rounds;
    return isLast && decision == Outcome.PROPOSED ? Outcome.UNAVAILABLE : decision;
  }

  @Override
  protected long firstToken(AcquireRound round) {
    return round.firstToken(TOKENS_TO_PASS);
  }

  @Override
  protected long repeatNanos(int repeats) {
    return scope.isDriven ? scope.nanos(1) : 0;
  }

  @Override
  protected long giveUpNanos(long nowNanos, long longestTtlMillis) {
    return scope.isDriven ? nowNanos + longestTtlMillis * 1_000_000 + scope.nanos(1) : NEVER_NANOS;
  }
}
