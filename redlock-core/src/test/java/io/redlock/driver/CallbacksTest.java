package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.FakeTime;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.FullLog;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(300)
class CallbacksTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private final FakeTime time = new FakeTime();
  private final Agenda agenda = new Agenda(time, time);
  private final List<Runnable> refusals = new ArrayList<>();

  private Callbacks over(Executor executor, boolean direct) {
    return Bed.callbacks(executor, direct, agenda);
  }

  private CallbackThreads threads(ThreadFactory factory) {
    return Bed.callbackThreads(factory, 1_000, agenda);
  }

  private static String nameOfThread(Consumer<Runnable> way) throws Exception {
    CompletableFuture<String> name = new CompletableFuture<>();
    way.accept(() -> name.complete(Thread.currentThread().getName()));
    return name.get(60, TimeUnit.SECONDS);
  }

  @Test
  void lossesAndTheRestHaveThreadsOfTheirOwn() throws Exception {
    Callbacks callbacks = over(Runnable::run, false);
    assertEquals("redlock-losses", nameOfThread(callbacks::ofLoss));
    assertEquals("redlock-callbacks", nameOfThread(callbacks::other));
  }

  @Test
  void executorIsCalledByThoseThreads() throws Exception {
    List<String> callers = new ArrayList<>();
    Callbacks callbacks =
        over(
            task -> {
              synchronized (callers) {
                callers.add(Thread.currentThread().getName());
              }
              task.run();
            },
            false);
    nameOfThread(callbacks::ofLoss);
    nameOfThread(callbacks::other);
    synchronized (callers) {
      assertEquals(List.of("redlock-losses", "redlock-callbacks"), callers);
    }
  }

  @Test
  void directExecutorIsCalledAtOnce() {
    Callbacks callbacks = over(Runnable::run, true);
    List<String> ran = new ArrayList<>();
    callbacks.ofLoss(() -> ran.add("loss"));
    callbacks.other(() -> ran.add("other"));
    assertEquals(List.of("loss", "other"), ran);
  }

  @Test
  void whatTheExecutorRefusesRunsOnThoseThreads() throws Exception {
    for (int way = 0; way < 4; way++) {
      boolean isFull = way < 2;
      Callbacks callbacks =
          over(
              task -> {
                if (isFull) {
                  throw new RejectedExecutionException("full");
                }
                throw new Error("unable to create native thread"); // JUnit ends on want of memory
              },
              way % 2 == 0);
      assertEquals("redlock-losses", nameOfThread(callbacks::ofLoss));
      assertEquals("redlock-callbacks", nameOfThread(callbacks::other));
      String refused = "The callback executor refused a callback; a thread of the library runs it";
      assertEquals(List.of(refused, refused), log.newWarnings());
    }
  }

  @Test
  void callbackRunsThoughNeitherItsExecutorNorTheLogTakesAnything() {
    Runnable failing =
        () -> {
          throw new IllegalStateException("no memory for a line");
        };
    CompletableFuture<String> told = new CompletableFuture<>();
    Callbacks callbacks = over(List.<Runnable>of()::add, false);
    FullLog.during(
        failing,
        () -> {
          callbacks.ofLoss(() -> told.complete(Thread.currentThread().getName()));
          assertEquals("redlock-losses", told.orTimeout(60, TimeUnit.SECONDS).join());
        });
  }

  @Test
  void userCodeThatThrowsIsContained() {
    Callbacks callbacks = over(Runnable::run, true);
    for (Error failure :
        List.of(new AssertionError("a user's"), new OutOfMemoryError("a user's"))) {
      callbacks.other(
          () -> {
            throw failure;
          });
      callbacks.ofLoss(
          () -> {
            throw failure;
          });
      String contained = "A callback failed; the lock service is not affected";
      assertEquals(List.of(contained, contained), log.newWarnings());
    }
  }

  @Test
  void callbackForWhichThereIsNoThreadIsDeliveredWhenThereIs() throws Exception {
    ThreadFactory none =
        task -> {
          refusals.add(task);
          if (refusals.size() <= 4) {
            throw new OutOfMemoryError("unable to create native thread");
          }
          return new Thread(task);
        };
    Callbacks callbacks = new Callbacks(Runnable::run, false, threads(none), threads(none));
    CompletableFuture<String> told = new CompletableFuture<>();
    callbacks.ofLoss(() -> told.complete("told"));
    callbacks.other(told::join);
    assertEquals(2, refusals.size());
    assertEquals(1, time.tasks());
    time.passMillis(0);
    assertEquals(4, refusals.size());
    time.passMillis(50);
    assertTrue(refusals.size() > 4);
    assertEquals("told", told.get(60, TimeUnit.SECONDS));
    assertEquals(0, time.tasks());
    assertTrue(told.isDone());
  }
}
