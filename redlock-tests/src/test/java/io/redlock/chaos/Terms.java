package io.redlock.chaos;

import io.redlock.chaos.client.Variant;
import java.time.Duration;

/**
 * What a deployment is set to.
 *
 * @param clocks whether the masters' clocks can be set
 */
record Terms(
    int nodes,
    int clients,
    Duration nodeTimeout,
    Duration maxTtl,
    Duration skew,
    boolean clocks,
    Variant variant) {

  static Terms of(int nodes, int clients) {
    return new Terms(
        nodes,
        clients,
        Duration.ofMillis(100),
        Duration.ofSeconds(1),
        Duration.ofMillis(250),
        false,
        Variant.NONE);
  }

  Terms maxTtl(Duration longest) {
    return new Terms(nodes, clients, nodeTimeout, longest, skew, clocks, variant);
  }

  Terms nodeTimeout(Duration timeout) {
    return new Terms(nodes, clients, timeout, maxTtl, skew, clocks, variant);
  }

  Terms skew(Duration most) {
    return new Terms(nodes, clients, nodeTimeout, maxTtl, most, clocks, variant);
  }

  Terms withClocks() {
    return new Terms(nodes, clients, nodeTimeout, maxTtl, skew, true, variant);
  }

  Terms broken(Variant how) {
    return new Terms(nodes, clients, nodeTimeout, maxTtl, skew, clocks, how);
  }
}
