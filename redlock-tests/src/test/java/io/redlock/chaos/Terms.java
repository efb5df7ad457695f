package io.redlock.chaos;

import io.redlock.chaos.client.Variant;
import java.time.Duration;

/** What a deployment is set to. */
record Terms(
    int nodes, int clients, Duration nodeTimeout, Duration maxTtl, Duration skew, Variant variant) {

  static Terms of(int nodes, int clients) {
    return new Terms(
        nodes,
        clients,
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofMillis(250),
        Variant.NONE);
  }

  Terms maxTtl(Duration longest) {
    return new Terms(nodes, clients, nodeTimeout, longest, skew, variant);
  }

  Terms nodeTimeout(Duration timeout) {
    return new Terms(nodes, clients, timeout, maxTtl, skew, variant);
  }

  Terms skew(Duration most) {
    return new Terms(nodes, clients, nodeTimeout, maxTtl, most, variant);
  }

  Terms broken(Variant how) {
    return new Terms(nodes, clients, nodeTimeout, maxTtl, skew, how);
  }
}
