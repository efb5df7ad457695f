package io.redlock.threads;

import io.redlock.AcquireResult;
import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** What threads do at the same time. A seed decides who does what, the machine in which order. */
enum ThreadScenes {
  /** Calls for one name wait, time out, are cancelled and interrupted. */
  ACQUIRE(ThreadScenes::acquire),
  /** So they do while their service is closed. */
  CLOSE(
      (world, random) -> {
        acquire(world, random);
        world.thread(() -> world.close(0));
      }),
  /** A lease is extended and released while it expires or its service is closed. */
  END(ThreadScenes::end),
  /** Candidates lead, resign and are closed, by their work and by others. */
  LEAD(ThreadScenes::lead),
  /** Locks for reading and writing are locked again, tried, unlocked. */
  LOCKS(ThreadScenes::locks),
  /** The master loses its data while a lease begins, which is then confirmed. */
  RESET(ThreadScenes::reset);

  private static final String NAME = "orders/42";
  private static final LeaseRequest REQUEST = LeaseRequest.of(NAME, ThreadWorld.TTL);

  private interface Cast {
    void in(ThreadWorld world, SplittableRandom random) throws InterruptedException;
  }

  private final Cast cast;

  ThreadScenes(Cast cast) {
    this.cast = cast;
  }

  void play(long seed) {
    try {
      SplittableRandom random = new SplittableRandom(seed);
      ThreadWorld world = new ThreadWorld();
      cast.in(world, random);
      world.run();
    } catch (InterruptedException | RuntimeException | Error e) {
      throw new AssertionError(this + ", seed " + seed, e);
    }
  }

  private static void acquire(ThreadWorld world, SplittableRandom random)
      throws InterruptedException {
    Lease first = world.service(0).acquire(REQUEST);
    world.thread(first::close); // and hands the name over
    for (int caller = 0; caller < 3; caller++) {
      Redlock service = world.service(caller / 2);
      SplittableRandom own = random.split();
      int calls = 1 + random.nextInt(2);
      world.thread(
          () -> {
            for (int call = 0; call < calls; call++) {
              call(world, service, own);
            }
          });
    }
    if (random.nextInt(4) == 0) {
      world.thread(() -> world.interrupt(1));
    }
  }

  private static void call(ThreadWorld world, Redlock service, SplittableRandom random)
      throws InterruptedException {
    LeaseRequest request = REQUEST.waitUpTo(Duration.ofMillis(random.nextInt(15)));
    request = random.nextInt(8) == 0 ? request.fair() : request;
    request = random.nextInt(8) == 0 ? request.shared() : request;
    AcquireResult result;
    if (random.nextInt(4) > 0) {
      result = service.tryAcquire(request);
    } else {
      CompletableFuture<AcquireResult> call = world.completes(service.acquireAsync(request));
      ThreadWorld.pause(random);
      if (call.cancel(false) || call.isCompletedExceptionally()) {
        return;
      }
      result = call.join();
    }
    if (result.lease().isPresent()) {
      Lease lease = result.lease().get();
      world.hold(lease, random);
      lease.close();
    }
  }

  private static void end(ThreadWorld world, SplittableRandom random) throws InterruptedException {
    int service = random.nextInt(2);
    boolean isRenewed = random.nextBoolean();
    Lease lease =
        world.service(service).acquire(isRenewed ? REQUEST.renewFor(ThreadWorld.TTL) : REQUEST);
    world.thread(
        () -> {
          Thread asks = Thread.currentThread();
          world.completes(lease.ended().toCompletableFuture());
          Runnable told =
              () -> {
                boolean isAsked = Thread.currentThread() == asks;
                world.check(isAsked || world.runsCallbacks(service), "told by a wrong thread");
              };
          world.completes(lease.ended().thenRun(told).toCompletableFuture());
        });
    world.thread(
        () -> {
          try {
            world.completes(lease.extendAsync(ThreadWorld.TTL));
          } catch (IllegalStateException e) {
            world.check(!lease.isValid(), e.toString());
          }
        });
    switch (random.nextInt(3)) {
      case 0 -> world.thread(() -> world.pass(ThreadWorld.TTL.multipliedBy(3)));
      case 1 -> world.thread(() -> world.close(service));
      default -> world.thread(lease::close);
    }
    world.thread(() -> world.completes(lease.releaseAsync()));
    world.thread(() -> world.ask(lease));
  }

  private static void lead(ThreadWorld world, SplittableRandom random) {
    AtomicInteger leaders = new AtomicInteger();
    List<Leadership> all = new CopyOnWriteArrayList<>();
    for (int candidate = 0; candidate < 2; candidate++) {
      Redlock service = world.service(candidate);
      SplittableRandom own = random.split();
      int way = random.nextInt(3);
      Leadership.Work work =
          (lease, self) -> {
            world.check(leaders.incrementAndGet() == 1, "two lead");
            if (way == 0) {
              self.close();
            } else if (way == 1) {
              self.resign();
            }
            ThreadWorld.pause(own);
            world.check(lease.isValid(), "its lease ended before its work");
            leaders.decrementAndGet();
          };
      world.thread(() -> all.add(service.lead(NAME, ThreadWorld.TTL, work)));
    }
    if (random.nextBoolean()) {
      world.thread(() -> all.forEach(Leadership::close));
    }
    world.atTheEnd(() -> all.forEach(Leadership::close));
  }

  private static void locks(ThreadWorld world, SplittableRandom random) {
    for (int caller = 0; caller < 4; caller++) {
      LeaseReadWriteLock both =
          world.service(caller / 3).asReadWriteLock(REQUEST.renewFor(ThreadWorld.TTL));
      SplittableRandom own = random.split();
      LeaseLock lock = own.nextBoolean() ? both.readLock() : both.writeLock();
      world.thread(
          () -> {
            for (int call = 0; call < 2; call++) {
              lock(world, lock, own);
            }
          });
    }
  }

  private static void lock(ThreadWorld world, LeaseLock lock, SplittableRandom random)
      throws InterruptedException {
    if (lock.tryLock(random.nextInt(3), TimeUnit.MILLISECONDS)) {
      boolean again = random.nextBoolean() && lock.tryLock();
      world.hold(lock.lease(), random);
      lock.unlock();
      if (again) {
        world.hold(lock.lease(), random);
        lock.unlock();
      }
    }
  }

  private static void reset(ThreadWorld world, SplittableRandom random) {
    Redlock service = world.service(random.nextInt(2));
    List<Lease> held = new CopyOnWriteArrayList<>();
    world.thread(() -> service.tryAcquire(REQUEST).lease().ifPresent(held::add));
    world.thread(world::reset);
    world.atTheEnd(
        () -> {
          world.settle();
          held.forEach(world::isLocked);
          held.forEach(Lease::close);
        });
  }
}
