package io.redlock.micrometer;

import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.WaitStatus;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

/**
 * The gauges of the open lock services of one name in one registry. They are registered with the
 * first of them and removed with the last.
 */
final class ServiceGauges {

  private record Place(MeterRegistry registry, String service) {}

  private static final Map<Place, ServiceGauges> ALL = new HashMap<>(); // guarded by itself

  private final Place place;
  private final CopyOnWriteArrayList<Redlock> services = new CopyOnWriteArrayList<>();
  private final Map<String, Gauge> votes = new HashMap<>(); // by node; guarded by ALL
  private final List<Meter> gauges; // guarded by ALL
  private long lostBefore; // events of services that are closed; guarded by ALL

  private ServiceGauges(Place place) {
    this.place = place;
    this.gauges =
        List.of(
            gauge("redlock.leases", all -> all.sum(redlock -> redlock.operations().leases().size()))
                .description("Leases that this process holds")
                .register(place.registry),
            gauge("redlock.waiting", all -> all.sum(ServiceGauges::waiting))
                .description("Calls that wait for a lease")
                .register(place.registry),
            TimeGauge.builder(
                    "redlock.waiting.longest", this, TimeUnit.SECONDS, ServiceGauges::longest)
                .description("Longest time that one of these calls has waited")
                .tag("service", place.service)
                .register(place.registry),
            FunctionCounter.builder("redlock.events.lost", this, ServiceGauges::lost)
                .description("Events that listeners did not get, or failed on")
                .tag("service", place.service)
                .register(place.registry));
  }

  /** Adds an open service. Its gauges are there on return. */
  static void add(MeterRegistry registry, String service, Redlock redlock) {
    synchronized (ALL) {
      ServiceGauges gauges = ALL.computeIfAbsent(new Place(registry, service), ServiceGauges::new);
      gauges.services.addIfAbsent(redlock);
      redlock
          .operations()
          .nodes()
          .forEach(node -> gauges.votes.computeIfAbsent(node.name(), gauges::vote));
    }
  }

  /** Removes a closed service, and the gauges that no other service has. */
  static void remove(MeterRegistry registry, String service, Redlock redlock) {
    synchronized (ALL) {
      Place place = new Place(registry, service);
      ServiceGauges gauges = ALL.get(place);
      if (gauges != null && gauges.services.remove(redlock)) {
        gauges.lostBefore += redlock.operations().lostEvents();
        gauges.removeVotes();
        if (gauges.services.isEmpty()) {
          gauges.gauges.forEach(registry::remove);
          ALL.remove(place);
        }
      }
    }
  }

  private void removeVotes() {
    Set<String> gone = new HashSet<>(votes.keySet());
    services.forEach(
        redlock -> redlock.operations().nodes().forEach(node -> gone.remove(node.name())));
    gone.forEach(node -> place.registry.remove(votes.remove(node)));
  }

  private Gauge vote(String node) {
    return gauge("redlock.node.votes", all -> all.leastVote(node))
        .description("1 while the master votes, else 0")
        .tag("node", node)
        .register(place.registry);
  }

  private Gauge.Builder<ServiceGauges> gauge(String name, ToDoubleFunction<ServiceGauges> value) {
    return Gauge.builder(name, this, value).tag("service", place.service);
  }

  private double sum(ToDoubleFunction<Redlock> value) {
    return services.stream().mapToDouble(value).sum();
  }

  private static double waiting(Redlock redlock) {
    return redlock.operations().waits().stream().mapToInt(WaitStatus::calls).sum();
  }

  private double lost() {
    synchronized (ALL) { // a total never falls
      return lostBefore + sum(redlock -> redlock.operations().lostEvents());
    }
  }

  private double longest() {
    return services.stream()
            .flatMap(redlock -> redlock.operations().waits().stream())
            .map(WaitStatus::longest)
            .max(Duration::compareTo)
            .orElse(Duration.ZERO)
            .toNanos()
        / 1e9;
  }

  /** Returns 1 while the node votes for each service that uses it. */
  private double leastVote(String node) {
    return services.stream()
        .flatMap(redlock -> redlock.operations().nodes().stream())
        .filter(status -> status.name().equals(node))
        .mapToDouble(ServiceGauges::vote)
        .min()
        .orElse(Double.NaN);
  }

  private static double vote(NodeStatus status) {
    return status.state() == State.UP ? 1 : 0;
  }
}
