package io.redlock.explorer;

import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.TenureRules;

/** The rules of production. What is random or short there takes no time here. */
class ExplorerRules extends TenureRules {

  /** How far the first token of a lease lies below the last that it may be passed on with. */
  static final long TOKENS_TO_PASS = 3;

  private static final long NEVER_NANOS = Long.MAX_VALUE / 2;

  private static final Surroundings NONE =
      new Surroundings() {
        @Override
        public long nodeTimeoutNanos() {
          return 0;
        }

        @Override
        public long skewNanos() {
          return 0;
        }

        @Override
        public LeaseTerms termsFor(long validNanos) {
          throw new UnsupportedOperationException("no node is reset in this scope");
        }

        @Override
        public long randomNanos(long boundNanos) {
          return 0;
        }
      };

  ExplorerRules(int maxRounds) {
    this(maxRounds, NONE);
  }

  ExplorerRules(int maxRounds, Surroundings surroundings) {
    super(maxRounds, surroundings);
  }

  /** Returns the nodes to release on although the round succeeded, as bits. */
  int releasedWhenHeld(AcquireRound round) {
    return 0; // R4
  }

  /** Returns the token to which a lease with this one is passed on. */
  long nextToken(long token) {
    return token + 1; // P2
  }

  @Override
  protected long firstToken(AcquireRound round) {
    return round.firstToken(TOKENS_TO_PASS);
  }

  /** At once. */
  @Override
  protected long repeatNanos(int repeats) {
    return 0;
  }

  @Override
  protected long giveUpNanos(long nowNanos, long longestTtlMillis) {
    return NEVER_NANOS;
  }
}
