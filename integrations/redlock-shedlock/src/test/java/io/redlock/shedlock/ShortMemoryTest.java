package io.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.Votes;
import io.redlock.testbed.Await;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Leases that cannot be released for seconds, because memory is short. */
@Execution(ExecutionMode.CONCURRENT)
class ShortMemoryTest {

  private static final Duration SECONDS = Duration.ofSeconds(2);

  private final Held held = new Held(SECONDS);

  /** Can be released from some time after the first call on. */
  private static final class Held {
    private final Duration shortFor;
    private long firstNanos;
    private volatile boolean released;

    final Lease lease =
        proxy(
            Lease.class,
            method ->
                switch (method) {
                  case "close", "release" -> release();
                  case "isValid" -> !released;
                  default -> method;
                });

    Held(Duration shortFor) {
      this.shortFor = shortFor;
    }

    private synchronized Object release() {
      long nowNanos = System.nanoTime();
      firstNanos = firstNanos == 0 ? nowNanos : firstNanos;
      if (nowNanos - firstNanos < shortFor.toNanos()) {
        throw new InternalError("no memory, as the test wants it");
      }
      released = true;
      return null;
    }
  }

  interface Answers {
    Object to(String method);
  }

  static <T> T proxy(Class<T> type, Answers answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> answers.to(method.getName())));
  }

  /** Returns a provider whose locks are these leases, one after the other. */
  private static RedlockLockProvider provider(Held... leases) {
    Iterator<Held> next = List.of(leases).iterator();
    Votes votes = new Votes(List.of(), 2, Optional.empty());
    return new RedlockLockProvider(
        proxy(Redlock.class, method -> AcquireResult.acquired(next.next().lease, votes)));
  }

  private static SimpleLock lock(RedlockLockProvider provider, Duration atMost, Duration atLeast) {
    return provider
        .lock(new LockConfiguration(ClockProvider.now(), "job", atMost, atLeast))
        .orElseThrow();
  }

  @Test
  void lockThatReachesItsLimitThenIsReleasedLaterAndDelaysNoOther() {
    Held other = new Held(Duration.ZERO);
    RedlockLockProvider provider = provider(held, other);
    lock(provider, Duration.ofMillis(10), Duration.ZERO);
    lock(provider, Duration.ofMillis(20), Duration.ZERO);
    Await.until("the other one is released", () -> other.released);
    Await.until("it is released", () -> held.released);
  }

  @Test
  void minimumHoldThatEndsThenIsReleasedLater() {
    SimpleLock lock = lock(provider(held), Duration.ofMinutes(5), Duration.ofSeconds(1));
    try {
      lock.unlock();
    } catch (InternalError itIsOverOnASlowMachine) {
      assertFalse(held.released);
    }
    Await.until("it is released", () -> held.released);
  }

  @Test
  void unlockThatFailsIsRepeated() {
    SimpleLock lock = lock(provider(held), Duration.ofMinutes(5), Duration.ZERO);
    assertThrows(InternalError.class, lock::unlock);
    Await.until("it is released", () -> held.released);
  }
}
