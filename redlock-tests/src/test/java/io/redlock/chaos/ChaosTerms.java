package io.redlock.chaos;

import io.redlock.chaos.client.Variant;
import java.time.Duration;

/**
 * What a deployment is set to.
 *
 * @param keepsTime whether nothing will be done that leases assume not to happen; only where
 *     something will be can the masters' clocks be set
 */
record ChaosTerms(
    ChaosMasters masters,
    int clients,
    Duration nodeTimeout,
    Duration maxTtl,
    Duration skew,
    Variant variant,
    boolean keepsTime) {

  static ChaosTerms of(int nodes, int clients) {
    return new ChaosTerms(
        ChaosMasters.of(nodes),
        clients,
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofMillis(250),
        Variant.NONE,
        true);
  }

  /** All masters, whether they leave, stay or join. */
  int nodes() {
    return masters.all();
  }

  /** How long an acquire may take at most when all faults are over. */
  long patienceMillis() {
    return 4 * maxTtl.toMillis() + 2 * skew.toMillis() + 20_000;
  }

  ChaosTerms masters(ChaosMasters others) {
    return new ChaosTerms(others, clients, nodeTimeout, maxTtl, skew, variant, keepsTime);
  }

  ChaosTerms clients(int count) {
    return new ChaosTerms(masters, count, nodeTimeout, maxTtl, skew, variant, keepsTime);
  }

  ChaosTerms maxTtl(Duration longest) {
    return new ChaosTerms(masters, clients, nodeTimeout, longest, skew, variant, keepsTime);
  }

  ChaosTerms nodeTimeout(Duration timeout) {
    return new ChaosTerms(masters, clients, timeout, maxTtl, skew, variant, keepsTime);
  }

  ChaosTerms skew(Duration most) {
    return new ChaosTerms(masters, clients, nodeTimeout, maxTtl, most, variant, keepsTime);
  }

  ChaosTerms broken(Variant how) {
    return new ChaosTerms(masters, clients, nodeTimeout, maxTtl, skew, how, keepsTime);
  }

  ChaosTerms keepsTime(boolean keeps) {
    return new ChaosTerms(masters, clients, nodeTimeout, maxTtl, skew, variant, keeps);
  }
}
