package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.readme.Repository;
import io.redlock.testing.InMemoryMasters;
import java.io.IOException;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The meters that docs/observability.md promises, and that dashboard and alerts rely on. */
class ObservabilityTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  /**
   * A lease that is released, one that is lost, a refusal, an extension, and two nodes that die.
   */
  private static void live(RedlockListener listener, Consumer<Redlock> watch) throws Exception {
    InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
    Redlock redlock = masters.connect(settings -> settings.listener(listener));
    watch.accept(redlock);
    redlock.acquire("a", TTL, Duration.ZERO).release();
    Lease lost = redlock.acquire("b", TTL, Duration.ZERO);
    lost.extend(TTL);
    masters.occupy("c", TTL);
    redlock.tryAcquire("c", TTL);
    masters.stop(2);
    masters.advance(TTL);
    redlock.acquireAsync(LeaseRequest.of("d", TTL)).join();
    listener.onPastLost("master-1", "restarted");
  }

  @Test
  void micrometerHasTheMetersPromised() throws Exception {
    PrometheusMeterRegistry meters = meters();
    assertEquals(2, meters.timer("redlock.acquire", "outcome", "acquired").count());
    assertEquals(1, meters.timer("redlock.acquire", "outcome", "contended").count());
    assertEquals(1, meters.timer("redlock.acquire", "outcome", "unavailable").count());
    assertEquals(1, meters.timer("redlock.extend", "outcome", "extended").count());
    assertEquals(1, meters.timer("redlock.lease", "cause", "released").count());
    assertEquals(
        9, meters.timer("redlock.lease", "cause", "expired").totalTime(TimeUnit.SECONDS), 0.2);
    assertEquals(0, meters.get("redlock.leases").gauge().value());
    assertEquals(0, meters.get("redlock.node.votes").tag("node", "master-1").gauge().value());
    assertEquals(1, meters.get("redlock.node.votes").tag("node", "master-3").gauge().value());
    assertEquals(
        1, meters.counter("redlock.node.changes", "node", "master-2", "state", "down").count());
    assertEquals(1, meters.counter("redlock.node.past.lost", "node", "master-1").count());
    assertEquals(promised(), names(meters));
  }

  @Test
  void openTelemetryHasTheSame() throws Exception {
    InMemoryMetricReader reader = InMemoryMetricReader.create();
    try (SdkMeterProvider provider =
        SdkMeterProvider.builder().registerMetricReader(reader).build()) {
      OpenTelemetryListener listener = new OpenTelemetryListener(provider.get("io.redlock"));
      live(listener, listener::watch);
      Set<String> names =
          reader.collectAllMetrics().stream()
              .map(MetricData::getName)
              .collect(Collectors.toCollection(TreeSet::new));
      assertEquals(promised(), names);
    }
  }

  @Test
  void dashboardAndAlertsUseMetricsThatExist() throws Exception {
    String scrape = meters().scrape();
    for (String file : Set.of("redlock-dashboard.json", "redlock-alerts.yml")) {
      String text = Repository.read("docs/observability/" + file);
      Set<String> used =
          Pattern.compile("redlock_\\w+")
              .matcher(text)
              .results()
              .map(match -> match.group())
              .collect(Collectors.toSet());
      assertTrue(used.size() >= 3, used::toString);
      for (String name : used) {
        assertTrue(scrape.contains("\n" + name), () -> name + " of " + file + " in\n" + scrape);
      }
    }
  }

  private static PrometheusMeterRegistry meters() throws Exception {
    PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    MicrometerListener listener = new MicrometerListener(meters);
    live(listener, listener::watch);
    return meters;
  }

  private static Set<String> names(MeterRegistry meters) {
    return meters.getMeters().stream()
        .map(meter -> meter.getId().getName())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The first column of the page's table of meters. */
  private static Set<String> promised() throws IOException {
    return Pattern.compile("(?m)^\\| `(redlock\\.[\\w.]+)` \\|")
        .matcher(Repository.read("docs/observability.md"))
        .results()
        .map(match -> match.group(1))
        .filter(name -> Character.isLowerCase(name.charAt("redlock.".length())))
        .collect(Collectors.toCollection(TreeSet::new));
  }
}
