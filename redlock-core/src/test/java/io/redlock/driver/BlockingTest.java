package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.Scheduler;
import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a caller that waits gets from the future it waits for. */
class BlockingTest {

  private final CompletableFuture<String> future = new CompletableFuture<>();

  /** Completes the future when a caller has begun to wait for the second time. */
  private final class SecondWait implements Scheduler {
    private int waits;

    @Override
    public Cancellable schedule(Runnable task, long delayNanos) {
      throw new AssertionError("a wait needs no timer");
    }

    @Override
    public void await(Future<?> awaited) throws InterruptedException {
      waits++;
      if (waits == 2) {
        future.complete("value");
      }
      Scheduler.super.await(awaited);
    }

    @Override
    public void close() {}
  }

  private final SecondWait scheduler = new SecondWait();

  @AfterEach
  void clearInterrupt() {
    Thread.interrupted();
  }

  @Test
  void runtimeExceptionIsThrownAsItIs() {
    RuntimeException failure = new IllegalArgumentException("bad");
    future.completeExceptionally(failure);
    assertSame(
        failure, assertThrows(RuntimeException.class, () -> Blocking.await(future, scheduler)));
  }

  @Test
  void otherFailureIsTheCauseOfAnIllegalState() {
    Exception failure = new IOException("broken");
    future.completeExceptionally(failure);
    Throwable thrown =
        assertThrows(IllegalStateException.class, () -> Blocking.await(future, scheduler));
    assertSame(failure, thrown.getCause());
  }

  @Test
  void interruptDoesNotEndAnUninterruptibleWaitAndIsSetAgain() {
    Thread.currentThread().interrupt();
    assertEquals("value", Blocking.uninterruptibly(future, scheduler));
    assertEquals(2, scheduler.waits);
    assertTrue(Thread.interrupted());
  }

  @Test
  void waitWithoutAnInterruptSetsNone() {
    future.complete("value");
    assertEquals("value", Blocking.uninterruptibly(future, scheduler));
    assertEquals(1, scheduler.waits);
    assertFalse(Thread.interrupted());
  }
}
