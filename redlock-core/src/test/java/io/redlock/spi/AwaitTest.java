package io.redlock.spi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a caller that waits gets from the future it waits for. */
class AwaitTest {

  private final CompletableFuture<String> future = new CompletableFuture<>();

  /** Completes the future when a caller has begun to wait for the second time. */
  private final class SecondWait implements Scheduler {
    private int waits;

    @Override
    public Timer timer(Runnable task) {
      throw new AssertionError("a wait needs no timer");
    }

    @Override
    public <T> T await(CompletableFuture<T> awaited) throws InterruptedException {
      waits++;
      if (waits == 2) {
        future.complete("value");
      }
      return Scheduler.super.await(awaited);
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
    assertSame(failure, assertThrows(RuntimeException.class, () -> scheduler.await(future)));
  }

  @Test
  void otherFailureIsTheCauseOfAnIllegalState() {
    Exception failure = new IOException("broken");
    future.completeExceptionally(failure);
    Throwable thrown = assertThrows(IllegalStateException.class, () -> scheduler.await(future));
    assertSame(failure, thrown.getCause());
  }

  @Test
  void interruptDoesNotEndAnUninterruptibleWaitAndIsSetAgain() {
    Thread.currentThread().interrupt();
    assertEquals("value", scheduler.awaitUninterruptibly(future));
    assertEquals(2, scheduler.waits);
    assertTrue(Thread.interrupted());
  }

  @Test
  void waitWithoutAnInterruptSetsNone() {
    future.complete("value");
    assertEquals("value", scheduler.awaitUninterruptibly(future));
    assertEquals(1, scheduler.waits);
    assertFalse(Thread.interrupted());
  }
}
