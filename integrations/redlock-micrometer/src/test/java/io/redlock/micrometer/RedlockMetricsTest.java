package io.redlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.config.MeterFilter;
import io.micrometer.core.instrument.distribution.DistributionStatisticConfig;
import io.micrometer.core.instrument.distribution.pause.PauseDetector;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.Repository;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The meters that docs/observability.md promises. */
@Timeout(300)
class RedlockMetricsTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  private final PrometheusMeterRegistry meters =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  @AutoClose private final InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);

  /** Takes a lease and releases it, loses one, is refused, extends, and loses two of its nodes. */
  private void live(RedlockMetrics metrics) throws InterruptedException {
    Redlock redlock = masters.connect(settings -> settings.listener(metrics));
    redlock.acquire("orders/1", TTL).release();
    Lease lost = redlock.acquire("orders/2", TTL);
    lost.extend(TTL);
    masters.occupy("invoices/3", TTL);
    redlock.tryAcquire("invoices/3", TTL);
    masters.stop(2);
    masters.advance(TTL);
    redlock.acquireAsync(LeaseRequest.of("orders/4", TTL)).join();
    metrics.onNodeReset("master-1", "restarted");
  }

  @Test
  void metersTellSharedLeasesFromOthers() throws Exception {
    Redlock redlock = measured();
    Lease reader = redlock.acquire(LeaseRequest.of("orders/1", TTL).shared());
    redlock.tryAcquire("orders/1", TTL);
    reader.extend(TTL);
    reader.release();
    assertEquals(1, timer("redlock.acquire", "shared", "true", "outcome", "acquired"));
    assertEquals(0, timer("redlock.acquire", "shared", "true", "outcome", "contended"));
    assertEquals(1, timer("redlock.acquire", "shared", "false", "outcome", "contended"));
    assertEquals(1, timer("redlock.extend", "shared", "true", "outcome", "extended"));
    assertEquals(1, timer("redlock.lease", "shared", "true", "cause", "released"));
    assertEquals(0, timer("redlock.lease", "shared", "false", "cause", "released"));
  }

  @Test
  void metersAreThoseOfThePage() throws Exception {
    live(RedlockMetrics.of(meters));
    assertEquals(2, timer("redlock.acquire", "outcome", "acquired"));
    assertEquals(1, timer("redlock.acquire", "outcome", "contended"));
    assertEquals(1, timer("redlock.acquire", "outcome", "unavailable"));
    assertEquals(1, timer("redlock.extend", "outcome", "extended"));
    assertEquals(1, timer("redlock.lease", "cause", "released"));
    assertEquals(
        9,
        meters
            .get("redlock.lease")
            .tags("cause", "expired", "shared", "false")
            .timer()
            .totalTime(TimeUnit.SECONDS),
        0.2);
    assertEquals(0, gauge("redlock.leases"));
    assertEquals(0, votes("master-1"));
    assertEquals(1, votes("master-3"));
    assertEquals(
        1,
        meters
            .get("redlock.node.changes")
            .tags("node", "master-2", "state", "down")
            .counter()
            .count());
    assertEquals(1, resets(meters));
    assertEquals(Repository.promisedMeters(), tags(meters));
  }

  @Test
  void eachMeterHasAHelpText() throws Exception {
    live(RedlockMetrics.of(meters));
    for (Meter meter : meters.getMeters()) {
      assertNotNull(meter.getId().getDescription(), meter.getId()::toString);
    }
    assertTrue(meters.scrape().contains("# HELP redlock_leases Leases that this process holds\n"));
  }

  @Test
  void whatHasNotHappenedYetCountsAsZero() throws Exception {
    masters.stop(3);
    measured();
    String scrape = meters.scrape();
    List<String> series = new ArrayList<>();
    for (int node = 1; node <= 3; node++) {
      series.add("node_votes{node=\"master-" + node + "\",service=\"redlock\"} 0");
      series.add("node_resets_total{node=\"master-" + node + "\",service=\"redlock\"} 0");
      series.add(
          "node_changes_total{node=\"master-"
              + node
              + "\",service=\"redlock\",state=\"abstaining\"} 0");
    }
    Pattern.compile("(?m)^\\| `redlock\\.(\\w+)` \\| timer \\| `(\\w+)`: ([\\w, ]+);")
        .matcher(Repository.read("docs/observability.md"))
        .results()
        .forEach(
            timer -> {
              for (String value : timer.group(3).split(", ")) {
                String tag = timer.group(2) + "=\"" + value + "\",service=\"redlock\",shared=\"";
                for (boolean shared : new boolean[] {false, true}) {
                  series.add(timer.group(1) + "_seconds_count{" + tag + shared + "\"} 0");
                }
              }
            });
    assertEquals(3 * 3 + 2 * (4 + 3 + 5), series.size());
    for (String one : series) {
      assertTrue(scrape.contains("\nredlock_" + one), () -> one + " in\n" + scrape);
    }
  }

  @Test
  void filterOfTheRegistrySwitchesHistogramsOn() throws Exception {
    meters
        .config()
        .meterFilter(
            new MeterFilter() {
              @Override
              public DistributionStatisticConfig configure(
                  Meter.Id id, DistributionStatisticConfig config) {
                return DistributionStatisticConfig.builder()
                    .percentilesHistogram(id.getName().equals("redlock.acquire"))
                    .build()
                    .merge(config);
              }
            });
    live(RedlockMetrics.of(meters));
    String scrape = meters.scrape();
    assertTrue(
        scrape.contains(
            "redlock_acquire_seconds_bucket{outcome=\"acquired\",service=\"redlock\",shared=\"false\",le=\"+Inf\"}"
                + " 2\n"),
        scrape);
    assertTrue(!scrape.contains("redlock_lease_seconds_bucket"), scrape);
  }

  @Test
  void resourceIsATagOnlyAsTheGivenFunctionSays() throws Exception {
    RedlockMetrics metrics =
        RedlockMetrics.withResource(names -> names.iterator().next().replaceAll("/.*", ""));
    metrics.bindTo(meters);
    live(metrics);
    assertEquals(2, timer("redlock.acquire", "resource", "orders", "outcome", "acquired"));
    assertEquals(1, timer("redlock.acquire", "resource", "invoices", "outcome", "contended"));
    assertEquals(1, timer("redlock.extend", "resource", "orders", "outcome", "extended"));
    assertEquals(1, timer("redlock.lease", "resource", "orders", "cause", "expired"));
  }

  @Test
  void resourceOfWhichTheGivenFunctionSaysNothingIsCountedAsUnknown() throws Exception {
    RedlockMetrics metrics =
        RedlockMetrics.withResource(
            names -> {
              if (names.contains("orders/1")) {
                throw new StackOverflowError("as the test wants it");
              }
              return null;
            });
    metrics.bindTo(meters);
    live(metrics);
    assertEquals(2, timer("redlock.acquire", "resource", "unknown", "outcome", "acquired"));
    assertEquals(1, timer("redlock.lease", "resource", "unknown", "cause", "released"));
    assertEquals(1, timer("redlock.lease", "resource", "unknown", "cause", "expired"));
  }

  @Test
  void eachRegistryHasEachMeterWheneverItIsBound() throws Exception {
    RedlockMetrics metrics = RedlockMetrics.create();
    live(metrics);
    metrics.bindTo(meters);
    metrics.bindTo(meters);
    MeterRegistry second = new SimpleMeterRegistry();
    metrics.bindTo(second);
    assertEquals(1, votes("master-3"));
    metrics.onNodeReset("master-1", "restarted");
    assertEquals(1, resets(meters));
    assertEquals(1, resets(second));
  }

  @Test
  void registryThatFailsHidesNothingFromTheOthers() {
    RedlockMetrics metrics = RedlockMetrics.withResource(names -> "any");
    metrics.bindTo(
        new SimpleMeterRegistry() {
          @Override
          protected Timer newTimer(
              Meter.Id id, DistributionStatisticConfig config, PauseDetector pauses) {
            throw new IllegalStateException("as the test wants it");
          }

          @Override
          protected Counter newCounter(Meter.Id id) {
            throw new IllegalStateException("as the test wants it");
          }
        });
    metrics.bindTo(meters);
    assertThrows(IllegalStateException.class, () -> live(metrics));
    double lost = lostEvents();
    assertTrue(lost >= 5, "events that a registry refused: " + lost);
    assertEquals(2, timer("redlock.acquire", "outcome", "acquired"));
    assertEquals(1, timer("redlock.extend", "outcome", "extended"));
    assertEquals(1, timer("redlock.lease", "cause", "released"));
    assertEquals(0, votes("master-1"));
    assertEquals(1, resets(meters));
    InMemoryMasters.inVirtualTime(1).connect(settings -> settings.listener(metrics));
    masters.close();
    assertTrue(lostEvents() >= lost, "a total never falls");
  }

  @Test
  void nodeThatTwoServicesUseVotesWhileItVotesForBothAndAClosedOneDoesNotCount() {
    RedlockMetrics metrics = RedlockMetrics.of(meters);
    InMemoryMasters othersMasters = InMemoryMasters.inVirtualTime(1);
    Redlock one = masters.connect(settings -> settings.listener(metrics));
    Redlock other = othersMasters.connect(settings -> settings.listener(metrics));
    assertEquals(1, votes("master-1"));
    othersMasters.stop(1);
    assertEquals(0, votes("master-1"));
    other.close();
    assertEquals(1, votes("master-1"));
    one.close();
    assertEquals(List.of(), gauges(meters), "nobody asks, so no alarm goes off");
    MeterRegistry later = new SimpleMeterRegistry();
    metrics.bindTo(later);
    assertEquals(List.of(), gauges(later));
  }

  private static List<String> gauges(MeterRegistry registry) {
    return registry.getMeters().stream()
        .filter(meter -> meter.getId().getType() == Meter.Type.GAUGE)
        .map(meter -> meter.getId().toString())
        .toList();
  }

  @Test
  void serviceThatIsBuiltAgainHasLiveGauges() throws Exception {
    for (int times = 0; times < 2; times++) {
      Redlock redlock = measured();
      assertEquals(0, gauge("redlock.leases"));
      redlock.acquire("orders/" + times, TTL);
      assertEquals(1, gauge("redlock.leases"));
      assertEquals(1, votes("master-1"));
      masters.stop(1);
      assertEquals(0, votes("master-1"), "what the alert looks at");
      masters.startAll();
      redlock.close();
      assertEquals(List.of(), gauges(meters));
    }
    assertEquals(2, timer("redlock.acquire", "outcome", "acquired"), "totals stay");
  }

  @Test
  void twoServicesAtOnceCountTogetherOrApartByTheirNames() throws Exception {
    RedlockMetrics reports = RedlockMetrics.create().service("reports");
    reports.bindTo(meters);
    Redlock one = measured();
    Redlock two = measured();
    Redlock other = masters.connect(settings -> settings.listener(reports));
    one.acquire("a", TTL);
    two.acquire("b", TTL);
    two.acquire("c", TTL);
    other.acquire("d", TTL);
    assertEquals(3, meters.get("redlock.leases").tag("service", "redlock").gauge().value());
    assertEquals(1, meters.get("redlock.leases").tag("service", "reports").gauge().value());
    assertEquals(1, timer("redlock.acquire", "service", "reports", "outcome", "acquired"));
    one.close();
    assertEquals(2, meters.get("redlock.leases").tag("service", "redlock").gauge().value());
  }

  @Test
  void callsThatWaitAreSeen() {
    Redlock redlock = measured();
    masters.occupy("orders/1", TTL);
    LeaseRequest patient = LeaseRequest.of("orders/1", TTL).waitUpTo(TTL);
    redlock.acquireAsync(patient);
    masters.advance(Duration.ofSeconds(2));
    redlock.acquireAsync(patient);
    assertEquals(2, gauge("redlock.waiting"));
    assertEquals(2, meters.get("redlock.waiting.longest").timeGauge().value(TimeUnit.SECONDS));
  }

  @Test
  void oneLineEachAddsMetersAndObservations() throws Exception {
    String masters = "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"; // nobody is there
    ObservationRegistry observations = ObservationRegistry.create();
    MeterRegistry registry = meters;
    // readme:start wire-micrometer
    Redlock redlock =
        JedisRedlock.builder()
            .node(masters)
            .listener(RedlockMetrics.of(registry))
            .listener(RedlockObservations.of(observations))
            .build();
    // readme:end
    try (redlock) {
      redlock.tryAcquire("orders/42", TTL);
      Await.until(
          "the acquire is recorded", () -> timer("redlock.acquire", "outcome", "unavailable") == 1);
      assertEquals(0, votes("127.0.0.1:2"));
    }
  }

  private Redlock measured() {
    return masters.connect(settings -> settings.listener(RedlockMetrics.of(meters)));
  }

  private static double resets(MeterRegistry registry) {
    return registry.get("redlock.node.resets").tags("node", "master-1").counter().count();
  }

  private double lostEvents() {
    return meters.get("redlock.events.lost").functionCounter().count();
  }

  private double gauge(String name) {
    return meters.get(name).gauge().value();
  }

  private double votes(String node) {
    return meters.get("redlock.node.votes").tag("node", node).gauge().value();
  }

  private long timer(String name, String... tags) {
    return meters.get(name).tags(tags).timers().stream().mapToLong(Timer::count).sum();
  }

  private static Map<String, Set<String>> tags(MeterRegistry meters) {
    Map<String, Set<String>> tags = new TreeMap<>();
    for (Meter meter : meters.getMeters()) {
      Set<String> own = tags.computeIfAbsent(meter.getId().getName(), name -> new TreeSet<>());
      meter.getId().getTags().forEach(tag -> own.add(tag.getKey()));
    }
    return tags;
  }
}
