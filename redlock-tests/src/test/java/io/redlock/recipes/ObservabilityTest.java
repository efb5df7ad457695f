package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.opentelemetry.sdk.metrics.SdkMeterProvider;
import io.opentelemetry.sdk.metrics.data.MetricData;
import io.opentelemetry.sdk.metrics.data.PointData;
import io.opentelemetry.sdk.testing.exporter.InMemoryMetricReader;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.testbed.Repository;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** The recipe for OpenTelemetry has the meters that docs/observability.md promises. */
class ObservabilityTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  /**
   * A lease that is released, one that is lost, a refusal, an extension, and two nodes that die.
   */
  private void live(RedlockListener listener, Consumer<Redlock> watch) throws Exception {
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
    listener.onNodeReset("master-1", "restarted");
  }

  @Test
  void openTelemetryHasTheMetersPromised() throws Exception {
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
      Map<String, Set<String>> promised = Repository.promisedMeters();
      promised.keySet().removeIf(meter -> meter.startsWith("redlock.waiting"));
      promised.values().forEach(each -> each.remove("service"));
      assertEquals(promised, tags);
    }
  }

  private static Set<String> tags(Map<String, Set<String>> all, String meter) {
    return all.computeIfAbsent(meter, name -> new TreeSet<>());
  }
}
