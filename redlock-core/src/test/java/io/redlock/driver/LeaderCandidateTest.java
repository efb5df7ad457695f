package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import io.redlock.spi.FullLog;
import io.redlock.spi.NodeReply;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Every way in which a term begins and ends. */
@Timeout(300)
class LeaderCandidateTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private final Bed bed = new Bed(3);

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("driver/Leadership.txt", log.beside(CandidateLife::new));
  }

  @Test
  void candidateThatWaitsWhenItsRedlockIsClosedPlansNoOtherCall() {
    bed.script(request -> NodeReply.held(-1, 5, ""));
    bed.redlock.lead("orders/42", Bed.TTL, (lease, leadership) -> {});
    assertEquals(1, bed.context.agenda.items(LeaderCandidate.class).size());
    bed.redlock.close();
    assertEquals(List.of(), bed.context.agenda.items(LeaderCandidate.class));
  }

  /** The caller of lead() stands still, once it has a term, until the work has closed. */
  @Test
  void workThatClosesItsCandidatureKeepsItsLeaseUntilItEnds() throws Exception {
    bed.script(Bed::yes);
    CompletableFuture<Lease> closed = new CompletableFuture<>();
    CountDownLatch goesOn = new CountDownLatch(1);
    LinkedBlockingQueue<Thread> workers = new LinkedBlockingQueue<>();
    Runnable standing = standingStill(closed);
    new LeaderCandidate(
            bed.context,
            Bed.REQUEST,
            (lease, leadership) -> {
              leadership.close();
              Thread.interrupted(); // work that takes its time
              closed.complete(lease);
              goesOn.await();
            },
            request -> new AcquireCall(bed.context, request),
            work -> {
              Thread worker = new Thread(work);
              workers.add(worker);
              bed.time.whenRead(standing);
              return worker;
            })
        .begin();
    assertTrue(closed.join().isValid(), "while the work goes on");
    goesOn.countDown();
    workers.take().join(60_000);
    assertFalse(closed.join().isValid());
  }

  private static Runnable standingStill(CompletableFuture<?> until) {
    Thread caller = Thread.currentThread();
    return () -> {
      if (Thread.currentThread() == caller) {
        until.join();
      }
    };
  }

  @Test
  void closedRedlockMakesNoCandidate() {
    bed.redlock.close();
    assertThrows(
        IllegalStateException.class,
        () -> bed.redlock.lead("orders/42", Bed.TTL, (lease, leadership) -> {}));
  }

  @Test
  void workRunsOnANamedDaemonWithTheClassLoaderOfTheCaller() throws Exception {
    ClassLoader loader = new ClassLoader() {};
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    LinkedBlockingQueue<Thread> seen = new LinkedBlockingQueue<>();
    Thread.currentThread().setContextClassLoader(loader);
    Leadership candidate;
    try {
      candidate =
          bed.redlock.lead(
              "orders/42",
              Bed.TTL,
              (lease, leadership) -> {
                seen.add(Thread.currentThread());
                Thread.sleep(60_000);
              });
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
    bed.answerGrants(NodeReply.GRANTED, 0, 1, 2); // on a thread with another loader
    bed.script(Bed::yes);
    Thread thread = seen.poll(60, TimeUnit.SECONDS);
    assertNotNull(thread);
    assertTrue(thread.isDaemon());
    assertEquals("redlock-leader-orders/42", thread.getName());
    assertEquals(loader, thread.getContextClassLoader());
    candidate.close();
    thread.join(60_000);
    assertFalse(thread.isAlive());
  }

  @Test
  void workThatGoesOnIsWarnedOfThoughTheLogTookNoLineOfItsEnd() throws Exception {
    bed.script(Bed::yes);
    CompletableFuture<Thread> worker = new CompletableFuture<>();
    AtomicInteger goesOn = new AtomicInteger(1);
    Leadership candidate =
        bed.redlock.lead(
            "orders/42",
            Bed.TTL,
            (lease, leadership) -> {
              worker.complete(Thread.currentThread());
              while (goesOn.get() > 0) {
                Thread.onSpinWait();
              }
            });
    worker.join();
    FullLog.during(
        () -> {
          throw new IllegalStateException("no line");
        },
        () -> assertThrows(IllegalStateException.class, candidate::resign));
    bed.time.pass(Bed.TTL);
    List<String> warnings = log.newWarnings();
    goesOn.set(0);
    worker.join().join(60_000);
    assertTrue(warnings.stream().anyMatch(line -> line.contains("still runs")), warnings::toString);
  }
}
