package io.redlock.driver;

import static io.redlock.testbed.Results.assertAcquired;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RedlockSettings;
import io.redlock.ReleaseResult;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads of user code, and what blocked user code delays. */
@Timeout(300)
class CallbackThreadsTest {

  private static final Duration SHORT = Duration.ofMillis(1_500);
  private static final Duration LONG = Duration.ofSeconds(30);

  private static final Duration AGES = Duration.ofHours(1);

  /** Long, for a busy machine: no other caller wants these resources. */
  private static final Duration WAIT = Duration.ofSeconds(60);

  private final InMemoryMasters masters = InMemoryMasters.inRealTime(3);
  private final CountDownLatch never = new CountDownLatch(1);

  /** A listener that blocks in every method but {@code onEnd}. */
  private final class Blocking implements RedlockListener {
    final CompletableFuture<LeaseEnd> told = new CompletableFuture<>();

    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      block();
    }

    @Override
    public void onExtend(Lease lease, ExtendResult result, Duration took) {
      block();
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      told.complete(end);
    }

    @Override
    public void onNodeState(NodeStatus status) {
      block();
    }
  }

  @AfterEach
  void letGo() {
    never.countDown();
    masters.close();
  }

  private Redlock connect(Consumer<RedlockSettings> configuration) {
    return masters.connect(
        settings -> configuration.accept(settings.nodeTimeout(Duration.ofMillis(500))));
  }

  private void block() {
    try {
      never.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static <T> T soon(CompletableFuture<T> future) throws Exception {
    return future.get(60, TimeUnit.SECONDS);
  }

  private static void await(String what, BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() - deadline < 0, what);
      LockSupport.parkNanos(1_000_000);
    }
  }

  private static Set<Thread> threads(String name) {
    Set<Thread> found = ConcurrentHashMap.newKeySet();
    Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith(name))
        .forEach(found::add);
    return found;
  }

  private static String threadName() {
    return Thread.currentThread().getName();
  }

  private void assertALossIsTold(Redlock redlock) throws Exception {
    Lease lease = redlock.acquire("lost", SHORT, WAIT);
    assertEquals(LeaseEnd.Cause.EXPIRED, soon(lease.ended().toCompletableFuture()).cause());
  }

  /** Makes the dependents of many calls block; each waits for a lease that is then released. */
  private List<CompletableFuture<Void>> blockDependents(Redlock redlock, int count)
      throws InterruptedException {
    List<Lease> held = new ArrayList<>();
    List<CompletableFuture<Void>> dependents = new ArrayList<>();
    for (int index = 0; index < count; index++) {
      String name = "blocked " + index;
      held.add(redlock.acquire(name, LONG, WAIT));
      LeaseRequest waiting = LeaseRequest.of(name, LONG).waitUpTo(LONG);
      dependents.add(redlock.acquireAsync(waiting).thenRun(this::block));
    }
    held.forEach(Lease::close);
    return dependents;
  }

  @Test
  void lossIsToldThoughTheCommonPoolIsBlocked() throws Exception {
    int blocked = 4 * ForkJoinPool.getCommonPoolParallelism() + 4;
    for (int index = 0; index < blocked; index++) {
      ForkJoinPool.commonPool().execute(this::block);
    }
    Redlock redlock = connect(settings -> {});
    assertALossIsTold(redlock);
    assertAcquired(soon(redlock.acquireAsync(LeaseRequest.of("x", LONG).waitUpTo(WAIT))));
  }

  @Test
  void lossThatIsAskedForLaterIsToldThoughEveryDependentOfAFutureBlocks() throws Exception {
    Redlock redlock = connect(settings -> {});
    blockDependents(redlock, 50);
    Lease lease = redlock.acquire("lost", SHORT, WAIT);
    await("it expires", () -> !lease.isValid());
    assertThrows(LeaseLostException.class, () -> lease.ensureValid(Duration.ZERO));
    assertEquals(LeaseEnd.Cause.EXPIRED, soon(lease.ended().toCompletableFuture()).cause());
  }

  @Test
  void lossIsToldThoughTheListenerBlocks() throws Exception {
    Blocking listener = new Blocking();
    Redlock redlock = connect(settings -> settings.listener(listener));
    blockDependents(redlock, 50);
    assertALossIsTold(redlock);
    assertEquals(LeaseEnd.Cause.EXPIRED, soon(listener.told).cause());
  }

  @Test
  void lossIsToldThoughAnotherLossBlocks() throws Exception {
    Redlock redlock = connect(settings -> {});
    for (int index = 0; index < 3; index++) {
      Lease first = redlock.acquire("first " + index, SHORT, WAIT);
      first.ended().thenRun(this::block);
    }
    assertALossIsTold(redlock);
  }

  @Test
  void executorThatRunsInlineAndBlocksStopsNeitherTimersNorLosses() throws Exception {
    Redlock redlock =
        connect(settings -> settings.callbackExecutor(Runnable::run).listener(new Blocking()));
    Duration ttl = Duration.ofSeconds(12); // a third later it is renewed
    Lease renewed = redlock.acquire(LeaseRequest.of("renewed", ttl).waitUpTo(WAIT).renewFor(AGES));
    assertALossIsTold(redlock);
    Duration soon = Duration.ofSeconds(10);
    await("its time passes", () -> renewed.remaining().compareTo(soon) < 0);
    await("it is renewed", () -> renewed.remaining().compareTo(soon) > 0);
    while (!(renewed.extend(ttl).outcome() == ExtendResult.Outcome.EXTENDED)) {
      assertTrue(renewed.isValid()); // a master was slow: one failure is none of the lease
    }
  }

  @Test
  void executorThatRunsInlineRunsOnNoThreadThatOthersNeed() throws Exception {
    Map<String, String> listened = new ConcurrentHashMap<>();
    RedlockListener listener =
        new RedlockListener() {
          @Override
          public void onExtend(Lease lease, ExtendResult result, Duration took) {
            listened.put("extended", threadName());
          }

          @Override
          public void onEnd(Lease lease, LeaseEnd end, Duration held) {
            listened.put(end.cause().name(), threadName());
          }
        };
    Redlock redlock =
        connect(settings -> settings.callbackExecutor(Runnable::run).listener(listener));
    String own = threadName();
    CompletableFuture<String> ofLoss;
    do { // anew, if it was lost before its dependent was there, which this thread runs then
      Lease lost = redlock.acquire("lost", SHORT, WAIT);
      ofLoss = lost.ended().thenApply(end -> threadName()).toCompletableFuture();
    } while (own.equals(ofLoss.getNow("")));
    Lease released = redlock.acquire("released", LONG, WAIT);
    CompletableFuture<String> ofRelease = new CompletableFuture<>();
    released.ended().thenRun(() -> ofRelease.complete(threadName()));
    released.extend(LONG);
    released.release();
    assertEquals("redlock-losses", soon(ofLoss));
    assertEquals("redlock-callbacks", soon(ofRelease));
    await("all are told", () -> listened.size() == 3);
    String callbacks = "redlock-callbacks";
    assertEquals(
        Map.of("extended", callbacks, "RELEASED", callbacks, "EXPIRED", "redlock-losses"),
        listened);
  }

  @Test
  void executorThatRunsATaskAndThrowsAllTheSameTellsOnce() throws Exception {
    List<LeaseEnd> ends = new ArrayList<>();
    CountDownLatch second = new CountDownLatch(1);
    RedlockListener listener =
        new RedlockListener() {
          @Override
          public synchronized void onEnd(Lease lease, LeaseEnd end, Duration held) {
            ends.add(end);
          }

          @Override
          public void onExtend(Lease lease, ExtendResult result, Duration took) {
            second.countDown();
          }
        };
    Redlock redlock =
        connect(
            settings ->
                settings
                    .listener(listener)
                    .callbackExecutor(
                        task -> {
                          task.run();
                          throw new AssertionError("a user's mistake");
                        }));
    redlock.acquire("first", LONG, WAIT).close();
    redlock.acquire("second", LONG, WAIT).extend(LONG);
    assertTrue(second.await(60, TimeUnit.SECONDS));
    await("the end is reported", () -> count(listener, ends) > 0);
    blockUntilIdle();
    assertEquals(1, count(listener, ends));
  }

  private static int count(RedlockListener guard, List<LeaseEnd> ends) {
    synchronized (guard) {
      return ends.size();
    }
  }

  private static void blockUntilIdle() {
    await("idle threads end", () -> threads("redlock-callbacks").isEmpty());
  }

  @Test
  void closingDeliversWhatIsPendingAndWhatComesLater() throws Exception {
    Redlock redlock = connect(settings -> {});
    Lease lease = redlock.acquire("held", LONG, WAIT);
    CompletableFuture<LeaseEnd> ended = lease.ended().toCompletableFuture();
    List<CompletableFuture<Void>> behind = blockDependents(redlock, 10);
    redlock.close();
    assertEquals(LeaseEnd.Cause.CLOSED, soon(ended).cause());
    never.countDown();
    for (CompletableFuture<Void> each : behind) {
      soon(each);
    }
    blockUntilIdle();
    assertEquals(ReleaseResult.UNCONFIRMED, soon(lease.releaseAsync()));
    await("all threads end", () -> threads("redlock-").isEmpty());
  }

  /** A listener that blocks at once, at the end of a lease too. */
  private final class BlockingAlways implements RedlockListener {
    final AtomicInteger blocked = new AtomicInteger();

    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      blocked.incrementAndGet();
      block();
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      blocked.incrementAndGet();
      block();
    }
  }

  @Test
  void everyDutyOfTheLibraryGoesOnThoughAllCallbackThreadsBlock() throws Exception {
    BlockingAlways listener = new BlockingAlways();
    Redlock redlock = connect(settings -> settings.listener(listener));
    Redlock other = connect(settings -> {});
    for (int index = 0; index < SystemSources.Threads.MOST; index++) {
      redlock.acquire("first " + index, SHORT, WAIT);
    }
    await("all block", () -> listener.blocked.get() == 2 * SystemSources.Threads.MOST);

    Duration ttl = Duration.ofSeconds(12); // a third later it is renewed
    Lease renewed = redlock.acquire(LeaseRequest.of("renewed", ttl).waitUpTo(WAIT).renewFor(AGES));
    AtomicInteger terms = new AtomicInteger();
    Leadership candidate =
        redlock.lead("led", SHORT, (lease, leadership) -> terms.incrementAndGet());
    await("it leads again and again", () -> terms.get() >= 3);
    candidate.close();

    Lease lost = redlock.acquire("lost", SHORT, WAIT);
    redlock.acquire("lost", LONG, WAIT).release();
    assertFalse(lost.isValid());

    Lease held = other.acquire("permit 1", LONG, WAIT);
    CompletableFuture<AcquireResult> waiting = new CompletableFuture<>();
    Thread waiter = new Thread(() -> waiting.complete(acquired(redlock, "permit 1")));
    waiter.start();
    Lease permit =
        redlock.acquire(LeaseRequest.anyOf(List.of("permit 1", "permit 2"), LONG).waitUpTo(WAIT));
    assertEquals(Set.of("permit 2"), permit.resources());
    held.release();
    assertAcquired(soon(waiting));

    masters.stop(2);
    permit.release();
    masters.startAll();
    await("the release is repeated", () -> !masters.isHeld("permit 2"));

    Duration soon = Duration.ofSeconds(10);
    await("its time passes", () -> renewed.remaining().compareTo(soon) < 0);
    await("it is renewed", () -> renewed.remaining().compareTo(soon) > 0);
    CompletableFuture<Void> closed = new CompletableFuture<>();
    new Thread(
            () -> {
              redlock.close();
              closed.complete(null);
            })
        .start();
    soon(closed);
  }

  private static AcquireResult acquired(Redlock redlock, String name) {
    try {
      return redlock.tryAcquire(LeaseRequest.of(name, LONG).fair().waitUpTo(LONG));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
