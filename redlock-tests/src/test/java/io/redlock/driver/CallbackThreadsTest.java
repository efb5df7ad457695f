package io.redlock.driver;

import static io.redlock.testbed.Results.assertAcquired;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RedlockSettings;
import io.redlock.ReleaseResult;
import io.redlock.testbed.Await;
import io.redlock.testbed.BlockingListener;
import io.redlock.testbed.Unchecked;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The threads of user code, and what blocked user code delays. */
@Timeout(300)
class CallbackThreadsTest {

  private static final Duration SHORT = Duration.ofMillis(1_500);
  private static final Duration LONG = Duration.ofSeconds(30);

  /** Long, for a busy machine: no other caller wants these resources. */
  private static final Duration WAIT = Duration.ofSeconds(60);

  /** A third of its ttl later it is renewed. */
  private static final LeaseRequest RENEWED =
      LeaseRequest.of("renewed", Duration.ofSeconds(12))
          .waitUpTo(WAIT)
          .renewFor(Duration.ofHours(1));

  private final InMemoryMasters masters = InMemoryMasters.inRealTime(3);
  private final BlockingListener blocking = new BlockingListener();
  private final Telling telling = new Telling();

  /** Blocks in every method but this one. */
  private static final class Telling extends BlockingListener {
    final CompletableFuture<LeaseEnd> told = new CompletableFuture<>();

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      told.complete(end);
    }
  }

  @AfterEach
  void letGo() {
    blocking.close();
    telling.close();
    masters.close();
  }

  private Redlock connect(Consumer<RedlockSettings> configuration) {
    return masters.connect(
        settings -> configuration.accept(settings.nodeTimeout(Duration.ofMillis(500))));
  }

  private static boolean runs(String name) {
    return Thread.getAllStackTraces().keySet().stream()
        .anyMatch(thread -> thread.getName().startsWith(name));
  }

  private static void awaitRenewal(Lease renewed) {
    Duration left = Duration.ofSeconds(10);
    Await.until("its time passes", () -> renewed.remaining().compareTo(left) < 0);
    Await.until("it is renewed", () -> renewed.remaining().compareTo(left) > 0);
  }

  private void assertALossIsTold(Redlock redlock) throws Exception {
    Lease lease = redlock.acquire("lost", SHORT, WAIT);
    assertEquals(
        LeaseEnd.Cause.EXPIRED,
        Await.value("it comes", lease.ended().toCompletableFuture()).cause());
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
      dependents.add(redlock.acquireAsync(waiting).thenRun(blocking::block));
    }
    held.forEach(Lease::close);
    return dependents;
  }

  @Test
  void lossIsToldThoughTheCommonPoolIsBlocked() throws Exception {
    int blocked = 4 * ForkJoinPool.getCommonPoolParallelism() + 4;
    for (int index = 0; index < blocked; index++) {
      ForkJoinPool.commonPool().execute(blocking::block);
    }
    Redlock redlock = connect(settings -> {});
    assertALossIsTold(redlock);
    assertAcquired(
        Await.value("it comes", redlock.acquireAsync(LeaseRequest.of("x", LONG).waitUpTo(WAIT))));
  }

  @Test
  void lossIsToldThoughTheListenerBlocks() throws Exception {
    Redlock redlock = connect(settings -> settings.listener(telling));
    blockDependents(redlock, 50);
    assertALossIsTold(redlock);
    assertEquals(LeaseEnd.Cause.EXPIRED, Await.value("it comes", telling.told).cause());
  }

  @Test
  void executorThatRunsInlineAndBlocksStopsNeitherTimersNorLosses() throws Exception {
    Redlock redlock =
        connect(settings -> settings.callbackExecutor(Runnable::run).listener(telling));
    Lease renewed = redlock.acquire(RENEWED);
    assertALossIsTold(redlock);
    awaitRenewal(renewed);
    while (!(renewed.extend(RENEWED.ttl()).outcome() == ExtendResult.Outcome.EXTENDED)) {
      assertTrue(renewed.isValid()); // a master was slow: one failure is none of the lease
    }
  }

  @Test
  void executorThatRunsATaskAndThrowsAllTheSameTellsOnce() throws Exception {
    List<LeaseEnd> ends = new CopyOnWriteArrayList<>();
    CompletableFuture<Lease> second = new CompletableFuture<>();
    RedlockListener listener =
        new RedlockListener() {
          @Override
          public void onEnd(Lease lease, LeaseEnd end, Duration held) {
            ends.add(end);
          }

          @Override
          public void onExtend(Lease lease, ExtendResult result, Duration took) {
            second.complete(lease);
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
    Await.value("the extend is reported", second);
    Await.until("the end is reported", () -> !ends.isEmpty());
    awaitIdle();
    assertEquals(1, ends.size());
  }

  private static void awaitIdle() {
    Await.until("idle threads end", () -> !runs("redlock-callbacks"));
  }

  @Test
  void closingDeliversWhatIsPendingAndWhatComesLater() throws Exception {
    Redlock redlock = connect(settings -> {});
    Lease lease = redlock.acquire("held", LONG, WAIT);
    CompletableFuture<LeaseEnd> ended = lease.ended().toCompletableFuture();
    List<CompletableFuture<Void>> behind = blockDependents(redlock, 10);
    redlock.close();
    assertEquals(LeaseEnd.Cause.CLOSED, Await.value("it comes", ended).cause());
    blocking.close();
    for (CompletableFuture<Void> each : behind) {
      Await.value("it comes", each);
    }
    awaitIdle();
    assertEquals(ReleaseResult.UNCONFIRMED, Await.value("it comes", lease.releaseAsync()));
    Await.until("all threads end", () -> !runs("redlock-"));
  }

  @Test
  void everyDutyOfTheLibraryGoesOnThoughAllCallbackThreadsBlock() throws Exception {
    Redlock redlock = connect(settings -> settings.listener(blocking));
    Redlock other = connect(settings -> {});
    for (int index = 0; index < CallbackThreads.MOST; index++) {
      redlock.acquire("first " + index, SHORT, WAIT);
    }
    Await.until("all block", () -> blocking.blocked() == 1 + CallbackThreads.MOST);

    Lease renewed = redlock.acquire(RENEWED);
    AtomicInteger terms = new AtomicInteger();
    Leadership candidate =
        redlock.lead("led", SHORT, (lease, leadership) -> terms.incrementAndGet());
    Await.until("it leads again and again", () -> terms.get() >= 3);
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
    assertAcquired(Await.value("it comes", waiting));

    masters.stop(2);
    permit.release();
    masters.startAll();
    Await.until("the release is repeated", () -> !masters.isHeld("permit 2"));

    awaitRenewal(renewed);
    Thread closing = new Thread(redlock::close);
    closing.start();
    Await.until("it closes", () -> !closing.isAlive());
  }

  @Test
  void resultWaitsForNoListener() throws Exception {
    Redlock redlock = connect(settings -> settings.listener(telling).listener(blocking));
    for (int index = 0; index < 20; index++) {
      LeaseRequest request = LeaseRequest.of("result " + index, LONG).waitUpTo(WAIT);
      assertAcquired(Await.value("it comes", redlock.acquireAsync(request)));
    }
  }

  @Test
  void callbacksThatWaitForOtherCallsOfTheirServiceAllEnd() throws Exception {
    Redlock redlock = connect(settings -> {});
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int index = 0; index < 40; index++) {
      LeaseRequest inner = LeaseRequest.of("inner " + index, LONG).waitUpTo(WAIT);
      all.add(
          redlock
              .acquireAsync(LeaseRequest.of("outer " + index, LONG).waitUpTo(WAIT))
              .thenAccept(
                  outer -> {
                    Lease lease = redlock.acquireAsync(inner).join().orElseThrow(inner);
                    lease.extendAsync(LONG).thenApply(extended -> lease).join().close();
                  }));
    }
    Await.value("all end", CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)));
  }

  private static AcquireResult acquired(Redlock redlock, String name) {
    return Unchecked.call(
        () -> redlock.tryAcquire(LeaseRequest.of(name, LONG).fair().waitUpTo(LONG)));
  }
}
