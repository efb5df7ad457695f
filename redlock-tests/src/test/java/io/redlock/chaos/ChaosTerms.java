package io.redlock.chaos;

import io.redlock.chaos.client.Variant;
import java.time.Duration;

/** What a deployment is set to. */
record ChaosTerms(
    ChaosMasters masters,
    int clients,
    Duration nodeTimeout,
    Duration maxTtl,
    Duration skew,
    Variant variant) {

  static ChaosTerms of(int nodes, int clients) {
    return new ChaosTerms(
        ChaosMasters.of(nodes),
        clients,
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofMillis(250),
        Variant.NONE);
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
    return new ChaosTerms(others, clients, nodeTimeout, maxTtl, skew, variant);
  }

  ChaosTerms clients(int count) {
    return new ChaosTerms(masters, count, nodeTimeout, maxTtl, skew, variant);
  }

  ChaosTerms maxTtl(Duration longest) {
    return new ChaosTerms(masters, clients, nodeTimeout, longest, skew, variant);
  }

  ChaosTerms nodeTimeout(Duration timeout) {
    return new ChaosTerms(masters, clients, timeout, maxTtl, skew, variant);
  }

  ChaosTerms skew(Duration most) {
    return new ChaosTerms(masters, clients, nodeTimeout, maxTtl, most, variant);
  }

  ChaosTerms broken(Variant how) {
    return new ChaosTerms(masters, clients, nodeTimeout, maxTtl, skew, how);
  }
}
