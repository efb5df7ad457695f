package io.redlock.chaos;

import io.redlock.chaos.client.Variant;
import java.time.Duration;

/** What a deployment is set to. */
record ChaosTerms(
    int nodes, int clients, Duration nodeTimeout, Duration maxTtl, Duration skew, Variant variant) {

  static ChaosTerms of(int nodes, int clients) {
    return new ChaosTerms(
        nodes,
        clients,
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofMillis(250),
        Variant.NONE);
  }

  ChaosTerms maxTtl(Duration longest) {
    return new ChaosTerms(nodes, clients, nodeTimeout, longest, skew, variant);
  }

  ChaosTerms nodeTimeout(Duration timeout) {
    return new ChaosTerms(nodes, clients, timeout, maxTtl, skew, variant);
  }

  ChaosTerms skew(Duration most) {
    return new ChaosTerms(nodes, clients, nodeTimeout, maxTtl, most, variant);
  }

  ChaosTerms broken(Variant how) {
    return new ChaosTerms(nodes, clients, nodeTimeout, maxTtl, skew, how);
  }
}
