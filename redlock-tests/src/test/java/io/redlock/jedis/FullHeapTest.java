package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.JavaProgram;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A process whose heap is full for seconds, and then has room again. */
@RequiresRedis
@Tag("servers")
class FullHeapTest {

  private static final Duration TTL = Duration.ofSeconds(3);
  private static final Duration FULL = Duration.ofSeconds(4);
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @TempDir private Path folder;

  @Test
  void everyDutyGoesOnAfterTheHeapWasFullForSeconds() throws Exception {
    Path log = folder.resolve("client.txt");
    try (RedisServers servers = RedisServers.start(3);
        JavaProgram.Running client =
            JavaProgram.start(32, Redirect.to(log.toFile()), Client.class, servers.addresses())) {
      CompletableFuture.delayedExecutor(300, TimeUnit.SECONDS).execute(client::close);
      assertEquals("all go on", client.answer(), () -> tail(log));
    }
  }

  private static String tail(Path log) {
    List<String> lines = Unchecked.call(() -> Files.readAllLines(log));
    return String.join("\n", lines.subList(Math.max(0, lines.size() - 200), lines.size()));
  }

  /** Has every duty of the library under way while its heap is full. */
  static final class Client {

    private static final Set<String> TERMS_OF = Set.of("many terms", "one term");

    private static volatile boolean isOver;
    private static final AtomicInteger TERMS = new AtomicInteger();
    private static final AtomicReference<Lease> ONE_TERM = new AtomicReference<>();
    private static final AtomicInteger CALLS = new AtomicInteger();

    private Client() {}

    public static void main(String[] masters) {
      try {
        run(masters);
        System.out.println("all go on");
      } catch (Throwable e) {
        e.printStackTrace();
        System.out.println("failed");
      }
      Runtime.getRuntime().halt(0);
    }

    private static Redlock connect(String[] masters) {
      return JedisRedlock.builder()
          .node(String.join(",", masters))
          .nodeTimeout(Duration.ofMillis(500))
          .build();
    }

    private static void run(String[] masters) throws Exception {
      Redlock redlock = connect(masters);
      Redlock other = connect(masters);
      other.acquire(
          LeaseRequest.of("taken", TTL).waitUpTo(PATIENCE).renewFor(TTL.multipliedBy(99)));
      Lease renewed =
          redlock.acquire(
              LeaseRequest.of("renewed", TTL).waitUpTo(PATIENCE).renewFor(TTL.multipliedBy(99)));
      CompletableFuture<LeaseEnd> renewedEnd = renewed.ended().toCompletableFuture();
      CompletableFuture<LeaseEnd> plainEnd =
          redlock.acquire("plain", TTL, PATIENCE).ended().toCompletableFuture();
      redlock.lead(
          "many terms",
          TTL,
          (lease, self) -> {
            TERMS.incrementAndGet();
            Thread.sleep(10);
          });
      redlock.lead(
          "one term",
          TTL,
          (lease, self) -> {
            ONE_TERM.set(lease);
            new CountDownLatch(1).await();
          });
      List<CompletableFuture<AcquireResult>> waiting = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        LeaseRequest request = LeaseRequest.of("taken", TTL).waitUpTo(Duration.ofSeconds(2));
        waiting.add(redlock.acquireAsync(i % 2 == 0 ? request : request.fair()));
      }
      List<Thread> callers = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        LeaseRequest request = LeaseRequest.of("called", TTL).waitUpTo(Duration.ofSeconds(2));
        LeaseRequest mine = i % 2 == 0 ? request : request.fair();
        callers.add(new Thread(() -> call(redlock, mine)));
      }
      callers.forEach(Thread::start);
      Await.until("it has led", PATIENCE, () -> TERMS.get() > 0 && CALLS.get() > 4);
      check(fill() > 0, () -> "the heap was never full");
      isOver = true;
      for (Thread caller : callers) {
        caller.join(PATIENCE.toMillis());
        StackTraceElement[] at = caller.getStackTrace();
        check(!caller.isAlive(), () -> "a call does not return: " + List.of(at));
      }
      for (CompletableFuture<AcquireResult> each : waiting) {
        each.handle((result, failure) -> true).get(60, TimeUnit.SECONDS);
      }
      plainEnd.get(60, TimeUnit.SECONDS);
      Await.until(
          "all masters are up",
          PATIENCE,
          () -> redlock.operations().nodes().stream().allMatch(node -> node.state() == State.UP));
      int terms = TERMS.get();
      Await.until(
          "terms follow", PATIENCE, () -> TERMS.get() > terms + 1 && ONE_TERM.get().isValid());
      if (!renewed.isValid()) {
        renewedEnd.get(60, TimeUnit.SECONDS);
      }
      renewed.close();
      for (String name : List.of("renewed", "plain", "called")) {
        redlock.acquire(name, TTL, PATIENCE).release();
      }
      Await.until(
          "every lease has an owner",
          PATIENCE,
          () ->
              redlock.operations().leases().stream()
                  .allMatch(lease -> TERMS_OF.containsAll(lease.resources())));
      Await.until(
          "no call waits without a caller",
          PATIENCE,
          () ->
              redlock.operations().waits().stream()
                  .allMatch(wait -> TERMS_OF.containsAll(wait.resources())));
    }

    private static void check(boolean isRight, Supplier<String> what) {
      if (!isRight) {
        throw new AssertionError(what.get());
      }
    }

    private static void call(Redlock redlock, LeaseRequest request) {
      while (!isOver) {
        try {
          redlock.tryAcquire(request).lease().ifPresent(Lease::close);
          CALLS.incrementAndGet();
        } catch (OutOfMemoryError | RuntimeException | InterruptedException e) {
          LockSupport.parkNanos(1_000_000);
        }
      }
    }

    /** Keeps the heap full for some seconds; returns how often there was no memory. */
    private static int fill() {
      long fromNanos = System.nanoTime();
      Object[] kept = null;
      int failures = 0;
      while (System.nanoTime() - fromNanos < FULL.toNanos()) {
        try {
          Object[] more = new Object[failures == 0 ? 1_000 : 4];
          more[0] = kept;
          kept = more;
        } catch (OutOfMemoryError e) {
          failures++;
          LockSupport.parkNanos(100_000);
        }
      }
      return kept == null ? 0 : failures;
    }
  }
}
