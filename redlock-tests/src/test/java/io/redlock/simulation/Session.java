package io.redlock.simulation;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.driver.CoreBuilder;
import io.redlock.simulation.ProtectedResource.Read;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One caller of a lock service: acquires, works, extends, lets go, over and over until calm. */
final class Session {

  private final SimWorld world;
  private final SimPlan plan;
  private final Checker checker;
  private final SimClient.Life life;
  private final SimProcess process;
  private final SimProcess.Strand strand;
  private final SimRandom random;
  private boolean atRest;

  Session(SimWorld world, SimClient.Life life, SimRandom random) {
    this.world = world;
    this.life = life;
    this.random = random;
    plan = world.plan;
    checker = world.checker;
    process = life.process;
    strand = process.strand();
  }

  /** Whether it holds nothing, waits for nothing and will do nothing more. */
  boolean isAtRest() {
    return atRest || life.isOver();
  }

  void begin() {
    goOn();
  }

  private void goOn() {
    later(thinkNanos(), this::next);
  }

  private long thinkNanos() {
    return random.spread(10_000, plan.thinkNanos);
  }

  private void later(long nanos, Runnable step) {
    world.after(nanos, () -> strand.run(step));
  }

  private void next() {
    atRest = world.isCalm() || life.isOver();
    if (atRest) {
      return;
    }
    if (plan.leads) {
      campaign();
    } else if (plan.isHot) {
      acquire(hotRequest());
    } else if (plan.permits) {
      acquire(
          LeaseRequest.anyOf(plan.names(), someTtl())
              .waitUpTo(Duration.ofNanos(random.spread(SimPlan.MILLI, plan.maxWaitNanos))));
    } else if (random.percent(3)) {
      process.blocking(this::lockTwice);
      goOn();
    } else if (random.percent(4)) {
      inspect("r" + random.nextInt(plan.resources));
    } else {
      acquire(someRequest());
    }
  }

  private LeaseRequest someRequest() {
    LeaseRequest request =
        plan.resources > 1 && random.percent(15)
            ? LeaseRequest.anyOf(plan.names(), someTtl())
            : LeaseRequest.ofAll(oneNameOrTwo(), someTtl());
    if (random.percent(60)) {
      request = request.waitUpTo(Duration.ofNanos(random.spread(SimPlan.MILLI, plan.maxWaitNanos)));
    }
    if (random.percent(25)) {
      request =
          request.renewFor(
              Duration.ofNanos(random.spread(plan.maxTtlNanos() / 2, 4 * plan.maxTtlNanos())));
    }
    return maybeFair(maybeShared(request));
  }

  /** Most are alike, so that a lease can be passed on. */
  private LeaseRequest hotRequest() {
    Duration ttl = random.percent(5) ? someTtl() : life.maxTtl;
    LeaseRequest request = LeaseRequest.of("r0", ttl);
    if (random.percent(95)) {
      request = request.waitUpTo(Duration.ofNanos(random.spread(SimPlan.MILLI, plan.maxWaitNanos)));
    }
    if (random.percent(10)) {
      request = request.renewFor(plan.maxTtl().multipliedBy(3));
    }
    return random.percent(2) ? request.fair() : request;
  }

  private LeaseRequest maybeShared(LeaseRequest request) {
    boolean shared =
        plan.sharedPercent > 0
            && !request.isAnyOf()
            && request.resources().size() == 1
            && random.percent(plan.sharedPercent);
    return shared ? request.shared() : request;
  }

  private List<String> oneNameOrTwo() {
    List<String> names = new ArrayList<>();
    names.add("r" + random.nextInt(plan.resources));
    if (plan.resources > 1 && random.percent(15)) {
      names.add("r" + random.nextInt(plan.resources));
    }
    return names;
  }

  private LeaseRequest maybeFair(LeaseRequest request) {
    boolean fair =
        plan.fairPercent > 0 && request.resources().size() == 1 && random.percent(plan.fairPercent);
    return fair ? request.fair() : request;
  }

  private Duration someTtl() {
    long most = life.maxTtl.toMillis();
    long least = Math.max(4 * plan.nodeTimeoutNanos / SimPlan.MILLI, most / 4);
    return Duration.ofMillis(random.percent(40) ? most : random.between(least, most));
  }

  private void inspect(String name) {
    CallChecks.Call call = checker.calls.begins(process, "inspect", plan.nodeTimeoutNanos);
    SimHold before = checker.holds.valid(name);
    life.redlock
        .operations()
        .inspectAsync(name)
        .whenComplete(
            (inspection, failure) -> {
              call.done();
              if (inspection != null) {
                note(inspection.held().ordinal(), () -> inspection);
                checker.holds.inspected(name, before, inspection);
              }
              goOn();
            });
  }

  private void acquire(LeaseRequest request) {
    CallChecks.Call call = checker.calls.beginsToAcquire(process, request);
    CompletableFuture<AcquireResult> future;
    try {
      future = world.parts.cancellable.apply(life.redlock.acquireAsync(request));
    } catch (RuntimeException | Error e) { // of user code, which fails its own call
      call.done();
      note(11, () -> e);
      goOn();
      return;
    }
    checker.waits.waits(process);
    WaitChecks.Reader reads =
        request.isShared()
            ? checker.waits.waitsToRead(process, request.resources().iterator().next())
            : null;
    future.whenComplete(
        (result, failure) -> {
          call.done();
          checker.waits.waitsNoLonger(process);
          if (reads != null) {
            reads.done(result != null && result.lease().isPresent());
          }
          if (result != null && result.lease().isPresent()) {
            hold(request, result.lease().get());
          } else {
            note(5, () -> failure != null ? failure : result);
            goOn();
          }
        });
    if (plan.has(SimFault.CANCEL) && random.percent(25)) {
      later(
          random.spread(10_000, 2 * plan.nodeTimeoutNanos),
          () -> {
            if (future.cancel(false)) {
              world.struck(SimFault.CANCEL);
            }
          });
    }
  }

  private void note(long number, Supplier<Object> what) {
    world.note(number, () -> process + ": " + what.get());
  }

  // While it holds a lease.

  private void hold(LeaseRequest request, Lease lease) {
    SimHold hold = checker.holds.acquired(process, lease);
    checker.waits.acquired(hold.names, lease.isShared());
    if (request.renewFor().isEmpty()) {
      lease.ended().thenAccept(end -> checker.work.ended(hold, !end.lost()));
    }
    if (plan.isHot && random.percent(95)) {
      workForAMoment(hold, lease);
    } else {
      proceed(hold, lease, random.nextInt(5));
    }
  }

  private void proceed(SimHold hold, Lease lease, int steps) {
    boolean calm = world.isCalm();
    if (steps == 0 || calm || !lease.isValid()) {
      letGo(lease, calm);
      return;
    }
    Runnable next = () -> proceed(hold, lease, steps - 1);
    switch (random.nextInt(4)) {
      case 0, 1 -> work(hold, lease, next);
      case 2 -> extend(hold, lease, next);
      default -> later(random.spread(100_000, plan.maxTtlNanos() / 2), next);
    }
  }

  private void work(SimHold hold, Lease lease, Runnable next) {
    List<Read> reads = new ArrayList<>();
    for (String name : hold.names) {
      reads.add(checker.resource(name).read(hold.token));
    }
    later(
        random.spread(10_000, plan.maxTtlNanos() / 4),
        () -> {
          if (lease.isValid() && !lease.isShared()) {
            boolean slow = plan.has(SimFault.SLOW) && random.percent(10);
            long onTheWay = random.spread(1_000, slow ? plan.maxTtlNanos() : 100_000);
            world.after(onTheWay, () -> write(hold, reads));
            later(onTheWay + thinkNanos(), next);
          } else {
            next.run();
          }
        });
  }

  private void workForAMoment(SimHold hold, Lease lease) {
    Read read = checker.resource("r0").read(hold.token);
    later(
        random.spread(1_000, SimPlan.MILLI),
        () -> {
          if (lease.isValid()) {
            checker.resource("r0").write(read);
          }
          release(lease);
        });
  }

  private void write(SimHold hold, List<Read> reads) {
    for (int i = 0; i < reads.size(); i++) {
      checker.resource(hold.names.get(i)).write(reads.get(i));
    }
  }

  private void extend(SimHold hold, Lease lease, Runnable next) {
    CallChecks.Call call = checker.calls.begins(process, "extend", plan.nodeTimeoutNanos);
    checker.work.extending(hold);
    long beganNanos = world.nowNanos();
    lease
        .extendAsync(someTtl())
        .thenAccept(
            result -> {
              call.done();
              if (result.outcome() == ExtendResult.Outcome.EXTENDED) {
                checker.holds.extended(hold, beganNanos);
              } else {
                note(6, () -> "extend of " + hold + ": " + result);
              }
              later(thinkNanos(), next);
            });
  }

  private void letGo(Lease lease, boolean calm) {
    int how = calm ? 0 : random.nextInt(10);
    if (how < 7) {
      release(lease);
    } else if (how == 7) {
      lease.close();
      goOn();
    } else if (how == 8) {
      lease.ended().thenRun(this::goOn);
    } else {
      note(7, () -> "forgets " + lease);
      goOn();
    }
  }

  private void release(Lease lease) {
    CallChecks.Call call = checker.calls.begins(process, "release", plan.nodeTimeoutNanos);
    lease
        .releaseAsync()
        .thenAccept(
            result -> {
              call.done();
              note(result.ordinal(), () -> "release of " + lease + ": " + result);
              if (random.percent(10)) {
                lease.releaseAsync();
                lease.close();
              }
              goOn();
            });
  }

  // As a candidate for leadership.

  private void campaign() {
    LeaseRequest request =
        LeaseRequest.of("r0", plan.maxTtl()).renewFor(plan.maxTtl().multipliedBy(4));
    try {
      campaigns(
          CoreBuilder.lead(
              life.redlock, request, this::work, task -> new SimThread(process, task)));
    } catch (RuntimeException | Error e) { // of user code, which fails the first call
      goOn();
    }
  }

  private void campaigns(Leadership candidate) {
    later(
        random.spread(SimPlan.MILLI, 2 * plan.maxTtlNanos()),
        () -> {
          boolean closes = world.isCalm() || random.percent(30);
          if (closes && process.blocking(candidate::close)) {
            goOn();
            return;
          }
          if (random.percent(50)) {
            candidate.resign();
          }
          campaigns(candidate);
        });
  }

  /** Ends when its time is over, or some time after it was asked to. */
  private void work(Lease lease, Leadership candidate) {
    SimHold hold = checker.holds.acquired(process, lease);
    checker.holds.leads(hold);
    long endNanos = world.nowNanos() + random.spread(SimPlan.MILLI, 4 * plan.maxTtlNanos());
    boolean isAsked = false;
    while (!isAsked
        && world.nowNanos() < endNanos
        && SimThread.pauseFor(random.spread(10_000, plan.maxTtlNanos() / 8))) {
      if (random.percent(3)) {
        candidate.close();
      }
      isAsked = Thread.interrupted();
    }
    if (isAsked) {
      world.parts.stopping.accept(lease);
      SimThread.pauseFor(random.spread(10_000, plan.maxTtlNanos()));
    }
    checker.holds.stops(hold);
  }

  // The lock view, which waits inside its calls.

  private void lockTwice() {
    LeaseRequest request =
        LeaseRequest.of("r" + random.nextInt(plan.resources), someTtl())
            .renewFor(Duration.ofNanos(2 * plan.maxTtlNanos()));
    LeaseLock lock = life.redlock.asLock(maybeFair(maybeShared(request)));
    Lease lease = null;
    try {
      if (!lock.tryLock()) {
        return;
      }
      lease = lock.lease();
      Lease first = lease;
      SimHold hold = checker.holds.acquired(process, first);
      checker.holds.lockedAgain(hold, lock.tryLock() ? lock.lease().fencingToken() : -1);
      lock.unlock();
      if (!first.isValid()) {
        note(8, () -> "lost while locked: " + hold);
      } else {
        checker.holds.unlocked(hold, 1, lock.lease() == first);
      }
      lock.unlock();
      checker.holds.unlocked(hold, 0, first.isValid());
    } catch (LeaseLostException e) {
      checkLost(lease, e);
    } catch (IllegalStateException e) {
      note(9, () -> "lock view: " + e.getMessage());
    }
  }

  private void checkLost(@Nullable Lease lease, LeaseLostException told) {
    if (lease != null && lease.isValid()) {
      world.violated(SimInvariant.I10, () -> "told of a loss that did not happen: " + told);
    }
  }
}
