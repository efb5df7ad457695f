package io.redlock.micrometer;

import io.micrometer.core.instrument.Counter;
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
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The meters of one lock service or of several: timers of acquires, extensions and leases, gauges
 * of leases and waiting calls, and the masters' votes.
 *
 * <pre>{@code
 * RedlockMetrics metrics = RedlockMetrics.of(registry);
 * Redlock redlock = JedisRedlock.builder().node(masters).listener(metrics).build();
 * }</pre>
 *
 * <p>Gauges go with their service: closed, it has none; one that is built again has its own. Timers
 * and counters are totals of the process, and stay. All meters have the tag {@code service}, which
 * tells services apart: name each with {@link #service} where a process has several. Gauges of
 * services with the same name show the sum of leases and calls, and the worst of waits and votes.
 *
 * <p>A {@link io.micrometer.core.instrument.config.MeterFilter} of the registry switches histograms
 * and percentiles on, renames, or denies. No tag has the resource, because each order would make
 * time series of its own; see {@link #withResource}.
 */
public final class RedlockMetrics implements MeterBinder, RedlockListener {

  /** The value of the tag {@code service}, unless another is given. */
  public static final String DEFAULT_SERVICE = "redlock";

  private static final String UNKNOWN = "unknown";

  private final String service;
  private final @Nullable Function<? super Set<String>, String> resource;

  private final CopyOnWriteArrayList<MeterRegistry> registries = new CopyOnWriteArrayList<>();
  private final List<Redlock> services = new ArrayList<>(); // open ones; guarded by this

  private RedlockMetrics(String service, @Nullable Function<? super Set<String>, String> resource) {
    this.service = service;
    this.resource = resource;
  }

  /**
   * Returns meters without a registry. They record nothing until {@link #bindTo} is called.
   *
   * @return meters without a resource tag
   */
  public static RedlockMetrics create() {
    return new RedlockMetrics(DEFAULT_SERVICE, null);
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
   *     own; if it throws or returns null, the value is {@code unknown}
   * @return meters that record nothing until {@link #bindTo} is called
   */
  public static RedlockMetrics withResource(Function<? super Set<String>, String> resource) {
    return new RedlockMetrics(
        DEFAULT_SERVICE,
        Objects.requireNonNull(resource, "resource is null: use create() for no resource tag"));
  }

  /**
   * Returns new meters with another name of the service, for processes with several. They have no
   * registry yet.
   *
   * @param name the value of the tag {@code service}
   * @return meters that record nothing until {@link #bindTo} is called
   */
  public RedlockMetrics service(String name) {
    return new RedlockMetrics(
        Objects.requireNonNull(name, "name is null: name the service"), resource);
  }

  /**
   * Registers the meters in one more registry. Repeated calls with the same registry do nothing.
   *
   * @param registry where they are registered
   */
  @Override
  public synchronized void bindTo(MeterRegistry registry) {
    if (!registries.addIfAbsent(registry)) {
      return;
    }
    if (resource == null) {
      startFromZero(registry);
    }
    services.forEach(redlock -> watch(redlock, registry));
  }

  /** Makes each series begin with zero: Prometheus sees no increase where one begins with 1. */
  private void startFromZero(MeterRegistry registry) {
    for (boolean shared : new boolean[] {false, true}) {
      Tags tags = shared(shared);
      Stream.of(AcquireResult.Outcome.values())
          .forEach(outcome -> acquire(outcome, tags).register(registry));
      Stream.of(ExtendResult.Outcome.values())
          .forEach(outcome -> extend(outcome, tags).register(registry));
      Stream.of(LeaseEnd.Cause.values()).forEach(cause -> lease(cause, tags).register(registry));
    }
  }

  private static Tags shared(boolean shared) {
    return Tags.of("shared", String.valueOf(shared));
  }

  private void watch(Redlock redlock, MeterRegistry registry) {
    ServiceGauges.add(registry, service, redlock);
    for (NodeStatus node : redlock.operations().nodes()) {
      String name = node.name();
      resets(name).register(registry);
      Stream.of(State.values()).forEach(state -> changes(name, state).register(registry));
    }
  }

  @Override
  public synchronized void onStart(Redlock redlock) {
    services.add(redlock);
    inAll(registry -> watch(redlock, registry));
  }

  @Override
  public synchronized void onClose(Redlock redlock) {
    services.remove(redlock);
    inAll(registry -> ServiceGauges.remove(registry, service, redlock));
  }

  @Override
  public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
    record(request.resources(), request.isShared(), tags -> acquire(result.outcome(), tags), took);
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    record(lease.resources(), lease.isShared(), tags -> extend(result.outcome(), tags), took);
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration heldFor) {
    record(lease.resources(), lease.isShared(), tags -> lease(end.cause(), tags), heldFor);
  }

  @Override
  public void onNodeState(NodeStatus status) {
    inAll(registry -> changes(status.name(), status.state()).register(registry).increment());
  }

  @Override
  public void onNodeReset(String node, String reason) {
    inAll(registry -> resets(node).register(registry).increment());
  }

  private void inAll(Consumer<MeterRegistry> action) {
    inAll(registries.iterator(), action);
  }

  /** Acts on each registry, although one before it failed; then throws. */
  private static void inAll(Iterator<MeterRegistry> rest, Consumer<MeterRegistry> action) {
    if (rest.hasNext()) {
      try {
        action.accept(rest.next());
      } finally {
        inAll(rest, action);
      }
    }
  }

  /** Records a time whether or not the user's function gives a tag; then throws if it failed. */
  private void record(
      Set<String> resources, boolean shared, Function<Tags, Timer.Builder> timer, Duration took) {
    String tag = UNKNOWN;
    try {
      if (resource != null) {
        tag =
            Objects.requireNonNull(
                resource.apply(resources),
                "the function given to withResource returned null: return a text");
      }
    } finally {
      Tags tags = resource == null ? shared(shared) : shared(shared).and("resource", tag);
      inAll(registry -> timer.apply(tags).register(registry).record(took));
    }
  }

  private Timer.Builder acquire(AcquireResult.Outcome outcome, Tags more) {
    return Timer.builder("redlock.acquire")
        .description("Time from the call for a lease to its result")
        .tag("service", service)
        .tag("outcome", word(outcome.name()))
        .tags(more);
  }

  private Timer.Builder extend(ExtendResult.Outcome outcome, Tags more) {
    return Timer.builder("redlock.extend")
        .description("Time of an extension, by hand or by renewal")
        .tag("service", service)
        .tag("outcome", word(outcome.name()))
        .tags(more);
  }

  private Timer.Builder lease(LeaseEnd.Cause cause, Tags more) {
    return Timer.builder("redlock.lease")
        .description("Time for which a lease was held, recorded at its end")
        .tag("service", service)
        .tag("cause", word(cause.name()))
        .tags(more);
  }

  private Counter.Builder changes(String node, State state) {
    return Counter.builder("redlock.node.changes")
        .description("Changes of a master's state")
        .tag("service", service)
        .tag("node", node)
        .tag("state", word(state.name()));
  }

  private Counter.Builder resets(String node) {
    return Counter.builder("redlock.node.resets")
        .description("Resets of a master, and changes of its clock")
        .tag("service", service)
        .tag("node", node);
  }

  private static String word(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
