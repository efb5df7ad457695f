package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.data.PointData;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.jedis.JedisRedlock;
import io.redlock.readme.Repository;
import io.redlock.testing.InMemoryMasters;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The meters that docs/observability.md promises, and that dashboard and alerts rely on. */
class ObservabilityTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  /** Gauges hold what they measure weakly: one that is collected is no number any more. */
  private final List<Object> measured = new ArrayList<>();

  /**
   * A lease that is released, one that is lost, a refusal, an extension, and two nodes that die.
   */
  private void live(RedlockListener listener, Consumer<Redlock> watch) throws Exception {
    InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
    Redlock redlock = masters.connect(settings -> settings.listener(listener));
    measured.addAll(List.of(redlock, listener));
    watch.accept(redlock);
    redlock.acquire("a", TTL, Duration.ZERO).release();
    Lease lost = redlock.acquire("b", TTL, Duration.ZERO);
    lost.extend(TTL);
    masters.occupy("c", TTL);
    redlock.tryAcquire("c", TTL);
    masters.stop(2);
    masters.advance(TTL);
    redlock.acquireAsync(LeaseRequest.of("d", TTL)).join();
    listener.onNodeReset("master-1", "restarted");
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
    assertEquals(1, meters.counter("redlock.node.resets", "node", "master-1").count());
    assertEquals(promised(), tags(meters));
  }

  @Test
  void whatHasNotHappenedYetCountsAsZero() throws Exception {
    PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    String masters = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"; // nobody is there
    MeterRegistry registry = meters;
    // readme:start wire-micrometer
    MicrometerListener listener = new MicrometerListener(registry);
    Redlock redlock = JedisRedlock.builder().node(masters).listener(listener).build();
    listener.watch(redlock);
    // readme:end
    try (redlock) {
      String scrape = meters.scrape();
      List<String> series = new ArrayList<>();
      for (int node = 1; node <= 3; node++) {
        series.add("node_votes{node=\"127.0.0.1:" + node + "\"} 0");
        series.add("node_resets_total{node=\"127.0.0.1:" + node + "\"} 0");
      }
      Pattern.compile("(?m)^\\| `redlock\\.(\\w+)` \\| timer \\| `(\\w+)`: ([\\w, ]+) \\|")
          .matcher(page())
          .results()
          .forEach(
              timer -> {
                for (String value : timer.group(3).split(", ")) {
                  String tag = timer.group(2) + "=\"" + value + "\"";
                  series.add(timer.group(1) + "_seconds_count{" + tag + "} 0");
                }
              });
      assertEquals(3 * 2 + 4 + 3 + 5, series.size());
      for (String one : series) {
        assertTrue(scrape.contains("\nredlock_" + one), () -> one + " in\n" + scrape);
      }
    }
  }

  @Test
  void openTelemetryHasTheSame() throws Exception {
    InMemoryMetricReader reader = InMemoryMetricReader.create();
    try (SdkMeterProvider provider =
        SdkMeterProvider.builder().registerMetricReader(reader).build()) {
      OpenTelemetryListener listener = new OpenTelemetryListener(provider.get("io.redlock"));
      live(listener, listener::watch);
      Map<String, Set<String>> tags = new TreeMap<>();
      for (MetricData metric : reader.collectAllMetrics()) {
        for (PointData point : metric.getData().getPoints()) {
          point
              .getAttributes()
              .forEach((key, value) -> tags(tags, metric.getName()).add(key.getKey()));
        }
        tags(tags, metric.getName());
      }
      assertEquals(promised(), tags);
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

  private PrometheusMeterRegistry meters() throws Exception {
    PrometheusMeterRegistry meters = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    MicrometerListener listener = new MicrometerListener(meters);
    live(listener, listener::watch);
    return meters;
  }

  private static Map<String, Set<String>> tags(MeterRegistry meters) {
    Map<String, Set<String>> tags = new TreeMap<>();
    for (Meter meter : meters.getMeters()) {
      Set<String> own = tags(tags, meter.getId().getName());
      meter.getId().getTags().forEach(tag -> own.add(tag.getKey()));
    }
    return tags;
  }

  private static Set<String> tags(Map<String, Set<String>> all, String meter) {
    return all.computeIfAbsent(meter, name -> new TreeSet<>());
  }

  /** The meters of the page's table, each with its tags. */
  private static Map<String, Set<String>> promised() throws IOException {
    Map<String, Set<String>> tags = new TreeMap<>();
    Pattern.compile("(?m)^\\| `(redlock\\.[a-z.]+)` \\| \\w+ \\| ([^|]*)\\|")
        .matcher(page())
        .results()
        .forEach(
            meter -> {
              Set<String> own = tags(tags, meter.group(1));
              Matcher tag = Pattern.compile("`(\\w+)`").matcher(meter.group(2));
              tag.results().forEach(found -> own.add(found.group(1)));
            });
    assertTrue(tags.size() > 5, tags::toString);
    return tags;
  }

  private static String page() throws IOException {
    return Repository.read("docs/observability.md");
  }
}
