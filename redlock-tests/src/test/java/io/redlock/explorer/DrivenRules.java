package io.redlock.explorer;

import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.TenureRules;

/** The rules of production, where a tick is what a second is there. */
class DrivenRules extends ExplorerRules {

  private final Scope scope;

  DrivenRules(int maxRounds, Scope scope) {
    super(maxRounds, new Ticks(scope));
    this.scope = scope;
  }

  private record Ticks(Scope scope) implements TenureRules.Surroundings {
    @Override
    public long nodeTimeoutNanos() {
      return scope.nanos(1) / 2;
    }

    @Override
    public long skewNanos() {
      return 0;
    }

    @Override
    public LeaseTerms termsFor(long validNanos) {
      int ticks = 1;
      while (scope.ttlMillis(ticks) * 1_000_000 - scope.driftMicros * 1_000 < validNanos) {
        ticks++;
      }
      return scope.terms(ticks);
    }

    @Override
    public long randomNanos(long boundNanos) {
      return 0;
    }
  }

  @Override
  protected long repeatNanos(int repeats) {
    return scope.nanos(1);
  }

  @Override
  protected long giveUpNanos(long nowNanos, long longestTtlMillis) {
    return nowNanos + longestTtlMillis * 1_000_000 + scope.nanos(1);
  }
}
