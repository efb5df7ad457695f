package io.redlock.chaos.client;

import io.redlock.Leadership;
import io.redlock.LeaseRequest;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/** What a caller does all day, drawn from a seed: asks, works, looks, extends, gives back. */
final class Workload {

  private final Caller caller;
  private final SplittableRandom random;
  private final int resources;
  private final long ttlMillis;
  private final BooleanSupplier isOver;

  /**
   * @param isOver whether the caller has been told to rest
   */
  Workload(Caller caller, long seed, int resources, long ttlMillis, BooleanSupplier isOver) {
    this.caller = caller;
    this.random = new SplittableRandom(seed);
    this.resources = resources;
    this.ttlMillis = ttlMillis;
    this.isOver = isOver;
  }

  private interface Step {
    void take() throws InterruptedException;
  }

  private void repeat(Duration span, Step step) throws InterruptedException {
    long startNanos = System.nanoTime();
    while (System.nanoTime() - startNanos < span.toNanos() && !isOver.getAsBoolean()) {
      step.take();
      rest(20);
    }
  }

  void runFor(Duration span) throws InterruptedException {
    repeat(span, () -> once(request()));
  }

  /** Waits in one queue with the others of its process, and works at once, for this long. */
  void queueFor(Duration span) throws InterruptedException {
    LeaseRequest request = LeaseRequest.of("r0", Duration.ofMillis(ttlMillis));
    repeat(
        span,
        () -> {
          if (caller.acquire(request.waitUpTo(Duration.ofMillis(2 * ttlMillis)), Map.of())) {
            caller.update(Duration.ZERO);
            caller.release();
          }
        });
  }

  /** Asks for any one of the resources for this long. */
  void shareFor(Duration span) throws InterruptedException {
    List<String> names = IntStream.range(0, resources).mapToObj(number -> "r" + number).toList();
    repeat(span, () -> once(waitOrRenew(LeaseRequest.anyOf(names, ttl()))));
  }

  /**
   * Reads four times of five, and writes otherwise, for this long.
   *
   * @param isFair whether writers wait in turn
   */
  void readFor(Duration span, boolean isFair) throws InterruptedException {
    repeat(
        span,
        () -> {
          boolean isShared = percent(80);
          LeaseRequest request = waitOrRenew(LeaseRequest.of(name(), ttl()));
          request = isShared ? request.shared() : request;
          once((isShared ? percent(20) : isFair) ? request.fair() : request);
        });
  }

  /** Campaigns for this long: works while it leads, and ends terms in every way. */
  void leadFor(Duration span) throws InterruptedException {
    LeaseRequest request = LeaseRequest.of("r0", Duration.ofMillis(ttlMillis));
    try (Leadership candidate = caller.campaign(request, this::term)) {
      long startNanos = System.nanoTime();
      while (System.nanoTime() - startNanos < span.toNanos()) {
        Thread.sleep(ttlMillis / 2);
        if (ThreadLocalRandom.current().nextInt(100) < 5) {
          candidate.resign();
        }
      }
    }
    caller.campaignIsOver();
  }

  private void term() {
    int steps = random.nextInt(40);
    for (int i = 0; i < steps && !Thread.currentThread().isInterrupted(); i++) {
      caller.update(Duration.ofMillis(random.nextLong(1 + ttlMillis / 20)));
      caller.look();
      rest(ttlMillis / 20);
    }
    if (percent(20)) {
      throw new IllegalStateException("this work fails");
    }
  }

  private void once(LeaseRequest request) throws InterruptedException {
    if (!caller.acquire(request, Map.of())) {
      return;
    }
    int steps = random.nextInt(4);
    for (int i = 0; i < steps; i++) {
      if (percent(60)) {
        caller.update(Duration.ofMillis(random.nextLong(1 + ttlMillis / 20)));
      } else if (percent(50)) {
        caller.extend();
      } else {
        rest(ttlMillis / 8);
      }
      caller.look();
    }
    if (request.renewFor().isEmpty() && percent(6)) {
      caller.forget();
    } else {
      caller.release();
    }
  }

  private LeaseRequest request() {
    Duration ttl = ttl();
    boolean several = resources > 1 && percent(10);
    LeaseRequest request =
        several ? LeaseRequest.ofAll(List.of("r0", "r1"), ttl) : LeaseRequest.of(name(), ttl);
    request = waitOrRenew(request);
    return !several && percent(20) ? request.fair() : request;
  }

  private Duration ttl() {
    return Duration.ofMillis(percent(50) ? ttlMillis : ttlMillis / 2);
  }

  private LeaseRequest waitOrRenew(LeaseRequest asked) {
    LeaseRequest request = asked;
    if (percent(70)) {
      request = request.waitUpTo(Duration.ofMillis(random.nextLong(2 * ttlMillis)));
    }
    if (percent(15)) {
      request = request.renewFor(Duration.ofHours(1));
    }
    return request;
  }

  private String name() {
    return "r" + random.nextInt(resources);
  }

  private boolean percent(int share) {
    return random.nextInt(100) < share;
  }

  private void rest(long maxMillis) {
    LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(random.nextLong(1 + 1_000 * maxMillis)));
  }
}
