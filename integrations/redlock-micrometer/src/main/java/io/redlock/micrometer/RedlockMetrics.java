package io.redlock.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The meters of one lock service or of several: timers of acquires, extensions and leases, a gauge
 * of leases, and the masters' votes.
 *
 * <pre>{@code
 * RedlockMetrics metrics = RedlockMetrics.of(registry);
 * Redlock redlock = JedisRedlock.builder().node(masters).listener(metrics).build();
 * }</pre>
 *
 * <p>A {@link io.micrometer.core.instrument.config.MeterFilter} of the registry switches histograms
 * and percentiles on, renames, or denies. No tag has the resource, because each order would make
 * time series of its own; see {@link #withResource}.
 */
public final class RedlockMetrics implements MeterBinder, RedlockListener {

  private final @Nullable Function<? super Set<String>, String> resource;

  // Each is added before the other list is read, so that no pair of the two is missed.
  private final CopyOnWriteArrayList<MeterRegistry> registries = new CopyOnWriteArrayList<>();
  private final CopyOnWriteArrayList<Redlock> services = new CopyOnWriteArrayList<>();
  private final AtomicLong held = new AtomicLong();

  private RedlockMetrics(@Nullable Function<? super Set<String>, String> resource) {
    this.resource = resource;
  }

  /**
   * Returns meters without a registry. They record nothing until {@link #bindTo} is called.
   *
   * @return meters without a resource tag
   */
  public static RedlockMetrics create() {
    return new RedlockMetrics(null);
  }

  /**
   * Returns meters in a registry.
   *
   * @param registry where they are registered
   * @return meters without a resource tag
   */
  public static RedlockMetrics of(MeterRegistry registry) {
    RedlockMetrics metrics = create();
    metrics.bindTo(registry);
    return metrics;
  }

  /**
   * Returns meters without a registry whose timers have the tag {@code resource}.
   *
   * @param resource maps the names in a request to the value of the tag, for example {@code
   *     orders/42} to {@code orders}; it must have few results, since each makes time series of its
   *     own
   * @return meters that record nothing until {@link #bindTo} is called
   */
  public static RedlockMetrics withResource(Function<? super Set<String>, String> resource) {
    return new RedlockMetrics(
        Objects.requireNonNull(resource, "resource is null: use create() for no resource tag"));
  }

  /**
   * Registers the meters in one more registry. Repeated calls with the same registry do nothing.
   *
   * @param registry where they are registered
   */
  @Override
  public void bindTo(MeterRegistry registry) {
    if (!registries.addIfAbsent(registry)) {
      return;
    }
    Gauge.builder("redlock.leases", this, metrics -> metrics.held.get())
        .description("Leases that this process holds")
        .register(registry);
    if (resource == null) {
      startFromZero(registry);
    }
    services.forEach(redlock -> watch(redlock, registry));
  }

  /** Makes each series begin with zero: Prometheus sees no increase where one begins with 1. */
  private void startFromZero(MeterRegistry registry) {
    Stream.of(AcquireResult.class.getPermittedSubclasses())
        .forEach(type -> acquire(type, Tags.empty()).register(registry));
    Stream.of(ExtendResult.class.getPermittedSubclasses())
        .forEach(type -> extend(type, Tags.empty()).register(registry));
    Stream.of(LeaseEnd.Cause.values())
        .forEach(cause -> lease(cause, Tags.empty()).register(registry));
  }

  private void watch(Redlock redlock, MeterRegistry registry) {
    for (NodeStatus node : redlock.nodes()) {
      String name = node.name();
      Gauge.builder("redlock.node.votes", this, metrics -> metrics.votes(name))
          .description("1 while the master votes, else 0")
          .tag("node", name)
          .register(registry);
      resets(name).register(registry);
      Stream.of(State.values()).forEach(state -> changes(name, state).register(registry));
    }
  }

  /** Returns the least vote of a node among the open lock services; NaN if none is open. */
  private double votes(String node) {
    return services.stream()
        .flatMap(redlock -> redlock.nodes().stream())
        .filter(status -> status.name().equals(node) && status.state() != State.CLOSED)
        .mapToDouble(status -> status.state() == State.UP ? 1 : 0)
        .min()
        .orElse(Double.NaN);
  }

  private static boolean isClosed(Redlock redlock) {
    return redlock.nodes().stream().allMatch(node -> node.state() == State.CLOSED);
  }

  @Override
  public void onStart(Redlock redlock) {
    services.removeIf(RedlockMetrics::isClosed);
    services.add(redlock);
    registries.forEach(registry -> watch(redlock, registry));
  }

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    if (result instanceof AcquireResult.Acquired) {
      held.incrementAndGet();
    }
    record(acquire(result.getClass(), resource(request.resources())), took);
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    record(extend(result.getClass(), resource(lease.resources())), took);
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration heldFor) {
    held.decrementAndGet();
    record(lease(end.cause(), resource(lease.resources())), heldFor);
  }

  @Override
  public void onNodeState(NodeStatus status) {
    registries.forEach(
        registry -> changes(status.name(), status.state()).register(registry).increment());
  }

  @Override
  public void onNodeReset(String node, String reason) {
    registries.forEach(registry -> resets(node).register(registry).increment());
  }

  private Tags resource(Set<String> resources) {
    return resource == null ? Tags.empty() : Tags.of("resource", resource.apply(resources));
  }

  private void record(Timer.Builder timer, Duration took) {
    registries.forEach(registry -> timer.register(registry).record(took));
  }

  private static Timer.Builder acquire(Class<?> result, Tags more) {
    return Timer.builder("redlock.acquire")
        .description("Time from the call for a lease to its result")
        .tag("outcome", word(result.getSimpleName()))
        .tags(more);
  }

  private static Timer.Builder extend(Class<?> result, Tags more) {
    return Timer.builder("redlock.extend")
        .description("Time of an extension, by hand or by renewal")
        .tag("outcome", word(result.getSimpleName()))
        .tags(more);
  }

  private static Timer.Builder lease(LeaseEnd.Cause cause, Tags more) {
    return Timer.builder("redlock.lease")
        .description("Time for which a lease was held, recorded at its end")
        .tag("cause", word(cause.name()))
        .tags(more);
  }

  private static Counter.Builder changes(String node, State state) {
    return Counter.builder("redlock.node.changes")
        .description("Changes of a master's state")
        .tag("node", node)
        .tag("state", word(state.name()));
  }

  private static Counter.Builder resets(String node) {
    return Counter.builder("redlock.node.resets")
        .description("Resets of a master, and changes of its clock")
        .tag("node", node);
  }

  private static String word(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
