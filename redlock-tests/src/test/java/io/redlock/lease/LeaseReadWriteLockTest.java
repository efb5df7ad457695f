package io.redlock.lease;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RedlockSettings;
import io.redlock.WaitStatus;
import io.redlock.scenes.Scenes;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testing.InMemoryMasters;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** The read and write locks, used as those of a fair ReentrantReadWriteLock are. */
@Execution(ExecutionMode.CONCURRENT)
class LeaseReadWriteLockTest {

  @TestFactory
  @AgainIfItStoodStill
  Stream<DynamicTest> scenes() {
    return Scenes.of("lease/ReadWriteLocks.txt", Threaded::new);
  }

  /**
   * Threads a, b and so on, which lock and unlock. As in {@code a read lock}: what comes of it is
   * printed. What {@code begins} returns later: then {@code a returned} prints it. The {@code far}
   * locks are those of another process. {@code virtually} makes time virtual, for what takes long.
   */
  private static final class Threaded extends Scenes.Teller {

    private InMemoryMasters masters = InMemoryMasters.inRealTime(3);
    private LeaseRequest request =
        LeaseRequest.of("catalog", Duration.ofSeconds(20)).renewFor(Duration.ofMinutes(10));
    private Redlock here = connect();
    private LeaseReadWriteLock far = connect().asReadWriteLock(request);
    private LeaseReadWriteLock locks = here.asReadWriteLock(request);
    private final Map<String, ExecutorService> threads = new HashMap<>();
    private final Map<String, CompletableFuture<String>> begun = new HashMap<>();
    private final Map<String, Thread> ofNames = new HashMap<>();
    private final List<Lease> leases = new ArrayList<>();
    private final List<Duration> took = new ArrayList<>();

    private Redlock connect() {
      return masters.connect(settings -> settings.nodeTimeout(Duration.ofSeconds(4)));
    }

    @Override
    public void close() {
      threads.values().forEach(ExecutorService::shutdownNow);
      masters.close();
    }

    @Override
    protected void perform(String command, String rest) {
      switch (command) {
        case "virtually" -> virtually(Duration.ofMillis(Long.parseLong(rest)));
        case "occupy" -> masters.occupy("catalog", Duration.ofHours(1));
        case "advance" -> masters.advance(Duration.ofMillis(Long.parseLong(rest)));
        case "stranger-reads" ->
            leases.add(
                Await.value("it reads", connect().acquireAsync(request.shared()))
                    .lease()
                    .orElseThrow());
        case "stranger-leaves" -> leases.get(0).close();
        case "stranger?" -> tell(text(leases.get(0)));
        case "interrupt" -> ofNames.get(rest).interrupt();
        case "waiting" -> awaitWaiting(Integer.parseInt(rest));
        case "queued" -> awaitQueued(Integer.parseInt(rest));
        case "holds?" ->
            tell(here.operations().leases().stream().map(it -> it.holds()).toList() + "");
        case "text?" -> tell(locks.toString());
        case "took?" -> {
          String all = took.toString();
          took.clear();
          tell(all);
        }
        default -> byThread(command, rest);
      }
    }

    private void virtually(Duration longest) {
      masters.close();
      masters = InMemoryMasters.inVirtualTime(3);
      RedlockListener watch =
          new RedlockListener() {
            @Override
            public void onAcquire(LeaseRequest request, AcquireResult result, Duration virtually) {
              took.add(virtually);
            }
          };
      here = masters.connect((RedlockSettings settings) -> settings.listener(watch));
      locks = here.asReadWriteLock(request.renewFor(Duration.ofMinutes(1)).waitUpTo(longest));
    }

    /** Waits until so many calls of this process wait. */
    private void awaitWaiting(int calls) {
      Await.until(
          calls + " wait",
          () -> here.operations().waits().stream().mapToInt(WaitStatus::calls).sum() == calls);
    }

    /** Waits until so many processes wait in the queues of all masters. */
    private void awaitQueued(int waiters) {
      Await.until(
          waiters + " wait",
          () ->
              here.operations().inspectAsync("catalog").join().nodes().stream()
                  .allMatch(node -> node.waiting() == waiters));
    }

    private void byThread(String thread, String rest) {
      boolean begins = rest.startsWith("begins ");
      if (rest.equals("returned?")) {
        tell(begun.get(thread).isDone() ? "returned" : "waits");
        return;
      }
      if (!rest.equals("returned")) {
        begun.put(thread, new CompletableFuture<>());
        String[] words = (begins ? rest.substring(7) : rest).split(" ", 3);
        threads
            .computeIfAbsent(thread, name -> Executors.newSingleThreadExecutor())
            .execute(() -> run(thread, words, begun.get(thread)));
      }
      if (!begins) {
        tell(Await.value(rest, begun.get(thread)));
      }
    }

    private void run(String name, String[] words, CompletableFuture<String> result) {
      ofNames.put(name, Thread.currentThread());
      String told;
      try {
        told = use(words);
      } catch (InterruptedException | RuntimeException e) {
        told = text(e);
      }
      result.complete(told + (Thread.interrupted() ? ", still interrupted" : ""));
    }

    private static String text(Throwable failure) {
      boolean isTold = failure.getClass() == IllegalStateException.class;
      return failure.getClass().getSimpleName() + (isTold ? ": " + failure.getMessage() : "");
    }

    private LeaseLock lock(String name) {
      return switch (name) {
        case "read" -> locks.readLock();
        case "write" -> locks.writeLock();
        case "far-write" -> far.writeLock();
        case "again-read" -> here.asReadWriteLock(request).readLock();
        case "single" -> here.asLock(request);
        case "single-read" -> here.asLock(request.shared());
        default -> throw new IllegalArgumentException("no such lock: " + name);
      };
    }

    private String use(String[] words) throws InterruptedException {
      LeaseLock lock = lock(words[0]);
      if (words.length > 2 && words[2].endsWith("interrupted")) {
        Thread.currentThread().interrupt();
      }
      switch (words[1]) {
        case "lock" -> lock.lock();
        case "lock-interruptibly" -> lock.lockInterruptibly();
        case "unlock" -> {
          lock.unlock();
          return "unlocked";
        }
        case "lease" -> {
          return text(lock.lease());
        }
        case "text" -> {
          return lock.toString();
        }
        case "try" -> {
          return lock.tryLock() ? "locked" : "not locked";
        }
        case "try-for" -> {
          long millis = Long.parseLong(words[2].split(" ")[0]);
          return lock.tryLock(millis, TimeUnit.MILLISECONDS) ? "locked" : "not locked";
        }
        default -> throw new IllegalArgumentException("no such use: " + words[1]);
      }
      return "locked";
    }

    private String text(Lease lease) {
      if (!leases.contains(lease)) {
        leases.add(lease);
      }
      return "lease "
          + (leases.indexOf(lease) + 1)
          + (lease.isShared() ? ", shared" : "")
          + (lease.isValid() ? "" : ", not valid");
    }
  }
}
